// One sample: its scores, the text with its claims marked, the verdicts, and the evidence next to them.

import { claimList, markedText, showVerdict } from "./claims.js";
import { runLetter } from "./cells.js";
import { differing } from "./difference.js";
import { entriesOf, sameClaim } from "./entries.js";
import { metricTabs, sampleHead } from "./heading.js";
import { opened, sampleParams } from "./opened.js";
import { claimsOf, detail, directed, documentsOf, report, textOf } from "./data.js";
import {
  all,
  button,
  byId,
  el,
  fill,
  list,
  note,
  numeric,
  p,
  scrolling,
  section,
  span,
  table,
} from "./elements.js";
import { evidencePanel } from "./evidence.js";
import { showExchange } from "./exchange.js";
import { locatedClaims } from "./located.js";
import { judgeNames, partName, reasonInWords } from "./labels.js";
import { matrix } from "./matrix.js";
import { number, plural } from "./numbers.js";
import { rewrite, rowOf, sampleAddress } from "./route.js";
import { block, data } from "./text.js";

/** @import { Entry } from "./entries.js" */
/** @import { Side } from "./opened.js" */

/**
 * @param {HTMLElement} main
 * @param {string} name
 * @param {URLSearchParams} params
 * @param {() => boolean} current whether the reader still waits for it
 */
export async function drawSample(main, name, params, current) {
  const row = rowOf(name);
  if (!row) {
    const everything = el("a", { href: "#/samples" }, "All samples");
    fill(main, el("h1", null, "No such sample"), [
      p(null, "The report has no sample called ", data(name), ". ", everything),
    ]);
    return;
  }
  const full = await detail(row.number);
  if (!current()) return;
  const metric =
    report.metrics.find((m) => !m.derived && m.name === params.get("metric")) ?? report.metrics[0];
  opened.row = row;
  opened.run = full.results.length > 1 && params.get("run") === "1" ? 1 : 0;
  opened.claim = params.get("claim");
  opened.sides = full.results.map((result, run) => ({
    run,
    row,
    metric,
    result,
    requests: full.requests[run],
    literals: full.literals,
    diagnosis: full.diagnosis[run],
    citations: full.citations[run],
    cited: full.cited[run],
    sentences: full.sentences[run],
    listed: full.documents,
    facts: report.runs[run],
    short: judgeNames(report.runs[run]),
    entries: metric?.claims_of ? entriesOf(result, metric) : [],
  }));
  if (!metric?.claims_of) {
    main.replaceChildren(
      sampleHead(row),
      metricTabs(row, metric),
      ...opened.sides.map(sampleWithoutClaims),
    );
    return;
  }
  if (opened.sides.length > 1)
    for (const side of opened.sides) side.others = opened.sides[1 - side.run].entries;
  fill(
    main,
    sampleHead(row),
    metricTabs(row, metric),
    el(
      "div",
      { class: opened.sides.length > 1 ? "sides three" : "sides" },
      opened.sides.map(sidePanel),
      el("div", { id: "evidence" }),
    ),
    opened.sides.map(citationSection),
    el("div", { id: "matrix-place" }),
    opened.sides.map(derivedScores),
  );
  choose(opened.claim, opened.run, true);
}

/** @type {Record<string, string>} */
const CITATIONS = {
  right: "right",
  misplaced: "misplaced",
  unfounded: "unfounded",
  unresolved: "name no document",
  missing: "missing",
  unknown: "not known",
};

/** The citations of the answer: how many are right, misplaced or missing, and each that is not right. @param {Side} side */
function citationSection({ cited, result, run, row }) {
  if (!cited.length || opened.sides[run].metric.claims_of !== "answer") return null;
  const id = `citations-${run}`;
  const counts = Object.entries(CITATIONS).flatMap(([kind, word]) => {
    const n = cited.filter(([, one]) => one === kind).length;
    return n ? [`${n} ${word}`] : [];
  });
  const texts = new Map(claimsOf(result, "answer").map(({ id: claim, text }) => [claim, text]));
  const wrong = cited.filter(([, , words]) => words);
  const entry = (/** @type {import("./data.js").ClaimCitation} */ [claim, kind, words]) => [
    el(
      "a",
      { href: sampleAddress(row, { metric: opened.sides[run].metric.name, claim, run }) },
      data(texts.get(claim) ?? claim),
    ),
    note(el("strong", null, CITATIONS[kind]), ": ", data(words)),
  ];
  return section(
    id,
    [runLetter(run), "Citations"],
    p("quiet", `Of ${plural(cited.length, "claim")}: ${counts.join(", ")}.`),
    wrong.length > 0 && list("ul", "worst", wrong, entry),
  );
}

/** The derived metrics of this sample. @param {Side} side */
function derivedScores({ result, facts, run }) {
  const found = Object.entries(result.scores ?? {}).filter(([metric]) =>
    Object.hasOwn(facts.derived, metric),
  );
  if (!found.length) return null;
  const id = `derived-${run}`;
  const rows = found.map(([metric, score]) => [
    data(directed(metric)),
    data(facts.derived[metric]),
    score.judged ? `${score.hits ?? 0} of ${score.judged}` : "",
    score.because ? data(score.because) : number(score.value ?? 0),
  ]);
  return section(
    id,
    [runLetter(run), "Derived metrics"],
    scrolling(id, table(null, ["metric", "definition", ...numeric("counted", "score")], rows)),
  );
}

/** A sample of a run without claims: its texts, and what each judge replied about them. @param {Side} side */
function sampleWithoutClaims(side) {
  const { result, run, short } = side;
  const { sample, assessments = [] } = result;
  const inWords = (
    /** @type {{ label?: string | null, unassessed?: string | null }} */ { label, unassessed },
  ) =>
    label === undefined || label === null
      ? reasonInWords(unassessed)
      : el("strong", null, data(label));
  const verdict = (/** @type {Line.Verdict} */ one) => {
    const why = one.explanation && [" · ", data(one.explanation)];
    return [data(short.get(one.judge) ?? one.judge), ": ", inWords(one), why];
  };
  const rows = assessments.map((one) => [
    data(one.subject),
    data(one.question),
    inWords(one),
    list("ul", "reasons", one.verdicts, verdict),
  ]);
  const texts = ["answer", "reference", "contexts", "reference_contexts"].flatMap((part) =>
    documentsOf(sample, part).map(({ id, text }) => [part, id, text]),
  );
  return el(
    "section",
    { class: "side", "data-run": run, "aria-labelledby": `assessments-${run}` },
    el("h2", { id: `assessments-${run}` }, runLetter(run), "Assessments and texts"),
    result.claims?.length > 0 && locatedClaims(side),
    rows.length > 0 &&
      !result.claims?.length &&
      scrolling(
        `assessments-${run}`,
        table(null, ["subject", "question", "label", "verdicts"], rows),
      ),
    texts.map(([part, id, text]) => [
      el(
        "h3",
        null,
        capital(partName(part)),
        id !== part && [" ", el("code", { class: "quiet small" }, data(id))],
      ),
      p(null, block(text)),
    ]),
  );
}

/** @param {Side} side */
function sidePanel(side) {
  const { result, metric, run, entries } = side;
  const text = textOf(result.sample, metric.claims_of);
  const select = selection(run);
  const extracted = (/** @type {Line.Call} */ call) =>
    call.step === "extract" && call.part === metric.claims_of;
  const repeats = claimsOf(result, metric.claims_of).reduce(
    (sum, claim) => sum + (claim.repeats ?? 0),
    0,
  );
  return el(
    "section",
    {
      class: "side",
      "data-run": run,
      "aria-label": `${opened.sides.length > 1 ? `${"ab"[run]}: ` : ""}${partName(metric.claims_of)}`,
    },
    el(
      "h2",
      null,
      runLetter(run),
      capital(partName(metric.claims_of)),
      opened.sides.length > 1 && span("quiet", " ", data(side.facts.name)),
    ),
    text
      ? markedText(text, side, select, differences(side))
      : p("quiet", text === null ? "The sample has none." : "It is empty."),
    el(
      "h2",
      null,
      `Claims (${entries.length})`,
      button("link small", () => showExchange(side, extracted), "how they were extracted"),
    ),
    repeats > 0 && note(`${plural(repeats, "repeated claim")} merged.`),
    claimList(side, select),
  );
}

/** @param {Side} side */
function differences({ run, metric }) {
  if (opened.sides.length < 2) return [];
  const [a, b] = opened.sides.map(({ result }) => textOf(result.sample, metric.claims_of) ?? "");
  return a === b ? [] : differing(a, b)[run];
}

/** @param {string} text */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * What a click on a piece of the text or on a claim does: of several claims it takes the one after the chosen one, unless
 * `same` says that the chosen one is meant.
 *
 * @param {number} run
 */
function selection(run) {
  /** @param {string[]} claims @param {boolean} [same] */
  return (claims, same = false) => {
    const shown = claimIn(opened.sides[run], opened.sides[opened.run], opened.claim);
    // A claim that both runs have opens in both, but only one of the two was chosen.
    if (same && claims.includes(shown ?? "")) return;
    const at = opened.run === run ? claims.indexOf(opened.claim ?? "") : -1;
    choose(claims[(at + 1) % claims.length], run);
  };
}

/**
 * The id of the chosen claim in a run: its own claim, or the same claim of the other run.
 *
 * @param {Side} one
 * @param {Side} side the run whose claim is chosen
 * @param {string | null} chosen
 */
function claimIn(one, side, chosen) {
  if (one === side || chosen === null) return chosen;
  const entry = side.entries.find(({ claim }) => claim.id === chosen);
  return entry ? (sameClaim(entry.claim, one.entries)?.claim.id ?? null) : null;
}

/**
 * Makes a claim the chosen one: opens it, marks its pieces, shows its evidence, and puts it into the address.
 *
 * @param {string | null} claim
 * @param {number} [run]
 * @param {boolean} [first] whether the sample was only now opened
 */
function choose(claim, run = opened.run, first = false) {
  const side = opened.sides[run];
  opened.run = run;
  opened.claim = side.entries.find((entry) => entry.claim.id === claim)?.claim.id ?? null;
  const chosen = opened.claim;
  const wanted = opened.sides.map((one) => claimIn(one, side, chosen));
  const inside = (/** @type {HTMLElement} */ node) => {
    const at = Number(/** @type {HTMLElement | null} */ (node.closest(".side"))?.dataset.run);
    return wanted[at] ?? null;
  };
  for (const node of all("details.claim"))
    node.toggleAttribute("open", node.dataset.claim === inside(node));
  for (const node of all("mark.piece, .pin")) {
    const ids = (node.dataset.claims ?? node.dataset.claim ?? "").split(" ");
    node.classList.toggle("chosen", ids.includes(inside(node) ?? ""));
  }
  const pane = byId("evidence");
  pane.replaceChildren(evidencePanel(opened.sides, run, chosen));
  pane.classList.toggle("open", chosen !== null);
  const place = byId("matrix-place");
  if (first || place.dataset.run !== String(run)) {
    place.dataset.run = String(run);
    fill(place, matrix(side));
  }
  if (opened.row) rewrite(sampleAddress(opened.row, sampleParams({ claim: chosen, run })));
  if (chosen === null) return;
  const card = all(`.side[data-run="${run}"] details.claim[open]`)[0];
  card?.closest("li")?.toggleAttribute("hidden", false);
  card?.scrollIntoView({ block: first ? "center" : "nearest" });
  all("summary", card)[0]?.focus({ preventScroll: true });
  const passage = pane.querySelector(".passage");
  if (passage && getComputedStyle(pane).overflowY === "auto")
    pane.scrollTop +=
      passage.getBoundingClientRect().top -
      pane.getBoundingClientRect().top -
      pane.clientHeight / 3;
}

/**
 * Goes to another claim of the run that is looked at.
 *
 * @param {number} step
 * @param {(entry: Entry) => boolean} [wanted] of which claims the next is taken
 */
export function moveInClaims(step, wanted = () => true) {
  const { entries } = opened.sides[opened.run] ?? { entries: [] };
  const at = entries.findIndex(({ claim }) => claim.id === opened.claim);
  const before = at < 0 ? entries : entries.slice(0, at);
  const next = step > 0 ? entries.slice(at + 1).find(wanted) : before.findLast(wanted);
  if (next) choose(next.claim.id);
}

/** Shows the request of the first judge about the chosen claim, and the reply. */
export function showChosenVerdict() {
  const side = opened.sides[opened.run];
  const entry = side?.entries.find(({ claim }) => claim.id === opened.claim);
  const verdict = entry?.assessment?.verdicts?.[0];
  if (entry && verdict) showVerdict(side, entry.claim, verdict);
}
