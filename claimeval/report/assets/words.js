// The sentence of a document that is most like a claim: the one that shares the most of its words.

const sentenceSegmenter = new Intl.Segmenter(undefined, { granularity: "sentence" });
const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" });
const LIKE = 0.3; // the least share of a claim's weight that a sentence must have to be shown

function words(text) {
  const found = new Map();
  for (const { segment, isWordLike } of wordSegmenter.segment(text.toLowerCase())) {
    if (isWordLike)
      found.set(segment, /\p{N}/u.test(segment) ? 3 : segment.length > 3 || /[^\x00-\x7f]/.test(segment) ? 1 : 0.2);
  }
  return found;
}

function sentences(text) {
  return [...sentenceSegmenter.segment(text)].map(({ segment, index }) => {
    const lead = segment.length - segment.trimStart().length;
    return { from: index + lead, to: index + segment.trimEnd().length };
  });
}

// { document, from, to, share } in UTF-16 units, or null where no sentence is like the claim.
function closestSentence(claim, documents) {
  const wanted = words(claim);
  const weight = [...wanted.values()].reduce((sum, w) => sum + w, 0);
  let best = null;
  for (const document of documents) {
    for (const { from, to } of sentences(document.text)) {
      const there = words(document.text.slice(from, to));
      let share = 0;
      for (const [word, w] of wanted) if (there.has(word)) share += w / weight;
      if (share >= LIKE && (best === null || share > best.share + 1e-9)) best = { document, from, to, share };
    }
  }
  return best;
}
