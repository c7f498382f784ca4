// The documents that claims are held against, with the passage that is most like the chosen claim.

const LONG = 9000; // characters of evidence above which only documents that matter stand open

function evidencePanel(side) {
  const documents = documentsOf(side.result.sample, side.metric.against);
  const entry = side.entries.find(({ claim }) => claim.id === opened.claim);
  const named = namedDocuments(entry, side);
  const matches = entry ? passages(entry.claim, documents, named) : [];
  const long = documents.reduce((sum, document) => sum + document.text.length, 0) > LONG;
  const relevant = new Set(side.metric.against === "contexts" ? (side.result.sample.reference_context_ids ?? []) : []);
  return el(
    "section",
    { class: "evidence", "aria-label": "Evidence" },
    el(
      "h2",
      null,
      "Evidence: ",
      data(partName(side.metric.against)),
      documents.length > 1 && el("span", { class: "quiet" }, ` (${documents.length})`),
    ),
    el("p", { class: "quiet small", role: "status" }, evidenceNote(entry, named, matches)),
    documents.map((document, i) =>
      documentCard(document, i, documents.length, {
        named: named.get(document.id),
        match: matches.find((m) => m.document === document),
        relevant: relevant.has(document.id),
        closed: long && !named.has(document.id) && !matches.some((m) => m.document === document),
        label: entry?.label,
      }),
    ),
    documents.length === 0 && el("p", { class: "quiet" }, "There is nothing to hold the claims against."),
  );
}

// Document id -> the judges that name it for a claim.
function namedDocuments(entry, { short }) {
  const named = new Map();
  for (const { judge, cites } of entry?.assessment?.verdicts ?? []) {
    for (const id of cites ?? []) named.set(id, [...(named.get(id) ?? []), short.get(judge) ?? judge]);
  }
  return named;
}

// In each document that a judge names the sentence most like the claim; where none is named, in all together.
function passages(claim, documents, named) {
  const wanted = documents.filter((document) => named.has(document.id));
  return (
    wanted.length
      ? wanted.map((document) => closestSentence(claim.text, [document]))
      : [closestSentence(claim.text, documents)]
  ).filter(Boolean);
}

function evidenceNote(entry, named, matches) {
  if (!entry) return "Choose a claim to see what it was held against.";
  const where = named.size ? "in the documents that judges name" : "of all documents; no judge names one";
  return matches.length
    ? `Highlighted: the sentence that shares the most words with claim ${entry.number}, ${where}.`
    : `No sentence shares enough words with claim ${entry.number}${named.size ? "; judges name the documents marked below" : ""}.`;
}

function documentCard(document, i, all, { named, match, relevant, closed, label }) {
  const pieces = match ? cutUnits(document.text, match.from, match.to) : [document.text];
  const body = pieces.map((piece, n) =>
    n === 1 ? el("mark", { class: `passage is-${label}` }, visible(piece)) : visible(piece),
  );
  return el(
    "details",
    { class: `document${named ? " named" : ""}`, open: !closed, "data-document": document.id },
    el(
      "summary",
      null,
      all > 1 && el("span", { class: "rank", title: "rank" }, `${i + 1}`),
      el(
        "span",
        { class: "document-name" },
        document.title ? [data(document.title), " "] : null,
        el("code", null, data(document.id)),
      ),
      typeof document.score === "number" &&
        el("span", { class: "quiet small" }, `score ${document.score.toPrecision(4)}`),
      relevant && el("span", { class: "flag relevant" }, "reference context"),
      named && el("span", { class: "flag named" }, "named by ", data(named.join(", "))),
    ),
    el("div", { class: "text", dir: "auto" }, body),
  );
}

function cutUnits(text, from, to) {
  return [text.slice(0, from), text.slice(from, to), text.slice(to)];
}

function showDocument(id) {
  const card = [...document.querySelectorAll(".document")].find((node) => node.dataset.document === id);
  if (!card) return;
  card.open = true;
  (card.querySelector(".passage") ?? card).scrollIntoView({ block: "nearest" });
  card.classList.add("flash");
  setTimeout(() => card.classList.remove("flash"), 900);
}
