// Which document carries which claim: claims down, documents across, and what each document is good for.

function matrix(side) {
  const documents = documentsOf(side.result.sample, side.metric.against);
  const { entries } = side;
  const alone = labelsOfDocuments(side);
  const named = entries.map((entry) => namedDocuments(entry, side));
  const known = new Set(side.result.sample.reference_context_ids ?? []);
  // the sign of a claim under a document: its label against that document alone, else against all, where it is named
  const mark = (i, column) => {
    if (alone.size) return alone.get(`${entries[i].claim.id} ${column + 1}`) ?? null;
    const judges = named[i].get(documents[column].id);
    return judges ? { label: entries[i].label, because: entries[i].because, judges } : null;
  };
  if (
    documents.length < 2 ||
    !entries.length ||
    !(alone.size || named.some((map) => map.size) || documents.some(({ id }) => known.has(id)))
  )
    return null;
  const uses = documents.map((_, column) => documentUse(column, entries.length, mark, alone.size > 0));
  return el(
    "section",
    { class: "matrix", "aria-labelledby": "matrix" },
    el("h2", { id: "matrix" }, "Which document carries which claim"),
    scrolling(
      "matrix",
      el(
        "table",
        { class: "plain" },
        el(
          "thead",
          null,
          el(
            "tr",
            null,
            el("th", { scope: "col" }, "claim"),
            documents.map((document, i) =>
              el(
                "th",
                { scope: "col" },
                el("span", { class: "rank" }, `${i + 1}`),
                el("span", { class: "column-name" }, data(document.id)),
                known.has(document.id) && el("span", { class: "flag relevant" }, "reference"),
              ),
            ),
          ),
        ),
        el(
          "tbody",
          null,
          entries.map((entry, i) => matrixRow(entry, documents.map((_, column) => mark(i, column)))),
        ),
        el(
          "tfoot",
          null,
          el(
            "tr",
            null,
            el("th", { scope: "row" }, "use"),
            uses.map((use) => el("td", { title: USES[use] }, use)),
          ),
        ),
      ),
    ),
    el(
      "p",
      { class: "quiet small" },
      alone.size
        ? "Each sign is the label of a claim against one document alone. "
        : "A sign stands where a judge names the document for the claim. ",
      [...new Set(uses)].map((use) => `${use}: ${USES[use]}`).join("; "),
      ".",
    ),
  );
}

// The labels against single documents by claim and rank, where the run asked for them.
function labelsOfDocuments({ result, metric }) {
  return new Map(
    (result.per_document ?? [])
      .filter(({ evidence }) => evidence.part === metric.against)
      .map((cell) => [
        `${cell.subject} ${cell.evidence.document}`,
        { label: labelOf(cell), because: cell.unassessed, judges: [] },
      ]),
  );
}

function matrixRow({ claim, number }, marks) {
  const cell = (mark) =>
    el(
      "td",
      null,
      mark
        ? [
            sign(mark.label, mark.because),
            el("span", { class: "unseen" }, LABELS[mark.label].word),
            mark.judges.length > 1 ? el("span", { class: "quiet small" }, `×${mark.judges.length}`) : null,
          ]
        : null,
    );
  return el(
    "tr",
    null,
    el("th", { scope: "row" }, `${number}. `, el("span", { class: "matrix-claim" }, data(claim.text))),
    marks.map(cell),
  );
}

const USES = {
  carries: "supports a claim that no document before it supports",
  repeats: "supports only claims that a document before it supports too",
  "no support": "supports no claim",
  "not known": "supports no claim as far as verdicts are known, and some are not",
  unused: "is named for no claim",
};

function documentUse(column, claims, mark, alone) {
  const all = Array.from({ length: claims }, (_, i) => i);
  const supports = (i, place) => mark(i, place)?.label === "supported";
  const mine = all.filter((i) => supports(i, column));
  if (!mine.length && alone && all.some((i) => mark(i, column)?.label === "unassessed")) return "not known";
  if (!mine.length) return all.some((i) => mark(i, column)) ? "no support" : "unused";
  const before = (i) => Array.from({ length: column }, (_, place) => place).some((place) => supports(i, place));
  return mine.some((i) => !before(i)) ? "carries" : "repeats";
}
