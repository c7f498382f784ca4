// The matrix of claims and documents: which document supports which claim, with totals per document.

import { runLetter } from "./cells.js";
import { documentsOf } from "./data.js";
import { el, note, scrolling, section, span, table } from "./elements.js";
import { namedDocuments } from "./evidence.js";
import { labelOf, spokenSign } from "./labels.js";
import { data } from "./text.js";

/** @import { Side } from "./opened.js" */

/** @param {Side} side */
export function matrix(side) {
  const documents = documentsOf(side.result.sample, side.metric.against);
  const { entries } = side;
  const alone = labelsOfDocuments(side);
  const named = entries.map((entry) => namedDocuments(entry, side));
  const known = new Set(side.result.sample.reference_context_ids ?? []);
  const anywhere = namedAnywhere(side);
  // the sign of a claim under a document: its label against that document alone, else against all, where it is named
  const mark = (/** @type {number} */ i, /** @type {number} */ column) => {
    const own = alone.get(`${entries[i].claim.id} ${column + 1}`);
    if (own) return own;
    const judges = named[i].get(documents[column].id);
    return judges ? { label: entries[i].label, because: entries[i].because, judges } : null;
  };
  if (
    documents.length < 2 ||
    !entries.length ||
    !(alone.size || named.some((map) => map.size) || documents.some(({ id }) => known.has(id)))
  )
    return null;
  const uses = documents.map((_, column) =>
    documentUse(column, entries.length, mark, alone.size > 0, anywhere.has(documents[column].id)),
  );
  const names = documents.map((document, i) => [
    span("rank", `${i + 1}`),
    span("column-name", data(document.id)),
    known.has(document.id) && span("flag relevant", "reference"),
  ]);
  const claims = entries.map(({ claim, number }, i) => [
    [`${number}. `, span("matrix-claim", data(claim.text))],
    ...documents.map((_, column) => signOf(mark(i, column))),
  ]);
  const found = section(
    "matrix",
    [runLetter(side.run), "Which document supports which claim"],
    scrolling(
      "matrix",
      table(null, ["claim", ...names.map((name) => /** @type {[any]} */ ([name]))], claims, [
        ["use", ...uses.map((use) => el("td", { title: USES[use] }, use))],
      ]),
    ),
    note(
      alone.size
        ? "A sign is the label of a claim against one document alone where it was judged so, else it marks a document that a judge names for the claim. "
        : "A sign marks a document that a judge names for the claim. ",
      [...new Set(uses)].map((use) => `${use}: ${USES[use]}`).join("; "),
      ".",
    ),
  );
  found.className = "matrix";
  return found;
}

/** @typedef {{ label: import("./labels.js").Label, because: string | null | undefined, judges: string[] }} Mark */

/** The labels against single documents by claim and rank, where the run asked for them. @param {Side} side */
function labelsOfDocuments({ result, metric }) {
  return new Map(
    result.assessments
      .filter(({ against, document }) => against === metric.against && document !== undefined)
      .map((cell) => [
        `${cell.subject} ${cell.document}`,
        { label: labelOf(cell), because: cell.unassessed, judges: [] },
      ]),
  );
}

/** The documents that any verdict of the sample names, for claims of whichever part. @param {Side} side */
function namedAnywhere({ result, metric }) {
  const named = new Set();
  for (const { against, verdicts } of result.assessments)
    for (const { cites } of against === metric.against ? verdicts : [])
      for (const id of cites ?? []) named.add(id);
  return named;
}

/** @param {Mark | null} mark */
function signOf(mark) {
  if (!mark) return null;
  const { label, because, judges } = mark;
  const many = judges.length > 1 && span("quiet small", `×${judges.length}`);
  return [spokenSign(label, because), many];
}

/** @type {Record<string, string>} */
const USES = {
  carries: "supports a claim that no document before it supports",
  repeats: "supports only claims that a document before it supports too",
  "no support": "supports no claim",
  "not known": "supports no claim so far; some verdicts are missing",
  elsewhere: "not named for these claims, but for others of this sample",
  unused: "not named in any verdict of this sample",
};

/**
 * @param {number} column
 * @param {number} claims
 * @param {(i: number, column: number) => Mark | null} mark
 * @param {boolean} alone whether claims were judged against single documents
 * @param {boolean} named whether any verdict of the sample names the document
 */
function documentUse(column, claims, mark, alone, named) {
  const all = Array.from({ length: claims }, (_, i) => i);
  const supports = (/** @type {number} */ i, /** @type {number} */ place) =>
    mark(i, place)?.label === "supported";
  const mine = all.filter((i) => supports(i, column));
  if (!mine.length && alone && all.some((i) => mark(i, column)?.label === "unassessed"))
    return "not known";
  if (!mine.length && all.some((i) => mark(i, column))) return "no support";
  if (!mine.length) return named ? "elsewhere" : "unused";
  const before = (/** @type {number} */ i) =>
    Array.from({ length: column }, (_, place) => place).some((place) => supports(i, place));
  return mine.some((i) => !before(i)) ? "carries" : "repeats";
}
