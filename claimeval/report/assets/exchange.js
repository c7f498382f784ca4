// Requests and replies in full. The page stores requests as pieces of the sample's texts.

import { documentsOf, textOf } from "./data.js";
import { all, definitions, dialog, div, el, more, note, openDialog, p } from "./elements.js";
import { reasonInWords } from "./labels.js";
import { settingsInWords } from "./settings.js";
import { copyButton } from "./exports.js";
import { Places, data, marked, visible } from "./text.js";

/** @import { Stretch } from "./difference.js" */
/** @import { Side } from "./opened.js" */

const SPECIAL =
  /[<>\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{10ffff}]/gu;

/** A text as prompts hold it, without the quotation marks; the same as `prompting.quoted`. @param {string} text */
function quoted(text) {
  const escaped = (/** @type {string} */ found) =>
    found
      .split("")
      .map((/** @type {string} */ unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join("");
  return JSON.stringify(text).replace(SPECIAL, escaped).slice(1, -1);
}

// The messages of a request: [{ role, content }].
/** @param {any} packed @param {Line.Call} call @param {Line.Sample} sample @param {Map<string, Line.Claim>} claims @param {string[]} literals */
function messagesOf(packed, call, sample, claims, literals) {
  const documents = documentsOf(sample, call.evidence?.part);
  const source = new Places(textOf(sample, call.part) ?? "");
  const text = (/** @type {string | number} */ piece) => {
    if (typeof piece === "number") return literals[piece];
    if (piece === "q") return quoted(sample.question);
    const [place, part] = piece.slice(1).split(":");
    if (part) {
      const [start, end] = part.split("-").map(Number);
      return quoted(new Places(documents[Number(place) - 1].text).slice(start, end));
    }
    const [from, to] = place.split("-").map(Number);
    if (piece[0] === "s") return quoted(source.slice(from, to));
    if (piece[0] === "c") return quoted(claims.get((call.subjects ?? [])[from - 1])?.text ?? "");
    return quoted(piece[0] === "t" ? (documents[from - 1].title ?? "") : documents[from - 1].text);
  };
  return /** @type {[string, (string | number)[]][]} */ (packed[0]).map(([role, pieces]) => ({
    role,
    content: pieces.map(text).join(""),
  }));
}

/**
 * Opens the dialog with the calls of a sample that `wanted` picks.
 *
 * @param {Side} side
 * @param {(call: Line.Call) => boolean} wanted
 * @param {Line.Claim} [claim] the claim in question, which is marked in request and reply
 */
export function showExchange(side, wanted, claim) {
  const calls = (side.result.calls ?? [])
    .map((call, i) => ({ call, packed: side.requests[i] }))
    .filter(({ call }) => wanted(call));
  const drawn = calls.map(({ call, packed }, i) =>
    exchange(call, packed, side, claim, [i + 1, calls.length]),
  );
  const content = calls.length
    ? div("dialog-body", drawn)
    : p(null, "No call is recorded for this.");
  openDialog("Reply and request", content);
  for (const text of all("pre", dialog())) {
    const mark = all("mark", text)[0];
    if (mark) text.scrollTop = mark.offsetTop - text.offsetTop - text.clientHeight / 3;
  }
  dialog().scrollTop = 0;
}

/**
 * A text of a call, with a button that copies it, and the passage about the chosen claim marked.
 *
 * @param {string} text
 * @param {Record<string, any>} attributes
 * @param {Stretch[]} stretches
 */
function passedText(text, attributes, stretches) {
  return el(
    "pre",
    { class: "text", tabindex: "0", ...attributes },
    marked(text, stretches, "asked"),
  );
}

/**
 * Where a text speaks of a claim: the object with its id in a reply of verdicts, else its words.
 *
 * @param {string} text
 * @param {Line.Claim | undefined} claim
 * @param {Line.Call} call
 * @returns {Stretch[]}
 */
function aboutClaim(text, claim, call) {
  if (!claim) return [];
  const place = (call.subjects ?? []).indexOf(claim.id) + 1;
  const id = place ? text.search(new RegExp(`"id"\\s*:\\s*"c${place}"`)) : -1;
  if (id >= 0) {
    const end = text.indexOf("}", id);
    return [{ from: text.lastIndexOf("{", id), to: end < 0 ? text.length : end + 1 }];
  }
  const words = [quoted(claim.text), claim.text].find((form) => text.includes(form));
  if (!words) return [];
  const from = text.lastIndexOf(words); // the answer, which has the same words, may come before it
  return [{ from, to: from + words.length }];
}

/**
 * @param {Line.Call} call
 * @param {any} packed
 * @param {Side} side
 * @param {Line.Claim | undefined} claim
 * @param {number[]} count its number, of how many
 */
function exchange(call, packed, side, claim, [number, many]) {
  const facts = [
    ["judge", call.judge],
    [
      "step",
      [
        call.step,
        call.attempt ? `asked again (${call.attempt})` : "",
        call.replicate ? `repeat ${call.replicate + 1}` : "",
        call.reused ? "reused from an earlier run" : "",
      ]
        .filter(Boolean)
        .join(", "),
    ],
    ["served by", call.served_model],
    [
      "tokens",
      call.prompt_tokens === undefined
        ? null
        : `${call.prompt_tokens} in, ${call.completion_tokens ?? "?"} out`,
    ],
    ["key", call.key],
  ];
  return el(
    "article",
    { class: "call" },
    many > 1 && el("h3", null, `Call ${number} of ${many}`),
    definitions(
      facts.map(([name, value]) => Boolean(value) && [name, data(value)]),
      "long",
    ),
    call.failed &&
      p(
        "failure",
        `${reasonInWords(call.failed)} `,
        el("code", null, call.failed),
        call.message ? [": ", data(call.message)] : null,
      ),
    !call.failed && call.message && p("failure", "Not read: ", data(call.message)),
    call.reply === undefined || call.reply === null
      ? [el("h3", null, "Reply"), p("quiet", "There was no reply.")]
      : [
          el("h3", null, ["Reply ", copyButton("copy the reply", () => call.reply ?? "")]),
          passedText(
            call.reply,
            { "data-reply": true, "aria-label": "Reply" },
            aboutClaim(call.reply, claim, call),
          ),
        ],
    packed
      ? requestText(packed, call, side, claim)
      : [
          el("h3", null, "Request"),
          p(
            "quiet",
            "The request cannot be rebuilt: the judge reads no prompt, or the request that this run's prompts give has a different key. The reply above is unchanged.",
          ),
        ],
  );
}

/** @param {any} packed @param {Line.Call} call @param {Side} side @param {Line.Claim | undefined} claim */
function requestText(packed, call, side, claim) {
  const { manifest } = side.facts;
  const judge = [manifest.extractor, ...manifest.judges].find((one) => one?.name === call.judge);
  const { key_variable: _, structured: __, extra, ...settings } = judge?.settings ?? {};
  const sent = Object.entries({
    model: judge?.model,
    endpoint: judge?.endpoint,
    ...settings,
    ...extra,
  }).filter(([, value]) => value !== null && value !== undefined && value !== false);
  const claims = new Map((side.result.claims ?? []).map((one) => [one.id, one]));
  const messages = messagesOf(packed, call, side.result.sample, claims, side.literals);
  const format = packed[1] !== null && side.literals[packed[1]];
  const whole = () => messages.map(({ role, content }) => `${role}:\n${content}`).join("\n\n");
  return [
    el("h3", null, "Request ", copyButton("copy the request", whole)),
    note(
      "Rebuilt from prompt, sample and claims. The SHA-256 over it and the settings is the key of the stored reply, so this is what was sent.",
    ),
    messages.map(({ role, content }) => [
      el("h4", null, role),
      passedText(
        content,
        { "data-role": role, "aria-label": `Message of the ${role}` },
        role === "system" ? [] : aboutClaim(content, claim, call),
      ),
    ]),
    more("Settings and reply format", [
      definitions(settingsInWords(sent)),
      format &&
        el(
          "pre",
          { class: "text", tabindex: "0" },
          visible(JSON.stringify(JSON.parse(format), null, 1)),
        ),
    ]),
  ];
}
