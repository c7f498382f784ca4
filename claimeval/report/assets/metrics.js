// One card per metric: mean, interval, missing values, and distributions of values and labels.

import { directed } from "./data.js";
import { definitions, div, el, list, more, note, p, span } from "./elements.js";
import { judgeNames, partName, reasonInWords } from "./labels.js";
import { digitsOf, endsInWords, number, percent, plural, range, total } from "./numbers.js";
import { histogram, intervalPlot, labelBar } from "./plots.js";
import { data } from "./text.js";

/** @param {Page.MetricOverview} overview @param {Page.Overview} facts @param {number} run */
export function metricCard({ metric, labels, distribution }, facts, run) {
  const summary = facts.summary.metrics[metric.name];
  const without = total(summary.missing);
  const heading = `metric-${run}-${metric.name}`;
  return el(
    "section",
    { class: "card", "aria-labelledby": heading },
    el("h3", { id: heading }, data(directed(metric.name))),
    p(
      "quiet",
      metric.description && [data(metric.description), " · "],
      "claims of the ",
      data(partName(metric.claims_of)),
      " against the ",
      data(partName(metric.against)),
    ),
    p("headline", span("mean-value", meanOf(summary)), span("quiet", endsInWords(summary))),
    div(null, intervalPlot(summary, metric.name), memberMeans(summary, facts)),
    note(
      `mean of ${plural(summary.n, "sample")}`,
      without ? `, ${without} without a score` : ", none missing",
    ),
    reasonList(summary.missing, "sample"),
    el("h4", null, plural(summary.total ?? 0, "claim")),
    labelBar(labels, `${metric.name}, labels of claims`),
    el("h4", null, "Samples by value"),
    histogram(distribution, without, metric.name, run),
    more("More numbers", metricNumbers(summary)),
  );
}

/** @param {Record<string, number>} reasons @param {string} one */
function reasonList(reasons, one) {
  return list("ul", "reasons", Object.entries(reasons), ([reason, n]) => [
    `${plural(n, one)}: ${reasonInWords(reason)} `,
    el("code", null, reason),
  ]);
}

/** @param {Page.MetricSummary} summary */
function metricNumbers(summary) {
  const rows = [
    ["micro mean", number(summary.micro), "supported claims of all judged claims"],
    [
      "bounds",
      range(summary.bounds),
      "the mean if everything unassessed were unsupported, and if it were supported",
    ],
    ["judged claims", `${summary.judged ?? 0} of ${summary.total ?? 0}`, "claims with a label"],
    [
      "ungrounded claims",
      String(summary.ungrounded),
      "claims that could not be located in the text they were extracted from",
    ],
    summary.unasked > 0 && [
      "without evidence",
      String(summary.unasked),
      "samples that count 0 because nothing was retrieved or answered",
    ],
    [
      "lost to failures",
      percent(summary.failure_rate),
      "the larger of the shares of samples and claims",
    ],
  ];
  return [
    definitions(rows),
    Object.keys(summary.unassessed).length > 0 && [
      el("h4", null, "Unassessed claims"),
      reasonList(summary.unassessed, "claim"),
    ],
  ];
}

/** @param {Page.MetricSummary} summary */
function meanOf({ mean, low, high }) {
  return number(mean, digitsOf([low, high]));
}

// The mean of each judge, next to that of the panel.
/** @param {Page.MetricSummary} summary @param {Page.Overview} facts */
function memberMeans({ by_judge: means }, facts) {
  const judges = Object.entries(means);
  if (!judges.length) return null;
  const short = judgeNames(facts);
  return list("ul", "members small", judges, ([judge, { mean }]) => [
    span("quiet", data(short.get(judge) ?? judge), ` alone `),
    number(mean),
  ]);
}
