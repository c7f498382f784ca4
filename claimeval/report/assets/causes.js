// Why a comparison's means changed: parts by cause that add up to b − a, each with its claims.

import { directed, report } from "./data.js";
import { claimLink } from "./cells.js";
import {
  div,
  el,
  list,
  more,
  note,
  numeric,
  p,
  row,
  scrolling,
  section,
  span,
  table,
} from "./elements.js";
import { LABELS, sign } from "./labels.js";
import { digitsOf, number, plural, signed } from "./numbers.js";
import { listed } from "./route.js";
import { data } from "./text.js";

/**
 * Why the means changed, a card for each metric; nothing if none did.
 *
 * @param {string | null} headline the metric that the front is about, which has its card there
 */
export function causeSection(headline) {
  const metrics = (report.comparison?.metrics ?? []).filter(
    (one) => one.because.length && one.metric !== headline,
  );
  if (!metrics.length) return null;
  return section(
    "why",
    "Why the other metrics changed",
    p(
      "quiet",
      "What the difference b − a consists of. The parts add up to it; each links to its samples, largest first. Bars of shares have one scale.",
    ),
    div("cards why", metrics.map(causeCard)),
  );
}

/**
 * The value of the longest bar. All metrics that are shares have one scale, so that bars of two
 * metrics can be compared.
 *
 * @param {Page.MetricComparison} metric
 */
function reachOf(metric) {
  const isShare = (/** @type {Page.MetricComparison} */ { a, b }) =>
    [a ?? 0, b ?? 0].every((mean) => mean >= 0 && mean <= 1);
  const shares = (report.comparison?.metrics ?? []).filter(isShare);
  return Math.max(
    ...(isShare(metric) ? shares : [metric]).flatMap(({ because }) =>
      because.map(({ value }) => Math.abs(value)),
    ),
  );
}

/** @param {Page.MetricComparison} metric */
export function causeCard(metric) {
  const id = `why-${report.comparison?.metrics.indexOf(metric)}`;
  const reach = reachOf(metric);
  const unpaired = metric.because.some(({ cause }) => cause === "score" || cause === "samples");
  const means = report.runs.map(({ summary }) => number(summary.metrics[metric.metric]?.mean));
  const digits = digitsOf([metric.difference.low, metric.difference.high]);
  const shared = `${number(metric.a, digits)} → ${number(metric.b, digits)}`;
  const rows = report.because[metric.metric].map(({ words, figure, inner, part }) =>
    part
      ? partCells(metric, part, inner ? span("inner", "– ", words) : words, figure, reach)
      : row({ class: "sum" }, [
          words === "all" ? words : [words, `, ${shared}`],
          el("td", { class: "num strong" }, figure),
          el("td", { colspan: "3" }),
        ]),
  );
  const paired = metric.because.filter(({ cause }) => cause !== "score" && cause !== "samples");
  return el(
    "article",
    { class: "why-card" },
    el(
      "h3",
      { id },
      data(directed(metric.metric)),
      " ",
      span("quiet", unpaired ? means.join(" → ") : shared),
    ),
    scrolling(
      id,
      table(
        { class: "plain parts" },
        [
          "because of",
          ["b − a", "num strong"],
          [span("unseen", "bar"), "bar-cell"],
          ...numeric("claims", "samples"),
        ],
        rows,
      ),
    ),
    paired.length > 0 &&
      paired.every(({ claims }) => claims === null) &&
      note("Not a share of claims: whole samples are counted."),
    largest(metric),
  );
}

/**
 * @param {Page.MetricComparison} metric
 * @param {Omit<Page.CausePart, "largest" | "parts">} part
 * @param {any} words
 * @param {string} figure
 * @param {number} reach the value of the longest bar
 */
function partCells(metric, { cause, name, value, claims, samples }, words, figure, reach) {
  const width = reach ? (Math.abs(value) / reach) * 48 : 0;
  const named = ["lost", "gained", "rewritten"].includes(cause) ? name : null;
  return [
    cause === "samples"
      ? words
      : el(
          "a",
          { href: listed({ metric: metric.metric, cause, document: named, sort: "cause" }) },
          words,
        ),
    figure,
    el("td", { class: "bar-cell", "aria-hidden": "true" }, bar(value, width)),
    claims?.toLocaleString("en"),
    samples.toLocaleString("en"),
  ];
}

/** @param {number} value @param {number} width */
function bar(value, width) {
  const node = el("span", { class: value < 0 ? "part-bar is-down" : "part-bar is-up" });
  node.style.width = `${Math.max(width, 1)}%`;
  return span("part-line", node);
}

/** @param {Page.MetricComparison} metric */
function largest(metric) {
  const most = metric.because
    .flatMap((part) => part.largest.map((one) => ({ ...one, cause: part.cause })))
    .filter(({ subject }) => subject !== null)
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
    .slice(0, 10);
  if (!most.length) return null;
  const entry = (/** @type {(typeof most)[number]} */ one) => [
    claimLink(
      one.sample_id,
      { metric: metric.metric, claim: one.subject, run: one.run === "b" ? 1 : 0 },
      [one.a, one.b].map((label, i) => [i ? "→" : "", label ? sign(label) : span(null, "–")]),
      span(null, data(one.claim ?? "")),
    ),
    note(
      `${signed(one.value, 4)} · ${inWords(one.a)} → ${inWords(one.b)} · ${report.causes[one.cause]} · `,
      data(one.sample_id),
    ),
  ];
  return more(
    `The ${plural(most.length, "claim")} that count most`,
    list("ol", "worst", most, entry),
  );
}

/** @param {string | null} label */
function inWords(label) {
  return label ? LABELS[label].word : "missing or not judged";
}
