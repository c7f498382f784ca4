// Finds the sentence of a document that shares the most words with a claim.

const sentenceSegmenter = new Intl.Segmenter(undefined, { granularity: "sentence" });
const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" });
const LIKE = 0.3; // the least share of a claim's weight that a sentence must have to be shown

/** @param {string} text */
export function words(text) {
  const found = new Map();
  for (const { segment, isWordLike } of wordSegmenter.segment(text.toLowerCase())) {
    if (isWordLike)
      found.set(
        segment,
        /\p{N}/u.test(segment) ? 3 : segment.length > 3 || /[^\x00-\x7f]/.test(segment) ? 1 : 0.2,
      );
  }
  return found;
}

const KEPT = 500; // texts whose sentences are kept, as every chosen claim looks at the same ones

/** @type {Map<string, { from: number, to: number, there: Map<string, number> }[]>} */
const kept = new Map();

/** @param {string} text */
function sentences(text) {
  const known = kept.get(text);
  if (known) return known;
  const found = [...sentenceSegmenter.segment(text)].map(({ segment, index }) => {
    const from = index + segment.length - segment.trimStart().length;
    const to = index + segment.trimEnd().length;
    return { from, to, there: words(text.slice(from, to)) };
  });
  if (kept.size >= KEPT) kept.clear();
  kept.set(text, found);
  return found;
}

// { document, from, to, share } in UTF-16 units, or null where no sentence is like the claim.
/**
 * @template {Line.Document} Document
 * @param {string} claim
 * @param {Document[]} documents
 */
export function closestSentence(claim, documents) {
  const wanted = words(claim);
  const weight = [...wanted.values()].reduce((sum, w) => sum + w, 0);
  /** @type {{ document: Document, from: number, to: number, share: number } | null} */
  let best = null;
  for (const document of documents) {
    for (const { from, to, there } of sentences(document.text)) {
      let share = 0;
      for (const [word, w] of wanted) if (there.has(word)) share += w / weight;
      if (share >= LIKE && (best === null || share > best.share + 1e-9))
        best = { document, from, to, share };
    }
  }
  return best;
}
