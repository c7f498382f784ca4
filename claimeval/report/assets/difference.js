// Differences of two texts, word by word.

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });
const CELLS = 4e6; // words of one text by words of the other, above which words are only looked up in the other text

/** @typedef {{ from: number, to: number }} Stretch places in a text, in UTF-16 units */

/**
 * The stretches of each text that the other does not have at that place: all that is not in their longest common sequence
 * of words.
 *
 * @param {string} a
 * @param {string} b
 * @returns {[Stretch[], Stretch[]]}
 */
export function differing(a, b) {
  const words = [a, b].map((text) =>
    [...segmenter.segment(text)].filter(({ segment }) => segment.trim()),
  );
  const [first, second] = words.map((found) => found.map(({ segment }) => segment));
  let start = 0;
  while (start < Math.min(first.length, second.length) && first[start] === second[start])
    start += 1;
  let end = 0;
  const most = Math.min(first.length, second.length) - start;
  while (end < most && first[first.length - 1 - end] === second[second.length - 1 - end]) end += 1;
  const middle = [first, second].map((list) => list.slice(start, list.length - end));
  const common =
    middle[0].length * middle[1].length > CELLS
      ? anywhere(middle[0], middle[1])
      : inOrder(middle[0], middle[1]);
  return /** @type {[Stretch[], Stretch[]]} */ (
    [a, b].map((text, side) => {
      const lone = middle[side].map((_, i) => i).filter((i) => !common[side].has(i));
      return joined(lone, (i) => words[side][start + i], text);
    })
  );
}

/** Of a longest common sequence the places in both lists. @param {string[]} a @param {string[]} b */
function inOrder(a, b) {
  const wide = b.length + 1;
  const best = new Uint32Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * wide + j;
      best[at] = a[i] === b[j] ? best[at + wide + 1] + 1 : Math.max(best[at + wide], best[at + 1]);
    }
  }
  const common = [new Set(), new Set()];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const at = i * wide + j;
    if (a[i] === b[j]) {
      common[0].add(i);
      common[1].add(j);
      i += 1;
      j += 1;
    } else if (best[at + wide] >= best[at + 1]) i += 1;
    else j += 1;
  }
  return common;
}

/** The places of words that the other list has too, wherever. @param {string[]} a @param {string[]} b */
function anywhere(a, b) {
  const sets = [new Set(a), new Set(b)];
  return [a, b].map(
    (list, side) => new Set(list.map((_, i) => i).filter((i) => sets[1 - side].has(list[i]))),
  );
}

/**
 * Neighboring words as one stretch.
 *
 * @param {number[]} places
 * @param {(place: number) => Intl.SegmentData} word
 * @param {string} text
 */
function joined(places, word, text) {
  /** @type {Stretch[]} */
  const stretches = [];
  for (const place of places) {
    const { index, segment } = word(place);
    const last = stretches.at(-1);
    if (last && !text.slice(last.to, index).trim()) last.to = index + segment.length;
    else stretches.push({ from: index, to: index + segment.length });
  }
  return stretches;
}
