// The cells of a sample's row: its values, the labels of its claims, and remarks.

import { report } from "./data.js";
import { rowOf, sampleAddress } from "./route.js";
import { el, span } from "./elements.js";
import { counts, countsInWords, letterSign, reasonInWords, sign, WORST_FIRST } from "./labels.js";
import { number, plural } from "./numbers.js";

/** @import { Cell, Row } from "./data.js" */

/** The letter of a run, where there are two. @param {number} run */
export function runLetter(run) {
  return report.runs.length > 1 && span("run-letter", "ab"[run]);
}

/**
 * The value of a sample with its counts, or the reason why it has none; in a comparison, those of both runs.
 *
 * @param {Row} row
 * @param {number} i place of the metric
 */
export function rowValue(row, i) {
  const one = (/** @type {Cell} */ cell) =>
    cell.value === null
      ? el("span", { class: "quiet", title: reasonInWords(cell.because) }, "–")
      : number(cell.value);
  if (!row.other) return [one(row.cells[i]), counted(countedInWords(row.cells[i]))];
  const [a, b] = [row.cells[i], row.other.cells[i]];
  const direction =
    a.value === null || b.value === null || a.value === b.value
      ? "same"
      : b.value > a.value
        ? "up"
        : "down";
  const both = [countedInWords(a), countedInWords(b)];
  const arrow = span(null, { up: " ↗ ", down: " ↘ ", same: " → " }[direction]);
  return [
    span(`pair is-${direction}`, one(a), arrow, one(b)),
    counted(both.some(Boolean) ? both.map((text) => text || "–").join(" → ") : ""),
  ];
}

/** @param {Cell} cell */
function countedInWords({ hits, judged }) {
  return hits === null || !judged ? "" : `${hits} of ${judged}`;
}

/** @param {string} text */
function counted(text) {
  return text && span("counted", text);
}

/** @param {Row} row @param {number} metric its place among the metrics of the report */
export function strips(row, metric) {
  if (!report.metrics[metric]?.claims_of) return "";
  if (!row.other) return strip(row.cells[metric]);
  return span(
    "two-strips",
    [row, row.other].map((run, i) =>
      span(null, span("quiet", `${"ab"[i]} `), strip(run.cells[metric])),
    ),
  );
}

const STRIP = 24; // claims that are drawn one by one; of more the labels are counted

/** @param {Cell} cell */
function strip(cell) {
  if (!cell?.strip)
    return span("quiet small", cell?.because ? reasonInWords(cell.because) : "no claims");
  const found = counts(cell.strip);
  const words = span("unseen", countsInWords(found));
  if (cell.strip.length <= STRIP) return span("strip", [...cell.strip].map(letterSign), words);
  const labels = WORST_FIRST.filter((label) => found[label]);
  const signs = labels.map((label) => span(null, sign(label), ` ${found[label]} `));
  return span("strip-counts", signs, words);
}

/** @type {Record<string, string>} */
const CHANGED = {
  a: "other answer",
  c: "other contexts",
  r: "other reference",
  q: "other question",
};

/** @param {Row} row */
export function flags(row) {
  const found = [
    row.flips && `${row.flips} flipped`,
    ...[...row.changed].map((part) => CHANGED[part]),
    row.ungrounded && `${row.ungrounded} ungrounded`,
    row.failed && plural(row.failed, "failed call"),
  ].filter(Boolean);
  return found.map((text) => span("flag", text));
}

/**
 * A claim that leads to its sample, where the page has it.
 *
 * @param {string} sample its id
 * @param {Record<string, any>} params of the address
 * @param {...any} content
 */
export function claimLink(sample, params, ...content) {
  const row = rowOf(sample);
  return el(
    row ? "a" : "span",
    { href: row && sampleAddress(row, params), class: "worst-claim" },
    content,
  );
}

/** The name of the metric of claims of a part against some evidence. @param {string} part @param {Page.Evidence} evidence */
export function metricOf(part, evidence) {
  return report.metrics.find(
    (metric) => metric.claims_of === part && metric.against === evidence.part,
  )?.name;
}
