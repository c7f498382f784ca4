// The labels of claims: a word, a sign and a colour each, so that none is distinguished by colour alone.

import { el, span } from "./elements.js";

/** @typedef {"supported" | "contradicted" | "not_found" | "unassessed"} Label */

/** @type {Record<string, { sign: string, word: string }>} */
export const LABELS = {
  supported: { sign: "✓", word: "supported" },
  contradicted: { sign: "✗", word: "contradicted" },
  not_found: { sign: "?", word: "not found" },
  unassessed: { sign: "○", word: "unassessed" },
};
/** @type {Label[]} which label a piece of several claims shows, and the order of counts */
export const WORST_FIRST = ["contradicted", "not_found", "unassessed", "supported"];

const DIVIDED = "≠"; // instead of the sign for "unassessed" where judges differ
/** @type {Record<string, Label>} */
const LETTERS = { s: "supported", c: "contradicted", n: "not_found", u: "unassessed" };

/** @type {Record<string, string>} */
const PARTS = {
  answer: "answer",
  reference: "reference answer",
  contexts: "retrieved contexts",
  reference_contexts: "reference contexts",
  history: "earlier turns",
  "contexts+history": "retrieved contexts and earlier turns",
};

/** @param {string} [part] */
export function partName(part = "") {
  return Object.hasOwn(PARTS, part) ? PARTS[part] : part;
}

/** @type {Record<string, string>} */
let reasons = {};

/** Takes the words for reasons that the page brings. @param {Record<string, string>} words */
export function learnReasons(words) {
  reasons = words;
}

/** @param {string | null | undefined} reason */
export function reasonInWords(reason) {
  return reason ? (reasons[reason] ?? reason) : "";
}

/**
 * The kind of a label of a verdict or an assessment, which names its sign and colour.
 *
 * @param {{ label?: string | null, positive?: boolean | null } | null} found
 * @returns {Label}
 */
export function labelOf(found) {
  const { label, positive } = found ?? {};
  if (positive === undefined || positive === null)
    return /** @type {Label} */ (label ?? "unassessed");
  return positive ? "supported" : "not_found";
}

// The label itself, if it is a word of another scale.
/** @param {{ label?: string | null, positive?: boolean | null }} verdict */
export function wordOf({ label, positive }) {
  return positive === undefined ? "" : ` (${label?.replaceAll("_", " ")})`;
}

/** @param {string} label @param {string | null | undefined} [because] */
export function labelInWords(label, because) {
  return because ? `${LABELS[label].word}: ${reasonInWords(because)}` : LABELS[label].word;
}

/** @param {string} label @param {string | null | undefined} [because] */
export function signText(label, because) {
  return because === "tie" ? DIVIDED : LABELS[label].sign;
}

/** @param {string} label @param {string | null | undefined} [because] */
export function sign(label, because) {
  return el("span", { class: `sign is-${label}`, "aria-hidden": "true" }, signText(label, because));
}

/**
 * A sign, with its word for those who hear the page.
 *
 * @param {string} label
 * @param {string | null | undefined} [because]
 */
export function spokenSign(label, because) {
  return [sign(label, because), span("unseen", LABELS[label].word)];
}

/** @param {string} label @param {string | null | undefined} [because] */
export function chip(label, because) {
  return span(`chip is-${label}`, sign(label, because), ` ${labelInWords(label, because)}`);
}

/** The sign for a letter of a strip; a capital says that judges differ. @param {string} letter */
export function letterSign(letter) {
  const label = LETTERS[letter.toLowerCase()];
  const node = sign(label, letter === "U" ? "tie" : null);
  if (letter !== letter.toLowerCase() && letter !== "U") node.classList.add("split");
  return node;
}

/** The labels of a row's strip, counted. @param {string} strip */
export function counts(strip) {
  /** @type {Record<string, number>} */
  const found = { supported: 0, contradicted: 0, not_found: 0, unassessed: 0 };
  for (const letter of strip) found[LETTERS[letter.toLowerCase()]] += 1;
  return found;
}

/** @param {Record<string, number>} found */
export function countsInWords(found) {
  const present = Object.keys(LABELS).filter((label) => found[label]);
  return present.map((label) => `${found[label]} ${LABELS[label].word}`).join(", ") || "no claims";
}

/** Judge -> the name that tables show. @param {Page.Overview} facts */
export function judgeNames(facts) {
  return new Map(facts.judges.map((judge) => [judge.name, judge.short]));
}
