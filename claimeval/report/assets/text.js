// Texts of others, shown as what they are: hidden characters are written out, directions do not leak.

const HIDDEN =
  /\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\uffff\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;

const CHARACTER_NAMES = {
  0x00: "null",
  0x07: "bell",
  0x08: "backspace",
  0x0d: "carriage return",
  0x1b: "escape",
  0x7f: "delete",
  0xad: "soft hyphen",
  0x61c: "Arabic letter mark",
  0x200b: "zero width space",
  0x200e: "left-to-right mark",
  0x200f: "right-to-left mark",
  0x2028: "line separator",
  0x2029: "paragraph separator",
  0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding",
  0x202c: "pop directional formatting",
  0x202d: "left-to-right override",
  0x202e: "right-to-left override",
  0x2060: "word joiner",
  0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate",
  0x2068: "first strong isolate",
  0x2069: "pop directional isolate",
  0xfeff: "byte order mark",
};

function characterName(code) {
  if (code >= 0xd800 && code <= 0xdfff) return "half of a surrogate pair";
  if (code >= 0xe0000) return "tag character";
  return CHARACTER_NAMES[code] ?? (code < 0xa0 ? "control character" : "invisible character");
}

// The nodes of a text: text nodes, and a badge in the place of every hidden character.
function visible(text) {
  const nodes = [];
  let last = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > last) nodes.push(document.createTextNode(text.slice(last, match.index)));
    const code = match[0].codePointAt(0);
    const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    nodes.push(el("span", { class: "hidden-character", title: characterName(code) }, name));
    last = match.index + match[0].length;
  }
  if (last < text.length) nodes.push(document.createTextNode(text.slice(last)));
  return nodes;
}

// A piece of data within a line of our own.
function data(text, attributes) {
  return el("bdi", { ...attributes }, visible(String(text)));
}

// A piece of data as a block that keeps its line breaks.
function block(text, attributes) {
  return el("div", { dir: "auto", ...attributes, class: `text ${attributes?.class ?? ""}` }, visible(text));
}

// Places in a text are counted in characters (code points) by the results and in UTF-16 units here.
class Places {
  constructor(text) {
    this.text = text;
    this.units = null;
    if (/[\ud800-\udfff]/.test(text)) {
      this.units = [0];
      let unit = 0;
      for (const character of text) this.units.push((unit += character.length));
    }
  }

  unit(place) {
    const last = this.units ? this.units.length - 1 : this.text.length;
    const bounded = Math.max(0, Math.min(place, last));
    return this.units ? this.units[bounded] : bounded;
  }

  slice(start, end) {
    return this.text.slice(this.unit(start), this.unit(end));
  }
}

// Cuts a text at the ends of all spans: [{ text, start, end, spans }], where `spans` cover the whole piece.
function cut(text, spans) {
  const places = new Places(text);
  const placed = spans
    .map((span) => ({ ...span, from: places.unit(span.start), to: places.unit(span.end) }))
    .filter((span) => span.from < span.to);
  const ends = [...new Set([0, text.length, ...placed.flatMap((span) => [span.from, span.to])])].sort((a, b) => a - b);
  return ends.slice(0, -1).map((from, i) => ({
    text: text.slice(from, ends[i + 1]),
    from,
    to: ends[i + 1],
    spans: placed.filter((span) => span.from <= from && span.to >= ends[i + 1]),
  }));
}
