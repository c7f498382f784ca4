// The sample on the screen, and moving from it to its neighbors in the list.

import { report } from "./data.js";
import { ordered } from "./filters.js";
import { list, listedState } from "./listing.js";
import { sampleAddress } from "./route.js";

/** @import { Citation, JudgedSentence, Listed, Metric, Row } from "./data.js" */
/** @import { Entry } from "./entries.js" */

/**
 * One run's part of the sample on the screen.
 *
 * @typedef {object} Side
 * @property {number} run
 * @property {Row} row
 * @property {Metric} metric
 * @property {Line.SampleResult} result
 * @property {any[]} requests
 * @property {string[]} literals
 * @property {string | undefined} diagnosis whether retrieval or generation is to blame
 * @property {Citation[]} citations those of the answer, if it was checked whether they are right
 * @property {import("./data.js").ClaimCitation[]} cited what is right or wrong with the citations of each claim
 * @property {JudgedSentence[]} sentences that reasons are about
 * @property {Listed} listed documents of both runs in one list
 * @property {Page.Overview} facts
 * @property {Map<string, string>} short judge -> the name that is shown
 * @property {Entry[]} entries
 * @property {Entry[]} [others] those of the other run
 */

/** The sample on the screen. */
export const opened = {
  /** @type {Row | null} */
  row: null,
  /** @type {Side[]} */
  sides: [],
  run: 0,
  /** @type {string | null} */
  claim: null,
};

/** The parameters of the address of a sample as it is shown now. @param {Record<string, any>} [changed] */
export function sampleParams(changed = {}) {
  return { metric: opened.sides[0]?.metric?.name, run: opened.run, ...changed };
}

/** @param {number} step */
export function moveInSamples(step) {
  const rows = listedRows();
  const at = rows.findIndex(({ number }) => number === opened.row?.number);
  const target = rows[at + step];
  if (target) location.hash = sampleAddress(target, sampleParams());
}

// The rows that j and k step through: those of the list as the reader left it, or as it opens.
export function listedRows() {
  if (list.state === null) list.rows = ordered(report.rows, listedState());
  return list.rows;
}
