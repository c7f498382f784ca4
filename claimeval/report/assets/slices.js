// Metrics, or the differences of two runs, by the values of the fields of the samples.

import { directed, report } from "./data.js";
import {
  all,
  choice,
  div,
  el,
  figure,
  fill,
  form,
  intro,
  note,
  numeric,
  p,
  scrolling,
  table,
} from "./elements.js";
import { digitsOf, number, shownEnds, signed, signedRange } from "./numbers.js";
import { address, listed, rewrite } from "./route.js";
import { data } from "./text.js";

/** Whether samples can be split by a field. */
export function anySlices() {
  return report.comparison ? report.comparison.slices.length > 0 : report.runs[0].slices.length > 0;
}

/** @param {HTMLElement} main @param {URLSearchParams} params */
export function drawSlices(main, params) {
  const fields = report.comparison ? report.comparison.slices : report.runs[0].slices;
  const chosen = fields.find(({ field }) => field === params.get("field")) ?? fields[0];
  if (!chosen) {
    fill(main, el("h1", null, "Slices"), p(null, "No field of the samples has 2 to 50 values."));
    return;
  }
  const metrics = [...new Set(chosen.rows.map(({ metric }) => metric))];
  const metric = metrics.find((name) => name === params.get("metric")) ?? metrics[0];
  const at = { field: chosen.field, metric };
  const choose = (/** @type {"field" | "metric"} */ name) => (/** @type {string} */ value) => {
    rewrite(address(["slices"], { ...at, [name]: value }));
    drawSlices(main, new URLSearchParams({ ...at, [name]: value }));
    all(`select[name="${name}"]`, main)[0].focus();
  };
  const names = fields.map(({ field }) => field);
  const found = report.comparison
    ? changeTable(/** @type {Page.ChangeSlices} */ (chosen), at)
    : sliceTable(/** @type {Page.Slices} */ (chosen), at);
  const image =
    report.pictures[`${report.comparison ? "changes" : "slices/0"}/${chosen.field}/${metric}`];
  fill(
    main,
    intro("Slices", [
      report.comparison
        ? "What the samples with each value of a field add to the difference b − a, largest first."
        : "What the samples with each value of a field add to the loss (the distance of the mean from the best value, 1 or 0), largest first.",
      " Intervals resample whole questions. Each value links to its samples.",
    ]),
    form(
      { class: "toolbar" },
      choice("Field", names, at.field, choose("field"), { name: "field" }),
      choice(
        "Metric",
        metrics.map((name) => [name, directed(name)]),
        at.metric,
        choose("metric"),
        { name: "metric" },
      ),
    ),
    div("beside", image && figure(image), scrolling("title", found)),
    note(chance(chosen.rows.filter((row) => row.metric === metric).length)),
  );
}

/** @param {number} many intervals that are shown */
function chance(many) {
  if (many < 20) return "";
  return `${many} intervals: even if all slices were alike, about ${Math.round(many * 0.05)} of them would miss the common value by chance. Rely on the contributions, and confirm a slice on other data.`;
}

/** @typedef {{ field: string, metric: string }} At the metric and the field of the slices */

/**
 * The rows of a metric, largest contribution first.
 *
 * @template {Page.Slice | Page.ChangeSlice} Row
 * @param {Row[]} rows
 * @param {At} at
 */
function most(rows, { metric }) {
  return rows
    .filter((row) => row.metric === metric)
    .sort((a, b) => Math.abs(b.contribution ?? 0) - Math.abs(a.contribution ?? 0));
}

/** @param {string | null} value @param {At} at */
function name(value, { field, metric }) {
  const href = listed({ metric, is: `${field}=${value ?? ""}` });
  return el("a", { href }, value === null ? "(without)" : data(value));
}

/** @param {Page.Slices} slices @param {At} at */
function sliceTable({ rows }, at) {
  return table(
    null,
    [at.field, ["n", "num"], ["mean", "num strong"], "95% interval", ["of the loss", "num"]],
    most(rows, at).map(({ value, estimate, contribution }) => [
      name(value, at),
      estimate.n,
      number(estimate.value, digitsOf([estimate.low, estimate.high])),
      shownEnds(estimate),
      number(contribution),
    ]),
  );
}

/** @param {Page.ChangeSlices} slices @param {At} at */
function changeTable({ rows }, at) {
  return table(
    null,
    [
      at.field,
      ...numeric("n", "a", "b", "b − a"),
      "95% interval",
      ["of the difference", "num strong"],
    ],
    most(rows, at).map(({ value, n, a, b, difference, contribution }) => {
      const ends = [difference.low, difference.high];
      const digits = digitsOf(ends);
      return [
        name(value, at),
        n,
        number(a, digits),
        number(b, digits),
        signed(difference.value, digits),
        signedRange(ends),
        signed(contribution, digits),
      ];
    }),
  );
}
