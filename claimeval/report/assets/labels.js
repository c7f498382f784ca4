// The labels of claims: a word, a sign and a colour each, so that none of them is told by colour alone.

const LABELS = {
  supported: { sign: "✓", word: "supported" },
  contradicted: { sign: "✗", word: "contradicted" },
  not_found: { sign: "?", word: "not found" },
  unassessed: { sign: "○", word: "unassessed" },
};
const DIVIDED = "≠"; // in the place of the sign for "unassessed" where judges differ
const LETTERS = { s: "supported", c: "contradicted", n: "not_found", u: "unassessed" };

const PARTS = {
  __proto__: null,
  answer: "answer",
  reference: "reference answer",
  contexts: "retrieved contexts",
  reference_contexts: "reference contexts",
  history: "earlier turns",
  "contexts+history": "retrieved contexts and earlier turns",
};

function partName(part) {
  return PARTS[part] ?? part;
}

function reasonInWords(reason) {
  return report.reasons[reason] ?? reason;
}

// What the label of a verdict or an assessment comes to, as its sign and colour are named.
function labelOf({ label, positive } = {}) {
  return positive === undefined ? (label ?? "unassessed") : positive ? "supported" : "not_found";
}

// The label itself, if it is a word of another scale.
function wordOf({ label, positive }) {
  return positive === undefined ? "" : ` (${label.replaceAll("_", " ")})`;
}

function labelInWords(label, because) {
  return because ? `${LABELS[label].word}: ${reasonInWords(because)}` : LABELS[label].word;
}

function signText(label, because) {
  return because === "tie" ? DIVIDED : LABELS[label].sign;
}

function sign(label, because) {
  return el("span", { class: `sign is-${label}`, "aria-hidden": "true" }, signText(label, because));
}

function chip(label, because) {
  return el("span", { class: `chip is-${label}` }, sign(label, because), ` ${labelInWords(label, because)}`);
}

// The sign for a letter of a strip; a capital says that judges differ.
function letterSign(letter) {
  const label = LETTERS[letter.toLowerCase()];
  const node = sign(label, letter === "U" ? "tie" : null);
  if (letter !== letter.toLowerCase() && letter !== "U") node.classList.add("split");
  return node;
}

// { supported: 3, ... } of a row's strip.
function counts(strip) {
  const found = { supported: 0, contradicted: 0, not_found: 0, unassessed: 0 };
  for (const letter of strip) found[LETTERS[letter.toLowerCase()]] += 1;
  return found;
}

function countsInWords(found) {
  const said = Object.keys(LABELS).filter((label) => found[label]);
  return said.map((label) => `${found[label]} ${LABELS[label].word}`).join(", ") || "no claims";
}

// Judge -> the name that tables show.
function judgeNames(facts) {
  return new Map(facts.judges.map((judge) => [judge.name, judge.short]));
}
