// The state of the viewer's home: runs, columns of their table, and the state in the address.

import { el, p, span } from "./elements.js";
import { digitsOf, dollars, number, plural, range, signed } from "./numbers.js";
import { data } from "./text.js";

/**
 * @typedef {{name: string, runs: string[], changes: Record<string, string>, other_data: boolean, pictures: any[],
 *   differences: Record<string, Record<string, number>>, systems: Record<string, string[]>}} Group
 */

/** @typedef {{value: (run: Page.RunEntry) => any, cell: (run: Page.RunEntry) => any, kind?: string}} Column under its name */

export const home = {
  folder: "",
  /** @type {string[]} metrics of which a low value is good */
  lower: [],
  /** @type {string | null} who labels in this browser */
  annotator: null,
  /** @type {Page.RunEntry[]} */
  runs: [],
  /** @type {Page.ExperimentEntry[]} */
  experiments: [],
  /** @type {Group[]} */
  groups: [],
  /** @type {Record<string, Page.RunEntry>} */
  byName: {},
  /** @type {Record<string, string>} what changed since the run before, by run */
  changes: {},
  /** @type {Record<string, Record<string, number>>} change of each mean since the run before, by run */
  differences: {},
};
export const state = {
  query: "",
  sort: "date",
  down: true,
  /** @type {Set<string>} */
  columns: new Set(),
  /** @type {string[]} names of runs, in the order in which they were chosen */
  chosen: [],
  baseline: "",
};
const PER_PICTURE = 5; // metrics that are columns unless the reader chooses others

/** The name of a column over it. @param {string} key its name among all columns */
export function columnName(key) {
  if (key === "cost") return "cost of replies"; // also of those paid for earlier
  const name = key.replace(/^metric /, "");
  return name !== key && home.lower.includes(name) ? `${name} ↓` : name;
}

/** @param {number} seconds */
export function day(seconds) {
  const date = new Date(seconds * 1000);
  return el(
    "time",
    { class: "day", datetime: date.toISOString(), title: date.toLocaleString() },
    date.toLocaleString("sv-SE").slice(0, 16), // 2026-09-30 14:05
  );
}

/** @type {Record<string, Column>} */
export const COLUMNS = {
  date: { value: (run) => run.written, cell: (run) => day(run.written) },
  system: { value: (run) => run.system, cell: (run) => run.system && data(run.system) },
  job: { value: (run) => run.job, cell: (run) => run.job },
  judges: { value: (run) => run.judges.join(", "), cell: (run) => data(run.judges.join(", ")) },
  samples: {
    kind: "num",
    value: (run) => run.samples,
    cell: (run) => [
      run.samples.toLocaleString("en"),
      run.stopped ? [" ", span("flag", run.stopped)] : null,
    ],
  },
  cost: {
    kind: "num",
    value: (run) => run.dollars ?? -1,
    cell: (run) => [
      !run.calls ? "–" : run.dollars === null ? "price unknown" : dollars(run.dollars),
      run.calls > 0 && span("quiet small below", plural(run.calls, "call")),
    ],
  },
  labels: {
    kind: "num",
    value: (run) => run.labels,
    cell: (run) => [
      run.labels.toLocaleString("en"),
      home.annotator !== null && el("a", { class: "below", href: labelAddress(run.name) }, "label"),
    ],
  },
  changed: {
    value: (run) => home.changes[run.name] ?? "",
    cell: (run) => home.changes[run.name] && span("flag", home.changes[run.name]),
  },
  notes: {
    value: (run) => run.notes.join(" "),
    cell: (run) => run.notes.map((note) => p("small note", data(note))),
  },
};

/** @param {string} metric @returns {Column} */
function metricColumn(metric) {
  return {
    kind: "num",
    value: (run) => run.metrics[metric]?.[0] ?? -Infinity,
    cell: (run) => {
      const found = run.metrics[metric];
      if (!found) return "–";
      const [mean, ends, bounds] = found;
      const step = home.differences[run.name]?.[metric];
      return [
        number(mean, digitsOf(ends)),
        ends && span("quiet small below", bounds ? "bounds " : "95% ", range(ends)),
        step !== undefined && span("quiet small below", "change ", signed(step)),
      ];
    },
  };
}

/** @returns {Record<string, Column>} */
export function columns() {
  const metrics = [...new Set(home.runs.flatMap((run) => Object.keys(run.metrics)))];
  return {
    ...COLUMNS,
    ...Object.fromEntries(metrics.map((metric) => [`metric ${metric}`, metricColumn(metric)])),
  };
}

/** The columns that most runs have something in. */
function usualColumns() {
  const single = home.runs.filter((run) => run.problem === null);
  const count = (/** @type {string} */ metric) =>
    single.filter((run) => metric in run.metrics).length;
  const metrics = [...new Set(single.flatMap((run) => Object.keys(run.metrics)))].sort(
    (a, b) => count(b) - count(a),
  );
  const most = metrics.length ? count(metrics[0]) : 0;
  const kept = metrics.filter((metric) => 2 * count(metric) >= most).slice(0, PER_PICTURE);
  const usual = ["date", "judges", "samples", "cost"];
  if (new Set(single.map((run) => run.job)).size > 1) usual.push("job");
  if (home.annotator !== null || single.some((run) => run.labels)) usual.push("labels");
  if (new Set(single.map((run) => run.system)).size > 1) usual.splice(1, 0, "system");
  if (Object.keys(home.changes).length) usual.push("changed");
  if (single.some((run) => run.notes.length)) usual.push("notes");
  return [...usual, ...kept.map((metric) => `metric ${metric}`)];
}

/** @param {string[]} names */
export function reportAddress(names) {
  return `/report?${new URLSearchParams(names.map((name) => ["run", name]))}`;
}

/** @param {string} name */
function labelAddress(name) {
  return `/label?${new URLSearchParams({ run: name })}`;
}

/** @param {string[]} names @param {string} baseline */
export function compareAddress(names, baseline) {
  if (names.length === 2)
    return reportAddress([baseline, ...names.filter((name) => name !== baseline)]);
  return `/compare?${new URLSearchParams([...names.map((name) => ["run", name]), ["baseline", baseline]])}`;
}

/** The address keeps the view, so that Back and a bookmark lead to it. */
export function keep() {
  const usual = usualColumns();
  const own = [...state.columns];
  const kept = new URLSearchParams();
  if (state.query) kept.set("q", state.query);
  if (state.sort !== "date" || !state.down)
    kept.set("sort", `${state.down ? "-" : ""}${state.sort}`);
  if (own.length !== usual.length || own.some((key) => !usual.includes(key)))
    kept.set("columns", own.join("|"));
  for (const name of state.chosen) kept.append("chosen", name);
  if (state.baseline) kept.set("baseline", state.baseline);
  history.replaceState(null, "", `#${kept}`);
}

export function restore() {
  const kept = new URLSearchParams(location.hash.slice(1));
  const there = columns();
  state.query = kept.get("q") ?? "";
  const sort = kept.get("sort") ?? "-date";
  const key = sort.replace(/^-/, "");
  if (key === "name" || key in there)
    Object.assign(state, { sort: key, down: sort.startsWith("-") });
  state.columns = new Set(
    (kept.get("columns")?.split("|") ?? usualColumns()).filter((column) => column in there),
  );
  state.chosen = kept.getAll("chosen").filter((name) => home.byName[name]?.problem === null);
  state.baseline = kept.get("baseline") ?? "";
}
