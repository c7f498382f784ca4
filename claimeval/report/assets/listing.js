// The list of samples. Only the rows in view are in the document, so that 10,000 scroll like ten.

import { flags, rowValue, strips } from "./cells.js";
import { directed, report } from "./data.js";
import { all, button, el, fill, keyed, p, span } from "./elements.js";
import { filterInWords, listAddress, listState, ordered, passes, sortInWords } from "./filters.js";
import { letterSign } from "./labels.js";
import { percent, plural } from "./numbers.js";
import { rewrite, sampleAddress } from "./route.js";
import { search } from "./search.js";
import { copyButton, csv, saveButton } from "./exports.js";
import { data, terms } from "./text.js";
import { toolbar } from "./toolbar.js";

/** @import { Row, RunRow } from "./data.js" */
/** @import { ListState } from "./filters.js" */

const SPARE = 12; // rows drawn beyond the window, above and below
const PRINTED = 1000; // rows drawn for paper

export const list = {
  /** @type {Row[]} the samples that are listed, in their order */
  rows: [],
  /** the row that j and k have reached */
  cursor: -1,
  /** @type {ListState | null} */
  state: null,
  /** @type {AbortController | null} */
  searching: null,
  printing: false,
  body: el("div"),
  head: el("div"),
  count: el("p"),
};

/** The filters of the list: as the reader left it, or as it opens. */
export function listedState() {
  list.state ??= listState(new URLSearchParams());
  return list.state;
}

/** @param {HTMLElement} main @param {URLSearchParams} params */
export function drawList(main, params) {
  list.state = listState(params);
  const count = el("p", { class: "count", role: "status" });
  const body = el("div", {
    class: report.comparison ? "rows two" : "rows",
    role: "list",
    "aria-label": "Samples",
  });
  const head = el("div", { class: "list-head" });
  main.replaceChildren(
    el("h1", { class: "unseen" }, "Samples"),
    toolbar(list.state, changeList),
    count,
    head,
    body,
  );
  Object.assign(list, { body, head, count });
  runQuery();
}

// `redraw` also draws the toolbar again, which must not happen while typing.
/** @param {Record<string, any>} changed @param {boolean} [redraw] */
function changeList(changed, redraw = true) {
  const state = { ...listedState(), ...changed };
  state.metric = Number(state.metric);
  state.run = Number(state.run);
  if ("metric" in changed || "run" in changed) state.bar = null;
  rewrite(listAddress(state));
  list.state = state;
  list.cursor = -1;
  if (redraw) {
    const [before, fields] = [all(".toolbar")[0], "input, select"];
    const at = all(fields, before).findIndex((one) => one === document.activeElement);
    before.replaceWith(toolbar(state, changeList));
    all(fields, all(".toolbar")[0])[at]?.focus();
  }
  runQuery();
}

function runQuery() {
  list.searching?.abort();
  const searching = new AbortController();
  list.searching = searching;
  const state = listedState();
  const passing = ordered(
    report.rows.filter((row) => passes(row, state)),
    state,
  );
  if (!terms(state.q).length) return showRows(passing, 1);
  return search(state.q, searching.signal, (matches, share) => {
    const found = passing.filter((row) => matches.has(row.number));
    showRows(found, share);
  });
}

/** @param {Row[]} rows @param {number} share */
function showRows(rows, share) {
  list.rows = rows;
  const { bar, metric, filters } = listedState();
  fill(
    list.count,
    `${rows.length.toLocaleString("en")} of ${plural(report.rows.length, "sample")}`,
    share < 1 && `, still searching (${percent(share)})`,
    bar &&
      button("token", () => changeList({ bar: null }), [
        data(report.metrics[metric].name),
        bar[0] === bar[1] ? ` at ${bar[0]} ✕` : ` over ${bar[0]}, at most ${bar[1]} ✕`,
      ]),
    filters.map(([kind, value]) => {
      const words = filterInWords(kind, value, listedState());
      const remove = () =>
        changeList({ filters: filters.filter(([k, v]) => k !== kind || v !== value) });
      return button("token", remove, [data(words), " ✕"], {
        "aria-label": `Remove the filter: ${words}`,
      });
    }),
    JSON.stringify(listState(new URLSearchParams())) !== JSON.stringify(list.state) &&
      el("a", { class: "token", href: "#/samples" }, "show all"),
    share === 1 &&
      span("takes", [
        copyButton("copy the ids", () => rows.map(({ id }) => id).join("\n")),
        saveButton("save as CSV", "samples.csv", () => csv(table(rows))),
      ]),
  );
  list.head.replaceChildren(...listHead());
  list.body.dataset.rows = String(rows.length);
  document.documentElement.style.setProperty("--metrics", String(shownMetrics().length));
  fill(list.body, !rows.length && p("empty", share < 1 ? "Searching …" : "No sample matches."));
  drawRows();
}

/**
 * The listed samples with their scores, the names of the columns first.
 *
 * @param {Row[]} rows
 * @returns {(string | number | null)[][]}
 */
function table(rows) {
  const runs = report.comparison ? ["a ", "b "] : [""];
  const head = runs.flatMap((run) =>
    report.metrics.flatMap(({ name }) => [
      `${run}${name}`,
      `${run}${name} hits`,
      `${run}${name} judged`,
    ]),
  );
  const cells = (/** @type {RunRow} */ row) =>
    row.cells.flatMap(({ value, hits, judged }) => [value, hits, judged]);
  return [
    ["id", "question", ...head],
    ...rows.map((row) => [
      row.id,
      row.question,
      ...cells(row),
      ...(row.other ? cells(row.other) : []),
    ]),
  ];
}

function listHead() {
  const state = listedState();
  const sorter = (/** @type {number} */ i) => {
    const { name } = report.metrics[i];
    const sorted = state.metric === i && (state.sort === "worst" || state.sort === "best");
    const next = sorted && state.sort === "worst" ? "best" : "worst";
    const arrow = sorted ? (state.sort === "worst" ? " ↑" : " ↓") : "";
    const sort = () => changeList({ metric: i, sort: next });
    const label = `Sort by ${name}, ${sortInWords(next, i)}`;
    return button(state.metric === i ? "focus" : null, sort, [data(directed(name)), arrow], {
      "aria-label": label,
    });
  };
  return [span(null, "sample"), ...shownMetrics().map(sorter), span(null, "claims")];
}

/** The positions of the metrics that are columns: those of claims or of the job, and the chosen one of the others. */
function shownMetrics() {
  const chosen = listedState().metric;
  return report.metrics.map((_, i) => i).filter((i) => !report.metrics[i].derived || i === chosen);
}

function rowHeight() {
  return parseFloat(getComputedStyle(list.body).getPropertyValue("--row")) || 56;
}

/** Draws the rows in the window; rows that are already drawn stay. */
export function drawRows() {
  const { rows, body, printing } = list;
  if (!body.isConnected || !rows.length) return;
  const height = rowHeight();
  const above = -body.getBoundingClientRect().top;
  const first = printing ? 0 : Math.max(0, Math.floor(above / height) - SPARE);
  const last = printing
    ? Math.min(rows.length, PRINTED)
    : Math.min(rows.length, Math.ceil((above + innerHeight) / height) + SPARE);
  body.style.height = `${(printing ? last : rows.length) * height}px`;
  const places = rows.slice(first, last).map((row, i) => ({ row, at: first + i }));
  keyed(
    body,
    places,
    ({ row, at }) => `${at} ${row.number}`,
    ({ row, at }) => drawRow(row, at, height),
  );
}

/** Draws the rows for printing, or again those in the window. @param {boolean} printing */
export function printList(printing) {
  list.printing = printing;
  list.body.replaceChildren();
  drawRows();
}

/** @param {Row} row @param {number} at @param {number} height */
function drawRow(row, at, height) {
  const { metric, run } = listedState();
  const node = el(
    "div",
    {
      class: "row",
      role: "listitem",
      "aria-posinset": at + 1,
      "aria-setsize": list.rows.length,
      "data-at": at,
    },
    el(
      "a",
      {
        href: sampleAddress(row, { metric: report.metrics[metric]?.name, run }),
        click: () => (list.cursor = at),
      },
      span(
        "row-text",
        span(
          "row-first",
          span("row-id", data(row.id)),
          row.gold && span(null, " · gold: ", data(row.gold)),
        ),
        span("row-question", data(row.question)),
        span("row-worst", worstClaim(row)),
      ),
      shownMetrics().map((i) =>
        el(
          "span",
          { class: i === metric ? "row-value focus" : "row-value" },
          span("unseen", `${report.metrics[i].name} `),
          rowValue(row, i),
        ),
      ),
      span("row-claims", strips(row, metric), flags(row)),
    ),
  );
  node.style.transform = `translateY(${at * height}px)`;
  return node;
}

/** The worst claim of the answer, of run b in a comparison. @param {Row} row */
function worstClaim(row) {
  const worst = (row.other ?? row).worst;
  return worst && [letterSign(worst[1]), " ", data(worst[0])];
}

/** Moves the cursor by `step` rows and brings the row into view. @param {number} step */
export function moveInList(step) {
  if (!list.rows.length) return;
  list.cursor = Math.max(0, Math.min(list.rows.length - 1, list.cursor + step));
  const height = rowHeight();
  const top = list.body.getBoundingClientRect().top + list.cursor * height;
  const barEnd = all(".bar")[0].offsetHeight + (list.head.offsetHeight || 0) + 8;
  if (top < barEnd) scrollBy({ top: top - barEnd, behavior: "instant" });
  else if (top + height > innerHeight - 8)
    scrollBy({ top: top + height - innerHeight + 8, behavior: "instant" });
  drawRows();
  all(`[data-at="${list.cursor}"] a`, list.body)[0]?.focus({ preventScroll: true });
}
