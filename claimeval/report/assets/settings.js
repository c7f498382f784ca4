// Settings of a run: prompts in full, judges with their settings, served models, versions.

import { runLetter } from "./cells.js";
import { report } from "./data.js";
import { definitions, div, el, fill, intro, note, p } from "./elements.js";
import { plural } from "./numbers.js";
import { data, visible } from "./text.js";

/** @param {HTMLElement} main */
export function drawSettings(main) {
  fill(
    main,
    intro(
      "Prompts and judges",
      "Everything that decides the numbers, apart from the texts and the replies.",
    ),
    report.runs.map(runSettings),
  );
}

/** @param {Page.Overview} facts @param {number} run */
function runSettings(facts, run) {
  const { manifest } = facts;
  const { extractor, judges } = manifest;
  const apart = extractor && judges.every(({ name }) => name !== extractor.name);
  return [
    report.runs.length > 1 && el("h2", { class: "run-title" }, runLetter(run), data(facts.name)),
    el("section", null, el("h2", null, "Prompts"), manifest.prompts.map(promptSettings)),
    el(
      "section",
      null,
      el("h2", null, "Judges"),
      [...judges, ...(apart ? [extractor] : [])].map((judge) =>
        judgeSettings(judge, facts, judge.name === extractor?.name),
      ),
    ),
    el(
      "section",
      null,
      el("h2", null, "Versions"),
      definitions(settingsInWords(Object.entries(manifest.versions))),
      note(`This page was written by claimeval ${report.version}.`),
    ),
  ];
}

/** @param {Page.PromptRecord} prompt */
function promptSettings(prompt) {
  return el(
    "details",
    { class: "prompt" },
    el(
      "summary",
      null,
      data(`${prompt.step}: ${prompt.name}`),
      " ",
      el(
        "code",
        { class: "quiet small", title: prompt.digest },
        `SHA-256 ${prompt.digest.slice(0, 12)}…`,
      ),
    ),
    p(
      "small",
      `SHA-256 of the file${Object.keys(prompt.parameters).length ? " and its parameters" : ""}: `,
      el("code", { class: "long" }, prompt.digest),
    ),
    el("pre", { class: "text", tabindex: "0" }, visible(prompt.source)),
  );
}

/** @param {Record<string, any>} judge @param {Page.Overview} facts @param {boolean} extracts */
function judgeSettings(judge, facts, extracts) {
  const asked = facts.judges.find(({ name }) => name === judge.name);
  const served = Object.entries(asked?.served_models ?? {}).map(
    ([model, n]) => `${model} (${plural(n, "reply", "replies")})`,
  );
  const { manifest } = facts;
  const judges = manifest.judges.some((other) => other.name === judge.name);
  const { name, model, endpoint, learned, settings } = judge;
  const { extra, key_variable: _, ...sent } = settings;
  const given = Object.entries({ model, endpoint, ...sent, ...extra, ...learned }).filter(
    ([, value]) => value !== null,
  );
  return div(
    "judge",
    el("h3", null, data(name)),
    extracts && note("also extracts the claims"),
    definitions([
      ...settingsInWords(given),
      judges && [
        "asked with",
        data(asked?.prompts.join(", ") || "imported; its prompt is not known"),
      ],
      ["served models", data(served.join(", ") || "not reported")],
    ]),
  );
}

/** The names of settings with their values. @param {[string, any][]} settings */
export function settingsInWords(settings) {
  return settings.map(([name, value]) => [
    data(name.replaceAll("_", " ")),
    data(typeof value === "object" ? JSON.stringify(value) : String(value)),
  ]);
}
