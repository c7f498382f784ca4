// The experiments of a folder, and runs that could not be read.

import { el, list, numeric, p, row, scrolling, span, table } from "./elements.js";
import { columnName, day, home, reportAddress } from "./home.js";
import { dollars, number, plural } from "./numbers.js";
import { data } from "./text.js";

/** @param {Page.ExperimentEntry} found */
function experimentRow(found) {
  if (found.problem !== null) return problemRow(found, 6);
  const arms = home.runs.filter((run) => run.experiment === found.name && run.problem === null);
  const means = Object.entries(found.metrics).map(([metric, values]) =>
    p(
      "small",
      span("quiet", data(columnName(`metric ${metric}`)), ": "),
      found.arms.map((arm, i) => [i ? ", " : "", data(arm), ` ${number(values[i])}`]),
    ),
  );
  const cell = (/** @type {string} */ head, /** @type {any[]} */ ...held) =>
    el("td", { "data-head": head, class: head === "cost" && "num" }, held);
  return row({ "data-run": found.name }, [
    el("a", { href: reportAddress([found.name]) }, data(found.name)),
    cell("date", day(found.written)),
    cell("data", data(found.data), ` (${plural(found.samples, "sample")})`),
    cell(
      "arms",
      plural(found.arms.length, "arm"),
      ", baseline ",
      data(found.baseline),
      found.chosen && [", chosen ", data(found.chosen)],
      means,
      Object.entries(found.failed).map(([arm, why]) =>
        p("failure small", data(arm), " failed: ", data(why)),
      ),
      arms.length > 0 &&
        el("details", { class: "small" }, [
          el("summary", null, "pages of the arms"),
          list("ul", null, arms, (run) =>
            el("a", { href: reportAddress([run.name]) }, data(run.name)),
          ),
        ]),
    ),
    cell("cost", found.dollars === null ? "price unknown" : dollars(found.dollars)),
    cell(
      "notes",
      found.notes.map((note) => p("small note", data(note))),
    ),
  ]);
}

/** @param {Page.RunEntry | Page.ExperimentEntry} broken @param {number} width columns of its table */
export function problemRow({ name, problem }, width) {
  return row({ "data-run": name }, [
    data(name),
    el("td", { colspan: width - 1, class: "failure small" }, data(problem)),
  ]);
}

export function experimentsSection() {
  const id = "experiments-heading";
  const heads = ["experiment", "date", "data", "arms and means", ...numeric("cost"), "notes"];
  const found = table({ class: "plain runs" }, heads, home.experiments.map(experimentRow));
  return el(
    "section",
    { class: "group experiments" },
    el("h2", { id }, "Experiments"),
    scrolling(id, found),
  );
}
