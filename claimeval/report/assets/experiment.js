// The page of an experiment: means of every arm, paired differences to the baseline, costs, and flipped claims.

import {
  byId,
  choice,
  div,
  el,
  figure,
  fill,
  form,
  intro,
  list,
  note,
  p,
  searchField,
  section,
  span,
} from "./elements.js";
import { chip, partName } from "./labels.js";
import { clustersInWords, plural } from "./numbers.js";
import { drawn } from "./tables.js";
import { data, has, terms } from "./text.js";
import { themes } from "./theme.js";
import { unpack } from "./unpacking.js";

/** @import { Label } from "./labels.js" */
/** @import { Table } from "./tables.js" */

/**
 * @typedef {{ table: Page.ExperimentResult, pictures: Record<string, any[]>, tables: Record<string, Table>,
 *   flips: Page.ArmFlip[], changes: string[], selection: string | null, failures: string[] }} Content
 */
const experiment = /** @type {Content} */ ({});
const filter = { arm: "", query: "" };
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
    selection && cautions("Chosen by human labels", [selection]),
    failures.length > 0 && cautions("Arms without scores", failures),
    ...Object.keys(found.arms[0].metrics).map(metricSection),
    tableSection("took", "cost"),
    tableSection("claims-of-arms", "claims"),
    tableSection("people", "people"),
    tableSection("gain", "gain"),
    flippedSection(),
  );
}

/** @param {string} title @param {string[]} lines */
function cautions(title, lines) {
  const texts = lines.map((line) => p(null, data(line)));
  return el("section", { class: "cautions" }, el("h2", null, title), texts);
}

/** @param {string} metric @param {number} i */
function metricSection(metric, i) {
  return section(
    `metric-${i}`,
    data(experiment.tables[metric].title),
    div("pictures", experiment.pictures[metric].map(figure)),
    drawn(`metric-${i}`, experiment.tables[metric], { attributes: { class: "plain differences" } }),
  );
}

/** @param {string} id @param {string} name */
function tableSection(id, name) {
  const found = experiment.tables[name];
  return found && section(id, found.title, drawn(id, found));
}

function flippedSection() {
  const arms = experiment.table.arms
    .map(({ name }) => name)
    .filter((name) => name !== experiment.table.baseline);
  return section(
    "flipped",
    "Claims that flipped",
    p(
      "quiet",
      "Claims that count differently in an arm and in the baseline, with the judges' explanations in both.",
    ),
    experiment.changes.length > 0 &&
      list("ul", "quiet small", experiment.changes, (line) => [
        "Not counted as flips, ",
        data(line),
      ]),
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
  Object.assign(filter, changed);
  const wanted = terms(filter.query);
  const texts = (/** @type {Page.ArmFlip} */ flip) =>
    [flip.sample_id, flip.question, flip.claim, flip.a_explanation, flip.b_explanation]
      .join("\n")
      .toLowerCase();
  const found = experiment.flips.filter(
    (flip) => (!filter.arm || flip.arm === filter.arm) && has(texts(flip), wanted),
  );
  const shown = found.length > LISTED ? `, the first ${LISTED} shown` : "";
  byId("count").textContent = `${plural(found.length, "claim")}${shown}`;
  byId("flips").replaceChildren(...found.slice(0, LISTED).map(flipEntry));
}

/** @param {Page.ArmFlip} flip */
function flipEntry(flip) {
  const side = (
    /** @type {string} */ name,
    /** @type {Label} */ label,
    /** @type {string | null} */ word,
    /** @type {string | null} */ explanation,
  ) =>
    p(
      "small",
      span("quiet", data(name), " "),
      chip(label),
      word === null ? null : ` (${word.replaceAll("_", " ")})`,
      explanation ? [" ", data(explanation)] : null,
    );
  return el(
    "li",
    null,
    p(null, data(flip.claim)),
    side(experiment.table.baseline, flip.a, flip.a_word, flip.a_explanation),
    side(flip.arm, flip.b, flip.b_word, flip.b_explanation),
    note(
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
