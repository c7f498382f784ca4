// Finds the sentence that shares the most words with a claim, by the rules of `claimeval.lexical.evidence`: the page
// looks for it when a claim is chosen, as a run has many more claims than anybody opens.

const STEM = 6; // characters by which forms of a word are the same: "design", "designed", "designer"
const LEAST = 0.3; // the least share of a claim's weight that a sentence must have to be shown
const NUMBER = 2; // weight of a number, compared with a word that is as rare
const SHORT = 0.2; // weight of a word of up to three letters, as articles and prepositions are
const WORD = /[\p{L}\p{N}]+(?:[.,:]\p{Nd}+)*/gu;
// Scripts that write no spaces: a run of them is one word, so pairs of characters are compared.
const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]/;

const sentenceSegmenter = new Intl.Segmenter(undefined, { granularity: "sentence" });

/** The words of a text without case and ending, numbers whole. @param {string} text */
function stems(text) {
  /** @type {Set<string>} */
  const found = new Set();
  for (const [word] of text.toLowerCase().matchAll(WORD)) {
    if (UNSPACED.test(word)) for (const pair of pairs([...word])) found.add(pair);
    else if (isNumber(word)) found.add(word.replaceAll(",", ""));
    else found.add([...word].slice(0, STEM).join(""));
  }
  return found;
}

/** @param {string[]} letters */
function pairs(letters) {
  if (letters.length < 2) return letters;
  return letters.slice(1).map((letter, i) => letters[i] + letter);
}

/** @param {string} word */
function isNumber(word) {
  return /^\p{Nd}/u.test(word);
}

const KEPT = 500; // texts whose sentences are kept, as every chosen claim looks at the same ones

/** @type {Map<string, { from: number, to: number, there: Set<string> }[]>} */
const kept = new Map();

/** @param {string} text */
function sentences(text) {
  const known = kept.get(text);
  if (known) return known;
  const found = [...sentenceSegmenter.segment(text)]
    .map(({ segment, index }) => {
      const from = index + segment.length - segment.trimStart().length;
      const to = index + segment.trimEnd().length;
      return { from, to, there: stems(text.slice(from, to)) };
    })
    .filter(({ there }) => there.size > 0);
  if (kept.size >= KEPT) kept.clear();
  kept.set(text, found);
  return found;
}

/** How much a word says: little if most sentences have it, most if none has. @param {string} word @param {number} count @param {number} all */
function rarity(word, count, all) {
  const rare = Math.log(1 + all / Math.max(count, 1));
  if (isNumber(word)) return rare * NUMBER;
  return word.length <= 3 && /^[\x00-\x7f]*$/.test(word) ? rare * SHORT : rare;
}

/**
 * The sentence nearest to a claim, in UTF-16 units, or null if none is like it.
 *
 * @template {Line.Document} Document
 * @param {string} claim
 * @param {Document[]} documents
 */
function nearest(claim, documents) {
  const all = documents.flatMap((document) =>
    sentences(document.text).map((sentence) => ({ document, ...sentence })),
  );
  const weights = new Map(
    [...stems(claim)].map((word) => {
      const count = all.filter(({ there }) => there.has(word)).length;
      return [word, rarity(word, count, all.length)];
    }),
  );
  const sum = [...weights.values()].reduce((total, weight) => total + weight, 0);
  let best = null;
  let highest = 0;
  for (const sentence of all) {
    let weight = 0;
    for (const [word, own] of weights) if (sentence.there.has(word)) weight += own;
    if (weight < LEAST * sum - 1e-9) continue;
    // A long sentence shares words by its length alone, so length counts a little.
    const score = weight / Math.log(8 + sentence.there.size);
    if (score > highest + 1e-9) {
      best = sentence;
      highest = score;
    }
  }
  return best;
}

/**
 * The sentence to show beside a claim for which no reason of a judge names one. It is looked for in the documents that
 * judges name, if they name some; their only sentence is it in whatever words.
 *
 * @template {Line.Document} Document
 * @param {string} claim
 * @param {Document[]} documents
 * @param {Document[]} named
 */
export function closestSentence(claim, documents, named) {
  if (!named.length) return nearest(claim, documents);
  const only = named.flatMap((document) =>
    sentences(document.text).map((sentence) => ({ document, ...sentence })),
  );
  return nearest(claim, named) ?? (only.length === 1 ? only[0] : null);
}
