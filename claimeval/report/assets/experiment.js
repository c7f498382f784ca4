// The page of an experiment: means of every arm, paired differences to the baseline, costs, and flipped claims.

import {
  below,
  byId,
  choice,
  el,
  fill,
  form,
  intro,
  numeric,
  picture,
  scrolling,
  searchField,
  section,
  table,
} from "./elements.js";
import { claimsOfArms } from "./extraction.js";
import { chip, partName } from "./labels.js";
import {
  clustersInWords,
  dollars,
  number,
  percent,
  plural,
  pValue,
  range,
  shownEnds,
  signed,
  signedRange,
  tokensInWords,
} from "./numbers.js";
import { data } from "./text.js";
import { themes } from "./theme.js";
import { unpack } from "./unpacking.js";

const experiment = {
  table: /** @type {Page.ExperimentResult} */ ({}),
  /** @type {Record<string, any[]>} pictures that Python drew, by metric */
  pictures: {},
  /** @type {Page.ArmFlip[]} */
  flips: [],
  /** @type {string[]} */
  changes: [],
  /** @type {string | null} */
  selection: null,
  /** @type {string[]} */
  failures: [],
  arm: "",
  query: "",
};
const LISTED = 60; // flipped claims drawn at once

function drawExperiment() {
  const { table: found, selection, failures } = experiment;
  fill(
    byId("main"),
    intro(data(found.data), [
      `${plural(found.arms.length, "way")} to judge the same ${plural(found.samples, "sample")}${clustersInWords(found.samples, found.clusters, found.cluster)}. Differences are paired, arm minus baseline; the baseline is `,
      data(found.baseline),
      ".",
    ]),
    selection &&
      el("section", { class: "cautions" }, el("h2", null, "Chosen by human labels"), el("p", null, data(selection))),
    failures.length > 0 &&
      el(
        "section",
        { class: "cautions" },
        el("h2", null, "Arms without scores"),
        ...failures.map((line) => el("p", null, data(line))),
      ),
    ...Object.keys(found.arms[0].metrics).map(metricSection),
    costSection(),
    found.arms.some((arm) => arm.extraction) && claimsOfArms(found.arms),
    found.arms.some((arm) => arm.label_agreement) && peopleSection(),
    flippedSection(),
  );
}

/**
 * @param {string} metric
 * @param {number} i
 */
function metricSection(metric, i) {
  const { arms, baseline } = experiment.table;
  const rows = arms.map(({ name, metrics }) => {
    const cell = metrics[metric];
    const { value, low, high } = cell.difference ?? { value: null, low: null, high: null };
    const held =
      name === baseline
        ? [el("td", { colspan: 2, class: "quiet" }, "baseline")]
        : [[signed(value), below(signedRange([low, high]))], pValue(cell.p_adjusted)];
    return [data(name), [number(cell.mean), below(shownEnds(cell))], cell.n, ...held];
  });
  const test = "sign-flip permutation test, Holm-adjusted over the arms";
  return section(
    `metric-${i}`,
    data(metric),
    el(
      "div",
      { class: "pictures" },
      experiment.pictures[metric].map((drawn) => el("figure", null, picture(drawn))),
    ),
    scrolling(
      `metric-${i}`,
      table(
        { class: "plain differences" },
        [
          "arm",
          ["mean", "num strong"],
          ["n", "num"],
          ["difference to the baseline", "num strong"],
          ["p (Holm)", "num", test],
        ],
        rows,
      ),
    ),
  );
}

function costSection() {
  const { arms, baseline } = experiment.table;
  const rows = arms.map((arm) => [
    data(arm.name),
    arm.claims.toLocaleString("en"),
    percent(arm.unassessed_rate),
    percent(arm.parse_failure_rate),
    arm.name === baseline ? "" : `${arm.flips.toLocaleString("en")} of ${arm.compared.toLocaleString("en")}`,
    arm.cost.calls.toLocaleString("en"),
    tokensInWords(arm.cost),
    dollars(arm.cost.dollars),
    arm.median_latency === null ? "–" : `${number(arm.median_latency, 2)} s`,
  ]);
  const heads = numeric(
    "claims",
    "unassessed",
    "unreadable replies",
    "flipped",
    "calls",
    "tokens in + out",
    "cost",
    "median call",
  );
  return section("took", "Cost and speed", scrolling("took", table(null, ["arm", ...heads], rows)));
}

function peopleSection() {
  const rows = experiment.table.arms.map(
    ({ name, label_agreement: found }) =>
      found && [
        data(name),
        found.claims,
        ...[found.accuracy, found.balanced_accuracy, found.kappa].map(({ value, low, high }) => [
          number(value),
          below(range([low, high])),
        ]),
      ],
  );
  const heads = numeric("labeled claims", "accuracy", "balanced accuracy", "kappa");
  const half = experiment.selection ? ", on the choosing half" : "";
  return section("people", `Agreement with people${half}`, scrolling("people", table(null, ["arm", ...heads], rows)));
}

function flippedSection() {
  const arms = experiment.table.arms.map(({ name }) => name).filter((name) => name !== experiment.table.baseline);
  return section(
    "flipped",
    "Claims that flipped",
    el(
      "p",
      { class: "quiet" },
      "Claims that count differently in an arm and in the baseline, with the judges' explanations in both.",
    ),
    experiment.changes.length > 0 &&
      el(
        "ul",
        { class: "quiet small" },
        experiment.changes.map((line) => el("li", null, "Not counted as flips, ", data(line))),
      ),
    form(
      { class: "toolbar", role: "search" },
      searchField("", "sample, question, claim, reason …", (query) => showFlips({ query })),
      choice("Arm", [["", "all arms"], ...arms], "", (arm) => showFlips({ arm })),
    ),
    el("p", { class: "count", id: "count", role: "status" }),
    el("ol", { class: "worst", id: "flips" }),
  );
}

/** @param {{ query?: string, arm?: string }} changed */
function showFlips(changed) {
  Object.assign(experiment, changed);
  const wanted = experiment.query.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (/** @type {Page.ArmFlip} */ flip) =>
    (!experiment.arm || flip.arm === experiment.arm) &&
    wanted.every((term) =>
      [flip.sample_id, flip.question, flip.claim, flip.a_explanation, flip.b_explanation]
        .join("\n")
        .toLowerCase()
        .includes(term),
    );
  const found = experiment.flips.filter(has);
  const shown = found.length > LISTED ? `, the first ${LISTED} shown` : "";
  byId("count").textContent = `${plural(found.length, "claim")}${shown}`;
  byId("flips").replaceChildren(...found.slice(0, LISTED).map(flipEntry));
}

/** @param {Page.ArmFlip} flip */
function flipEntry(flip) {
  const side = (
    /** @type {string} */ name,
    /** @type {import("./labels.js").Label} */ label,
    /** @type {string | null} */ word,
    /** @type {string | null} */ explanation,
  ) =>
    el(
      "p",
      { class: "small" },
      el("span", { class: "quiet" }, data(name), " "),
      chip(label),
      word === null ? null : ` (${word.replaceAll("_", " ")})`,
      explanation ? [" ", data(explanation)] : null,
    );
  return el(
    "li",
    null,
    el("p", null, data(flip.claim)),
    side(experiment.table.baseline, flip.a, flip.a_word, flip.a_explanation),
    side(flip.arm, flip.b, flip.b_word, flip.b_explanation),
    el(
      "p",
      { class: "quiet small" },
      data(flip.sample_id),
      " · ",
      data(flip.question),
      " · against the ",
      data(partName(flip.evidence.part)),
    ),
  );
}

async function start() {
  themes();
  Object.assign(experiment, await unpack("experiment"));
  drawExperiment();
  showFlips({});
  performance.mark("drawn");
}

start();
