// The panel: agreement of the judges, disputed claims, replicates, and self-preference.

import { directed, report } from "./data.js";
import { claimLink, metricOf } from "./cells.js";
import { definitions, div, list, more, note, numeric, section, table } from "./elements.js";
import { judgeNames, LABELS, sign } from "./labels.js";
import { digitsOf, number, percent, plural, signed, signedRange } from "./numbers.js";
import { drawn } from "./tables.js";
import { data } from "./text.js";

/** @param {Page.Overview} facts @param {Page.PanelSummary} panel @param {number} run */
export function panelSection(facts, panel, run) {
  const short = judgeNames(facts);
  const labeled = panel.unanimous + panel.split;
  const worth = (run === 0 && report.agreement?.effective_votes) || null;
  const figures = [
    [
      "unanimous",
      `${percent(labeled ? panel.unanimous / labeled : null)} of ${plural(labeled, "claim")}`,
      "claims with two labels or more, all equal",
    ],
    ["ties", panel.ties.toLocaleString("en"), "such claims have no label"],
    panel.no_quorum > 0 && [
      "without a quorum",
      panel.no_quorum.toLocaleString("en"),
      "too few judges gave a label",
    ],
    ["Krippendorff's alpha", number(panel.alpha), "agreement beyond chance; 1 is full agreement"],
    ["Gwet's AC1", number(panel.ac1), "the same, less affected by a frequent label"],
    [
      "independent votes",
      worth === null ? "–" : number(worth, 1),
      worth === null
        ? "shown by labels of people: claimeval agreement"
        : "what the judges are worth, by the errors that labels of people show",
    ],
  ];
  return section(
    "panel",
    "Agreement of the judges",
    div(
      "columns",
      definitions(figures),
      div(
        null,
        drawn("panel", report.tables[run].pairs),
        noiseTable(panel, short),
        preferenceTable(panel),
      ),
    ),
    panel.disputes.length > 0 && disputes(panel.disputes, short, run),
  );
}

/** @param {Page.PanelSummary} panel @param {Map<string, string>} short */
function noiseTable({ noise }, short) {
  const judges = Object.entries(noise ?? {}).filter(([, { claims }]) => claims);
  if (!judges.length) return null;
  return table(
    null,
    ["repeats", ...numeric("contradicted itself", "of a verdict's variance")],
    judges.map(([judge, { claims, inconsistent, variance_share: share }]) => [
      [data(short.get(judge) ?? judge), " and itself"],
      `${inconsistent} of ${claims}`,
      percent(share),
    ]),
  );
}

/** @param {Page.PanelSummary} panel */
function preferenceTable({ self_preference: preferences }) {
  if (!preferences?.length) return null;
  return table(
    null,
    [
      ["favors its own family", null, "how much more than other judges do"],
      ...numeric("by", "95% interval", "samples"),
    ],
    preferences.map(({ metric, family, value, low, high, n, because }) => [
      [data(family), " on ", data(directed(metric))],
      signed(value, digitsOf([low, high])),
      low === null ? data(because ?? "–") : signedRange([low, high]),
      n,
    ]),
  );
}

/** @param {Page.Dispute[]} disputed @param {Map<string, string>} short @param {number} run @param {boolean} [open] */
export function disputes(disputed, short, run, open = false) {
  const vote = (/** @type {[string, string]} */ [judge, word]) => [
    data(short.get(judge) ?? judge),
    " ",
    Object.hasOwn(LABELS, word) ? [sign(word), ` ${LABELS[word].word}`] : data(word),
  ];
  const entry = (/** @type {Page.Dispute} */ { sample, subject, claim, of, evidence, votes }) => [
    claimLink(sample, { metric: metricOf(of, evidence), claim: subject, run }, data(claim)),
    note(Object.entries(votes).map((pair, i) => [i ? " · " : "", vote(pair)])),
  ];
  const summary = `The ${plural(disputed.length, "claim")} that divide them most`;
  return more(summary, list("ol", "worst", disputed, entry), open);
}
