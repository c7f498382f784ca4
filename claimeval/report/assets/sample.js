// One sample: its scores, the text with its claims marked, the verdicts, and the evidence beside them.

const opened = { row: null, sides: [], run: 0, claim: null }; // the sample on the screen

async function drawSample(main, name, params, current) {
  const row = rowOf(name);
  if (!row) {
    main.replaceChildren(
      el("h1", null, "No such sample"),
      el(
        "p",
        null,
        "The report has no sample called ",
        data(name),
        ". ",
        el("a", { href: "#/samples" }, "All samples"),
      ),
    );
    return;
  }
  const full = await detail(row.number);
  if (!current()) return;
  const metric = report.metrics.find((m) => m.name === params.get("metric")) ?? report.metrics[0];
  opened.row = row;
  opened.run = full.results.length > 1 && params.get("run") === "1" ? 1 : 0;
  opened.claim = params.get("claim");
  opened.sides = full.results.map((result, run) => ({
    run,
    row,
    metric,
    result,
    requests: full.requests[run],
    literals: full.literals,
    facts: report.runs[run],
    short: judgeNames(report.runs[run]),
    entries: metric?.claims_of ? entriesOf(result, metric) : [],
  }));
  if (!metric?.claims_of) {
    main.replaceChildren(
      sampleHead(row, opened.sides[0].result.sample),
      metricTabs(row, metric),
      ...opened.sides.map(sampleWithoutClaims),
    );
    return;
  }
  if (opened.sides.length > 1) for (const side of opened.sides) side.others = opened.sides[1 - side.run].entries;
  main.replaceChildren(
    sampleHead(row, opened.sides[0].result.sample),
    metricTabs(row, metric),
    el(
      "div",
      { class: opened.sides.length > 1 ? "sides three" : "sides" },
      opened.sides.map(sidePanel),
      el("div", { id: "evidence" }),
    ),
    el("div", { id: "matrix-place" }),
    ...opened.sides.map(derivedScores).filter(Boolean),
  );
  choose(opened.claim, opened.run, true);
}

function sampleHead(row, sample) {
  const rows = listedRows();
  const at = rows.findIndex(({ number }) => number === row.number);
  const step = (by, text, label) => {
    const target = at >= 0 ? rows[at + by] : undefined;
    return target
      ? el("a", { class: "step", href: sampleAddress(target, sampleParams()), "aria-label": label }, text)
      : el("span", { class: "step off", "aria-hidden": "true" }, text);
  };
  const facts = [
    ["answered by", sample.generator],
    [
      "answerable",
      sample.is_answerable === undefined || sample.is_answerable === null ? null : sample.is_answerable ? "yes" : "no",
    ],
    ...Object.entries(sample.metadata ?? {}).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  ].filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el(
    "header",
    { class: "sample-head" },
    el(
      "div",
      { class: "sample-nav" },
      el("a", { href: list.state ? listAddress(list.state) : "#/samples" }, "← Samples"),
      el(
        "span",
        { class: "quiet" },
        at >= 0 ? `${(at + 1).toLocaleString("en")} of ${rows.length.toLocaleString("en")}` : "",
      ),
      step(-1, "‹ k", "Previous sample"),
      step(1, "j ›", "Next sample"),
    ),
    el("p", { class: "quiet small" }, el("code", null, data(sample.id))),
    sample.history?.length > 0 &&
      el(
        "details",
        { class: "turns" },
        el("summary", null, plural(sample.history.length, "earlier turn")),
        sample.history.map(({ role, content }) => el("div", null, el("b", null, data(role)), block(content))),
      ),
    el("h1", { class: "question" }, block(sample.question)),
    facts.length > 0 &&
      el(
        "dl",
        { class: "facts" },
        facts.map(([name, value]) => el("div", null, el("dt", null, data(name)), el("dd", null, data(value)))),
      ),
  );
}

function sampleParams(changed = {}) {
  return { metric: opened.sides[0]?.metric?.name, run: opened.run || null, ...changed };
}

function metricTabs(row, chosen) {
  const tab = (metric, i) =>
    el(
      "a",
      {
        class: "tab",
        href: sampleAddress(row, { metric: metric.name, run: opened.run || null }),
        "aria-current": metric === chosen ? "true" : null,
      },
      el("span", { class: "tab-name" }, data(metric.name)),
      el("span", { class: "tab-value" }, rowValue(row, i)),
      el("span", { class: "tab-strip" }, strips(row, { metric: i })),
    );
  return el("nav", { class: "tabs", "aria-label": "Metrics of this sample" }, report.metrics.map(tab));
}

// What is read off the verdicts on this sample.
function derivedScores({ result, facts, run }) {
  const found = Object.entries(result.scores ?? {}).filter(([metric]) => Object.hasOwn(facts.derived, metric));
  if (!found.length) return null;
  const row = ([metric, score]) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, data(metric)),
      el("td", null, data(facts.derived[metric])),
      el("td", { class: "num" }, score.judged ? `${score.hits ?? 0} of ${score.judged}` : ""),
      el("td", { class: "num" }, score.because ? data(score.because) : number(score.value ?? 0)),
    );
  const head = columns([["metric"], ["of what"], ["counted", "num"], ["score", "num"]]);
  return el(
    "section",
    { class: "derived", "aria-label": "Read off these verdicts" },
    el("h2", null, opened.sides.length > 1 && el("span", { class: "run-letter" }, "ab"[run]), "Read off these verdicts"),
    scrolling(`derived-${run}`, el("table", { class: "plain" }, head, el("tbody", null, found.map(row)))),
  );
}

// A sample of a run without claims: its texts, and what each judge replied about them.
function sampleWithoutClaims({ result, run, short }) {
  const { sample } = result;
  const verdict = ({ judge, label, unassessed, explanation }) =>
    el(
      "li",
      null,
      data(short.get(judge) ?? judge),
      ": ",
      label === undefined ? reasonInWords(unassessed) : el("strong", null, data(label)),
      explanation ? [" · ", data(explanation)] : null,
    );
  const row = ({ subject, question, label, unassessed, verdicts }) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, data(subject)),
      el("td", null, data(question)),
      el("td", null, label === undefined ? reasonInWords(unassessed) : data(label)),
      el("td", null, el("ul", { class: "reasons" }, verdicts.map(verdict))),
    );
  const texts = ["answer", "reference", "contexts", "reference_contexts"].flatMap((part) =>
    documentsOf(sample, part).map(({ id, text }) => [part, id, text]),
  );
  return el(
    "section",
    { class: "side", "data-run": run, "aria-label": "Assessments" },
    opened.sides.length > 1 && el("h2", null, el("span", { class: "run-letter" }, "ab"[run])),
    result.assessments?.length > 0 &&
      scrolling(
        `assessments-${run}`,
        el(
          "table",
          { class: "plain" },
          columns([["subject"], ["question"], ["label"], ["verdicts"]]),
          el("tbody", null, result.assessments.map(row)),
        ),
      ),
    texts.map(([part, id, text]) => [
      el("h3", null, capital(partName(part)), id === part ? null : [" ", el("code", { class: "quiet small" }, data(id))]),
      el("p", null, block(text)),
    ]),
  );
}

function sidePanel(side) {
  const { result, metric, run, entries } = side;
  const text = textOf(result.sample, metric.claims_of);
  const select = (claim) => choose(claim, run);
  const repeats = claimsOf(result, metric.claims_of).reduce((sum, claim) => sum + (claim.repeats ?? 0), 0);
  return el(
    "section",
    { class: "side", "data-run": run, "aria-label": partName(metric.claims_of) },
    el(
      "h2",
      null,
      opened.sides.length > 1 && el("span", { class: "run-letter" }, "ab"[run]),
      capital(partName(metric.claims_of)),
      opened.sides.length > 1 && el("span", { class: "quiet" }, " ", data(side.facts.name)),
    ),
    text === null
      ? el("p", { class: "quiet" }, "The sample has none.")
      : text === ""
        ? el("p", { class: "quiet" }, "It is empty.")
        : markedText(text, entries, select),
    el(
      "h2",
      null,
      `Claims (${entries.length})`,
      el(
        "button",
        {
          type: "button",
          class: "link small",
          click: () => showExchange(side, (call) => call.step === "extract" && call.part === metric.claims_of),
        },
        "how they were taken",
      ),
    ),
    repeats ? el("p", { class: "quiet small" }, `${plural(repeats, "repeated claim")} merged.`) : null,
    claimList(side, select),
  );
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// Makes a claim the chosen one: opens it, marks its pieces, shows its evidence, and puts it into the address.
function choose(claim, run = opened.run, first = false) {
  const side = opened.sides[run];
  opened.run = run;
  opened.claim = side.entries.some((entry) => entry.claim.id === claim) ? claim : null;
  for (const node of document.querySelectorAll("details.claim")) {
    node.open = node.dataset.claim === opened.claim && Number(node.closest(".side").dataset.run) === run;
  }
  for (const node of document.querySelectorAll("mark.piece, .pin")) {
    const mine = Number(node.closest(".side").dataset.run) === run;
    const ids = (node.dataset.claims ?? node.dataset.claim).split(" ");
    node.classList.toggle("chosen", mine && ids.includes(opened.claim));
  }
  document.getElementById("evidence").replaceChildren(evidencePanel(side));
  document.getElementById("matrix-place").replaceChildren(...[matrix(side)].filter(Boolean));
  rewrite(sampleAddress(opened.row, sampleParams({ claim: opened.claim, run: run || null })));
  if (opened.claim === null) return;
  document
    .querySelector(`.side[data-run="${run}"] details.claim[open]`)
    ?.scrollIntoView({ block: first ? "center" : "nearest" });
  const pane = document.getElementById("evidence");
  const passage = pane.querySelector(".passage");
  if (passage && getComputedStyle(pane).overflowY === "auto")
    pane.scrollTop += passage.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 3;
}

function moveInClaims(step) {
  const { entries } = opened.sides[opened.run] ?? { entries: [] };
  const at = entries.findIndex(({ claim }) => claim.id === opened.claim);
  const next = entries[at < 0 ? (step > 0 ? 0 : entries.length - 1) : at + step];
  if (next) choose(next.claim.id);
}

function moveInSamples(step) {
  const rows = listedRows();
  const at = rows.findIndex(({ number }) => number === opened.row?.number);
  const target = rows[at + step];
  if (target) location.hash = sampleAddress(target, sampleParams());
}

// The rows that j and k go through: those of the list as it was left, or of the list as it would open.
function listedRows() {
  if (list.state === null) {
    list.state = listState(new URLSearchParams());
    list.rows = ordered(report.rows, list.state);
  }
  return list.rows;
}
