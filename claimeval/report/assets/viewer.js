// The viewer's home: the runs of a folder by system with trends, its experiments, and comparisons.

import {
  all,
  button,
  byId,
  choice,
  div,
  el,
  fill,
  form,
  p,
  picture,
  row,
  scrolling,
  searchField,
  span,
  table,
} from "./elements.js";
import { experimentsSection, problemRow } from "./experiments.js";
import {
  COLUMNS,
  columnName,
  columns,
  compareAddress,
  home,
  keep,
  reportAddress,
  restore,
  state,
} from "./home.js";
import { plural } from "./numbers.js";
import { data, has, terms } from "./text.js";
import { themes } from "./theme.js";
import { unpack } from "./unpacking.js";

/** @import { Column, Group } from "./home.js" */

/** @param {Page.RunEntry} run @param {[string, Column][]} shown */
function runRow(run, shown) {
  const box = el("input", {
    type: "checkbox",
    "aria-label": `Compare ${run.name}`,
    checked: state.chosen.includes(run.name),
    change: () => choose(run.name),
  });
  return row({ "data-run": run.name }, [
    el("td", { class: "pick" }, box),
    el("th", { scope: "row" }, el("a", { href: reportAddress([run.name]) }, data(run.name))),
    ...shown.map(([key, { kind, cell }]) =>
      el("td", { class: kind, "data-head": columnName(key) }, cell(run)),
    ),
  ]);
}

/** The chosen columns that any of these runs has something in. @param {Page.RunEntry[]} runs */
function shownColumns(runs) {
  const filled = (/** @type {string} */ key) =>
    key.startsWith("metric ")
      ? runs.some((run) => key.slice("metric ".length) in run.metrics)
      : (key !== "changed" && key !== "notes") || runs.some((run) => COLUMNS[key].value(run));
  return Object.entries(columns()).filter(([key]) => state.columns.has(key) && filled(key));
}

/** The table of runs. @param {string} heading id of its name @param {Page.RunEntry[]} runs */
function runTable(heading, runs) {
  const head = (
    /** @type {string} */ key,
    /** @type {string} */ name,
    /** @type {string} */ kind,
  ) =>
    el(
      "th",
      { scope: "col", class: kind, "data-sort": key },
      button(null, () => sortBy(key), data(name)),
    );
  const shown = shownColumns(runs);
  const heads = shown.map(([key, { kind = "" }]) => head(key, columnName(key), kind));
  const pick = el("th", { scope: "col" }, span("unseen", "compare"));
  const rows = runs.map((run) => runRow(run, shown));
  return scrolling(
    heading,
    table({ class: "plain runs" }, [pick, head("name", "run", ""), ...heads], rows),
  );
}

/** @param {Group} group @param {number} place */
function groupSection(group, place) {
  const runs = group.runs.map((name) => home.byName[name]);
  const heading = `group-${place}`;
  const together = runs.length === 2 ? "Compare the two" : `Compare all ${runs.length} runs`;
  const drawn = group.pictures.map((found) => div("trend", picture(found)));
  return el(
    "section",
    { class: "group" },
    el(
      "h2",
      { id: heading },
      group.name ? data(group.name) : "Data given in Python",
      span("quiet small", ` ${plural(runs.length, "run")}`),
    ),
    drawn.length > 0 && div("trends", drawn),
    runs.length > 1 &&
      p(
        "small",
        el("a", { href: compareAddress(group.runs, group.runs[0]) }, together),
        Object.entries(group.systems).map(([system, names]) => [
          " · ",
          el(
            "a",
            { href: compareAddress(names, names[0]) },
            `the ${names.length} of `,
            data(system || "no named system"),
          ),
        ]),
        group.other_data && span("quiet", " Each run has other answers."),
      ),
    runTable(heading, runs),
  );
}

/** @param {Page.RunEntry[]} broken */
function problemsSection(broken) {
  const rows = broken.map((run) => problemRow(run, 2));
  const found = table({ class: "plain runs" }, ["run", "problem"], rows);
  return el(
    "section",
    { class: "group" },
    el("h2", { id: "broken" }, "Runs that cannot be read"),
    found,
  );
}

/** Draws the tables. What else changes (order, search, choice) is done to the rows that are there. */
function drawGroups() {
  const broken = home.runs.filter((run) => run.problem !== null);
  fill(
    byId("groups"),
    home.groups.map(groupSection),
    home.experiments.length > 0 && experimentsSection(),
    broken.length > 0 && problemsSection(broken),
  );
  order();
  search();
  showChosen();
}

function order() {
  const column =
    state.sort === "name"
      ? { value: (/** @type {Page.RunEntry} */ run) => run.name }
      : columns()[state.sort];
  const values = Object.fromEntries(home.runs.map((run) => [run.name, column.value(run)]));
  const compare = (
    /** @type {string | undefined} */ a = "",
    /** @type {string | undefined} */ b = "",
  ) => (values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : 0);
  for (const body of all(".group:not(.experiments) tbody")) {
    const rows = all("tr", body).sort((a, b) => compare(a.dataset.run, b.dataset.run));
    body.append(...(state.down ? rows.reverse() : rows));
  }
  for (const head of all("th[data-sort]")) {
    const sorted = head.dataset.sort === state.sort;
    if (sorted) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

/** @param {string} key */
function sortBy(key) {
  Object.assign(state, { down: state.sort === key ? !state.down : key !== "name", sort: key });
  order();
  keep();
}

function search() {
  const wanted = terms(state.query);
  const texts = [...home.runs, ...home.experiments].map((one) => {
    const more = "judges" in one ? [...one.judges, one.job] : one.arms;
    return [one.name, [one.name, one.data, ...more, ...one.notes].join("\n").toLowerCase()];
  });
  const matching = new Set(texts.filter(([, text]) => has(text, wanted)).map(([name]) => name));
  for (const section of all(".group")) {
    const rows = all("tr[data-run]", section);
    for (const one of rows) one.hidden = !matching.has(one.dataset.run ?? "");
    section.hidden = rows.every((one) => one.hidden);
  }
  const listed = home.runs.filter((run) => run.experiment === null);
  const found = listed.filter((run) => matching.has(run.name)).length;
  byId("found").textContent = `${found.toLocaleString("en")} of ${plural(listed.length, "run")}`;
}

/** @param {string} name */
function choose(name) {
  const others = state.chosen.filter((other) => other !== name);
  chooseFrom({ chosen: state.chosen.includes(name) ? others : [...state.chosen, name] });
}

/** @param {{ chosen?: string[], baseline?: string }} changed */
function chooseFrom(changed) {
  Object.assign(state, changed);
  showChosen();
  keep();
}

function showChosen() {
  const chosen = [...state.chosen].sort((a, b) => home.byName[a].written - home.byName[b].written);
  if (!chosen.includes(state.baseline)) state.baseline = "";
  const baseline = state.baseline || chosen[0];
  for (const box of all("input[type=checkbox]", byId("groups"))) {
    const name = /** @type {HTMLElement} */ (box.closest("tr")).dataset.run ?? "";
    /** @type {HTMLInputElement} */ (box).checked = chosen.includes(name);
    box.parentElement?.querySelector(".run-letter")?.remove();
    if (chosen.includes(name))
      box.after(span("run-letter", chosen.length > 26 ? "✓" : letter(name)));
  }
  /** @param {string} name */
  function letter(name) {
    return name === baseline
      ? "a"
      : "bcdefghijklmnopqrstuvwxyz"[chosen.filter((x) => x !== baseline).indexOf(name)];
  }
  const ready = chosen.length > 1;
  const rebase = (/** @type {string} */ name) => {
    chooseFrom({ baseline: name });
    byId("baseline").focus();
  };
  fill(
    byId("chosen"),
    ready && choice("Baseline", chosen, baseline, rebase, { id: "baseline" }),
    el(
      "a",
      {
        id: "compare",
        href: ready ? compareAddress(chosen, baseline) : null,
        "aria-disabled": ready ? null : "true",
        role: ready ? null : "link",
      },
      ready
        ? chosen.length === 2
          ? "Compare the two"
          : `Compare ${chosen.length} runs`
        : "Choose runs to compare",
    ),
    chosen.length > 0 && button("link", () => chooseFrom({ chosen: [] }), "choose none"),
  );
}

function columnsChooser() {
  const box = (/** @type {string} */ key) => {
    const change = () => {
      if (!state.columns.delete(key)) state.columns.add(key);
      drawGroups();
      keep();
    };
    const control = el("input", { type: "checkbox", checked: state.columns.has(key), change });
    return el("label", null, control, " ", data(columnName(key)));
  };
  return el(
    "details",
    { class: "columns", id: "columns" },
    el("summary", null, "Columns"),
    div("choices", Object.keys(columns()).map(box)),
  );
}

async function start() {
  themes();
  Object.assign(home, await unpack("runs"));
  for (const run of home.runs) home.byName[run.name] = run;
  for (const group of home.groups) {
    Object.assign(home.changes, group.changes);
    Object.assign(home.differences, group.differences);
  }
  restore();
  fill(
    byId("main"),
    el("h1", null, "Runs in ", data(home.folder)),
    form(
      { class: "filter", role: "search" },
      searchField(state.query, "run, data, judge, note …", (query) => {
        state.query = query;
        search();
        keep();
      }),
      columnsChooser(),
      el("span", { id: "chosen" }),
      el("span", { id: "found", class: "quiet", role: "status" }),
    ),
    el("div", { id: "groups" }),
    home.runs.length + home.experiments.length === 0 &&
      p(
        null,
        "This folder has no run. To make one, use ",
        el("code", null, "claimeval score"),
        ".",
      ),
  );
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    byId("search").focus();
  });
  drawGroups();
  performance.mark("drawn");
}

start();
