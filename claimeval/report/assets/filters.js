// Filters and order of the list of samples. They are in the address, so that a list can be shared.

import { report } from "./data.js";
import { counts, reasonInWords } from "./labels.js";
import { listed } from "./route.js";

/** @import { Cell, Row } from "./data.js" */

/** @type {Record<string, [string, (cell: Cell, row: Row, state: ListState) => boolean]>} */
export const SHOWS = {
  all: ["all samples", () => true],
  contradicted: ["with a contradicted claim", (cell) => /c/i.test(cell.strip)],
  not_found: ["with a claim not found", (cell) => /n/i.test(cell.strip)],
  unassessed: ["with an unassessed claim", (cell) => /u/i.test(cell.strip)],
  differ: ["where judges differ", (cell) => /[A-Z]/.test(cell.strip)],
  no_score: ["without a score", (cell) => cell.value === null],
  ungrounded: ["with an ungrounded claim", (_cell, row) => row.ungrounded > 0],
  failed: ["with a failed call", (_cell, row) => row.failed > 0],
  flipped: ["that changed", (_cell, row, state) => row.flips > 0 || change(row, state) !== 0],
  other_contexts: ["with other contexts in b", (cell, row) => row.changed.includes("c")],
  other_answer: ["with another answer in b", (cell, row) => row.changed.includes("a")],
  other_reference: ["with another reference in b", (cell, row) => row.changed.includes("r")],
  same_texts: ["with the same texts in both", (cell, row) => row.changed === ""],
};

/** @type {Record<string, string>} */
export const SORTS = {
  worst: "worst first",
  best: "best first",
  contradicted: "most contradicted",
  change: "largest change",
  divided: "most divided judges",
  cause: "largest part of the change",
  data: "order of the data",
};

const COMPARED = new Set([
  "flipped",
  "other_contexts",
  "other_answer",
  "other_reference",
  "same_texts",
]);

function anyPanel() {
  return report.runs.some((facts) => facts.summary.panel);
}

/**
 * A kind of filter that adds up with others: its options with their words, and whether a sample passes one.
 *
 * @typedef {object} Filter
 * @property {string} heading
 * @property {(state: ListState) => [value: string, words: string][]} options
 * @property {(value: string, row: Row, state: ListState) => boolean} passes
 */

/** @type {Record<string, Filter>} by the name of their parameter in the address */
export const FILTERS = {
  with: {
    heading: "Also",
    options: () =>
      shows()
        .filter((name) => name !== "all")
        .map((name) => [name, SHOWS[name][0]]),
    passes: (value, row, state) => SHOWS[value]?.[1](cellOf(row, state), row, state) ?? false,
  },
  judge: {
    heading: "A judge differs from the panel",
    options: ({ run }) =>
      anyPanel()
        ? report.runs[run].manifest.judges.map(({ name }) => [name, `${name} differs`])
        : [],
    passes: (value, row, state) => {
      const place = report.runs[state.run].manifest.judges.findIndex(({ name }) => name === value);
      return (state.run && row.other ? row.other : row).cells.some(({ dissenters }) =>
        dissenters.includes(place),
      );
    },
  },
  reason: {
    heading: "Claims without a label",
    options: ({ run, metric }) =>
      Object.keys(
        report.runs[run].summary.metrics[report.metrics[metric]?.name]?.unassessed ?? {},
      ).map((name) => [name, reasonInWords(name)]),
    passes: (value, row, state) =>
      cellOf(row, state).reasons.includes(value) || cellOf(row, state).because === value,
  },
  blame: {
    heading: "Retrieval or generation",
    options: () =>
      report.runs.some((facts) => facts.diagnosis) ? Object.entries(report.cells) : [],
    passes: (value, row, { run }) => (run && row.other ? row.other : row).blame === value,
  },
  cause: {
    heading: "Changed because of",
    options: () =>
      report.comparison ? Object.entries(report.causes).filter(([name]) => name !== "samples") : [],
    passes: (value, row, state) => value in causesOf(row, state),
  },
  document: {
    heading: "With a document that changed",
    options: () =>
      (report.comparison?.culprit.documents ?? []).map(({ name }) => [name, `“${name}” changed`]),
    passes: (value, row) => row.documents.includes(value),
  },
  is: {
    heading: "Field",
    options: () =>
      report.facets.flatMap(({ field, values }) =>
        values.map((value) => [`${field}=${value}`, `${field} is ${value}`]),
      ),
    passes: (value, row) => {
      const [field, ...rest] = value.split("=");
      const facet = report.facets.find((one) => one.field === field);
      return (
        (facet?.codes[row.number] ?? -1) ===
        (rest[0] === "" ? -1 : (facet?.values.indexOf(rest.join("=")) ?? -2))
      );
    },
  },
};

/** A filter in words. @param {string} kind @param {string} value @param {ListState} state */
export function filterInWords(kind, value, state) {
  if (kind === "cause") return `because of ${report.causes[value] ?? value}`;
  const found = FILTERS[kind].options(state).find(([name]) => name === value);
  return (
    found?.[1] ??
    (kind === "is" && value.endsWith("=") ? `without ${value.slice(0, -1)}` : `${kind}: ${value}`)
  );
}

/** What each cause adds to the change of a sample in the metric that is listed. */
/** @param {Row} row @param {ListState} state */
function causesOf(row, { metric }) {
  return row.causes[report.metrics[metric]?.name] ?? {};
}

export function shows() {
  const panel = anyPanel();
  return Object.keys(SHOWS).filter(
    (name) => (name !== "differ" || panel) && (!COMPARED.has(name) || report.comparison !== null),
  );
}

/**
 * An order in words. Of a metric that is read off verdicts a high value may be the bad one.
 *
 * @param {string} sort one of SORTS
 * @param {number} metric its place among the metrics of the report
 */
export function sortInWords(sort, metric) {
  if (!report.metrics[metric]?.derived) return SORTS[sort];
  return sort === "worst" ? "lowest first" : sort === "best" ? "highest first" : SORTS[sort];
}

export function sorts() {
  return Object.keys(SORTS).filter(
    (name) =>
      (!["change", "cause"].includes(name) || report.comparison) &&
      (name !== "divided" || anyPanel()),
  );
}

/**
 * Filters and order of the list.
 *
 * @typedef {object} ListState
 * @property {string} q words that are searched
 * @property {number} metric its place among the metrics of the report
 * @property {string} show one of SHOWS
 * @property {number | null} below
 * @property {number[] | null} bar the ends of a bar of the histogram
 * @property {string} sort one of SORTS
 * @property {number} run whose values these are
 * @property {[kind: string, value: string][]} filters all of which a sample passes
 */

/** @param {URLSearchParams} params @returns {ListState} */
export function listState(params) {
  const named = Math.max(
    0,
    report.metrics.findIndex(({ name }) => name === params.get("metric")),
  );
  const numeral = (/** @type {string} */ name) => {
    const found = params.get(name) ? Number(params.get(name)) : NaN;
    return Number.isNaN(found) ? null : found;
  };
  const [from, to] = [numeral("from"), numeral("to")];
  return {
    q: params.get("q") ?? "",
    metric: named,
    show: shows().find((name) => name === params.get("show")) ?? "all",
    below: numeral("below"),
    bar: from === null || to === null ? null : [from, to],
    sort:
      sorts().find((name) => name === params.get("sort")) ??
      (report.comparison ? "change" : "worst"),
    run: report.comparison && params.get("run") === "1" ? 1 : 0,
    filters: Object.keys(FILTERS).flatMap((kind) =>
      [...new Set(params.getAll(kind))].map(
        (value) => /** @type {[string, string]} */ ([kind, value]),
      ),
    ),
  };
}

/** @param {ListState} state */
export function listAddress(state) {
  return listed({
    q: state.q,
    metric: state.metric ? report.metrics[state.metric].name : null,
    show: state.show === "all" ? null : state.show,
    below: state.below,
    from: state.bar?.[0],
    to: state.bar?.[1],
    sort: state.sort === (report.comparison ? "change" : "worst") ? null : state.sort,
    run: state.run,
    ...Object.fromEntries(
      Object.keys(FILTERS).map((kind) => [
        kind,
        state.filters.filter(([name]) => name === kind).map(([, value]) => value),
      ]),
    ),
  });
}

/** @param {Row} row @param {ListState} state */
function cellOf(row, state) {
  return (state.run && row.other ? row.other : row).cells[state.metric];
}

// The value in run b minus that in run a; a tiny number if only one of them has a value.
/** @param {Row} row @param {ListState} state */
export function change(row, state) {
  if (!row.other) return 0;
  const [a, b] = [row.cells[state.metric].value, row.other.cells[state.metric].value];
  if (a === null || b === null) return a === b ? 0 : 1e-9;
  return b - a;
}

// How far the causes that are filtered by move the value of a sample; without such a filter, all of them.
/** @param {Row} row @param {ListState} state */
function moved(row, state) {
  const chosen = state.filters.filter(([kind]) => kind === "cause").map(([, cause]) => cause);
  return Object.entries(causesOf(row, state))
    .filter(([cause]) => !chosen.length || chosen.includes(cause))
    .reduce((sum, [, value]) => sum + Math.abs(value), 0);
}

/** @param {Row} row @param {ListState} state */
export function passes(row, state) {
  const cell = cellOf(row, state);
  if (!SHOWS[state.show][1](cell, row, state)) return false;
  if (!state.filters.every(([kind, value]) => FILTERS[kind].passes(value, row, state)))
    return false;
  if (state.below !== null && !(cell.value !== null && cell.value < state.below)) return false;
  if (!state.bar) return true;
  const [from, to] = state.bar;
  return (
    cell.value !== null &&
    (from === to ? cell.value === to : cell.value > from && cell.value <= to && cell.value < 1)
  );
}

/** @param {Row[]} rows @param {ListState} state */
export function ordered(rows, state) {
  const value = (/** @type {Row} */ row, /** @type {number} */ missing) =>
    cellOf(row, state).value ?? missing;
  const contradicted = (/** @type {Row} */ row) => counts(cellOf(row, state).strip).contradicted;
  /** @type {Record<string, (a: Row, b: Row) => number>} */
  const keys = {
    worst: (a, b) => value(a, 2) - value(b, 2) || contradicted(b) - contradicted(a),
    best: (a, b) => value(b, -1) - value(a, -1),
    contradicted: (a, b) => contradicted(b) - contradicted(a),
    change: (a, b) => Math.abs(change(b, state)) - Math.abs(change(a, state)) || b.flips - a.flips,
    divided: (a, b) => cellOf(b, state).entropy - cellOf(a, state).entropy,
    cause: (a, b) => moved(b, state) - moved(a, state),
    data: () => 0,
  };
  return [...rows].sort((a, b) => keys[state.sort](a, b) || a.number - b.number);
}
