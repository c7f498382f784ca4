// A text with its claims marked in place, and the list of these claims with the verdicts of every judge.

import { all, button, div, el, note, p, span } from "./elements.js";
import { sameClaim } from "./entries.js";
import { showDocument } from "./evidence.js";
import { showExchange } from "./exchange.js";
import {
  chip,
  LABELS,
  labelInWords,
  labelOf,
  reasonInWords,
  sign,
  signText,
  spokenSign,
  WORST_FIRST,
  wordOf,
} from "./labels.js";
import { labelButtons } from "./labeled.js";
import { number, percent } from "./numbers.js";
import { sampleAddress } from "./route.js";
import { copyButton } from "./exports.js";
import { block, cut, data, visible } from "./text.js";

/** @import { Citation } from "./data.js" */
/** @import { Stretch } from "./difference.js" */
/** @import { Entry } from "./entries.js" */
/** @import { Side } from "./opened.js" */

/** @typedef {(claims: string[], same?: boolean) => void} Select */

const LONGER = "the evidence is longer than the judge's window";
const MANY = 8; // claims above which they can be filtered by label

/**
 * The text in pieces: a piece with claims is marked, and each claim has a pin at its end.
 *
 * @param {string} text
 * @param {Side} side
 * @param {Select} select takes the claims that a click can mean
 * @param {Stretch[]} differences what the text of the other run does not have
 */
export function markedText(text, side, select, differences) {
  const placed = side.entries
    .filter(({ claim }) => claim.span)
    .map((entry) => ({ start: entry.claim.span?.[0], end: entry.claim.span?.[1], entry }));
  const citations = side.metric.claims_of === "answer" ? side.citations : [];
  const others = [
    ...differences.map((stretch) => ({ ...stretch, differs: true })),
    ...citations.map((citation) => ({ ...citation, citation })),
  ];
  const nodes = cut(text, [...placed, ...others]).flatMap(
    ({ text: piece, to, spans: covering }) => {
      const spans = covering.filter(({ entry }) => entry);
      const cited = covering.find(({ citation }) => citation)?.citation;
      const plain = cited ? citationMark(piece, cited, side) : visible(piece);
      const shown = covering.some(({ differs }) => differs)
        ? el("b", { class: "differs" }, plain)
        : plain;
      if (!spans.length) return shown;
      const innermost = [...spans]
        .sort((a, b) => a.to - a.from - (b.to - b.from))
        .map(({ entry }) => entry);
      const label = WORST_FIRST.find((grave) => spans.some(({ entry }) => entry.label === grave));
      const mark = el(
        "mark",
        {
          class: `piece is-${label}${spans.length > 1 ? " several" : ""}`,
          "data-claims": innermost.map(({ claim }) => claim.id).join(" "),
          click: () => select(innermost.map(({ claim }) => claim.id)),
        },
        shown,
      );
      return [
        mark,
        ...spans.filter((span) => span.to === to).map(({ entry }) => pin(entry, select)),
      ];
    },
  );
  return el("div", { class: "text marked", dir: "auto" }, nodes);
}

/** @param {string} piece @param {Citation} citation @param {Side} side */
function citationMark(piece, { label, document, words }, side) {
  const show = (/** @type {MouseEvent} */ event) => {
    event.stopPropagation();
    if (document !== null) showDocument(document, side.run);
  };
  const shown = label ?? "unassessed";
  return el(
    "button",
    {
      type: "button",
      class: `link citation sign is-${shown}`,
      title: words,
      "aria-label": `${piece}${signText(shown)}: ${words}`,
      click: show,
    },
    visible(piece),
    signText(shown),
  );
}

/** @param {Entry} entry @param {Select} select */
function pin({ claim, number, label, because }, select) {
  return button(
    `pin is-${label}`,
    () => select([claim.id]),
    [signText(label, because), String(number)],
    {
      "data-claim": claim.id,
      "aria-label": `Claim ${number}: ${labelInWords(label, because)}`,
    },
  );
}

/** @param {Side} side @param {Select} select */
export function claimList(side, select) {
  if (!side.entries.length) return p("quiet", noClaims(side));
  const items = side.entries.map((entry) => claimItem(entry, side, select));
  const list = el("ol", { class: "claims" }, items);
  return [side.entries.length > MANY && claimFilter(side.entries, list), list];
}

/** Buttons that leave only claims with some labels in the list. @param {Entry[]} entries @param {HTMLElement} list */
function claimFilter(entries, list) {
  const counted = new Map();
  for (const { label, because } of entries) {
    const kind = because === "tie" ? "divided" : label;
    counted.set(kind, (counted.get(kind) ?? 0) + 1);
  }
  /** @type {Set<string>} */
  const shown = new Set();
  const press = (/** @type {MouseEvent} */ event, /** @type {string} */ kind) => {
    const on = shown.delete(kind) ? false : Boolean(shown.add(kind));
    /** @type {HTMLElement} */ (event.currentTarget).setAttribute("aria-pressed", String(on));
    for (const item of all("li", list))
      item.hidden = shown.size > 0 && !shown.has(item.dataset.label ?? "");
  };
  const filter = (/** @type {string} */ kind) => {
    const divided = kind === "divided";
    const words = ` ${counted.get(kind)} ${divided ? "divided" : LABELS[kind].word}`;
    const content = [divided ? sign("unassessed", "tie") : sign(kind), words];
    return button("token", (event) => press(event, kind), content, { "aria-pressed": "false" });
  };
  const kinds = ["contradicted", "not_found", "divided", "unassessed", "supported"].filter((kind) =>
    counted.has(kind),
  );
  const attributes = {
    class: "claim-filter",
    role: "group",
    "aria-label": "Show only claims that are",
  };
  return el("p", attributes, kinds.map(filter));
}

/** @param {Side} side */
function noClaims({ result, metric }) {
  const because =
    result.unextracted?.[metric.claims_of ?? ""] ?? result.scores?.[metric.name]?.because;
  const failed = (result.calls ?? []).findLast(
    (call) => call.step === "extract" && call.part === metric.claims_of && call.failed,
  );
  return [
    "No claims",
    because ? `: ${reasonInWords(because)}.` : ".",
    failed?.message ? [" ", data(failed.message)] : null,
  ];
}

// The gold answer that a claim belongs to, if there are several, and whether the score counts it.
/** @param {Line.Claim} claim @param {Side} side */
function alternativeNote(claim, side) {
  const score = side.result.scores?.[side.metric.name];
  const counts = score?.alternative ?? null;
  const counted =
    counts === null
      ? ""
      : counts === claim.alternative
        ? ", which counts"
        : `; gold answer ${counts} counts`;
  return `Of gold answer ${claim.alternative}${counted}.`;
}

/** @param {Entry} entry @param {Side} side @param {Select} select */
function claimItem(entry, side, select) {
  const { claim, number, label, because, assessment } = entry;
  const verdicts = assessment?.verdicts ?? [];
  const vote = (/** @type {Line.Verdict} */ one) => {
    const title = `${one.judge}: ${labelInWords(labelOf(one), one.unassessed)}`;
    return el(
      "span",
      { class: "vote", title },
      data(judgeOf(one, side)),
      " ",
      spokenSign(labelOf(one)),
    );
  };
  const votes = verdicts.length > 1 && span("votes", verdicts.map(vote));
  const href = sampleAddress(side.row, {
    metric: side.metric.name,
    claim: claim.id,
    run: side.run,
  });
  const toggle = () => item.open && select([claim.id], true);
  const item = el(
    "details",
    { class: `claim is-${label}`, "data-claim": claim.id, toggle },
    el(
      "summary",
      null,
      sign(label, because),
      span("claim-number", `${number}.`),
      span("claim-text", data(claim.text), flipBadge(entry, side)),
      votes,
    ),
    div(
      "claim-body",
      p(
        "claim-label",
        chip(label, because),
        verdicts.length > 1 && typeof assessment?.agreement === "number"
          ? span("quiet small", ` ${percent(assessment.agreement)} of the judges`)
          : null,
      ),
      assessment?.label === "not_found" &&
        verdicts.length === 0 &&
        note("No judge was asked: there is nothing to assess it against."),
      claim.alternative && note(alternativeNote(claim, side)),
      labelButtons(entry, side),
      verdicts.map((verdict) => verdictItem(verdict, claim, side)),
      note(
        grounding(claim),
        " · ",
        el("a", { href }, "link to this claim"),
        " · ",
        copyButton("copy the claim", () => claim.text),
      ),
    ),
  );
  return el("li", { "data-label": because === "tie" ? "divided" : label }, item);
}

/** @param {Entry} entry @param {Side} side */
function flipBadge({ claim, label }, { run, others }) {
  if (!others) return null;
  const other = sameClaim(claim, others);
  if (!other) return span("flag", `only in ${"ab"[run]}`);
  if (other.label === label) return null;
  return span(
    "flag",
    run ? `was ${LABELS[other.label].word}` : `became ${LABELS[other.label].word}`,
  );
}

/** @type {Record<string, string | undefined>} */
const GROUNDED = {
  exact: "appears in the text word for word",
  fuzzy: "appears in the text in nearly these words",
  ids_only: "located by its sentences",
  given: "came with the data",
};

/** @param {Line.Claim} claim */
function grounding({ grounding: how, missing_numbers: missing, span, sentences: ids }) {
  const words = GROUNDED[how ?? "exact"];
  if (missing?.length) return ["not in the text or the question: ", data(missing.join(", "))];
  return (
    words ??
    (span
      ? "not linked to its text"
      : `not located in the text${ids?.length ? `, attributed to sentence ${ids.join(", ")}` : ""}`)
  );
}

// A judge that was asked several times is distinguished by the number of the repeat.
/** @param {Line.Verdict} verdict @param {Side} side */
function judgeOf({ judge, replicate }, side) {
  const name = side.short.get(judge) ?? judge;
  return side.facts.manifest.panel.replicates > 1 ? `${name} #${(replicate ?? 0) + 1}` : name;
}

/**
 * Shows the request of a judge about a claim, and the reply.
 *
 * @param {Side} side
 * @param {Line.Claim} claim
 * @param {Line.Verdict} verdict
 */
export function showVerdict(side, claim, verdict) {
  showExchange(
    side,
    (call) =>
      call.step === "assess" &&
      call.judge === verdict.judge &&
      (call.replicate ?? 0) === (verdict.replicate ?? 0) &&
      call.evidence?.part === side.metric.against &&
      (call.subjects ?? []).includes(claim.id),
    claim,
  );
}

/** @param {Line.Verdict} verdict @param {Line.Claim} claim @param {Side} side */
function verdictItem(verdict, claim, side) {
  const judge = judgeOf(verdict, side);
  const named = verdict.cites ?? [];
  const { reasons } =
    side.facts.manifest.prompts.find(({ step }) => step === "assess")?.parameters ?? {};
  const unasked = verdict.label && reasons && reasons !== "all";
  return div(
    "verdict",
    p(
      "verdict-head",
      el("strong", null, data(judge, { title: verdict.judge })),
      " ",
      chip(labelOf(verdict), verdict.unassessed),
      span("small", wordOf(verdict)),
      verdict.windows &&
        el("span", { class: "flag", title: LONGER }, `read in ${verdict.windows} parts`),
      verdict.probability !== null && verdict.probability !== undefined
        ? span("quiet small", ` probability of “supported” ${number(verdict.probability, 2)}`)
        : null,
    ),
    verdict.explanation
      ? el("blockquote", null, block(verdict.explanation))
      : unasked && note("no reason was asked for"),
    p(
      "small",
      named.length
        ? [
            "names ",
            named.map((id, i) => [
              i ? ", " : "",
              button("link", () => showDocument(id, side.run), data(id)),
            ]),
            " · ",
          ]
        : [
            span("quiet", reasons === "none" ? "asked for a label alone" : "names no document"),
            " · ",
          ],
      button("link exchange", () => showVerdict(side, claim, verdict), "request and reply"),
    ),
  );
}
