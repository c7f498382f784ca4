// Puts the views together: the address decides what is shown; keys move through it.

const VIEWS = {
  "": {
    title: () => (report.comparison ? "Comparison" : "Overview"),
    draw: (main) => (report.comparison ? drawComparison(main) : drawOverview(main)),
  },
  run: {
    title: () => "Run",
    draw: (main, { rest }) => drawOverview(main, rest[0] === "b" && report.runs.length > 1 ? 1 : 0),
  },
  samples: { title: () => "Samples", draw: (main, { params }) => drawList(main, params) },
  sample: {
    title: ({ rest }) => rest[0] ?? "Sample",
    draw: (main, { rest, params }, current) => drawSample(main, rest[0] ?? "", params, current),
  },
  settings: { title: () => "Prompts and judges", draw: (main) => drawSettings(main) },
};

const KEYS = [
  ["j / k", "next and previous sample, in a sample and in the list"],
  ["n / p", "next and previous claim of a sample"],
  ["/", "search"],
  ["Enter", "open the sample that has the focus"],
  ["Esc", "close, or back to the list"],
  ["?", "this help"],
];

const shown = { view: null, turn: 0, drawn: 0, listAt: null };

async function show() {
  const at = route();
  const view = Object.hasOwn(VIEWS, at.view) ? at.view : "";
  if (shown.view === "samples") shown.listAt = { address: listAddress(list.state), top: scrollY };
  const turn = (shown.turn += 1);
  shown.view = view;
  list.searching?.abort();
  const main = document.getElementById("main");
  navigation(view, at);
  await VIEWS[view].draw(main, at, () => turn === shown.turn);
  if (turn !== shown.turn) return;
  document.title = `${VIEWS[view].title(at)} · ${dataName(report.runs[0])} · claimeval`;
  main.dataset.view = view;
  if (view === "samples" && shown.listAt?.address === location.hash)
    scrollTo({ top: shown.listAt.top, behavior: "instant" });
  else if (opened.claim === null || view !== "sample") scrollTo({ top: 0, behavior: "instant" });
  shown.drawn = turn;
  if (turn > 1 && !(view === "samples" && document.activeElement?.id === "search")) main.focus({ preventScroll: true });
}

function navigation(view, { rest }) {
  const entry = (path, text, current) =>
    el("a", { href: address(path), "aria-current": current ? "page" : null }, text);
  const runs = report.comparison
    ? ["a", "b"].map((letter) => entry(["run", letter], `Run ${letter}`, view === "run" && (rest[0] ?? "a") === letter))
    : [];
  document
    .getElementById("nav")
    .replaceChildren(
      entry([], VIEWS[""].title(), view === ""),
      ...runs,
      entry(
        ["samples"],
        `Samples (${report.rows.length.toLocaleString("en")})`,
        view === "samples" || view === "sample",
      ),
      entry(["settings"], "Prompts and judges", view === "settings"),
    );
}

function help() {
  const dialog = document.getElementById("dialog");
  dialog.replaceChildren(
    el(
      "div",
      { class: "dialog-head" },
      el("h2", { id: "dialog-title" }, "Keys"),
      el("button", { type: "button", "aria-label": "Close", click: () => dialog.close() }, "✕"),
    ),
    el(
      "dl",
      { class: "numbers" },
      KEYS.map(([key, meaning]) => el("div", null, el("dt", null, el("kbd", null, key)), el("dd", null, meaning))),
    ),
  );
  dialog.showModal();
}

function onKey(event) {
  const typing = /^(input|select|textarea)$/i.test(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("dialog").open) return;
  if (typing) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const inSample = shown.view === "sample";
  const move = inSample ? moveInSamples : moveInList;
  const actions = {
    j: () => (inSample || shown.view === "samples") && move(1),
    k: () => (inSample || shown.view === "samples") && move(-1),
    n: () => inSample && moveInClaims(1),
    p: () => inSample && moveInClaims(-1),
    "/": focusSearch,
    "?": help,
    Escape: () => inSample && (location.hash = list.state ? listAddress(list.state) : "#/samples"),
  };
  if (!Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}

async function focusSearch() {
  if (shown.view !== "samples") {
    location.hash = "#/samples";
    await new Promise((resolve) => addEventListener("hashchange", () => setTimeout(resolve), { once: true }));
  }
  document.getElementById("search").select();
}

const THEMES = { auto: "as the system has them", light: "light", dark: "dark" };

function nextTheme() {
  const root = document.documentElement;
  const names = Object.keys(THEMES);
  const next = names[(names.indexOf(root.dataset.theme ?? "auto") + 1) % names.length];
  root.dataset.theme = next;
  document.getElementById("theme").setAttribute("aria-label", `Colours: ${THEMES[next]}`);
}

async function start() {
  const loading = document.getElementById("loading");
  if (typeof DecompressionStream === "undefined" || !Intl.Segmenter || !"".isWellFormed) {
    loading.textContent = "This browser is too old to open the report: it needs one from 2024 or later.";
    return;
  }
  history.scrollRestoration = "manual";
  await load();
  const served = location.pathname === "/report"; // by `claimeval view`, which lists all runs at /
  document
    .getElementById("brand")
    .replaceChildren(
      served ? el("a", { href: "/" }, "All runs") : "claimeval",
      " ",
      el("span", { class: "quiet" }, data(dataName(report.runs[0]))),
    );
  document.getElementById("theme").addEventListener("click", nextTheme);
  document.getElementById("keys").addEventListener("click", help);
  addEventListener("hashchange", show);
  addEventListener("scroll", () => shown.view === "samples" && drawRows(), { passive: true });
  addEventListener("resize", () => shown.view === "samples" && drawRows(true));
  addEventListener("beforeprint", () => shown.view === "samples" && drawRows(true));
  addEventListener("afterprint", () => shown.view === "samples" && drawRows(true));
  addEventListener("keydown", onKey);
  await show();
  performance.mark("drawn");
}

start();
