// Selects the view by the address, and handles keys.

import { drawComparison } from "./comparison.js";
import { load, report } from "./data.js";
import { byId, definitions, dialog, el, openDialog, span } from "./elements.js";
import { listAddress } from "./filters.js";
import { anyJudges, drawJudges } from "./judges.js";
import { labelByKey, labelKeys, loadLabels, undoLabel } from "./labeled.js";
import { drawList, drawRows, list, listedState, moveInList, printList } from "./listing.js";
import { dataName, drawOverview } from "./overview.js";
import { address, route } from "./route.js";
import { moveInSamples, opened } from "./opened.js";
import { drawSample, moveInClaims, showChosenVerdict } from "./sample.js";
import { drawSettings } from "./settings.js";
import { anySlices, drawSlices } from "./slices.js";
import { data } from "./text.js";
import { themes } from "./theme.js";

/** @typedef {ReturnType<typeof route>} At where the reader is */
/**
 * A view: what the address #/NAME shows.
 *
 * @typedef {object} View
 * @property {(at: At) => string} title
 * @property {(at: At) => [path: string[], text: string, current?: boolean][]} [links] its links in the bar, if it is shown
 *   there; a link is the current one where the address has its view, unless it says otherwise
 * @property {(main: HTMLElement, at: At, current: () => boolean) => void | Promise<void>} draw fills the page; after
 *   waiting for something it goes on only if `current()`
 */

/** @type {Record<string, View>} */
const VIEWS = {
  "": {
    title: () => (report.comparison ? "Comparison" : "Overview"),
    links: () => [[[], report.comparison ? "Comparison" : "Overview"]],
    draw: (main) => (report.comparison ? drawComparison(main) : drawOverview(main)),
  },
  run: {
    title: () => "Run",
    links: ({ view, rest }) =>
      report.comparison
        ? ["a", "b"].map((run) => [
            ["run", run],
            `Run ${run}`,
            view === "run" && (rest[0] ?? "a") === run,
          ])
        : [],
    draw: (main, { rest }) => drawOverview(main, rest[0] === "b" && report.runs.length > 1 ? 1 : 0),
  },
  samples: {
    title: () => "Samples",
    links: ({ view }) => [
      [
        ["samples"],
        `Samples (${report.rows.length.toLocaleString("en")})`,
        view === "samples" || view === "sample",
      ],
    ],
    draw: (main, { params }) => drawList(main, params),
  },
  sample: {
    title: ({ rest }) => rest[0] ?? "Sample",
    draw: (main, { rest, params }, current) => drawSample(main, rest[0] ?? "", params, current),
  },
  slices: {
    title: () => "Slices",
    links: () => (anySlices() ? [[["slices"], "Slices"]] : []),
    draw: (main, { params }) => drawSlices(main, params),
  },
  judges: {
    title: () => "Judges",
    links: () => (anyJudges() ? [[["judges"], "Judges"]] : []),
    draw: (main) => drawJudges(main),
  },
  settings: {
    title: () => "Prompts and judges",
    links: () => [[["settings"], "Prompts and judges"]],
    draw: (main) => drawSettings(main),
  },
};

const KEYS = [
  ["j / k", "next and previous sample, in a sample and in the list"],
  ["n / p", "next and previous claim of a sample"],
  ["b / Shift+B", "next and previous claim that is not supported"],
  ["r", "reply and request of the chosen claim"],
  ["/", "search"],
  ["Enter", "open the sample that has the focus"],
  ["Esc", "close, or back to the list"],
  ["?", "this help"],
];

const LABEL_KEYS = [
  ["y c n ?", "label the chosen claim: supported, contradicted, not found, unsure"],
  ["u", "take the last label back"],
  ["← / →", "previous and next claim, where n labels"],
];

const shown = {
  view: "",
  turn: 0,
  /** @type {{ address: string, top: number } | null} */
  listAt: null,
};

async function show() {
  const at = route();
  const view = Object.hasOwn(VIEWS, at.view) ? at.view : "";
  const main = byId("main");
  if (shown.view === "samples" && list.state)
    shown.listAt = { address: listAddress(list.state), top: scrollY };
  shown.turn += 1;
  const { turn } = shown;
  main.dataset.turn = String(turn);
  shown.view = view;
  list.searching?.abort();
  navigation({ ...at, view });
  await VIEWS[view].draw(main, at, () => turn === shown.turn);
  if (turn !== shown.turn) return;
  document.title = `${VIEWS[view].title(at)} · ${dataName(report.runs[0])} · claimeval`;
  main.dataset.view = view;
  if (view === "samples" && shown.listAt?.address === location.hash)
    scrollTo({ top: shown.listAt.top, behavior: "instant" });
  else if (opened.claim === null || view !== "sample") scrollTo({ top: 0, behavior: "instant" });
  main.dataset.drawn = String(turn);
  const chosen = view === "sample" && opened.claim !== null;
  if (turn > 1 && !chosen && !(view === "samples" && document.activeElement?.id === "search"))
    main.focus({ preventScroll: true });
}

/** @param {At} at */
function navigation(at) {
  const links = Object.entries(VIEWS).flatMap(([view, { links }]) =>
    (links?.(at) ?? []).map(([path, text, current = at.view === view]) =>
      el("a", { href: address(path), "aria-current": current ? "page" : null }, text),
    ),
  );
  byId("nav").replaceChildren(...links);
}

function help() {
  const rows = [...KEYS, ...(Object.keys(labelKeys()).length ? LABEL_KEYS : [])].map(
    ([key, meaning]) => [el("kbd", null, key), meaning],
  );
  openDialog("Keys", definitions(rows));
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || dialog().open) return;
  if (/^(input|select|textarea)$/i.test(target.tagName)) {
    if (event.key === "Escape") target.blur();
    return;
  }
  const inSample = shown.view === "sample";
  const inList = shown.view === "samples";
  const labeled = Object.keys(labelKeys()).length > 0;
  if (labeled && inSample && opened.claim !== null && labelWith(event.key)) {
    event.preventDefault();
    return;
  }
  const move = inSample ? moveInSamples : moveInList;
  /** @type {Record<string, () => unknown>} */
  const actions = {
    j: () => (inSample || inList) && move(1),
    k: () => (inSample || inList) && move(-1),
    n: () => inSample && moveInClaims(1),
    p: () => inSample && moveInClaims(-1),
    ...(labeled && inSample
      ? { ArrowRight: () => moveInClaims(1), ArrowLeft: () => moveInClaims(-1) }
      : {}),
    b: () => inSample && moveInClaims(1, isBad),
    B: () => inSample && moveInClaims(-1, isBad),
    r: () => inSample && showChosenVerdict(),
    "/": focusSearch,
    "?": help,
    Escape: () => inSample && location.assign(listAddress(listedState())),
  };
  if (!Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}

/** Labels the chosen claim, or takes a label back; says whether the key does so. @param {string} key */
function labelWith(key) {
  if (key === "u") undoLabel();
  else if (Object.hasOwn(labelKeys(), key)) labelByKey(opened.sides[opened.run], opened.claim, key);
  else return false;
  return true;
}

/** @param {import("./entries.js").Entry} entry */
function isBad({ label }) {
  return label !== "supported";
}

async function focusSearch() {
  if (shown.view !== "samples") {
    location.hash = "#/samples";
    await new Promise((resolve) =>
      addEventListener("hashchange", () => setTimeout(resolve), { once: true }),
    );
  }
  /** @type {HTMLInputElement} */ (byId("search")).select();
}

/** @param {() => void} act */
function inTheList(act) {
  return () => shown.view === "samples" && act();
}

async function start() {
  if (typeof DecompressionStream === "undefined" || !Intl.Segmenter || !"".isWellFormed) {
    byId("loading").textContent =
      "This browser is too old to open the report: it needs one from 2024 or later.";
    return;
  }
  history.scrollRestoration = "manual";
  themes();
  await load();
  await loadLabels();
  const served = location.pathname === "/report"; // by `claimeval view`, which lists all runs at /
  byId("brand").replaceChildren(
    served ? el("a", { href: "/" }, "All runs") : "claimeval",
    " ",
    span("quiet", data(dataName(report.runs[0]))),
    span("quiet of-run", data(report.of.map((of) => ` · ${of}`).join(" → "))),
  );
  byId("keys").addEventListener("click", help);
  addEventListener("hashchange", show);
  addEventListener("scroll", inTheList(drawRows), { passive: true });
  addEventListener("resize", inTheList(drawRows));
  for (const event of ["beforeprint", "afterprint"]) {
    const print = () => printList(event === "beforeprint");
    addEventListener(event, inTheList(print));
  }
  addEventListener("keydown", onKey);
  await show();
  performance.mark("drawn");
}

start();
