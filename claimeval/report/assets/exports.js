// Buttons that copy a text to the clipboard or save it as a file; rows as CSV.

import { button, el } from "./elements.js";

const NOTICE = 1500; // milliseconds for which a button shows that it has copied

/** A button that copies a text. @param {string} label @param {() => string} text */
export function copyButton(label, text) {
  const copy = async () => {
    copying.textContent = (await toClipboard(text())) ? "copied" : "not allowed here";
    setTimeout(() => (copying.textContent = label), NOTICE);
  };
  const copying = button("link small take", copy, label);
  return copying;
}

/** @param {string} text */
async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "unseen" });
    area.value = text;
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/**
 * A button that saves a text as a file.
 *
 * @param {string} label
 * @param {string} name of the file
 * @param {() => string} text
 */
export function saveButton(label, name, text) {
  const save = () => {
    const address = URL.createObjectURL(new Blob([text()], { type: "text/plain;charset=utf-8" }));
    el("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), NOTICE);
  };
  return button("link small take", save, label);
}

/**
 * Rows as CSV, with the mark at the start that tells spreadsheets that it is UTF-8.
 *
 * @param {(string | number | null)[][]} rows
 */
export function csv(rows) {
  const cell = (/** @type {string | number | null} */ value) => {
    if (typeof value !== "string") return value === null ? "" : String(value);
    const guarded = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value; // spreadsheets run a text that begins like a formula
    return /[",\n\r]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
  };
  return `\ufeff${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}
