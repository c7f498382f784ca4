// Which document carries which claim: claims down, documents across, and what each document is good for.

function matrix(side) {
  const documents = documentsOf(side.result.sample, side.metric.against);
  const { entries } = side;
  const named = entries.map((entry) => namedDocuments(entry, side));
  const known = new Set(side.result.sample.reference_context_ids ?? []);
  if (
    documents.length < 2 ||
    !entries.length ||
    !(named.some((map) => map.size) || documents.some(({ id }) => known.has(id)))
  )
    return null;
  const uses = documents.map((document, column) => documentUse(document, column, documents, entries, named));
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
          entries.map((entry, i) => matrixRow(entry, named[i], documents)),
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
      "A sign stands where a judge names the document for the claim. ",
      [...new Set(uses)].map((use) => `${use}: ${USES[use]}`).join("; "),
      ".",
    ),
  );
}

function matrixRow({ claim, number, label, because }, named, documents) {
  const cell = (document) => {
    const judges = named.get(document.id);
    return el(
      "td",
      null,
      judges
        ? [
            sign(label, because),
            el("span", { class: "unseen" }, LABELS[label].word),
            judges.length > 1 ? el("span", { class: "quiet small" }, `×${judges.length}`) : null,
          ]
        : null,
    );
  };
  return el(
    "tr",
    null,
    el("th", { scope: "row" }, `${number}. `, el("span", { class: "matrix-claim" }, data(claim.text))),
    documents.map(cell),
  );
}

const USES = {
  carries: "supports a claim that no document before it supports",
  repeats: "supports only claims that a document before it supports too",
  "no support": "is named, but for no claim that is supported",
  unused: "is named for no claim",
};

function documentUse(document, column, documents, entries, named) {
  const supports = (id, i) => entries[i].label === "supported" && named[i].has(id);
  const mine = entries.map((entry, i) => i).filter((i) => supports(document.id, i));
  if (!mine.length) return named.some((map) => map.has(document.id)) ? "no support" : "unused";
  return mine.some((i) => !documents.slice(0, column).some(({ id }) => supports(id, i))) ? "carries" : "repeats";
}
