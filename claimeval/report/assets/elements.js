// Builds elements. Strings become text nodes, so nothing in them can be markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element of HTML: `el("a", { href, click: () => go() }, "text", [other, nodes])`.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any> | null} [attributes] null, undefined and false are left out; a function is a listener
 * @param {...any} children nodes, strings, and lists of them; null, undefined and false are left out
 */
export function el(tag, attributes, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

/**
 * Creates an SVG element, as `el` creates HTML elements.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any> | null} [attributes]
 * @param {...any} children
 */
export function svg(tag, attributes, ...children) {
  return dress(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * @template {Element} Node
 * @param {Node} node
 * @param {Record<string, any> | null | undefined} attributes
 * @param {any[]} children
 */
function dress(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...nodes(children));
  return node;
}

/** A picture that Python drew, as nested lists of tag, attributes and children. @param {any} tree @returns {Element} */
export function picture([tag, attributes, ...children]) {
  return svg(
    tag,
    attributes,
    children.map((/** @type {any} */ child) =>
      typeof child === "string" ? child : picture(child),
    ),
  );
}

/** @param {any[]} children */
function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false);
}

/** Replaces the children of a node; they are given as to `el`. @param {Element} node @param {...any} children */
export function fill(node, ...children) {
  node.replaceChildren(...nodes(children));
}

/** The element of the page with an id, which must be there. @param {string} id */
export function byId(id) {
  const node = document.getElementById(id);
  if (node === null) throw new Error(`The page has no element ${id}`);
  return node;
}

/** The dialog of the page. */
export function dialog() {
  return /** @type {HTMLDialogElement} */ (byId("dialog"));
}

/**
 * Opens the dialog with a heading, a button that closes it, and content.
 *
 * @param {string} title
 * @param {...any} content
 */
export function openDialog(title, ...content) {
  const node = dialog();
  node.replaceChildren(
    el(
      "div",
      { class: "dialog-head" },
      el("h2", { id: "dialog-title" }, title),
      el("button", { type: "button", "aria-label": "Close", click: () => node.close() }, "✕"),
    ),
    ...content,
  );
  node.showModal();
}

/**
 * All elements that a selector finds.
 *
 * @param {string} selector
 * @param {ParentNode} [within]
 * @returns {HTMLElement[]}
 */
export function all(selector, within = document) {
  return [...within.querySelectorAll(/** @type {any} */ (selector))];
}

/**
 * Replaces the children of a node by nodes for the items, in order. Nodes of items that it already shows are kept, with
 * their open details and the focus; only new items are drawn.
 *
 * @template Item
 * @param {Element} parent
 * @param {Item[]} items
 * @param {(item: Item) => string | number} keyOf
 * @param {(item: Item, place: number) => HTMLElement} draw
 */
export function keyed(parent, items, keyOf, draw) {
  const there = new Map(all(":scope > *", parent).map((node) => [node.dataset.key, node]));
  const children = items.map((item, place) => {
    const key = String(keyOf(item));
    const node = there.get(key) ?? draw(item, place);
    node.dataset.key = key;
    return node;
  });
  const wanted = new Set(children);
  for (const node of [...parent.children])
    if (!wanted.has(/** @type {HTMLElement} */ (node))) node.remove();
  children.forEach((node, place) => {
    if (parent.children[place] !== node) parent.insertBefore(node, parent.children[place] ?? null);
  });
}

/**
 * Something wide, in a frame that scrolls sideways and can be reached with the keyboard.
 *
 * @param {string} heading id of its name
 * @param {...any} children
 */
export function scrolling(heading, ...children) {
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-labelledby": heading },
    children,
  );
}

/**
 * A column: its name, its class, its meaning; or its header cell.
 *
 * @typedef {string | HTMLTableCellElement | [name: any, kind?: string | null, title?: string]} Column
 */

/**
 * A table. The first cell of a row is its heading, and every cell has the class of its column, `num` for numbers.
 *
 * @param {Record<string, any> | null} attributes
 * @param {Column[]} columns
 * @param {(any[] | Element | null | undefined | false)[]} rows the cells of each, or what `row` made; null and false are left out
 * @param {any[][]} [foot] rows below
 */
export function table(attributes, columns, rows, foot = []) {
  const heads = columns.map((column) => (Array.isArray(column) ? column : [column]));
  const kinds = heads.map(([, kind]) => /** @type {string | null | undefined} */ (kind));
  const body = rows.map((cells) => (Array.isArray(cells) ? row(null, cells, kinds) : cells));
  return el(
    "table",
    { class: "plain", ...attributes },
    el(
      "thead",
      null,
      row(
        null,
        heads.map(([name, kind, title]) =>
          name instanceof HTMLTableCellElement
            ? name
            : el("th", { scope: "col", class: kind, title }, name),
        ),
      ),
    ),
    el("tbody", null, body),
    foot.length > 0 &&
      el(
        "tfoot",
        null,
        foot.map((cells) => row(null, cells, kinds)),
      ),
  );
}

/** Columns that hold numbers. @param {...string} names @returns {Column[]} */
export function numeric(...names) {
  return names.map((name) => [name, "num"]);
}

/**
 * A row of a table.
 *
 * @param {Record<string, any> | null} attributes
 * @param {any[]} cells what each holds, or the cell itself
 * @param {(string | null | undefined)[]} [kinds] their classes
 */
export function row(attributes, cells, kinds = []) {
  const cell = (/** @type {any} */ held, /** @type {number} */ i) =>
    held instanceof HTMLTableCellElement
      ? held
      : i === 0
        ? el("th", { scope: "row", class: kinds[i] }, held)
        : el("td", { class: kinds[i] }, held);
  return el("tr", attributes, cells.map(cell));
}

/**
 * A list, each of whose items is what `draw` returns for it.
 *
 * @template Item
 * @param {"ul" | "ol"} tag
 * @param {string | null} kind its class
 * @param {Item[]} items
 * @param {(item: Item, place: number) => any} draw
 */
export function list(tag, kind, items, draw) {
  const entries = items.map((item, place) => el("li", null, draw(item, place)));
  return el(tag, { class: kind }, entries);
}

/**
 * Names with their values, and what a name means.
 *
 * @param {(any[] | false)[]} rows name, value and meaning; false is left out
 * @param {string} [kind] the class of the values
 */
export function definitions(rows, kind) {
  const entry = (/** @type {any[]} */ [name, value, meaning]) => {
    const means = meaning && el("span", { class: "quiet small" }, meaning);
    return el("div", null, el("dt", null, name, means), el("dd", { class: kind }, value));
  };
  return el("dl", { class: "numbers" }, rows.filter((row) => row !== false).map(entry));
}

/** A figure with a picture that Python drew. @param {any} tree */
export function figure(tree) {
  return el("figure", null, picture(tree));
}

/** A paragraph with a class. @param {string | null} kind @param {...any} children */
export function p(kind, ...children) {
  return el("p", { class: kind }, children);
}

/** @param {string | null} kind @param {...any} children */
export function span(kind, ...children) {
  return el("span", { class: kind }, children);
}

/** @param {string | null} kind @param {...any} children */
export function div(kind, ...children) {
  return el("div", { class: kind }, children);
}

/** Content that a reader opens. @param {any} summary @param {any} content @param {boolean} [open] */
export function more(summary, content, open) {
  return el("details", { class: "more", open }, el("summary", null, summary), content);
}

/** A small quiet paragraph. @param {...any} children */
export function note(...children) {
  return p("quiet small", children);
}

/**
 * A button.
 *
 * @param {string | null} kind its class
 * @param {(event: MouseEvent) => unknown} click
 * @param {any} content
 * @param {Record<string, any>} [attributes]
 */
export function button(kind, click, content, attributes) {
  return el("button", { type: "button", class: kind, ...attributes, click }, content);
}

/** A part of a page under a heading. @param {string} id of the heading @param {any} title @param {...any} children */
export function section(id, title, ...children) {
  return el("section", { "aria-labelledby": id }, el("h2", { id }, title), children);
}

/** The title of a page and the paragraphs under it. @param {any} title @param {...any} paragraphs */
export function intro(title, ...paragraphs) {
  return el(
    "header",
    { class: "intro" },
    el("h1", { id: "title" }, title),
    ...paragraphs.map((text) => el("p", null, text)),
  );
}

/**
 * Fields in a line; what changes in them is seen at once, so nothing is sent.
 *
 * @param {Record<string, any>} attributes
 * @param {...any} fields
 */
export function form(attributes, ...fields) {
  return el(
    "form",
    { ...attributes, submit: (/** @type {Event} */ event) => event.preventDefault() },
    fields,
  );
}

/** A field with its name above it. @param {string} name @param {Element} control @param {string} [kind] */
export function field(name, control, kind) {
  return el("label", { class: kind }, el("span", null, name), control);
}

/**
 * The field in which a reader searches; the key / leads to it.
 *
 * @param {string} value
 * @param {string} placeholder the placeholder text
 * @param {(query: string) => unknown} found is called with every change
 */
export function searchField(value, placeholder, found) {
  const input = el("input", {
    type: "search",
    id: "search",
    value,
    placeholder,
    autocomplete: "off",
    spellcheck: "false",
    input: () => found(input.value),
  });
  return field("Search", input, "wide");
}

/**
 * A choice of one of several values.
 *
 * @param {string} name
 * @param {(string | [value: string | number, words: string])[]} options
 * @param {string | number} chosen
 * @param {(value: string) => unknown} choose
 * @param {Record<string, any>} [attributes]
 */
export function choice(name, options, chosen, choose, attributes) {
  const pairs = options.map((option) => (typeof option === "string" ? [option, option] : option));
  const control = el(
    "select",
    { ...attributes, change: () => choose(control.value) },
    pairs.map(([value, words]) =>
      el("option", { value, selected: String(value) === String(chosen) }, words),
    ),
  );
  return field(name, control);
}
