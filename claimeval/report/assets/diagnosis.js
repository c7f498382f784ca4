// Diagnosis: whether retrieval or generation causes the low scores of a run.

import { report } from "./data.js";
import { el, figure, list, quiet, section } from "./elements.js";
import { plural } from "./numbers.js";

/**
 * Whether retrieval or generation is to blame, as a square whose cells lead to their samples.
 *
 * @param {Page.DiagnosisCounts} counts
 * @param {number} run
 */
export function diagnosisSection(counts, run) {
  const wrong = Object.entries(counts.incorrect).filter(([, n]) => n);
  return section(
    "diagnosis",
    "Retrieval or generation",
    quiet(
      `High is ${counts.threshold} or more. Each cell links to its samples`,
      counts.undefined ? `; ${plural(counts.undefined, "sample")} without one of the two are in no cell` : null,
      ".",
    ),
    el(
      "div",
      { class: "beside" },
      figure(report.pictures[`diagnosis/${run}`]),
      counts.correctness &&
        el(
          "div",
          null,
          el("p", null, wrong.length ? "Low correctness too:" : "No sample in the square has low correctness."),
          list("ul", "reasons", wrong, ([cell, n]) => `${n} of ${counts.cells[cell]}: ${report.cells[cell]}`),
        ),
    ),
  );
}
