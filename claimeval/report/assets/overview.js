// The overview: what was judged, cautions, means, and worst claims.

import { claimLink, runLetter } from "./cells.js";
import { directed, otherMetrics, report } from "./data.js";
import {
  div,
  el,
  figure,
  fill,
  intro,
  list,
  note,
  numeric,
  p,
  scrolling,
  section,
  span,
  table,
} from "./elements.js";
import { diagnosisSection } from "./diagnosis.js";
import { claimSection } from "./extraction.js";
import { firstPart } from "./forwarded_part.js";
import { judgeNames, LABELS, partName, sign, spokenSign } from "./labels.js";
import { metricCard } from "./metrics.js";
import {
  clustersInWords,
  digitsOf,
  dollars,
  number,
  percent,
  plural,
  range,
  shownEnds,
  tokensInWords,
  total,
} from "./numbers.js";
import { panelSection } from "./panel.js";
import { histogram, labelBar } from "./plots.js";
import { listed } from "./route.js";
import { drawn } from "./tables.js";
import { data } from "./text.js";

/** @param {HTMLElement} main @param {number} [run] */
export function drawOverview(main, run = 0) {
  const facts = report.runs[run];
  const cards = facts.metrics.map((metric) => metricCard(metric, facts, run));
  fill(
    main,
    report.comparison ? [overviewHeading(facts, run), cautionBox(facts.cautions)] : firstPart(),
    facts.metrics.length > 0 && el("h2", { class: "unseen" }, "Metrics"),
    div("cards", cards),
    worstClaims(facts, run) || worstAnswers(facts, run),
    otherMetrics(facts).length > 0 &&
      section("scores", "Scores", drawn("scores", report.tables[run].scores)),
    Object.keys(facts.derived).length > 0 && derivedTable(facts, run),
    facts.summary.order_effects && orderSection(facts.summary.order_effects, run),
    facts.diagnosis && diagnosisSection(facts.diagnosis, run),
    facts.judges.length > 0 && judgeTable(facts, run),
    facts.summary.panel && panelSection(facts, facts.summary.panel, run),
    report.tables[run].sides &&
      section("sides", "Scores of attached runs", drawn("sides", report.tables[run].sides)),
    facts.ranks.length > 0 && rankSection(facts.ranks, run),
    facts.by_rank &&
      section(
        "by_rank",
        "Where the evidence of gold claims stands",
        p(
          "quiet",
          "Share of the gold claims with evidence at that rank that the answer has. ",
          "A dip says that what stands in the middle of the documents is lost.",
        ),
        figure(report.pictures[`by_rank/${run}`]),
        drawn("by_rank", report.tables[run].ranks),
      ),
    facts.extraction && claimSection(facts.extraction, report.tables[run].claims),
  );
}

/** @param {Page.Overview} facts @param {number} run */
function overviewHeading(facts, run) {
  const { manifest } = facts;
  const short = judgeNames(facts);
  const name = (/** @type {Record<string, any>} */ judge) =>
    data(short.get(judge.name), { title: judge.name });
  const judges = manifest.judges.flatMap((judge, i) => [i ? ", " : "", name(judge)]);
  return intro(
    [runLetter(run), data(dataName(facts))],
    [
      `${plural(facts.summary.samples, "sample")}${clustersInWords(facts.summary.samples, facts.summary.clusters, manifest.cluster)}`,
      judges.length ? [", judged by ", judges] : null,
      ".",
      manifest.extractor
        ? [
            " Claims were extracted by ",
            name(manifest.extractor),
            "; each claim was assessed against its evidence.",
          ]
        : null,
    ],
    ...(facts.front.sentence ? [el("strong", null, facts.front.sentence)] : []),
  );
}

/** @param {Page.Overview} facts */
export function dataName(facts) {
  return facts.manifest.data.path || facts.name;
}

/** @param {{ text: string }[]} cautions */
export function cautionBox(cautions) {
  if (!cautions.length) return null;
  const texts = list("ul", null, cautions, ({ text }) => data(text));
  const found = section("cautions", "Before you trust these numbers", texts);
  found.className = "cautions";
  return found;
}

/** @param {Page.Overview} facts @param {number} run */
function worstClaims({ front }, run) {
  if (!front.read.length) return null;
  return section(
    "worst",
    "First to read",
    p(
      "quiet",
      front.read.some(({ cause }) => cause)
        ? "Failed claims, one of each cause before a second."
        : "The answers with the most unsupported claims, and one claim of each.",
    ),
    list("ol", "worst", front.read, (trouble) => worstClaim(trouble, run)),
  );
}

/** @param {Page.Overview} facts @param {number} run */
function worstAnswers({ front }, run) {
  if (!front.answers.length) return null;
  const worst = list(
    "ol",
    "worst",
    front.answers,
    ({ sample_id: id, answer, ratings, explanation }) => [
      claimLink(id, { run }, data(answer)),
      p(
        "small",
        el("code", null, data(id)),
        " · ",
        data(
          Object.entries(ratings)
            .map(([name, word]) => `${name} ${word}`)
            .join(", "),
        ),
      ),
      explanation ? note(data(explanation)) : null,
    ],
  );
  return section("worst", "First to read", p("quiet", "The worst come first."), worst);
}

/** @param {Page.WorstClaim} trouble @param {number} run */
function worstClaim(trouble, run) {
  const { label, metric, score, supported, judged, votes, explanation } = trouble;
  const target = { metric, claim: trouble.subject, run };
  return [
    claimLink(trouble.sample_id, target, sign(label), span(null, data(trouble.claim))),
    p(
      "small",
      el("code", null, data(trouble.sample_id)),
      " · ",
      trouble.cause
        ? data(trouble.cause.replaceAll("_", " "))
        : [
            data(directed(metric ?? "supported")),
            ` ${number(score)}, ${supported} of ${plural(judged, "claim")} supported`,
          ],
      total(votes) > 1 && [" · ", voteCounts(votes)],
    ),
    trouble.citation
      ? note("citation: ", data(trouble.citation))
      : note(
          `${LABELS[label].word} in the `,
          data(partName(trouble.evidence.part)),
          explanation && [" · ", data(explanation)],
        ),
    !trouble.citation && p("small", data(trouble.near)),
  ];
}

/** @param {Record<string, number>} votes verdicts by label */
function voteCounts(votes) {
  return Object.entries(votes).map(([label, n], i) => [i ? " " : "", spokenSign(label), ` ${n}`]);
}

/** @param {Page.Overview} facts @param {number} run */
function judgeTable(facts, run) {
  const paid = facts.judges.map(({ cost }) => cost.dollars);
  const cost = paid.includes(null)
    ? null
    : paid.reduce((sum, dollars) => (sum ?? 0) + (dollars ?? 0), 0);
  const judges = new Set(facts.manifest.judges.map(({ name }) => name));
  const judged = (/** @type {Page.JudgeOverview} */ { labels, name: full, short: name }) => {
    const many = total(labels);
    if (!many) return span("quiet", judges.has(full) ? "none" : "extracts claims only");
    return facts.manifest.job === "score"
      ? labelBar(labels, `labels given by ${name}`)
      : many.toLocaleString("en");
  };
  const rows = facts.judges.map((judge) => [
    data(judge.short, { title: judge.name }),
    judged(judge),
    (judge.extractions + judge.assessments).toLocaleString("en"),
    reasonsInWords(judge.failed),
    [
      tokensInWords(judge.cost),
      judge.uncounted > 0 &&
        span("quiet small", ` (${plural(judge.uncounted, "reply", "replies")} without a count)`),
    ],
    judge.cost.calls ? dollars(judge.cost.dollars) : "–",
  ]);
  return section(
    "judges",
    "Judges",
    scrolling(
      "judges",
      table(
        null,
        [
          "judge",
          "verdicts",
          ["questions", "num"],
          "failed",
          ...numeric("tokens in + out", "cost of replies"),
        ],
        rows,
      ),
    ),
    note(
      callsInWords(facts.summary.cost),
      cost === null && "Some of these models have no stated price.",
      cost !== null &&
        facts.judges.some((judge) => judge.cost.calls) &&
        `Cost of all replies at the stated prices, including those paid for earlier: ${dollars(cost)}.`,
    ),
    drawn("judges", report.tables[run].cost),
  );
}

/** @param {Page.RunCost | null} cost */
function callsInWords(cost) {
  if (!cost) return "";
  const { calls, reused } = cost.total;
  const again = reused ? `, ${plural(reused, "reply", "replies")} reused from an earlier run` : "";
  return `${plural(calls, "question")} put to judges${again}. `;
}

/** @param {Page.RankOverview[]} ranks @param {number} run */
function rankSection(ranks, run) {
  return section(
    "ranks",
    "How useful the retrieved contexts are",
    p(
      "quiet",
      "Share of the samples with a context at that rank in which a judge named it as evidence for a supported claim",
      ranks[0].relevant === null ? "." : ", and in which it is a reference context.",
    ),
    figure(report.pictures[`ranks/${run}`]),
  );
}

/**
 * Metrics that are derived from the verdicts of those above; each links to its samples.
 *
 * @param {Page.Overview} facts
 * @param {number} run
 */
function derivedTable({ derived, distributions, summary }, run) {
  const rows = Object.entries(derived).map(([name, says]) => {
    const metric = summary.metrics[name];
    return [
      [
        el("a", { href: listed({ metric: name, run }) }, data(directed(name))),
        (metric.unit ?? "share") !== "share" && span("quiet", " (", data(metric.unit), ")"),
      ],
      data(says),
      number(metric.mean, digitsOf([metric.low, metric.high])),
      shownEnds(metric),
      metric.n,
      range(metric.bounds),
      data(reasonsInWords(metric.missing)),
      distributions[name] && histogram(distributions[name], total(metric.missing), name, run),
    ];
  });
  const numbers = numeric("mean", "95% interval", "n", "bounds");
  const heads = ["metric", "definition", ...numbers, "missing", "samples by value"];
  return section("derived", "Derived metrics", scrolling("derived", table(null, heads, rows)));
}

/** Why there is no score, or a failure, counted. @param {Record<string, number>} reasons */
function reasonsInWords(reasons) {
  return (
    Object.entries(reasons)
      .map(([reason, n]) => `${n} ${reason}`)
      .join(", ") || "none"
  );
}

/** What the same documents in other orders do to the labels. @param {Page.OrderEffects} effects @param {number} run */
function orderSection({ orders, claims, flipped, lost, gained, rate }, run) {
  const ends =
    rate.low === null ? "" : `, 95% interval ${percent(rate.low)} to ${percent(rate.high)}`;
  const share = rate.value === null ? "" : ` (${percent(rate.value)} of a sample's claims${ends})`;
  return section(
    "orders",
    "The order of the documents",
    p(
      null,
      `${flipped} of ${plural(claims, "claim")} flip in one of ${plural(orders, "other order")}${share}; `,
      `${plural(lost, "label")} lose support, ${gained} gain it.`,
    ),
    drawn("orders", report.tables[run].orders),
  );
}
