// An experiment: every arm's means and its paired difference to the baseline, what it took, the claims that flipped.

const experiment = { table: null, flips: [], changes: [], selection: null, failures: [], arm: "", query: "" };
const LISTED = 60; // flipped claims drawn at once

function drawExperiment() {
  const { table, selection, failures } = experiment;
  document
    .getElementById("main")
    .replaceChildren(
      ...[
        el(
          "header",
          { class: "intro" },
          el("h1", null, data(table.data)),
          el(
            "p",
            null,
            `${plural(table.arms.length, "way")} to judge the same ${plural(table.samples, "sample")}${clustersInWords(table.samples, table.clusters, table.cluster)}. Differences are paired, arm minus baseline; the baseline is `,
            data(table.baseline),
            ".",
          ),
        ),
        selection &&
          el(
            "section",
            { class: "cautions" },
            el("h2", null, "Chosen by human labels"),
            el("p", null, data(selection)),
          ),
        failures.length > 0 &&
          el(
            "section",
            { class: "cautions" },
            el("h2", null, "Arms without scores"),
            ...failures.map((line) => el("p", null, data(line))),
          ),
        ...Object.keys(table.arms[0].metrics).map(metricSection),
        costSection(),
        table.arms.some((arm) => arm.with_people) && peopleSection(),
        flippedSection(),
      ].filter(Boolean),
    );
}

function metricSection(metric, i) {
  const { arms, baseline } = experiment.table;
  const reach = Math.max(
    0.05,
    ...arms.flatMap(({ metrics }) =>
      ["value", "low", "high"].map((end) => Math.abs(metrics[metric].difference?.[end] ?? 0)),
    ),
  );
  const row = ({ name, metrics }) => {
    const cell = metrics[metric];
    const difference = cell.difference ?? { value: null, low: null, high: null };
    return el(
      "tr",
      null,
      el("th", { scope: "row" }, data(name)),
      el("td", null, intervalPlot({ ...cell, bounds: cell.shown === "bounds" ? cell.bounds : null }, name)),
      el("td", { class: "num strong" }, number(cell.mean), el("span", { class: "quiet small below" }, shownEnds(cell))),
      el("td", { class: "num" }, String(cell.n)),
      name === baseline
        ? el("td", { colspan: 3, class: "quiet" }, "baseline")
        : [
            el("td", null, differencePlot(difference, reach, name)),
            el(
              "td",
              { class: "num strong" },
              signed(difference.value),
              el("span", { class: "quiet small below" }, signedRange([difference.low, difference.high])),
            ),
            el("td", { class: "num" }, pValue(cell.p_adjusted)),
          ],
    );
  };
  const heading = `metric-${i}`;
  const head = [
    ["arm"],
    ["mean and 95 % interval"],
    ["mean", "num"],
    ["n", "num"],
    ["difference to the baseline"],
    ["difference", "num"],
    ["p (Holm)", "num", "sign-flip permutation test, Holm-adjusted over the arms"],
  ];
  return el(
    "section",
    { "aria-labelledby": heading },
    el("h2", { id: heading }, data(metric)),
    scrolling(heading, el("table", { class: "plain differences" }, columns(head), el("tbody", null, arms.map(row)))),
  );
}

function costSection() {
  const row = (arm) => {
    const cells = [
      arm.claims.toLocaleString("en"),
      percent(arm.unassessed_rate),
      percent(arm.parse_failure_rate),
      arm.name === experiment.table.baseline ? "" : arm.flips.toLocaleString("en"),
      arm.cost.calls.toLocaleString("en"),
      tokensInWords(arm.cost),
      dollars(arm.cost.dollars),
      arm.median_latency === null ? "–" : `${number(arm.median_latency, 2)} s`,
    ];
    return el(
      "tr",
      null,
      el("th", { scope: "row" }, data(arm.name)),
      cells.map((text) => el("td", { class: "num" }, text)),
    );
  };
  const head = [
    ["arm"],
    ["claims", "num"],
    ["unassessed", "num"],
    ["unreadable replies", "num"],
    ["flipped", "num"],
    ["calls", "num"],
    ["tokens in + out", "num"],
    ["cost", "num"],
    ["median call", "num"],
  ];
  return el(
    "section",
    { "aria-labelledby": "took" },
    el("h2", { id: "took" }, "What it took"),
    scrolling(
      "took",
      el("table", { class: "plain" }, columns(head), el("tbody", null, experiment.table.arms.map(row))),
    ),
  );
}

function peopleSection() {
  const between = ({ value, low, high }) => [
    number(value),
    el("span", { class: "quiet small below" }, range([low, high])),
  ];
  const row = ({ name, with_people: found }) =>
    found &&
    el(
      "tr",
      null,
      el("th", { scope: "row" }, data(name)),
      el("td", { class: "num" }, String(found.claims)),
      [found.accuracy, found.balanced_accuracy, found.kappa].map((estimate) =>
        el("td", { class: "num" }, between(estimate)),
      ),
    );
  const head = [
    ["arm"],
    ["labelled claims", "num"],
    ["accuracy", "num"],
    ["balanced accuracy", "num"],
    ["kappa", "num"],
  ];
  return el(
    "section",
    { "aria-labelledby": "people" },
    el("h2", { id: "people" }, "Agreement with people"),
    scrolling(
      "people",
      el("table", { class: "plain" }, columns(head), el("tbody", null, experiment.table.arms.map(row))),
    ),
  );
}

function flippedSection() {
  const arms = experiment.table.arms.map(({ name }) => name).filter((name) => name !== experiment.table.baseline);
  return el(
    "section",
    { "aria-labelledby": "flipped" },
    el("h2", { id: "flipped" }, "Claims that flipped"),
    el(
      "p",
      { class: "quiet" },
      "Claims that count differently in an arm than in the baseline, with what the judges wrote in both.",
    ),
    experiment.changes.length > 0 &&
      el("ul", { class: "quiet small" }, experiment.changes.map((line) => el("li", null, "Not counted as flips, ", data(line)))),
    el(
      "form",
      { class: "toolbar", role: "search", submit: (event) => event.preventDefault() },
      el(
        "label",
        { class: "wide" },
        el("span", null, "Search"),
        el("input", {
          type: "search",
          id: "search",
          placeholder: "sample, question, claim, reason …",
          input: (event) => showFlips({ query: event.target.value }),
        }),
      ),
      el(
        "label",
        null,
        el("span", null, "Arm"),
        el(
          "select",
          { change: (event) => showFlips({ arm: event.target.value }) },
          el("option", { value: "" }, "all arms"),
          arms.map((name) => el("option", { value: name }, name)),
        ),
      ),
    ),
    el("p", { class: "count", id: "count", role: "status" }),
    el("ol", { class: "worst", id: "flips" }),
  );
}

function showFlips(changed) {
  Object.assign(experiment, changed);
  const wanted = experiment.query.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (flip) =>
    (!experiment.arm || flip.arm === experiment.arm) &&
    wanted.every((term) =>
      [flip.sample_id, flip.question, flip.claim, flip.a_explanation, flip.b_explanation]
        .join("\n")
        .toLowerCase()
        .includes(term),
    );
  const found = experiment.flips.filter(has);
  const shown = found.length > LISTED ? `, the first ${LISTED} shown` : "";
  document.getElementById("count").textContent = `${plural(found.length, "claim")}${shown}`;
  document.getElementById("flips").replaceChildren(...found.slice(0, LISTED).map(flipEntry));
}

function flipEntry(flip) {
  const side = (name, label, word, explanation) =>
    el(
      "p",
      { class: "small" },
      el("span", { class: "quiet" }, data(name), " "),
      chip(label),
      word === null ? null : ` (${word.replaceAll("_", " ")})`,
      explanation ? [" ", data(explanation)] : null,
    );
  return el(
    "li",
    null,
    el("p", null, data(flip.claim)),
    side(experiment.table.baseline, flip.a, flip.a_word, flip.a_explanation),
    side(flip.arm, flip.b, flip.b_word, flip.b_explanation),
    el(
      "p",
      { class: "quiet small" },
      data(flip.sample_id),
      " · ",
      data(flip.question),
      " · against the ",
      data(partName(flip.evidence.part)),
    ),
  );
}

async function start() {
  Object.assign(experiment, await unpack("experiment"));
  drawExperiment();
  showFlips({});
  performance.mark("drawn");
}

start();
