// The list of runs: filter, sort, open one, set two side by side.

const shelf = { runs: [], folder: "", metrics: [], chosen: [], query: "", sort: { by: "changed", down: true } };

const COLUMNS = {
  name: {
    head: "run",
    value: (run) => run.name,
    cell: (run) => (run.problem ? data(run.name) : el("a", { href: reportAddress([run.name]) }, data(run.name))),
  },
  changed: {
    head: "written",
    value: (run) => run.changed,
    cell: (run) =>
      run.changed
        ? el(
            "time",
            { datetime: new Date(run.changed * 1000).toISOString() },
            new Date(run.changed * 1000).toLocaleString(),
          )
        : "–",
  },
  data: { head: "data", value: (run) => run.data, cell: (run) => data(run.data) },
  judges: { head: "judges", value: (run) => run.judges.join(", "), cell: (run) => data(run.judges.join(", ")) },
  samples: {
    head: "samples",
    value: (run) => run.samples,
    cell: (run) => [
      run.samples.toLocaleString("en"),
      run.complete ? null : el("span", { class: "flag" }, "stopped early"),
    ],
  },
};

function reportAddress(names) {
  return `/report?${new URLSearchParams(names.map((name) => ["run", name]))}`;
}

function columnsOfShelf() {
  const metric = (name) => ({
    head: name,
    value: (run) => run.metrics[name]?.[0] ?? -1,
    cell: (run) =>
      run.metrics[name]
        ? [number(run.metrics[name][0]), el("span", { class: "interval quiet small" }, range(run.metrics[name][1]))]
        : "–",
  });
  return { ...COLUMNS, ...Object.fromEntries(shelf.metrics.map((name) => [`metric ${name}`, metric(name)])) };
}

function drawShelf() {
  const all = columnsOfShelf();
  const { by, down } = shelf.sort;
  const wanted = shelf.query.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (run) =>
    wanted.every((term) => [run.name, run.data, ...run.judges].join("\n").toLowerCase().includes(term));
  const compare = (a, b) => (all[by].value(a) < all[by].value(b) ? -1 : all[by].value(a) > all[by].value(b) ? 1 : 0);
  const found = shelf.runs.filter(has).sort((a, b) => (down ? compare(b, a) : compare(a, b)));
  const head = ([key, { head: name }]) =>
    el(
      "th",
      { scope: "col", "aria-sort": by === key ? (down ? "descending" : "ascending") : null },
      el("button", { type: "button", click: () => sortBy(key) }, data(name), by === key ? (down ? " ↓" : " ↑") : ""),
    );
  const ready = shelf.chosen.length === 2;
  const compareLink = el(
    "a",
    {
      id: "compare",
      href: ready ? reportAddress(shelf.chosen) : null,
      "aria-disabled": ready ? null : "true",
      role: ready ? null : "link",
    },
    ready ? "Compare the two" : "Choose two runs to compare",
  );
  document.getElementById("compare")?.replaceWith(compareLink);
  document.getElementById("found").textContent = `${found.length} of ${plural(shelf.runs.length, "run")}`;
  document.getElementById("runs").replaceChildren(
    el(
      "table",
      { class: "plain runs" },
      el(
        "thead",
        null,
        el(
          "tr",
          null,
          el("th", { scope: "col" }, el("span", { class: "unseen" }, "compare")),
          Object.entries(all).map(head),
        ),
      ),
      el(
        "tbody",
        null,
        found.map((run) => shelfRow(run, all)),
      ),
    ),
  );
}

function shelfRow(run, all) {
  const place = shelf.chosen.indexOf(run.name);
  const box = el("input", {
    type: "checkbox",
    "aria-label": `Compare ${run.name}`,
    checked: place >= 0,
    disabled: run.problem !== null,
    change: () => chooseRun(run.name),
  });
  const cells =
    run.problem === null
      ? Object.values(all).map(({ cell }, i) => el(i ? "td" : "th", i ? null : { scope: "row" }, cell(run)))
      : [
          el("th", { scope: "row" }, data(run.name)),
          el("td", { colspan: Object.keys(all).length - 1, class: "failure small" }, data(run.problem)),
        ];
  return el(
    "tr",
    null,
    el("td", null, box, place >= 0 ? el("span", { class: "run-letter" }, "ab"[place]) : null),
    cells,
  );
}

function chooseRun(name) {
  shelf.chosen = shelf.chosen.includes(name)
    ? shelf.chosen.filter((other) => other !== name)
    : [...shelf.chosen, name].slice(-2);
  drawShelf();
}

function sortBy(by) {
  shelf.sort = { by, down: shelf.sort.by === by ? !shelf.sort.down : by !== "name" };
  drawShelf();
}

async function start() {
  Object.assign(shelf, await unpack("runs"));
  shelf.metrics = [...new Set(shelf.runs.flatMap((run) => Object.keys(run.metrics)))];
  document
    .getElementById("main")
    .replaceChildren(
      el("h1", null, "Runs in ", data(shelf.folder)),
      el(
        "form",
        { class: "filter", role: "search", submit: (event) => event.preventDefault() },
        el("input", {
          type: "search",
          id: "search",
          placeholder: "run, data, judge …",
          "aria-label": "Search",
          input: (event) => ((shelf.query = event.target.value), drawShelf()),
        }),
        el("a", { id: "compare" }),
        el("span", { id: "found", class: "quiet", role: "status" }),
      ),
      el("div", { id: "runs", class: "scroll", tabindex: "0", role: "region", "aria-label": "Runs" }),
    );
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.tagName === "INPUT") return;
    event.preventDefault();
    document.getElementById("search").focus();
  });
  drawShelf();
  performance.mark("drawn");
}

start();
