// What a person reads first: what was judged, what to beware of, the means, and the claims to look at.

function drawOverview(main, run = 0) {
  const facts = report.runs[run];
  main.replaceChildren(
    ...[
      overviewHeading(facts, run),
      cautionBox(facts.cautions),
      el(
        "div",
        { class: "cards" },
        facts.metrics.map((metric) => metricCard(metric, facts, run)),
      ),
      otherMetrics(facts).length > 0 && otherTable(facts),
      Object.keys(facts.derived).length > 0 && derivedTable(facts),
      facts.summary.order_effects && orderSection(facts.summary.order_effects),
      worstClaims(facts, run),
      facts.judges.length > 0 && judgeTable(facts),
      facts.summary.panel?.measured_on.length > 0 && panelSection(facts, run),
      facts.sides.length > 0 && sideTable(facts.sides),
      facts.ranks.length > 0 && rankSection(facts.ranks),
    ].filter(Boolean),
  );
}

function overviewHeading(facts, run) {
  const { manifest } = facts;
  const short = judgeNames(facts);
  const name = (judge) => data(short.get(judge.name), { title: judge.name });
  const judges = manifest.judges.flatMap((judge, i) => [i ? ", " : "", name(judge)]);
  return el(
    "header",
    { class: "intro" },
    el("h1", null, report.runs.length > 1 && el("span", { class: "run-letter" }, "ab"[run]), data(dataName(facts))),
    el(
      "p",
      null,
      `${plural(facts.summary.samples, "sample")}${clustersInWords(facts.summary.samples, facts.summary.clusters, manifest.cluster)}`,
      judges.length ? [", judged by ", judges] : null,
      ".",
      manifest.extractor
        ? [
            " Answers were taken apart into claims by ",
            name(manifest.extractor),
            "; the judges said of every claim whether its evidence supports it.",
          ]
        : null,
    ),
  );
}

function dataName(facts) {
  return facts.manifest.data.path || facts.name;
}

function cautionBox(cautions) {
  if (!cautions.length) return null;
  return el(
    "section",
    { class: "cautions", "aria-labelledby": "cautions" },
    el("h2", { id: "cautions" }, "Before you believe these numbers"),
    el(
      "ul",
      null,
      cautions.map(({ text }) => el("li", null, data(text))),
    ),
  );
}

function worstClaims({ worst }, run) {
  if (!worst.length) return null;
  const entry = (trouble) => {
    const row = rowOf(trouble.sample_id);
    const metric = report.metrics.find((m) => m.against === trouble.evidence.part && m.claims_of === "answer");
    const target = row && sampleAddress(row, { metric: metric?.name, claim: trouble.subject, run: run || null });
    return el(
      "li",
      null,
      el(
        target ? "a" : "span",
        { href: target, class: "worst-claim" },
        sign(trouble.label),
        el("span", null, data(trouble.claim)),
      ),
      el(
        "p",
        { class: "quiet small" },
        `${LABELS[trouble.label].word} in the `,
        data(partName(trouble.evidence.part)),
        trouble.explanation ? [" · ", data(trouble.explanation)] : null,
        " · ",
        data(trouble.sample_id),
      ),
    );
  };
  return el(
    "section",
    { "aria-labelledby": "worst" },
    el("h2", { id: "worst" }, "Look here first"),
    el("p", { class: "quiet" }, "The worst claim of each of the worst answers."),
    el("ol", { class: "worst" }, worst.map(entry)),
  );
}

function judgeTable(facts) {
  const short = judgeNames(facts);
  const cost = facts.judges.every((judge) => judge.cost.dollars !== null)
    ? facts.judges.reduce((sum, judge) => sum + judge.cost.dollars, 0)
    : null;
  const row = (judge) => {
    const failed = Object.entries(judge.failed)
      .map(([reason, n]) => `${n} ${reason}`)
      .join(", ");
    const judged = Object.values(judge.labels).some(Boolean);
    return el(
      "tr",
      null,
      el("th", { scope: "row" }, data(short.get(judge.name), { title: judge.name })),
      el(
        "td",
        null,
        judged
          ? labelBar(judge.labels, `labels given by ${short.get(judge.name)}`)
          : el("span", { class: "quiet" }, "takes claims only"),
      ),
      el("td", { class: "num" }, (judge.extractions + judge.assessments).toLocaleString("en")),
      el("td", null, failed || "none"),
      el(
        "td",
        { class: "num" },
        tokensInWords(judge.cost),
        judge.uncounted ? el("span", { class: "quiet small" }, ` (${judge.uncounted} replies without a count)`) : null,
      ),
      el("td", { class: "num" }, dollars(judge.cost.dollars)),
    );
  };
  return el(
    "section",
    { "aria-labelledby": "judges" },
    el("h2", { id: "judges" }, "Judges"),
    scrolling(
      "judges",
      el(
        "table",
        { class: "plain" },
        columns([["judge"], ["verdicts"], ["calls", "num"], ["failed"], ["tokens in + out", "num"], ["cost", "num"]]),
        el("tbody", null, facts.judges.map(row)),
      ),
    ),
    el(
      "p",
      { class: "quiet small" },
      callsInWords(facts.summary.cost),
      cost === null
        ? "No price is stated for some of these models."
        : `${dollars(cost)} in all at stated prices, whenever the replies were paid for.`,
    ),
    costBySteps(facts.summary.cost, short),
  );
}

// Calls, tokens and cost of every judge in every step.
function costBySteps(cost, short) {
  const entry = ({ judge, step, cost: { calls, dollars: price, ...tokens } }) =>
    el(
      "li",
      null,
      data(short.get(judge) ?? judge),
      `, ${step}: ${plural(calls, "call")}, ${tokensInWords(tokens)} tokens, `,
      price === null ? "price unknown" : dollars(price),
    );
  return el("ul", { class: "reasons quiet small" }, (cost?.by ?? []).map(entry));
}

function callsInWords(cost) {
  if (!cost) return "";
  const { calls, reused } = cost.total;
  const again = reused ? `, ${plural(reused, "reply", "replies")} taken over from an earlier run` : "";
  const skipped = cost.skipped ? `, ${cost.skipped} spared because the first judges agreed` : "";
  return `${plural(calls, "question")} put to judges${again}${skipped}. `;
}


function rankSection(ranks) {
  return el(
    "section",
    { "aria-labelledby": "ranks" },
    el("h2", { id: "ranks" }, "What the retrieved contexts are good for"),
    el(
      "p",
      { class: "quiet" },
      "Share of samples in which a judge named the context at that rank as evidence for a supported claim",
      ranks[0].relevant === null ? "." : "; the line marks the share in which it is a reference context.",
    ),
    scrolling("ranks", rankPlot(ranks)),
  );
}

// Metrics that are counted from the verdicts of those above.
function derivedTable({ derived, summary }) {
  const rows = Object.entries(derived).map(([name, says]) => [name, says, summary.metrics[name]]);
  return scoreTable("derived", "Read off these verdicts", "of what", rows);
}

// Metrics that are not of claims: ratings, grades, and those without a judge.
function otherTable(facts) {
  const rows = otherMetrics(facts).map(({ name, unit }) => [name, unit, facts.summary.metrics[name]]);
  return scoreTable("scores", "Scores", "unit", rows);
}

// What the same documents in other orders do to the labels.
function orderSection({ orders, claims, flipped, lost, gained, rate, places }) {
  const ends = rate.low === null ? "" : `, 95 % interval ${percent(rate.low)} to ${percent(rate.high)}`;
  const share = rate.value === null ? "" : ` (${percent(rate.value)} of a sample's claims${ends})`;
  const row = ({ rank, labelled, supported, compared, flipped }) =>
    el(
      "tr",
      null,
      [rank, labelled, percent(supported / labelled), compared, compared ? percent(flipped / compared) : "–"].map((t) =>
        el("td", { class: "num" }, `${t}`),
      ),
    );
  return el(
    "section",
    { "aria-labelledby": "orders" },
    el("h2", { id: "orders" }, "The order of the documents"),
    el(
      "p",
      null,
      `${flipped} of ${plural(claims, "claim")} flip in one of ${plural(orders, "other order")}${share}; `,
      `${plural(lost, "label")} lose support, ${gained} gain it.`,
    ),
    places.length > 0 &&
      scrolling(
        "orders",
        el(
          "table",
          { class: "plain" },
          columns(
            ["evidence at rank", "labels", "supported", "in other orders", "flipped"].map((name) => [name, "num"]),
          ),
          el("tbody", null, places.map(row)),
        ),
      ),
  );
}

// Scores that no judge gave: lexical, perplexity, reward.
function sideTable(sides) {
  const rows = sides.flatMap(({ kind, metrics }) => Object.entries(metrics).map(([name, m]) => [name, kind, m]));
  return scoreTable("sides", "Scores that no judge gave", "kind", rows);
}

function scoreTable(id, title, second, rows) {
  const row = ([name, words, metric]) =>
    el(
      "tr",
      null,
      el(
        "th",
        { scope: "row" },
        data(name),
        (metric.unit ?? "share") === "share" ? null : el("span", { class: "quiet" }, " (", data(metric.unit), ")"),
      ),
      el("td", null, data(words)),
      el("td", { class: "num" }, number(metric.mean)),
      el("td", { class: "num" }, shownEnds(metric)),
      el("td", { class: "num" }, String(metric.n)),
      el("td", { class: "num" }, range(metric.bounds)),
      el(
        "td",
        null,
        data(
          Object.entries(metric.missing)
            .map(([reason, n]) => `${n} ${reason}`)
            .join(", ") || "none",
        ),
      ),
    );
  return el(
    "section",
    { "aria-labelledby": id },
    el("h2", { id }, title),
    scrolling(
      id,
      el(
        "table",
        { class: "plain" },
        columns([
          ["metric"],
          [second],
          ["mean", "num"],
          ["95 % interval", "num"],
          ["n", "num"],
          ["bounds", "num"],
          ["missing"],
        ]),
        el("tbody", null, rows.map(row)),
      ),
    ),
  );
}
