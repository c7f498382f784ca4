// Why a comparison's means changed: parts by cause that add up to b − a, each with its claims.

import { report } from "./data.js";
import { el, numeric, row, scrolling, section, table } from "./elements.js";
import { LABELS, sign } from "./labels.js";
import { number, plural, signed } from "./numbers.js";
import { address, rowOf, sampleAddress } from "./route.js";
import { data } from "./text.js";

const UNPAIRED = new Set(["score", "samples"]); // causes beyond the samples with a value in both runs

/** Why the means changed; nothing if none did. */
export function causeSection() {
  const metrics = (report.comparison?.metrics ?? []).filter(({ because }) => because.length);
  if (!metrics.length) return null;
  return section(
    "why",
    "Why it changed",
    el(
      "p",
      { class: "quiet" },
      "What the difference b − a consists of. The parts add up to it; each links to its samples, largest first.",
    ),
    el("div", { class: "cards why" }, metrics.map(card)),
  );
}

/** @param {Page.MetricComparison} metric */
function card(metric) {
  const id = `why-${report.comparison?.metrics.indexOf(metric)}`;
  const reach = Math.max(...metric.because.map(({ value }) => Math.abs(value)));
  const paired = metric.because.filter(({ cause }) => !UNPAIRED.has(cause));
  const others = metric.because.filter(({ cause }) => UNPAIRED.has(cause));
  const start = addingUp(paired, metric.difference.value ?? 0, 0);
  const end = addingUp(others, metric.change ?? 0, metric.difference.value ?? 0);
  const parts = (/** @type {Page.CausePart[]} */ found, /** @type {string[]} */ figures) =>
    found.map((part, i) => partCells(metric, part, figures[i], reach));
  const unbarred = (/** @type {string} */ words, /** @type {string} */ figure) =>
    row({ class: "sum" }, [words, el("td", { class: "num strong" }, figure), el("td", { colspan: "3" })]);
  const means = report.runs.map(({ summary }) => number(summary.metrics[metric.metric]?.mean));
  const shared = `${number(metric.a)} → ${number(metric.b)}`;
  return el(
    "article",
    { class: "why-card" },
    el(
      "h3",
      { id },
      data(metric.metric),
      " ",
      el("span", { class: "quiet" }, others.length ? means.join(" → ") : shared),
    ),
    scrolling(
      id,
      table(
        { class: "plain parts" },
        [
          "because of",
          ["b − a", "num strong"],
          [el("span", { class: "unseen" }, "bar"), "bar-cell"],
          ...numeric("claims", "samples"),
        ],
        [
          ...parts(paired, start),
          others.length > 0 && unbarred(`samples with a score in both, ${shared}`, signed(metric.difference.value)),
          ...parts(others, end),
          unbarred("all", signed(metric.change)),
        ],
      ),
    ),
    metric.because.some(({ claims }) => claims === null) &&
      paired.length > 0 &&
      paired.every(({ claims }) => claims === null) &&
      el("p", { class: "quiet small" }, "Not a share of claims: whole samples are counted."),
    largest(metric),
  );
}

/**
 * @param {Page.MetricComparison} metric
 * @param {Page.CausePart} part
 * @param {string} figure
 * @param {number} reach the value of the longest bar
 */
function partCells(metric, { cause, value, claims, samples }, figure, reach) {
  const words = report.causes[cause];
  const width = reach ? (Math.abs(value) / reach) * 48 : 0;
  return [
    cause === "samples"
      ? words
      : el("a", { href: address(["samples"], { metric: metric.metric, cause, sort: "cause" }) }, words),
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
  return el("span", { class: "part-line" }, node);
}

/** @param {Page.MetricComparison} metric */
function largest(metric) {
  const most = metric.because
    .flatMap((part) => part.largest.map((one) => ({ ...one, cause: part.cause })))
    .filter(({ subject }) => subject !== null)
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
    .slice(0, 10);
  if (!most.length) return null;
  const entries = most.map((one) => {
    const row = rowOf(one.sample_id);
    const target =
      row && sampleAddress(row, { metric: metric.metric, claim: one.subject, run: one.run === "b" ? 1 : null });
    return el(
      "li",
      null,
      el(
        "a",
        { class: "worst-claim", href: target },
        [one.a, one.b].map((label, i) => [i ? "→" : "", label ? sign(label) : el("span", null, "–")]),
        el("span", null, data(one.claim ?? "")),
      ),
      el(
        "p",
        { class: "quiet small" },
        `${signed(one.value, 4)} · ${inWords(one.a)} → ${inWords(one.b)} · ${report.causes[one.cause]} · `,
        data(one.sample_id),
      ),
    );
  });
  return el(
    "details",
    { class: "more" },
    el("summary", null, `The ${plural(most.length, "claim")} that count most`),
    el("ol", { class: "worst" }, entries),
  );
}

/** @param {string | null} label */
function inWords(label) {
  return label ? LABELS[label].word : "missing or not judged";
}

/**
 * The figures that are shown add up too, as `adding_up` of claimeval/statistics/formatting.py has them.
 *
 * @param {Page.CausePart[]} parts
 * @param {number} total
 * @param {number} start
 */
function addingUp(parts, total, start) {
  const scaled = parts.map(({ value }) => value * 1000);
  const whole = scaled.map(Math.floor);
  let left = Math.round(1000 * (Number(number(total)) - Number(number(start)))) - whole.reduce((a, b) => a + b, 0);
  const order = scaled.map((_, i) => i).sort((a, b) => whole[a] - scaled[a] - (whole[b] - scaled[b]));
  for (const i of order) if (left > 0) [whole[i], left] = [whole[i] + 1, left - 1];
  return whole.map((one) => signed(one / 1000));
}
