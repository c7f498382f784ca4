// Tables that Python made once for every form of a report, with their numbers already as text.

import { el, note, scrolling, table } from "./elements.js";
import { data } from "./text.js";

/**
 * A table of claimeval/runs/views.
 *
 * @typedef {{ name: string, title: string, columns: { name: string, kind: string }[], rows: string[][],
 *   notes: string[] }} Table
 */

/**
 * A table under a heading, in a frame that scrolls sideways.
 *
 * @param {string} heading id of its heading
 * @param {Table | undefined} drawn nothing is shown without one
 * @param {{ href?: (row: number) => string | undefined, attributes?: Record<string, any> }} [more] where the first cell
 *   of a row leads
 */
export function drawn(heading, drawn, { href, attributes } = {}) {
  if (!drawn?.rows.length) return null;
  const columns = drawn.columns.map(
    ({ name, kind }) =>
      /** @type {[any, string | null]} */ ([data(name), kind === "text" ? null : "num"]),
  );
  const rows = drawn.rows.map((cells, i) => {
    const target = href?.(i);
    const [first, ...others] = cells.map((cell) => data(cell));
    return [target ? el("a", { href: target }, first) : first, ...others];
  });
  return [
    scrolling(heading, table(attributes ?? null, columns, rows)),
    drawn.notes.map((text) => note(data(text))),
  ];
}
