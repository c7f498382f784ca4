// Texts from data: hidden characters are shown, and text directions do not affect other texts.

import { el } from "./elements.js";

const HIDDEN =
  /\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\uffff\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;

/** @type {Record<number, string>} */
const CHARACTER_NAMES = {
  0: "null",
  7: "bell",
  8: "backspace",
  13: "carriage return",
  27: "escape",
  127: "delete",
  173: "soft hyphen",
  1564: "Arabic letter mark",
  8203: "zero width space",
  8206: "left-to-right mark",
  8207: "right-to-left mark",
  8232: "line separator",
  8233: "paragraph separator",
  8234: "left-to-right embedding",
  8235: "right-to-left embedding",
  8236: "pop directional formatting",
  8237: "left-to-right override",
  8238: "right-to-left override",
  8288: "word joiner",
  8294: "left-to-right isolate",
  8295: "right-to-left isolate",
  8296: "first strong isolate",
  8297: "pop directional isolate",
  65279: "byte order mark",
};

/** @param {number} code */
function characterName(code) {
  if (code >= 0xd800 && code <= 0xdfff) return "half of a surrogate pair";
  if (code >= 0xe0000) return "tag character";
  return CHARACTER_NAMES[code] ?? (code < 0xa0 ? "control character" : "invisible character");
}

/** The nodes of a text: text nodes, and a badge for every hidden character. @param {string} text */
export function visible(text) {
  const nodes = [];
  let last = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > last) nodes.push(document.createTextNode(text.slice(last, match.index)));
    const code = match[0].codePointAt(0) ?? 0;
    const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    nodes.push(el("span", { class: "hidden-character", title: characterName(code) }, name));
    last = match.index + match[0].length;
  }
  if (last < text.length) nodes.push(document.createTextNode(text.slice(last)));
  return nodes;
}

/** A piece of data within a line of our own. @param {any} text @param {Record<string, any>} [attributes] */
export function data(text, attributes) {
  return el("bdi", { ...attributes }, visible(String(text)));
}

// A piece of data as a block that keeps its line breaks.
/** @param {string} text @param {Record<string, any>} [attributes] */
export function block(text, attributes) {
  return el(
    "div",
    { dir: "auto", ...attributes, class: `text ${attributes?.class ?? ""}` },
    visible(text),
  );
}

/** The words of a query. @param {string} query */
export function terms(query) {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

/** @param {string} text @param {string[]} wanted */
export function has(text, wanted) {
  return wanted.every((term) => text.includes(term));
}

// Places in a text are counted in characters (code points) by the results and in UTF-16 units here.
export class Places {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    /** @type {number[] | null} */
    this.units = null;
    if (/[\ud800-\udfff]/.test(text)) {
      this.units = [0];
      let unit = 0;
      for (const character of text) {
        unit += character.length;
        this.units.push(unit);
      }
    }
  }

  /** @param {number} place */
  unit(place) {
    const last = this.units ? this.units.length - 1 : this.text.length;
    const bounded = Math.max(0, Math.min(place, last));
    return this.units ? this.units[bounded] : bounded;
  }

  /** @param {number} start @param {number} end */
  slice(start, end) {
    return this.text.slice(this.unit(start), this.unit(end));
  }
}

/**
 * Cuts a text at the ends of all spans: [{ text, from, to, spans }], where `spans` cover the whole piece. Ends are given in
 * characters as `start` and `end`, or in UTF-16 units as `from` and `to`.
 *
 * @param {string} text
 * @param {any[]} spans
 */
export function cut(text, spans) {
  const places = new Places(text);
  const placed = spans
    .map((span) =>
      span.from === undefined
        ? { ...span, from: places.unit(span.start), to: places.unit(span.end) }
        : span,
    )
    .filter((span) => span.from < span.to);
  const ends = [
    ...new Set([0, text.length, ...placed.flatMap((span) => [span.from, span.to])]),
  ].sort((a, b) => a - b);
  return ends.slice(0, -1).map((from, i) => ({
    text: text.slice(from, ends[i + 1]),
    from,
    to: ends[i + 1],
    spans: placed.filter((span) => span.from <= from && span.to >= ends[i + 1]),
  }));
}

/**
 * A text in which the pieces that a span covers are marked.
 *
 * @param {string} text
 * @param {any[]} spans as `cut` takes them
 * @param {string} kind the class of the marks
 */
export function marked(text, spans, kind) {
  const piece = (/** @type {any} */ { text: piece, spans: found }) =>
    found.length ? el("mark", { class: kind }, visible(piece)) : visible(piece);
  return cut(text, spans).map(piece);
}

/** The position in UTF-16 units of a position in code points. @param {string} text @param {number} at */
export function unitsOf(text, at) {
  if (!/[\ud800-\udbff]/.test(text)) return at;
  return [...text].slice(0, at).join("").length;
}
