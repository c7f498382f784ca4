// Formatting of numbers, intervals, prices and counts.

/** @param {number} n @param {string} one @param {string} [many] */
export function plural(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

// Of how many questions samples are, where these are fewer; intervals and tests draw whole ones.
/** @param {number} samples @param {number} clusters @param {string | null} field */
export function clustersInWords(samples, clusters, field) {
  if (clusters >= samples) return "";
  return `, ${!field || field === "question" ? plural(clusters, "question") : `${plural(clusters, "cluster")} by ${field}`}`;
}

/** @typedef {{ ends: string, low: number | null, high: number | null }} Ends the interval or bounds next to a value */

/** The ends next to a mean, in words. @param {Ends} reported */
export function endsInWords({ ends, low, high }) {
  if (ends === "bounds")
    return ` ${range([low, high])} (bounds), as judges abstained on many claims`;
  if (ends === "sequence") return ` ${range([low, high])}, 95% certain however often one looked`;
  return low === null ? " no interval" : ` 95% interval ${range([low, high])}`;
}

/** The ends in a cell of a table. @param {Ends} reported */
export function shownEnds({ ends, low, high }) {
  return `${range([low, high])}${ends === "bounds" ? " (bounds)" : ""}`;
}

const HAIR = 1 + 1e-12; // as in claimeval/statistics/formatting.py: halves are rounded away from zero however they were computed

// As `digits_of` of claimeval/statistics/formatting.py: the decimals of a value and its interval.
/** @param {(number | null)[] | null | undefined} ends */
export function digitsOf(ends) {
  const [low, high] = ends ?? [null, null];
  if (low === null || high === null) return 2;
  const width = Math.abs(high - low);
  if (width < 1e-5) return 2;
  const wide = width * HAIR >= 0.002 ? 3 : FINEST;
  return Math.max(width * HAIR >= 0.02 ? 2 : wide, visible(low), visible(high));
}

const FINEST = 4;
const ZERO = 1e-14; // smaller numbers are errors of rounding

// `digits`, or the decimals that a smaller number needs to be no zero.
/** @param {number} value @param {number} [digits] */
function visible(value, digits = 2) {
  for (let finer = digits; finer <= FINEST; finer++)
    if (Number((value * HAIR).toFixed(finer)) !== 0) return finer;
  return digits;
}

// Numbers read as in the terminal and in Markdown: nothing is shown as -0, and only zero as zero.
/** @param {number | null | undefined} value @param {number} [digits] */
export function number(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  const text = (value * HAIR).toFixed(visible(value, digits));
  if (Number(text) !== 0) return text;
  return Math.abs(value) < ZERO ? (0).toFixed(digits) : value.toExponential(1);
}

/** @param {number | null | undefined} value @param {number} [digits] */
export function signed(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  const size = number(Math.abs(value), digits);
  return Number(size) === 0 ? size : `${value > 0 ? "+" : "−"}${size}`;
}

/** @param {number | null | undefined} share */
export function percent(share) {
  return share === null || share === undefined ? "–" : `${number(100 * share, 1)}%`;
}

/** @param {(number | null)[] | null | undefined} ends @param {number} [digits] @param {(value: number | null, digits?: number) => string} [write] */
export function range(ends, digits = digitsOf(ends), write = number) {
  return ends?.every((end) => end !== null)
    ? ends.map((end) => write(end, digits)).join(" to ")
    : "–";
}

/** As `dollars` of claimeval/statistics/formatting.py, with the sign. @param {number | null} cost */
export function dollars(cost) {
  if (cost === null) return "unknown";
  return cost === 0 ? "free" : `$${number(cost, cost < 0.01 ? 4 : 2)}`;
}

/** @param {{ prompt_tokens: number | null, completion_tokens: number | null }} cost */
export function tokensInWords({ prompt_tokens: prompt, completion_tokens: completion }) {
  return `${(prompt ?? 0).toLocaleString("en")} + ${(completion ?? 0).toLocaleString("en")}`;
}

/** @param {(number | null)[]} ends */
export function signedRange(ends) {
  return range(ends, digitsOf(ends), signed);
}

/** The sum of what was counted. @param {Record<string, number>} counted */
export function total(counted) {
  return Object.values(counted).reduce((sum, n) => sum + n, 0);
}
