// Which samples are listed and in what order. The state stands in the address, so that a list can be sent to others.

const SHOWS = {
  all: ["all samples", () => true],
  contradicted: ["with a contradicted claim", (cell) => /c/i.test(cell.strip)],
  not_found: ["with a claim not found", (cell) => /n/i.test(cell.strip)],
  unassessed: ["with an unassessed claim", (cell) => /u/i.test(cell.strip)],
  differ: ["where judges differ", (cell) => /[A-Z]/.test(cell.strip)],
  no_score: ["without a score", (cell) => cell.value === null],
  ungrounded: ["with an ungrounded claim", (cell, row) => row.ungrounded > 0],
  failed: ["with a failed call", (cell, row) => row.failed > 0],
  flipped: ["that changed", (cell, row, state) => row.flips > 0 || change(row, state) !== 0],
};

const SORTS = {
  worst: "worst first",
  best: "best first",
  contradicted: "most contradicted",
  change: "largest change",
  data: "order of the data",
};

function shows() {
  const panel = report.runs.some((facts) => facts.summary.panel);
  return Object.keys(SHOWS).filter((name) => (name !== "differ" || panel) && (name !== "flipped" || report.comparison));
}

function sorts() {
  return Object.keys(SORTS).filter((name) => name !== "change" || report.comparison);
}

function listState(params) {
  const named = Math.max(
    0,
    report.metrics.findIndex(({ name }) => name === params.get("metric")),
  );
  const below = params.get("below") ? Number(params.get("below")) : NaN;
  const bar =
    params.get("from") !== null && params.get("to") !== null
      ? [Number(params.get("from")), Number(params.get("to"))]
      : null;
  return {
    q: params.get("q") ?? "",
    metric: named,
    show: shows().includes(params.get("show")) ? params.get("show") : "all",
    below: Number.isNaN(below) ? null : below,
    bar: bar?.some(Number.isNaN) ? null : bar,
    sort: sorts().includes(params.get("sort")) ? params.get("sort") : report.comparison ? "change" : "worst",
    run: report.comparison && params.get("run") === "1" ? 1 : 0,
  };
}

function listAddress(state) {
  return address(["samples"], {
    q: state.q,
    metric: state.metric ? report.metrics[state.metric].name : null,
    show: state.show === "all" ? null : state.show,
    below: state.below,
    from: state.bar?.[0],
    to: state.bar?.[1],
    sort: state.sort === (report.comparison ? "change" : "worst") ? null : state.sort,
    run: state.run || null,
  });
}

function cellOf(row, state) {
  return (state.run ? row.other : row).cells[state.metric];
}

// The value in run b minus that in run a; where only one of them has a value, a hair more than nothing.
function change(row, state) {
  if (!row.other) return 0;
  const [a, b] = [row.cells[state.metric].value, row.other.cells[state.metric].value];
  if (a === null || b === null) return a === b ? 0 : 1e-9;
  return b - a;
}

function passes(row, state) {
  const cell = cellOf(row, state);
  if (!SHOWS[state.show][1](cell, row, state)) return false;
  if (state.below !== null && !(cell.value !== null && cell.value < state.below)) return false;
  if (!state.bar) return true;
  const [from, to] = state.bar;
  return (
    cell.value !== null && (from === to ? cell.value === to : cell.value > from && cell.value <= to && cell.value < 1)
  );
}

function ordered(rows, state) {
  const value = (row, missing) => cellOf(row, state).value ?? missing;
  const contradicted = (row) => counts(cellOf(row, state).strip).contradicted;
  const keys = {
    worst: (a, b) => value(a, 2) - value(b, 2) || contradicted(b) - contradicted(a),
    best: (a, b) => value(b, -1) - value(a, -1),
    contradicted: (a, b) => contradicted(b) - contradicted(a),
    change: (a, b) => Math.abs(change(b, state)) - Math.abs(change(a, state)) || b.flips - a.flips,
    data: () => 0,
  };
  return [...rows].sort((a, b) => keys[state.sort](a, b) || a.number - b.number);
}
