// Builds elements. Strings become text nodes, so nothing in them can be markup.

const SVG = "http://www.w3.org/2000/svg";

function el(tag, attributes, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return dress(document.createElementNS(SVG, tag), attributes, children);
}

// Attributes that are null or false are left out; a function is a listener for the event of that name.
function dress(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function plural(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

// Of how many questions samples are, where these are fewer; intervals and tests draw whole ones.
function clustersInWords(samples, clusters, field) {
  if (clusters >= samples) return "";
  return `, ${!field || field === "question" ? plural(clusters, "question") : `${plural(clusters, "cluster")} by ${field}`}`;
}

// What stands beside a mean: its interval, or the bounds where judges abstained on many claims.
function endsInWords({ shown, low, high, bounds }) {
  if (shown === "bounds") return ` between ${range(bounds)} (bounds), as judges abstained on many claims`;
  return low === null ? " no interval" : ` 95 % interval ${range([low, high])}`;
}

function shownEnds({ shown, low, high, bounds }) {
  return shown === "bounds" ? `${range(bounds)} (bounds)` : range([low, high]);
}

// Numbers read as in the terminal and in Markdown (claimeval/statistics/formatting.py): toFixed rounds halves away from
// zero, on the exact value. Nothing is shown as -0.
function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text;
}

function signed(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  const size = number(Math.abs(value), digits);
  return Number(size) === 0 ? size : `${value > 0 ? "+" : "−"}${size}`;
}

function percent(share) {
  return share === null || share === undefined ? "–" : `${number(100 * share, 1)} %`;
}

function range(ends, digits = 2, write = number) {
  return ends && ends.every((end) => end !== null) ? ends.map((end) => write(end, digits)).join(" to ") : "–";
}

// As `dollars` of claimeval/statistics/formatting.py, with the sign.
function dollars(cost) {
  if (cost === null) return "unknown";
  return cost === 0 ? "free" : `$${number(cost, cost < 0.01 ? 4 : 2)}`;
}

function tokensInWords({ prompt_tokens: prompt, completion_tokens: completion }) {
  return `${(prompt ?? 0).toLocaleString("en")} + ${(completion ?? 0).toLocaleString("en")}`;
}

function signedRange(ends) {
  return range(ends, 2, signed);
}

function pValue(p) {
  return p !== null && p < 0.001 ? "< 0.001" : number(p);
}

// Something wide, in a frame that scrolls sideways and can be reached with the keyboard; `heading` is the id of its name.
function scrolling(heading, ...children) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": heading }, children);
}

// The head of a table: [[name, class?, title?], ...].
function columns(names) {
  return el(
    "thead",
    null,
    el(
      "tr",
      null,
      names.map(([name, kind, title]) => el("th", { scope: "col", class: kind, title }, name)),
    ),
  );
}
