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

function number(value, digits = 3) {
  return value === null || value === undefined ? "–" : value.toFixed(digits);
}

function signed(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  return `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(digits)}`;
}

function percent(share) {
  if (share === null || share === undefined) return "–";
  const rounded = Math.round(share * 100);
  return share > 0 && share < 1 && (rounded === 0 || rounded === 100)
    ? `${(share * 100).toFixed(1)} %`
    : `${rounded} %`;
}

function range(ends, digits = 2) {
  return ends && ends[0] !== null ? `${ends[0].toFixed(digits)} to ${ends[1].toFixed(digits)}` : "–";
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
