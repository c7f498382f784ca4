// Labels where one reads: a report that `claimeval view --label-as` serves takes the label of each claim of a sample.
// Its reader has seen the verdicts, so such labels are kept apart from those of the queue.

import { button, byId, div, el, span } from "./elements.js";
import { LABELS } from "./labels.js";
import { data } from "./text.js";
import { unpack } from "./unpacking.js";

/** @import { Entry } from "./entries.js" */
/** @import { Side } from "./opened.js" */

/** @typedef {{ label: string, note: string, seen: boolean }} Given */
/**
 * @typedef {{ runs: string[], annotator: string, token: string, keys: Record<string, string>,
 *   labels: Record<string, [sample: string, claim: string, label: string, note: string, seen: boolean][]>[] }} Served
 */

const labeling = {
  /** @type {Served | null} null: the report is a file, or nobody labels */
  served: null,
  /** @type {Map<string, Given>} */
  given: new Map(),
  /** @type {{ side: Side, claim: string, before: Given | undefined }[]} labels of this sitting, to undo */
  done: [],
  /** @type {Promise<void>} what a key asked for before is done first */
  busy: Promise.resolve(),
};

/** Reads who labels and the labels so far, if the server sent them. */
export async function loadLabels() {
  if (!document.getElementById("labeling")) return;
  /** @type {Served} */
  const served = await unpack("labeling");
  labeling.served = served;
  served.labels.forEach((metrics, run) => {
    for (const [metric, rows] of Object.entries(metrics))
      for (const [sample, claim, label, note, seen] of rows)
        labeling.given.set(key(run, metric, sample, claim), { label, note, seen });
  });
}

/** The keys that give a label; none if labels are not taken. @returns {Record<string, string>} */
export function labelKeys() {
  return labeling.served?.keys ?? {};
}

/** @param {number} run @param {string} metric @param {string} sample @param {string} claim */
function key(run, metric, sample, claim) {
  return JSON.stringify([run, metric, sample, claim]);
}

/** @param {Side} side @param {string} claim */
function keyOf({ run, metric, result, row }, claim) {
  return key(run, metric.name, result.sample.id ?? row.id, claim);
}

/** @param {string} label */
function word(label) {
  return LABELS[label]?.word ?? label;
}

/** @param {Side} side @param {string} claim */
function place(side, claim) {
  return byId(`label-${side.run}-${claim}`);
}

/**
 * The buttons that label a claim; nothing if labels are not taken.
 *
 * @param {Entry} entry
 * @param {Side} side
 */
export function labelButtons({ claim }, side) {
  if (!labeling.served?.labels[side.run]?.[side.metric.name]) return null;
  const id = `label-${side.run}-${claim.id}`;
  const group = el("div", { id, class: "own-label", role: "group", "aria-label": "Your label" });
  fillButtons(group, side, claim.id);
  return group;
}

/** @param {HTMLElement} group @param {Side} side @param {string} claim */
function fillButtons(group, side, claim) {
  const given = labeling.given.get(keyOf(side, claim));
  const drawn = given !== undefined && !given.seen;
  const keys = Object.entries(labelKeys()).map(([one, label]) =>
    button(
      null,
      () => then(() => give(side, claim, label)),
      [el("kbd", null, one), ` ${word(label)}`],
      {
        "aria-pressed": String(given?.label === label),
        disabled: drawn,
      },
    ),
  );
  const undo = () => then(() => store(side, claim, null));
  const taken = given?.seen ? button("link small", undo, "take back") : null;
  const note = el("input", {
    class: "own-note",
    maxlength: 500,
    placeholder: "note",
    "aria-label": "Note on your label",
    value: given?.note ?? "",
    disabled: drawn,
    change: () => then(() => amend(side, claim)),
  });
  group.replaceChildren(
    span("small", data(labeling.served?.annotator ?? ""), ": "),
    div("own-keys", keys, note, taken),
    el(
      "p",
      { class: "small quiet", role: "status" },
      drawn ? `labeled ${word(given.label)} in the queue; change it there` : "",
    ),
  );
}

/** @param {Side} side @param {string} claim */
function noteOf(side, claim) {
  return place(side, claim).querySelector("input")?.value ?? "";
}

/** @param {Side} side @param {string} claim @param {string} label */
async function give(side, claim, label) {
  const before = labeling.given.get(keyOf(side, claim));
  if (await store(side, claim, { label, note: noteOf(side, claim), seen: true }))
    labeling.done.push({ side, claim, before });
}

/** Stores the note of a claim that has a label already. @param {Side} side @param {string} claim */
async function amend(side, claim) {
  const given = labeling.given.get(keyOf(side, claim));
  if (given?.seen) await store(side, claim, { ...given, note: noteOf(side, claim) });
}

/**
 * Stores or takes back (null) a label, and says whether it is on disk.
 *
 * @param {Side} side
 * @param {string} claim
 * @param {Given | null} given
 */
async function store(side, claim, given) {
  const { served } = labeling;
  if (!served) return false;
  const body = JSON.stringify({
    run: served.runs[side.run],
    metric: side.metric.name,
    queue: "seen",
    sample: side.result.sample.id ?? side.row.id,
    subject: claim,
    label: given?.label ?? null,
    note: given?.note ?? "",
  });
  const headers = { "Content-Type": "application/json", "X-Claimeval-Token": served.token };
  const response = await fetch("/label", { method: "POST", headers, body }).catch(() => null);
  const problem =
    response === null
      ? "the server does not answer; start `claimeval view` again and reload the page"
      : response.ok
        ? null
        : await response.text();
  if (problem === null) {
    if (given) labeling.given.set(keyOf(side, claim), given);
    else labeling.given.delete(keyOf(side, claim));
  }
  const group = document.getElementById(`label-${side.run}-${claim}`);
  if (group) {
    fillButtons(group, side, claim);
    const status = group.querySelector("[role=status]");
    if (status && problem !== null) status.textContent = `Not saved: ${problem}`;
    else if (status && given) status.textContent = `saved: ${word(given.label)}`;
  }
  return problem === null;
}

/**
 * Labels the claim that is chosen with a key.
 *
 * @param {Side | undefined} side
 * @param {string | null} claim
 * @param {string} pressed
 */
export function labelByKey(side, claim, pressed) {
  const label = labelKeys()[pressed];
  if (side && claim && label) then(() => give(side, claim, label));
}

/** Takes back the last label of this sitting. */
export function undoLabel() {
  then(async () => {
    const last = labeling.done.at(-1);
    if (last && (await store(last.side, last.claim, last.before ?? null))) labeling.done.pop();
  });
}

/** @param {() => unknown} act is done after what was asked for before */
function then(act) {
  labeling.busy = labeling.busy.then(async () => void (await act()));
}
