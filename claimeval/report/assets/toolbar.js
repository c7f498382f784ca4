// The toolbar above the list of samples: search, filters and order.

import { report } from "./data.js";
import { choice, el, field, form, searchField } from "./elements.js";
import { FILTERS, SHOWS, shows, sortInWords, sorts } from "./filters.js";

/**
 * Search, filters and order of the list.
 *
 * @param {import("./filters.js").ListState} state
 * @param {(changed: Record<string, any>, redraw?: boolean) => void} changeList
 */
export function toolbar(state, changeList) {
  /**
   * @template {string | number} Value
   * @param {string} label
   * @param {"metric" | "run" | "show" | "sort"} name
   * @param {Value[]} values
   * @param {(value: Value) => string} inWords
   */
  const select = (label, name, values, inWords) => {
    const options = values.map((value) => /** @type {[Value, string]} */ ([value, inWords(value)]));
    return choice(label, options, state[name], (value) => changeList({ [name]: value }));
  };
  const below = el("input", {
    type: "number",
    id: "below",
    min: 0,
    max: 1,
    step: 0.05,
    value: state.below ?? "",
    input: () => changeList({ below: below.value === "" ? null : Number(below.value) }, false),
  });
  const filters = Object.entries(FILTERS).map(([kind, { heading, options }]) => {
    const open = options(state).filter(
      ([value]) => !state.filters.some(([k, v]) => k === kind && v === value),
    );
    const found = open.map(([value, words]) => el("option", { value: `${kind}:${value}` }, words));
    return found.length > 0 && el("optgroup", { label: heading }, found);
  });
  const add = () => {
    const [kind, ...value] = adding.value.split(":");
    changeList({ filters: [...state.filters, [kind, value.join(":")]] });
  };
  const adding = el(
    "select",
    { id: "add-filter", change: add },
    el("option", { value: "", selected: true }, "…"),
    filters,
  );
  return form(
    { class: "toolbar", role: "search" },
    searchField(state.q, "id, question, answer, claim, reason …", (q) => changeList({ q }, false)),
    select("Metric", "metric", [...report.metrics.keys()], (i) => report.metrics[i].name),
    report.comparison && select("Run", "run", [0, 1], (run) => "ab"[run]),
    select("Show", "show", shows(), (name) => SHOWS[name][0]),
    field("Below", below, "narrow"),
    field("Add a filter", adding, "adding"),
    select("Order", "sort", sorts(), (name) => sortInWords(name, state.metric)),
  );
}
