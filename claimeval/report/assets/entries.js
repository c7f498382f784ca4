// The claims of a sample with their labels.

import { claimsOf, isWhole } from "./data.js";
import { labelOf } from "./labels.js";

/** @import { Metric } from "./data.js" */
/** @import { Label } from "./labels.js" */

/**
 * A claim with its label, or the reason why it has none.
 *
 * @typedef {object} Entry
 * @property {Line.Claim} claim
 * @property {number} number
 * @property {Line.Assessment | null} assessment
 * @property {Label} label
 * @property {string | null | undefined} because
 */

/** The claims of one metric. @param {Line.SampleResult} result @param {Metric} metric @returns {Entry[]} */
export function entriesOf(result, metric) {
  const found = new Map(
    result.assessments.filter((a) => isWhole(a, metric.against)).map((a) => [a.subject, a]),
  );
  const score = result.scores?.[metric.name];
  return claimsOf(result, metric.claims_of).map((claim, i) => {
    const assessment = found.get(claim.id) ?? null;
    const because = assessment ? assessment.unassessed : score?.because;
    return { claim, number: i + 1, assessment, label: labelOf(assessment), because };
  });
}

/** The claim of the other run that says the same, word for word. @param {Line.Claim} claim @param {Entry[]} others */
export function sameClaim(claim, others) {
  const same = others.filter((entry) => entry.claim.text === claim.text);
  return same.find((entry) => entry.claim.id === claim.id) ?? same[0];
}
