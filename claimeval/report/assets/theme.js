// Light or dark colours: those of the system, or the reader's choice, which other pages keep.

import { byId } from "./elements.js";

const KEY = "claimeval-colours";
/** @type {Record<string, string>} */
const THEMES = { auto: "as in the system", light: "light", dark: "dark" };

function current() {
  return document.documentElement.dataset.theme ?? "auto";
}

/** @param {string} theme */
function set(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").setAttribute("aria-label", `Colours: ${THEMES[theme]}`);
}

/** Takes the colours that the reader chose before, where the browser keeps that for a page like this; its button changes them. */
export function themes() {
  try {
    const kept = localStorage.getItem(KEY);
    if (kept !== null && Object.hasOwn(THEMES, kept)) set(kept);
  } catch {
    // a browser that keeps nothing for files
  }
  byId("theme").addEventListener("click", next);
}

/** Switches to the other colours, and from these back to the colours of the system. */
function next() {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const other = system === "dark" ? "light" : "dark";
  set(current() === "auto" || current() === system ? other : "auto");
  try {
    localStorage.setItem(KEY, current());
  } catch {
    // the choice holds until the page is left
  }
}
