// Comparison of two runs: changed settings, differences of the means, and flipped claims.

import { causeSection } from "./causes.js";
import { runLetter } from "./cells.js";
import { report } from "./data.js";
import { el, fill, intro, picture, section } from "./elements.js";
import { LABELS, partName, sign } from "./labels.js";
import { clustersInWords, plural } from "./numbers.js";
import { cautionBox } from "./overview.js";
import { address, rowOf, sampleAddress } from "./route.js";
import { drawn } from "./tables.js";
import { data } from "./text.js";

/** @param {HTMLElement} main */
export function drawComparison(main) {
  const { comparison } = report;
  if (comparison === null) return;
  fill(
    main,
    intro("Two runs on the same samples", [
      runLetter(0),
      data(comparison.a),
      " and ",
      runLetter(1),
      data(comparison.b),
      `: ${plural(comparison.shared, "shared sample")}${clustersInWords(comparison.shared, comparison.clusters, comparison.cluster)}`,
      comparison.only_a ? `, ${comparison.only_a} only in a` : null,
      comparison.only_b ? `, ${comparison.only_b} only in b` : null,
      ". Differences are b − a.",
    ]),
    cautionBox(comparisonCautions(comparison)),
    causeSection(),
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
    section(
      "differences",
      "Results",
      el("figure", null, picture(report.pictures.differences)),
      drawn("differences", report.compared.differences, { attributes: { class: "plain differences" } }),
    ),
    flipSection(comparison),
  );
}

/** @param {Page.PairedRuns} comparison */
function comparisonCautions({ changed_texts, changed_claims, shared, abstained }) {
  const found = [];
  if (changed_texts)
    found.push({
      text: `${changed_texts} of ${shared} shared samples have different texts in the two runs (another answer, other contexts or an edited reference), so the difference does not come from the judges alone.`,
    });
  if (changed_claims)
    found.push({
      text: `${changed_claims} of ${shared} shared samples were split into different claims; labels are compared only for claims with the same words in both runs.`,
    });
  return [...abstained.map((text) => ({ text })), ...found];
}

/** @param {Page.PairedRuns} comparison */
function flipSection({ compared, flipped, relabeled, labeled_once, flips }) {
  const others = [
    labeled_once && `${plural(labeled_once, "claim")} with a label in one run only`,
    relabeled && `${plural(relabeled, "claim")} with a different label that counts the same`,
  ].filter(Boolean);
  const other = (/** @type {string | null} */ word) => (word === null ? "" : ` (${word.replaceAll("_", " ")})`);
  const all = el("a", { href: address(["samples"], { show: "flipped" }) }, "all samples that changed");
  const entries = flips.map((flip) => {
    const row = rowOf(flip.sample_id);
    const metric = report.metrics.find((m) => m.against === flip.evidence.part && m.claims_of === flip.of);
    return el(
      "li",
      null,
      el(
        "a",
        {
          class: "worst-claim",
          href: row && sampleAddress(row, { metric: metric?.name, claim: flip.subject }),
        },
        sign(flip.a),
        "→",
        sign(flip.b),
        el("span", null, data(flip.claim)),
      ),
      el(
        "p",
        { class: "quiet small" },
        `${LABELS[flip.a].word}${other(flip.a_word)} → ${LABELS[flip.b].word}${other(flip.b_word)} against the `,
        data(partName(flip.evidence.part)),
        " · claim of the ",
        data(partName(flip.of)),
        " · ",
        data(flip.sample_id),
      ),
    );
  });
  return section(
    "flips",
    `${flipped} of ${plural(compared, "claim")} flipped`,
    el(
      "p",
      { class: "quiet" },
      "Claims of both runs that count differently",
      others.length > 0 && `; not counted as flips: ${others.join(", ")}`,
      ". See ",
      all,
      ".",
    ),
    flips.length > 0 && el("ol", { class: "worst" }, entries),
  );
}
