// The page on which people label claims, answers or documents. A label is on disk before the next item is shown.

import {
  all,
  button,
  byId,
  choice,
  div,
  el,
  field,
  fill,
  form,
  list,
  note,
  p,
  span,
} from "./elements.js";
import { LABELS, partName } from "./labels.js";
import { block, data, marked, unitsOf } from "./text.js";
import { themes } from "./theme.js";
import { unpack } from "./unpacking.js";

/** @typedef {{ label: string, note?: string, cites?: string[] }} Given */
/**
 * @typedef {{ sample: string, subject: string, again: boolean, question: string, text: string, against: string,
 *   documents: Line.Document[], sentence: { document: string, start: number, end: number } | null, given: Given | null, judges: Record<string, string[]> | null }} Turn
 */
/**
 * @typedef {{ run: string, metric: string | null, queue: string, metrics: string[], annotator: string, token: string,
 *   keys: Record<string, string>, turns: Turn[], progress: Page.LabelProgress | null, count: number, unit: string, next: string[],
 *   problem: string | null }} Queue what the server sends
 */

const ENOUGH = 0.05; // the width on either side that the progress speaks of
/** @type {Record<string, string>} */
const QUEUES = {
  draw: "a random draw",
  disputed: "disputed claims",
  documents: "documents: are they good results?",
};

const queue = /** @type {Queue} */ ({});
const state = {
  at: 0,
  /** @type {string[]} documents of the turn that the label rests on */
  cites: [],
  /** @type {{ at: number, before: Given | null }[]} labels of this sitting, to undo */
  done: [],
};
/** @type {Promise<void>} what a key asked for before is done first */
let busy = Promise.resolve();

/** @param {string} label */
function word(label) {
  return LABELS[label]?.word ?? label.replaceAll("_", " ");
}

/**
 * Sends something to the server and waits until it is on disk.
 *
 * @param {string} path
 * @param {Record<string, any>} fields
 */
async function send(path, fields) {
  const { run, metric, queue: name, token } = queue;
  const body = JSON.stringify({ run, metric, queue: name, ...fields });
  const headers = { "Content-Type": "application/json", "X-Claimeval-Token": token };
  const response = await fetch(path, { method: "POST", headers, body }).catch(() => null);
  if (response === null)
    throw new Error("the server does not answer; start `claimeval view` again and reload the page");
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/**
 * Stores or takes back (null) the label of a turn, and says whether it did.
 *
 * @param {number} at
 * @param {Given | null} given
 */
async function store(at, given) {
  const { sample, subject, again } = queue.turns[at];
  const { label = null, note: remark = "", cites = [] } = given ?? {};
  try {
    const answer = await send("/label", { sample, subject, again, label, note: remark, cites });
    Object.assign(queue.turns[at], { given: answer.given, judges: answer.judges });
    queue.progress = answer.progress;
    byId("problem").textContent = "";
    return true;
  } catch (error) {
    byId("problem").textContent = `Not saved: ${/** @type {Error} */ (error).message}`;
    return false;
  }
}

/** @returns {HTMLInputElement} */
function noteField() {
  return /** @type {HTMLInputElement} */ (byId("note"));
}

/** @param {string} label */
async function give(label) {
  const { at } = state;
  const before = queue.turns[at]?.given;
  if (
    before === undefined ||
    !(await store(at, { label, note: noteField().value, cites: state.cites }))
  )
    return;
  state.done.push({ at, before });
  const left = queue.turns.findIndex((turn, place) => place > at && turn.given === null);
  go(before ? at + 1 : left < 0 ? queue.turns.findIndex((turn) => turn.given === null) : left);
}

async function undo() {
  const last = state.done.at(-1);
  if (last && (await store(last.at, last.before))) {
    state.done.pop();
    go(last.at);
  }
}

/** Stores the note or the documents of an item that has a label already. */
async function amend() {
  const given = queue.turns[state.at]?.given;
  if (
    given &&
    (await store(state.at, { label: given.label, note: noteField().value, cites: state.cites }))
  )
    status();
}

/** @param {number} at -1 or the number of turns: all have a label */
function go(at) {
  state.at = at < 0 ? queue.turns.length : Math.min(at, queue.turns.length);
  draw();
  byId("item").focus();
  scrollTo(0, 0);
}

function back() {
  if (state.at > 0) go(state.at - 1);
}

/** @param {number} number of the document, from 1 */
function cite(number) {
  const document = queue.turns[state.at]?.documents[number - 1];
  const card = all("#item .document")[number - 1];
  if (!document || !(card instanceof HTMLDetailsElement) || queue.queue === "documents") return;
  const cited = state.cites.includes(document.id);
  state.cites = cited
    ? state.cites.filter((id) => id !== document.id)
    : [...state.cites, document.id];
  card.classList.toggle("cited", !cited);
  card.open = true;
  card.querySelector("button")?.setAttribute("aria-pressed", String(!cited));
  card.scrollIntoView({ block: "nearest" });
  return amend();
}

/** @param {Turn} turn */
function documents(turn) {
  const { sentence } = turn;
  return turn.documents.map((document, i) => {
    const spans =
      sentence?.document === document.id
        ? [
            {
              from: unitsOf(document.text, sentence.start),
              to: unitsOf(document.text, sentence.end),
            },
          ]
        : [];
    const body = marked(document.text, spans, "passage");
    const cited = state.cites.includes(document.id);
    const name = span("document-name", document.title ? data(document.title) : `document ${i + 1}`);
    const pressed = { "aria-pressed": String(cited) };
    const mark = button("link small", () => cite(i + 1), `rests on document ${i + 1}`, pressed);
    return el(
      "details",
      { class: `document${cited ? " cited" : ""}`, open: true },
      el("summary", null, span("rank", String(i + 1)), name),
      el("div", { class: "text", dir: "auto" }, body),
      queue.queue !== "documents" && p("cite", mark),
    );
  });
}

/** @param {Turn} turn */
function asked(turn) {
  if (queue.queue === "documents") return "Is the document a good result for the question?";
  if (turn.subject === "answer")
    return ["How good is the answer, by ", data(queue.metric ?? ""), "?"];
  return ["Is the claim supported by the ", data(partName(turn.against)), " below?"];
}

/** @param {Turn} turn */
function item(turn) {
  const judges = Object.entries(turn.judges ?? {});
  const said = judges.map(([judge, labels], i) => [
    i ? "; " : "",
    data(judge),
    " ",
    labels.map(word).join(", "),
  ]);
  return [
    turn.again &&
      note(
        "You labeled this before. The second label shows how sure one can be; no score counts it.",
      ),
    el("h2", null, span("quiet", "Question "), data(turn.question)),
    turn.text && el("blockquote", { class: "claim-text" }, block(turn.text)),
    p(null, asked(turn)),
    turn.given &&
      el(
        "p",
        { id: "said" },
        "You: ",
        el("strong", null, word(turn.given.label)),
        said.length > 0 && [". Judges: ", said],
      ),
    documents(turn),
  ];
}

/** How far the labels are. */
function status() {
  const progress = queue.progress;
  if (!progress) return;
  const { labeled, drawn, needed, same, repeated } = progress;
  const unit = queue.queue === "documents" ? "question" : "label";
  const known = queue.queue === "documents" ? "LGTM" : "how often the judges label as you do";
  const more =
    needed === 0 ? `enough to know ${known}` : `about ${needed} more ${unit}s to know ${known}`;
  fill(
    byId("progress"),
    el("progress", { max: drawn, value: labeled, "aria-label": "labeled" }),
    el(
      "p",
      { class: "small", role: "status" },
      `${labeled} of ${drawn} labeled`,
      repeated > 0 && ` · the same label on ${same} of ${repeated} shown twice`,
      needed !== null && ` · ${more} within ±${ENOUGH}`,
    ),
  );
}

function draw() {
  status();
  const turn = queue.turns[state.at];
  state.cites = [...(turn?.given?.cites ?? [])];
  noteField().value = turn?.given?.note ?? "";
  for (const one of all("#keys button[data-label]"))
    one.setAttribute("aria-pressed", String(one.dataset.label === turn?.given?.label));
  byId("keys").hidden = queue.turns.length === 0;
  fill(byId("item"), turn ? item(turn) : finished());
}

function finished() {
  if (queue.problem) return p("quiet", data(queue.problem));
  if (queue.turns.length === 0)
    return p("quiet", "Nothing is drawn yet. Draw some at random, or choose another queue.");
  return [
    el("h2", null, "Everything has a label."),
    list("ul", null, queue.next, (line) => el("code", null, "claimeval ", data(line))),
  ];
}

/** @param {Record<string, string>} changed */
function open(changed) {
  const { run, metric, queue: name } = queue;
  location.search = String(
    new URLSearchParams({ run, metric: metric ?? "", queue: name, ...changed }),
  );
}

function queues() {
  const size = el("input", { type: "number", min: 1, max: 1000, value: queue.count });
  const failed = (/** @type {Error} */ error) =>
    (byId("drawing").textContent = `Not drawn: ${error.message}`);
  const grow = () => send("/draw", { n: Number(size.value) }).then(() => location.reload(), failed);
  const [unit, draw] = queue.turns.length
    ? [`${queue.unit} in total`, "Draw more"]
    : [queue.unit, "Draw"];
  const names = Object.entries(QUEUES).filter(
    ([name]) => queue.metrics.length || name === "documents",
  );
  return form(
    { class: "queues" },
    choice("Queue", names, queue.queue, (name) => open({ queue: name })),
    queue.queue !== "documents" &&
      choice("Metric", queue.metrics, queue.metric ?? "", (metric) => open({ metric })),
    queue.queue !== "disputed" && queue.count > 0 && [field(unit, size), button(null, grow, draw)],
    el("p", { id: "drawing", class: "failure", role: "alert" }),
  );
}

function keysBar() {
  const labels = Object.entries(queue.keys).map(([key, label]) =>
    button(null, () => then(() => give(label)), [el("kbd", null, key), ` ${word(label)}`], {
      "data-label": label,
      "aria-pressed": "false",
    }),
  );
  const remark = el("input", {
    id: "note",
    maxlength: 500,
    placeholder: "note (Enter)",
    change: () => then(amend),
  });
  return el(
    "div",
    { class: "keys", id: "keys", role: "group", "aria-label": "Labels" },
    div(
      "keys-inner",
      labels,
      button(null, () => then(undo), [el("kbd", null, "u"), " undo"]),
      button(null, () => then(back), "←", { "aria-label": "Back" }),
      button(null, () => then(() => go(state.at + 1)), "→", { "aria-label": "Forward" }),
      field(/** @type {any} */ (span("unseen", "Note")), remark),
      el("p", { id: "problem", class: "failure", role: "alert" }),
    ),
  );
}

/** @param {() => unknown} act is done after what was asked for before */
function then(act) {
  busy = busy.then(async () => void (await act()));
}

/** @param {KeyboardEvent} event */
function press(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target instanceof HTMLSelectElement) return;
  if (target instanceof HTMLInputElement) {
    if (target.id === "note" && (key === "Enter" || key === "Escape")) byId("item").focus();
    return;
  }
  const button = target instanceof HTMLButtonElement;
  const acts = {
    ...Object.fromEntries("123456789".split("").map((digit) => [digit, () => cite(Number(digit))])),
    ...Object.fromEntries(
      Object.entries(queue.keys).map(([one, label]) => [one, () => give(label)]),
    ),
    u: undo,
    ArrowLeft: back,
    ArrowRight: () => go(state.at + 1),
    ...(button ? {} : { Enter: () => noteField().focus() }),
  };
  const act = /** @type {Record<string, () => unknown>} */ (acts)[key];
  if (!act) return;
  event.preventDefault();
  then(act);
}

async function start() {
  themes();
  Object.assign(queue, await unpack("queue"));
  fill(
    byId("main"),
    el("h1", null, "Label ", data(queue.run), span("quiet small", " as ", data(queue.annotator))),
    queues(),
    el("div", { id: "progress" }),
    el("section", { id: "item", tabindex: "-1", "aria-label": "Item to label" }),
    keysBar(),
  );
  addEventListener("keydown", press);
  go(queue.turns.findIndex((turn) => turn.given === null));
  performance.mark("drawn");
}

start();
