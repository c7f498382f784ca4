// The list of samples. Only the rows in view are in the document, so that 10,000 scroll like ten.

const SPARE = 12; // rows drawn beyond the window, above and below
const PRINTED = 1000; // rows drawn for paper

const list = { rows: [], cursor: -1, state: null, searching: null, scroll: new Map() };

function drawList(main, params) {
  list.state = listState(params);
  const count = el("p", { class: "count", role: "status" });
  const body = el("div", { class: "rows", role: "list", "aria-label": "Samples" });
  const head = el("div", { class: "list-head" });
  main.replaceChildren(el("h1", { class: "unseen" }, "Samples"), toolbar(), count, head, body);
  Object.assign(list, { body, head, count });
  runQuery();
}

function toolbar() {
  const { state } = list;
  const select = (label, name, options) =>
    el(
      "label",
      null,
      el("span", null, label),
      el(
        "select",
        { change: (event) => changeList({ [name]: event.target.value }) },
        options.map(([value, text]) => el("option", { value, selected: String(state[name]) === String(value) }, text)),
      ),
    );
  return el(
    "form",
    { class: "toolbar", role: "search", submit: (event) => event.preventDefault() },
    el(
      "label",
      { class: "wide" },
      el("span", null, "Search"),
      el("input", {
        type: "search",
        id: "search",
        value: state.q,
        placeholder: "id, question, answer, claim, reason …",
        autocomplete: "off",
        spellcheck: "false",
        input: (event) => changeList({ q: event.target.value }, false),
      }),
    ),
    select(
      "Metric",
      "metric",
      report.metrics.map(({ name }, i) => [i, name]),
    ),
    report.comparison &&
      select("Run", "run", [
        [0, "a"],
        [1, "b"],
      ]),
    select(
      "Show",
      "show",
      shows().map((name) => [name, SHOWS[name][0]]),
    ),
    el(
      "label",
      { class: "narrow" },
      el("span", null, "Below"),
      el("input", {
        type: "number",
        id: "below",
        min: 0,
        max: 1,
        step: 0.05,
        value: state.below ?? "",
        input: (event) => changeList({ below: event.target.value === "" ? null : Number(event.target.value) }, false),
      }),
    ),
    select(
      "Order",
      "sort",
      sorts().map((name) => [name, SORTS[name]]),
    ),
  );
}

// `redraw` also draws the toolbar anew, which typing must not do.
function changeList(changed, redraw = true) {
  const state = { ...list.state, ...changed };
  state.metric = Number(state.metric);
  state.run = Number(state.run);
  if ("metric" in changed || "run" in changed) state.bar = null;
  rewrite(listAddress(state));
  list.state = state;
  list.cursor = -1;
  if (redraw) document.querySelector(".toolbar").replaceWith(toolbar());
  runQuery();
}

function runQuery() {
  list.searching?.abort();
  list.searching = new AbortController();
  const { state } = list;
  const passing = ordered(
    report.rows.filter((row) => passes(row, state)),
    state,
  );
  if (!terms(state.q).length) return showRows(passing, 1);
  return search(state.q, list.searching.signal, (matches, share) =>
    showRows(
      passing.filter((row) => matches.has(row.number)),
      share,
    ),
  );
}

function showRows(rows, share) {
  list.rows = rows;
  const { bar, metric } = list.state;
  list.count.replaceChildren(
    `${rows.length.toLocaleString("en")} of ${plural(report.rows.length, "sample")}`,
    share < 1 ? `, still searching inside (${percent(share)})` : "",
    bar
      ? el(
          "button",
          { type: "button", class: "token", click: () => changeList({ bar: null }) },
          data(report.metrics[metric].name),
          bar[0] === bar[1] ? ` at ${bar[0]} ✕` : ` over ${bar[0]}, at most ${bar[1]} ✕`,
        )
      : "",
    JSON.stringify(listState(new URLSearchParams())) === JSON.stringify(list.state)
      ? ""
      : el("a", { class: "token", href: "#/samples" }, "show all"),
  );
  list.head.replaceChildren(...listHead());
  list.body.dataset.rows = rows.length;
  document.documentElement.style.setProperty("--metrics", report.metrics.length);
  if (!rows.length)
    list.body.replaceChildren(el("p", { class: "empty" }, share < 1 ? "Searching …" : "No sample is like that."));
  drawRows(true);
}

function listHead() {
  const { state } = list;
  const button = (metric, i) => {
    const sorted = state.metric === i && (state.sort === "worst" || state.sort === "best");
    const next = sorted && state.sort === "worst" ? "best" : "worst";
    const arrow = sorted ? (state.sort === "worst" ? " ↑" : " ↓") : "";
    return el(
      "button",
      {
        type: "button",
        class: state.metric === i ? "focus" : null,
        "aria-label": `Sort by ${metric.name}, ${SORTS[next]}`,
        click: () => changeList({ metric: i, sort: next }),
      },
      data(metric.name),
      arrow,
    );
  };
  return [el("span", null, "sample"), ...report.metrics.map(button), el("span", null, "claims")];
}

function rowHeight() {
  return parseFloat(getComputedStyle(list.body).getPropertyValue("--row")) || 56;
}

function drawRows(anew = false) {
  const { rows, body } = list;
  if (!body?.isConnected || !rows.length) return;
  const height = rowHeight();
  const above = -body.getBoundingClientRect().top;
  const printing = matchMedia("print").matches;
  const first = printing ? 0 : Math.max(0, Math.floor(above / height) - SPARE);
  const last = printing
    ? Math.min(rows.length, PRINTED)
    : Math.min(rows.length, Math.ceil((above + innerHeight) / height) + SPARE);
  body.style.height = `${(printing ? last : rows.length) * height}px`;
  const drawn = new Map(anew ? [] : [...body.children].map((node) => [Number(node.dataset.at), node]));
  const nodes = [];
  for (let at = first; at < last; at += 1) nodes.push(drawn.get(at) ?? drawRow(rows[at], at, height));
  if (anew || nodes.length !== body.children.length || nodes.some((node, i) => node !== body.children[i])) {
    const focused = body.contains(document.activeElement)
      ? document.activeElement.closest("[data-at]")?.dataset.at
      : null;
    body.replaceChildren(...nodes);
    if (focused !== null) body.querySelector(`[data-at="${focused}"] a`)?.focus({ preventScroll: true });
  }
}

function drawRow(row, at, height) {
  const node = el(
    "div",
    { class: "row", role: "listitem", "aria-posinset": at + 1, "aria-setsize": list.rows.length, "data-at": at },
    el(
      "a",
      {
        href: sampleAddress(row, { metric: report.metrics[list.state.metric]?.name, run: list.state.run || null }),
        click: () => (list.cursor = at),
      },
      el(
        "span",
        { class: "row-text" },
        el("span", { class: "row-id" }, data(row.id)),
        el("span", { class: "row-question" }, data(row.question)),
      ),
      report.metrics.map((metric, i) =>
        el(
          "span",
          { class: i === list.state.metric ? "row-value focus" : "row-value" },
          el("span", { class: "unseen" }, `${metric.name} `),
          rowValue(row, i),
        ),
      ),
      el("span", { class: "row-claims" }, strips(row, list.state), flags(row)),
    ),
  );
  node.style.transform = `translateY(${at * height}px)`;
  return node;
}

function rowValue(row, i) {
  const one = (cell) =>
    cell.value === null
      ? el("span", { class: "quiet", title: reasonInWords(cell.because) }, "–")
      : number(cell.value);
  if (!row.other) return one(row.cells[i]);
  const [a, b] = [row.cells[i], row.other.cells[i]];
  const direction =
    a.value === null || b.value === null || a.value === b.value ? "same" : b.value > a.value ? "up" : "down";
  return el(
    "span",
    { class: `pair is-${direction}` },
    one(a),
    el("span", { "aria-label": "then" }, direction === "up" ? " ↗ " : direction === "down" ? " ↘ " : " → "),
    one(b),
  );
}

function strips(row, { metric }) {
  if (!report.metrics[metric]?.claims_of) return "";
  if (!row.other) return strip(row.cells[metric]);
  return el(
    "span",
    { class: "two-strips" },
    [row, row.other].map((run, i) =>
      el("span", null, el("span", { class: "quiet" }, `${"ab"[i]} `), strip(run.cells[metric])),
    ),
  );
}

const STRIP = 24;

function strip(cell) {
  if (!cell?.strip)
    return el("span", { class: "quiet small" }, cell?.because ? reasonInWords(cell.because) : "no claims");
  const signs = [...cell.strip.slice(0, STRIP)].map(letterSign);
  return el(
    "span",
    { class: "strip" },
    signs,
    cell.strip.length > STRIP ? ` +${cell.strip.length - STRIP}` : null,
    el("span", { class: "unseen" }, countsInWords(counts(cell.strip))),
  );
}

function flags(row) {
  const found = [
    row.flips && `${row.flips} flipped`,
    row.ungrounded && `${row.ungrounded} ungrounded`,
    row.failed && plural(row.failed, "failed call"),
  ].filter(Boolean);
  return found.map((text) => el("span", { class: "flag" }, text));
}

// Moves the cursor by `step` rows and brings the row into view.
function moveInList(step) {
  if (!list.rows.length) return;
  list.cursor = Math.max(0, Math.min(list.rows.length - 1, list.cursor + step));
  const height = rowHeight();
  const top = list.body.getBoundingClientRect().top + list.cursor * height;
  const barEnd = document.querySelector(".bar").offsetHeight + (list.head.offsetHeight || 0) + 8;
  if (top < barEnd) scrollBy({ top: top - barEnd, behavior: "instant" });
  else if (top + height > innerHeight - 8) scrollBy({ top: top + height - innerHeight + 8, behavior: "instant" });
  drawRows();
  list.body.querySelector(`[data-at="${list.cursor}"] a`)?.focus({ preventScroll: true });
}
