// The heading of a sample: links to its neighbors, the question, its fields and its scores.

import { directed, report } from "./data.js";
import { button, div, el, note, p, span } from "./elements.js";
import { showExchange } from "./exchange.js";
import { listAddress } from "./filters.js";
import { rowValue, runLetter, strips } from "./cells.js";
import { listedState } from "./listing.js";
import { plural } from "./numbers.js";
import { listedRows, opened, sampleParams } from "./opened.js";
import { sampleAddress } from "./route.js";
import { block, data } from "./text.js";

/** @import { Metric, Row } from "./data.js" */

/** @param {Row} row */
export function sampleHead(row) {
  const { sample } = opened.sides[0].result;
  const rows = listedRows();
  const at = rows.findIndex(({ number }) => number === row.number);
  const place =
    at >= 0 && `${(at + 1).toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
  const step = (
    /** @type {number} */ by,
    /** @type {string} */ text,
    /** @type {string} */ label,
  ) => {
    const target = at >= 0 ? rows[at + by] : undefined;
    return target
      ? el(
          "a",
          { class: "step", href: sampleAddress(target, sampleParams()), "aria-label": label },
          text,
        )
      : el("span", { class: "step off", "aria-hidden": "true" }, text);
  };
  const { history = [] } = sample;
  const facts = sharedFacts(opened.sides.map(({ result }) => factsOf(result.sample)));
  return el(
    "header",
    { class: "sample-head" },
    div(
      "sample-nav",
      el("a", { href: listAddress(listedState()) }, "← Samples"),
      span("quiet", place),
      step(-1, "‹ k", "‹ k, previous sample"),
      step(1, "j ›", "j ›, next sample"),
    ),
    note(el("code", null, data(sample.id))),
    history.length > 0 &&
      el(
        "details",
        { class: "turns" },
        el("summary", null, plural(history.length, "earlier turn")),
        history.map(({ role, content }) => div(null, el("b", null, data(role)), block(content))),
      ),
    el("h1", { class: "question" }, block(sample.question)),
    goldAnswer(),
    p(
      "small",
      opened.sides.map((side, i) => [
        i ? " · " : "",
        button("link exchange exchanges", () => showExchange(side, () => true), [
          `all requests and replies${opened.sides.length > 1 ? ` of ${"ab"[side.run]}` : ""}`,
          ` (${(side.result.calls ?? []).length})`,
        ]),
      ]),
    ),
    row.changed && p("changed", changesInWords(row.changed)),
    opened.sides.map(
      ({ diagnosis, run }) => diagnosis && p("diagnosis", runLetter(run), diagnosis),
    ),
    facts.length > 0 &&
      el(
        "dl",
        { class: "facts" },
        facts.map(([name, ...values]) =>
          div(null, el("dt", null, data(name)), el("dd", null, byRun(values))),
        ),
      ),
  );
}

/** The gold answer, next to the answer; the answer too where claims of the gold answer are shown. */
function goldAnswer() {
  const { sample } = opened.sides[0].result;
  const { metric } = opened.sides[0];
  const gold = sample.reference_answers ?? [];
  const shown = metric?.claims_of === "reference" ? [] : gold;
  const answers = metric?.claims_of === "reference" ? opened.sides : [];
  return [
    shown.length > 0 &&
      div("gold", el("b", null, "Gold answer"), " ", block(shown[0]), [
        shown.length > 1 &&
          el(
            "details",
            null,
            el("summary", null, plural(shown.length - 1, "other gold answer")),
            shown.slice(1).map((text) => p(null, block(text))),
          ),
      ]),
    answers.map(({ result, run }) =>
      div(
        "gold",
        el("b", null, runLetter(run), "Answer"),
        " ",
        block(result.sample.answer ?? "none"),
      ),
    ),
  ];
}

const FINDINGS = {
  absent: "not in the folder",
  unreadable: "nothing readable",
  unresolved: "no entry",
  never_cited: "never cited",
};

/** What was known of the sources of a cited report before any call. @param {any} report */
function findingsOf(report) {
  return [
    ["report", report.file],
    ["sources", `${report.cited} cited, ${report.sources} read`],
    ...Object.entries(FINDINGS).map(([name, words]) => [words, (report[name] ?? []).join("; ")]),
  ];
}

/**
 * The fields of a sample other than its texts: [name, value].
 *
 * @param {Line.Sample} sample
 * @returns {[string, string][]}
 */
function factsOf(sample) {
  const { generator, is_answerable: answerable, metadata } = sample;
  const found = [
    ["answered by", generator],
    [
      "answerable",
      answerable === undefined || answerable === null ? null : answerable ? "yes" : "no",
    ],
    ...Object.entries(metadata ?? {}).flatMap(([name, value]) =>
      name === "report" && value?.file
        ? findingsOf(value)
        : [[name, typeof value === "string" ? value : JSON.stringify(value)]],
    ),
  ];
  return /** @type {[string, string][]} */ (
    found.filter(([, value]) => value !== null && value !== undefined && value !== "")
  );
}

/** The facts of all runs by name: [name, value of each run]. @param {[string, string][][]} runs */
function sharedFacts(runs) {
  const maps = runs.map((facts) => new Map(facts));
  const names = new Set(maps.flatMap((map) => [...map.keys()]));
  return [...names].map((name) => [name, ...maps.map((map) => map.get(name) ?? "none")]);
}

/** @param {string[]} values of each run; one text where all are the same */
function byRun(values) {
  if (values.every((value) => value === values[0])) return data(values[0]);
  return values.map((value, i) => [runLetter(i), data(value), " "]);
}

/** @param {string} changed letters of the parts that differ */
function changesInWords(changed) {
  const parts = { a: "the answer", c: "the contexts", r: "the reference", q: "the question" };
  const names = Object.entries(parts).flatMap(([letter, words]) =>
    changed.includes(letter) ? [words] : [],
  );
  return `Different in the two runs: ${names.join(", ")}.`;
}

/** @param {Row} row @param {Metric | undefined} chosen */
export function metricTabs(row, chosen) {
  const tab = (/** @type {Metric} */ metric, /** @type {number} */ i) =>
    el(
      "a",
      {
        class: "tab",
        href: sampleAddress(row, { metric: metric.name, run: opened.run }),
        "aria-current": metric === chosen ? "true" : null,
      },
      span("tab-name", data(directed(metric.name))),
      span("tab-value", rowValue(row, i)),
      span("tab-strip", strips(row, i)),
    );
  const tabs = report.metrics.flatMap((metric, i) => (metric.derived ? [] : [tab(metric, i)]));
  return el("nav", { class: "tabs", "aria-label": "Metrics of this sample" }, tabs);
}
