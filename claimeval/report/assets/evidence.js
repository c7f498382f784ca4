// The documents that claims are assessed against, with the passage most similar to the chosen claim.

import { runLetter } from "./cells.js";
import { documentsOf } from "./data.js";
import { all, div, el, p, span } from "./elements.js";
import { sameClaim } from "./entries.js";
import { chip, labelOf, partName, spokenSign } from "./labels.js";
import { data, marked, unitsOf } from "./text.js";
import { closestSentence } from "./words.js";

/** @import { Entry } from "./entries.js" */
/** @import { Side } from "./opened.js" */

const LONG = 9000; // characters of evidence above which only relevant documents are open

/**
 * A document in one run or in both, with its id and its rank in each. `edited` if the other run has another text of it,
 * `recut` if it has the same words, cut otherwise.
 *
 * @typedef {{ id: string, text: string, title?: string | null, score?: number | null, ids: (string | null)[],
 *   ranks: (number | null)[], edited: boolean, recut: boolean }} Shared
 */

/**
 * The evidence of a sample, of both runs as one list, with the chosen claim's verdicts and passages.
 *
 * @param {Side[]} sides
 * @param {number} run whose claim is chosen
 * @param {string | null} chosen
 */
export function evidencePanel(sides, run, chosen) {
  const side = sides[run];
  const documents = sharedDocuments(sides);
  const entry = side.entries.find(({ claim }) => claim.id === chosen);
  const entries = sides.map((one) =>
    one === side || !entry ? entry : sameClaim(entry.claim, one.entries),
  );
  const namings = sides.map((one, i) => namedDocuments(one.run === run ? entry : entries[i], one));
  const namedBy = (/** @type {Shared} */ { ids }) =>
    namings.map((map, i) => map.get(ids[i] ?? "") ?? []);
  const named = documents.filter((document) => namedBy(document).flat().length);
  const matches = entry ? passages(entry, side, documents, named) : [];
  const long = documents.reduce((sum, document) => sum + document.text.length, 0) > LONG;
  const relevant = new Set(
    side.metric.against === "contexts" ? (side.result.sample.reference_context_ids ?? []) : [],
  );
  return el(
    "section",
    { class: "evidence", "aria-label": "Evidence" },
    el(
      "h2",
      null,
      "Evidence: ",
      data(partName(side.metric.against)),
      (documents.length > 1 || sides.length > 1) &&
        span("quiet", ` (${documentCounts(documents, sides.length)})`),
    ),
    entry && sides.length > 1 && bothVerdicts(entry, entries, sides),
    el("p", { class: "quiet small", role: "status" }, evidenceNote(entry, named, matches)),
    documents.map((document) =>
      documentCard(document, documents.length, {
        named: namedBy(document),
        match: matches.find((m) => m.document === document),
        relevant: document.ids.some((id) => id !== null && relevant.has(id)),
        closed: long && !named.includes(document) && !matches.some((m) => m.document === document),
        label: entry?.label,
      }),
    ),
    documents.length === 0 && p("quiet", "There is nothing to assess the claims against."),
  );
}

/**
 * The documents of all runs as one list: in a comparison as Python matched them, by content.
 *
 * @param {Side[]} sides
 * @returns {Shared[]}
 */
function sharedDocuments(sides) {
  const lists = sides.map(({ result, metric }) => documentsOf(result.sample, metric.against));
  const part = sides[0].metric.against ?? "";
  const listed = Object.hasOwn(sides[0].listed, part)
    ? sides[0].listed[part]
    : lists[0].map((_, i) => [i + 1]);
  return listed.map(([a, b, change]) => {
    const ranks = sides.map((_, i) => [a, b][i] ?? null);
    const held = ranks.map((rank, i) => (rank === null ? null : lists[i][rank - 1]));
    const document = /** @type {Line.Document} */ (held.find((one) => one !== null));
    const ids = held.map((one) => one?.id ?? null);
    return { ...document, ids, ranks, edited: change === "rewritten", recut: change === "recut" };
  });
}

/** @param {Shared[]} documents @param {number} runs */
function documentCounts(documents, runs) {
  if (runs < 2) return String(documents.length);
  const [a, b] = [0, 1].map((run) => documents.filter(({ ranks }) => ranks[1 - run] === null));
  const only = [a, b].map((side) => side.filter(({ edited, recut }) => !edited && !recut).length);
  const edited = a.filter(({ edited }) => edited).length;
  const recut = [a, b].map((side) => side.filter(({ recut }) => recut).length);
  const same = documents.filter(({ ranks }) => ranks.every((rank) => rank !== null));
  const moved = same.filter(({ ranks }) => ranks[0] !== ranks[1]).length;
  return [
    `${same.length} in both`,
    moved && `${moved} of them at another rank`,
    edited && `${edited} rewritten`,
    recut.some(Boolean) && `${recut.join(" and ")} cut otherwise`,
    only[0] && `${only[0]} lost`,
    only[1] && `${only[1]} gained`,
  ]
    .filter(Boolean)
    .join(", ");
}

/**
 * The verdicts of both runs on one claim, above the passages that both were given.
 *
 * @param {Entry} chosen
 * @param {(Entry | undefined)[]} entries the claim in each run
 * @param {Side[]} sides
 */
function bothVerdicts(chosen, entries, sides) {
  return div(
    "both-verdicts",
    p(null, el("strong", null, data(chosen.claim.text))),
    entries.map((entry, i) =>
      p(
        "small",
        runLetter(i),
        entry
          ? [
              chip(entry.label, entry.because),
              (entry.assessment?.verdicts ?? []).map((verdict) => [
                " · ",
                data(sides[i].short.get(verdict.judge) ?? verdict.judge),
                " ",
                spokenSign(labelOf(verdict), verdict.unassessed),
              ]),
            ]
          : "has no claim in these words",
      ),
    ),
  );
}

/** Document id -> the judges that name it for a claim. @param {Entry | undefined} entry @param {Side} side */
export function namedDocuments(entry, { short }) {
  /** @type {Map<string, string[]>} */
  const named = new Map();
  for (const { judge, cites } of entry?.assessment?.verdicts ?? []) {
    for (const id of cites ?? [])
      named.set(id, [...(named.get(id) ?? []), short.get(judge) ?? judge]);
  }
  return named;
}

/**
 * The sentence that the reason of a judge is about, as it stands in the run, or else the nearest one.
 *
 * @param {Entry} entry
 * @param {Side} side
 * @param {Shared[]} documents
 * @param {Shared[]} named
 */
function passages({ claim }, side, documents, named) {
  // In a comparison, a document that only the other run has, or has in other words, says nothing of this run's claim.
  const own = new Map(
    documentsOf(side.result.sample, side.metric.against).map(({ id, text }) => [id, text]),
  );
  const isOwn = (/** @type {Shared} */ { ids, text }) => own.get(ids[side.run] ?? "") === text;
  const judged = side.sentences.find(
    ([subject, part]) => subject === claim.id && part === side.metric.against,
  );
  if (judged) {
    const [, , id, start, end] = judged;
    const document = documents.find(({ ids }) => ids[side.run] === id);
    if (!document || !isOwn(document)) return [];
    const [from, to] = [start, end].map((at) => unitsOf(document.text, at));
    return [{ document, from, to, judged: true }];
  }
  const among = named.filter(isOwn);
  if (named.length && !among.length) return [];
  const found = closestSentence(claim.text, documents.filter(isOwn), among);
  return found ? [{ ...found, judged: false }] : [];
}

/** @param {Entry | undefined} entry @param {Shared[]} named @param {any[]} matches */
function evidenceNote(entry, named, matches) {
  if (!entry) return "Choose a claim to see its evidence.";
  const where = named.length
    ? "in the documents that judges name"
    : "of all documents; no judge names one";
  if (matches.some(({ judged }) => judged))
    return `Highlighted: the sentence that the judge's reason for claim ${entry.number} is about.`;
  return matches.length
    ? `Outlined: the sentence nearest to claim ${entry.number}, ${where}; no reason of a judge points to it.`
    : `No sentence shares enough words with claim ${entry.number}${named.length ? "; judges name the documents marked below" : ""}.`;
}

/**
 * @param {Shared} document
 * @param {number} all
 * @param {any} found relations of the document to judges and the chosen claim
 */
function documentCard(document, all, { named, match, relevant, closed, label }) {
  const kind = match?.judged ? `passage is-${label}` : "passage near";
  const body = marked(document.text, match ? [match] : [], kind);
  const { ranks } = document;
  const two = ranks.length > 1;
  const only = two ? ranks.findIndex((_, i) => ranks[1 - i] === null) : -1;
  const inOne = `${"ab"[only]} ${document.edited ? "text" : "cut"}`;
  const lone = document.edited || document.recut ? inOne : only === 0 ? "lost" : "gained";
  const title = document.title && [data(document.title), " "];
  return el(
    "details",
    {
      class: `document${named.flat().length ? " named" : ""}${only < 0 ? "" : ` only-${"ab"[only]}`}`,
      open: !closed,
      "data-document": document.id,
      "data-ids": JSON.stringify(document.ids),
    },
    el(
      "summary",
      null,
      (all > 1 || two) &&
        ranks.map(
          (rank, i) =>
            rank && el("span", { class: "rank", title: "rank" }, `${two ? "ab"[i] : ""}${rank}`),
        ),
      span("document-name", title, el("code", null, data(document.id))),
      typeof document.score === "number" &&
        span("quiet small", `score ${document.score.toPrecision(4)}`),
      two && el("span", { class: only < 0 ? "flag" : "flag only" }, only < 0 ? "both" : lone),
      relevant && span("flag relevant", "reference context"),
      named.map(
        (/** @type {string[]} */ judges, /** @type {number} */ i) =>
          judges.length > 0 &&
          span("flag named", two ? `${"ab"[i]}: named by ` : "named by ", data(judges.join(", "))),
      ),
    ),
    el("div", { class: "text", dir: "auto" }, body),
  );
}

/** @param {string} id @param {number} run whose document has the id */
export function showDocument(id, run) {
  const card = all("details.document").find(
    (node) => JSON.parse(node.dataset.ids ?? "[]")[run] === id,
  );
  if (!(card instanceof HTMLDetailsElement)) return;
  card.open = true;
  (card.querySelector(".passage") ?? card).scrollIntoView({ block: "nearest" });
  card.classList.add("flash");
  setTimeout(() => card.classList.remove("flash"), 900);
}
