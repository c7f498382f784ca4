// Comparison of two runs: changed settings, differences of the means, and flipped claims.

import { causeCard, causeSection } from "./causes.js";
import { claimLink, metricOf, runLetter } from "./cells.js";
import { report } from "./data.js";
import {
  div,
  el,
  figure,
  fill,
  list,
  note,
  p,
  picture,
  scrolling,
  section,
  span,
  table,
} from "./elements.js";
import { firstPart } from "./forwarded_part.js";
import { LABELS, partName, sign } from "./labels.js";
import { clustersInWords, plural } from "./numbers.js";
import { listed } from "./route.js";
import { drawn } from "./tables.js";
import { data } from "./text.js";

/** @param {HTMLElement} main */
export function drawComparison(main) {
  const { comparison } = report;
  if (comparison === null) return;
  fill(
    main,
    firstPart(),
    section(
      "differences",
      "Results",
      el("figure", { class: "narrow" }, picture(report.pictures.differences)),
      el("figure", { class: "broad" }, picture(report.pictures["differences/wide"])),
      drawn("differences", report.compared.differences, {
        attributes: { class: "plain differences" },
      }),
      report.compared.discordant && [
        el("h3", { id: "discordant" }, report.compared.discordant.title),
        drawn("discordant", report.compared.discordant, { attributes: { class: "plain" } }),
      ],
      p("quiet", samplesInWords(comparison)),
    ),
    changedSection(),
    frontSection(comparison),
    changeTable(
      "documents",
      "Documents that changed",
      "What each adds to the difference, and its samples.",
      comparison.culprit.documents.map(({ name }) => ({ document: name })),
    ),
    changeTable(
      "where",
      "Where the cause is",
      "What it adds in each slice, and the samples of the slice.",
      comparison.culprit.slices.map(({ field, value }) => ({ is: `${field}=${value}` })),
    ),
    causeSection(comparison.culprit.metric),
    comparison.settings.length > 0 &&
      section(
        "settings",
        "Settings that differ",
        el(
          "ul",
          { class: "settings" },
          comparison.settings.map((text) => el("li", null, data(text))),
        ),
      ),
    flipSection(comparison),
  );
}

/** Nothing is explained that may be chance. @param {boolean} significant */
function whyTitle(significant) {
  return significant ? "Why it changed" : "What the difference consists of, which may be chance";
}

/** The samples that changed: question, gold answer, and the answer before and after. */
function changedSection() {
  const { changed } = report;
  if (!changed.length) return null;
  const rows = changed.map((one) => [
    [
      claimLink(
        one.sample_id,
        { metric: one.metric, claim: one.subject, run: one.run === "b" ? 1 : 0 },
        data(one.question || one.sample_id),
      ),
      note(one.verdict),
    ],
    data(one.gold),
    data(one.before),
    data(one.answer),
  ]);
  return section(
    "changed",
    "Samples that changed",
    p("quiet", el("a", { href: listed({ show: "flipped" }) }, "All samples that changed"), "."),
    scrolling(
      "changed",
      table({ class: "plain changed-rows" }, ["question", "gold answer", "before", "after"], rows),
    ),
  );
}

/** How many samples are in both runs, and what differs in them. @param {Page.PairedRuns} comparison */
function samplesInWords(comparison) {
  return [
    runLetter(0),
    data(comparison.a),
    " and ",
    runLetter(1),
    data(comparison.b),
    `: ${plural(comparison.shared, "sample")} in both${clustersInWords(comparison.shared, comparison.clusters, comparison.cluster)}`,
    comparison.only_a ? `, ${comparison.only_a} only in a` : null,
    comparison.only_b ? `, ${comparison.only_b} only in b` : null,
    comparison.changed_texts ? `, ${comparison.changed_texts} with other texts` : null,
    comparison.changed_claims ? `, ${comparison.changed_claims} with other claims` : null,
    ". Differences are b − a.",
  ];
}

/**
 * The causes of the metric that the headline is about, next to retrieval and generation in both runs.
 *
 * @param {Page.PairedRuns} comparison
 */
function frontSection({ culprit, metrics }) {
  const metric = metrics.find((one) => one.metric === culprit.metric && one.because.length);
  const squares = [0, 1].filter((run) => report.pictures[`diagnosis/${run}`]);
  if (!metric && !squares.length) return null;
  return section(
    "because",
    metric ? whyTitle(culprit.significant) : "Retrieval or generation",
    metric && p("quiet", "The parts add up to the difference b − a. Each links to its samples."),
    culprit.separate &&
      p(
        "quiet",
        "To tell apart what changed at the same time: ",
        el("code", null, data(culprit.separate)),
      ),
    div(
      "beside why-front",
      metric && causeCard(metric),
      div(
        "squares",
        squares.map((run) =>
          div(
            null,
            el("h3", null, runLetter(run), "Retrieval or generation"),
            figure(report.pictures[`diagnosis/${run}`]),
          ),
        ),
      ),
    ),
  );
}

/**
 * A table of what the headline rests on; its rows lead to their samples.
 *
 * @param {string} name
 * @param {string} title
 * @param {string} says
 * @param {Record<string, string>[]} queries of the rows; a row without one leads nowhere
 */
function changeTable(name, title, says, queries) {
  const { metric } = report.comparison?.culprit ?? {};
  const shown = report.compared[name];
  if (!shown?.rows.length) return null;
  const href = (/** @type {number} */ i) => queries[i] && listed({ metric, ...queries[i] });
  return section(
    name,
    title,
    p("quiet", says),
    drawn(name, shown, { href, attributes: { class: "plain" } }),
  );
}

/** @param {Page.PairedRuns} comparison */
function flipSection({ compared, relabeled, labeled_once, flips }) {
  if (!report.flipped) return null; // no metric is over claims
  if (!compared) return section("flips", report.flipped);
  const others = [
    labeled_once && `${plural(labeled_once, "claim")} with a label in one run only`,
    relabeled && `${plural(relabeled, "claim")} with a different label that counts the same`,
  ].filter(Boolean);
  const other = (/** @type {string | null} */ word) =>
    word === null ? "" : ` (${word.replaceAll("_", " ")})`;
  const all = el("a", { href: listed({ show: "flipped" }) }, "all samples that changed");
  const entry = (
    /** @type {(typeof flips)[number]} */ {
      a,
      b,
      a_word,
      b_word,
      claim,
      sample_id,
      subject,
      of,
      evidence,
    },
  ) => [
    claimLink(
      sample_id,
      { metric: metricOf(of, evidence), claim: subject },
      sign(a),
      "→",
      sign(b),
      span(null, data(claim)),
    ),
    note(
      `${LABELS[a].word}${other(a_word)} → ${LABELS[b].word}${other(b_word)} against the `,
      data(partName(evidence.part)),
      " · claim of the ",
      data(partName(of)),
      " · ",
      data(sample_id),
    ),
  ];
  return section(
    "flips",
    report.flipped,
    p(
      "quiet",
      "Claims of both runs that count differently",
      others.length > 0 && `; not counted as flips: ${others.join(", ")}`,
      ". See ",
      all,
      ".",
    ),
    flips.length > 0 && list("ol", "worst", flips, entry),
  );
}
