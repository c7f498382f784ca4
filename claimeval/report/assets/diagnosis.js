// Diagnosis: whether retrieval or generation causes the low scores of a run.

import { report } from "./data.js";
import { div, figure, list, p, section } from "./elements.js";
import { plural } from "./numbers.js";

/**
 * Whether retrieval or generation is to blame, as a square whose cells lead to their samples.
 *
 * @param {Page.DiagnosisCounts} counts
 * @param {number} run
 */
export function diagnosisSection(counts, run) {
  const wrong = Object.entries(counts.contradicting).filter(([, n]) => n);
  return section(
    "diagnosis",
    "Retrieval or generation",
    p(
      "quiet",
      `High is ${counts.threshold} or more. Each cell links to its samples`,
      counts.undefined
        ? `; ${plural(counts.undefined, "sample")} without one of the two are in no cell`
        : null,
      ".",
    ),
    div(
      "beside",
      figure(report.pictures[`diagnosis/${run}`]),
      counts.correctness &&
        div(
          null,
          p(
            null,
            wrong.length
              ? "Contradict the gold answer:"
              : "No answer in the square contradicts the gold answer.",
          ),
          list(
            "ul",
            "reasons",
            wrong,
            ([cell, n]) => `${n} of ${counts.cells[cell]}: ${report.cells[cell]}`,
          ),
        ),
    ),
  );
}
