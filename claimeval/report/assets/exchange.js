// What was asked and what came back, word for word. Requests stand in the page as pieces of the sample's own texts.

const SPECIAL =
  /[<>\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{10ffff}]/gu;

// A text as prompts hold it, without the quotation marks; the same as `prompting.quoted`.
function quoted(text) {
  const escaped = (found) =>
    found
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join("");
  return JSON.stringify(text).replace(SPECIAL, escaped).slice(1, -1);
}

// The messages of a request: [{ role, content }].
function messagesOf(packed, call, sample, claims, literals) {
  const documents = documentsOf(sample, call.evidence?.part);
  const source = new Places(textOf(sample, call.part) ?? "");
  const text = (piece) => {
    if (typeof piece === "number") return literals[piece];
    if (piece === "q") return quoted(sample.question);
    const [from, to] = piece.slice(1).split("-").map(Number);
    if (piece[0] === "s") return quoted(source.slice(from, to));
    if (piece[0] === "c") return quoted(claims.get(call.subjects[from - 1]).text);
    return quoted(piece[0] === "t" ? documents[from - 1].title : documents[from - 1].text);
  };
  return packed[0].map(([role, pieces]) => ({ role, content: pieces.map(text).join("") }));
}

// Opens the dialog with the calls of a sample that `wanted` picks.
function showExchange(side, wanted) {
  const calls = (side.result.calls ?? [])
    .map((call, i) => ({ call, packed: side.requests[i] }))
    .filter(({ call }) => wanted(call));
  const dialog = document.getElementById("dialog");
  dialog.replaceChildren(
    el(
      "div",
      { class: "dialog-head" },
      el("h2", { id: "dialog-title" }, "Request and reply"),
      el("button", { type: "button", "aria-label": "Close", click: () => dialog.close() }, "✕"),
    ),
    calls.length
      ? el(
          "div",
          { class: "dialog-body" },
          calls.map(({ call, packed }, i) => exchange(call, packed, side, i + 1, calls.length)),
        )
      : el("p", null, "No call is recorded for this."),
  );
  dialog.showModal();
}

function exchange(call, packed, side, number, all) {
  const claims = new Map((side.result.claims ?? []).map((claim) => [claim.id, claim]));
  const judge = [side.facts.manifest.extractor, ...side.facts.manifest.judges].find((one) => one?.name === call.judge);
  const facts = [
    ["judge", call.judge],
    [
      "step",
      [
        call.step,
        call.attempt ? `asked again (${call.attempt})` : "",
        call.replicate ? `repeat ${call.replicate + 1}` : "",
        call.reused ? "taken over from an earlier run" : "",
      ]
        .filter(Boolean)
        .join(", "),
    ],
    ["served by", call.served_model],
    [
      "tokens",
      call.prompt_tokens === undefined ? null : `${call.prompt_tokens} in, ${call.completion_tokens ?? "?"} out`,
    ],
    ["key", call.key],
  ];
  return el(
    "article",
    { class: "call" },
    all > 1 && el("h3", null, `Call ${number} of ${all}`),
    el(
      "dl",
      { class: "numbers" },
      facts
        .filter(([, value]) => value)
        .map(([name, value]) => el("div", null, el("dt", null, name), el("dd", { class: "long" }, data(value)))),
    ),
    call.failed &&
      el(
        "p",
        { class: "failure" },
        `${reasonInWords(call.failed)} `,
        el("code", null, call.failed),
        call.message ? [": ", data(call.message)] : null,
      ),
    !call.failed && call.message && el("p", { class: "failure" }, "Not read: ", data(call.message)),
    el("h3", null, "Request"),
    packed
      ? requestText(packed, call, side, claims, judge)
      : el(
          "p",
          { class: "quiet" },
          "The request cannot be rebuilt: what would be asked with this run's prompts has another key. The reply below is as it came.",
        ),
    el("h3", null, "Reply"),
    call.reply === undefined
      ? el("p", { class: "quiet" }, "There was none.")
      : el("pre", { class: "text", tabindex: "0", "data-reply": true }, visible(call.reply)),
  );
}

function requestText(packed, call, side, claims, judge) {
  const { key_variable: _, structured: __, extra, ...settings } = judge.settings;
  const { model, endpoint } = judge;
  const sent = Object.entries({ model, endpoint, ...settings, ...extra }).filter(
    ([, value]) => value !== null && value !== false,
  );
  return [
    el(
      "p",
      { class: "quiet small" },
      "Rebuilt from prompt, sample and claims. The SHA-256 over it and the settings is the key of the stored reply, so this is what was sent.",
    ),
    messagesOf(packed, call, side.result.sample, claims, side.literals).map(({ role, content }) => [
      el("h4", null, role),
      el("pre", { class: "text", tabindex: "0", "data-role": role }, visible(content)),
    ]),
    el(
      "details",
      { class: "more" },
      el("summary", null, "Settings and reply format"),
      definitions(sent.map(([key, value]) => [key.replaceAll("_", " "), inWords(value)])),
      packed[1] !== null && el("pre", { class: "text", tabindex: "0" }, visible(indented(side.literals[packed[1]]))),
    ),
  ];
}

function indented(json) {
  return JSON.stringify(JSON.parse(json), null, 1);
}
