// What can be forwarded of a report, which is drawn without a script and stays as it is.

const drawn = /** @type {HTMLElement} */ (document.getElementById("summary"));

/** The first part of the report, for the view that begins with it. */
export function firstPart() {
  return drawn;
}
