// How the judges of a panel stand to each other: agreement, the claims that divide them, repeats, own families.

function panelSection(facts, run) {
  const { panel } = facts.summary;
  const short = judgeNames(facts);
  const labelled = panel.unanimous + panel.split;
  const later = panel.judges.length - panel.measured_on.length;
  const whose = later ? `, of the ${panel.measured_on.length} judges who saw all claims` : "";
  const told = [
    [
      "unanimous",
      `${percent(labelled ? panel.unanimous / labelled : null)} of ${plural(labelled, "claim")}`,
      `claims with two labels or more, all equal${whose}`,
    ],
    ["ties", panel.ties.toLocaleString("en"), "such claims have no label"],
    panel.no_quorum ? ["without a quorum", panel.no_quorum.toLocaleString("en"), "too few judges gave a label"] : null,
    ["Krippendorff's alpha", number(panel.alpha), `agreement beyond chance; 1 is full agreement${whose}`],
    ["Gwet's AC1", number(panel.ac1), "the same, steadier where one label is frequent"],
  ].filter(Boolean);
  return el(
    "section",
    { "aria-labelledby": "panel" },
    el("h2", { id: "panel" }, "How far the judges agree"),
    el(
      "div",
      { class: "columns" },
      el(
        "dl",
        { class: "numbers" },
        told.map(([name, value, meaning]) =>
          el("div", null, el("dt", null, name, el("span", { class: "quiet small" }, meaning)), el("dd", null, value)),
        ),
      ),
      scrolling("panel", pairTable(panel, short), noiseTable(panel, short), preferenceTable(panel)),
    ),
    panel.disputes.length > 0 && disputes(panel.disputes, short, run),
  );
}

function pairTable(panel, short) {
  const name = (rater) => data(short.get(rater) ?? "the panel's label");
  const row = ({ first, second, claims, raw_agreement: raw, kappa, disputed_only }) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, name(first), " and ", name(second), disputed_only && " (disputed claims)"),
      el("td", { class: "num" }, percent(raw)),
      el("td", { class: "num" }, number(kappa)),
      el("td", { class: "num" }, claims.toLocaleString("en")),
    );
  return el(
    "table",
    { class: "plain" },
    columns([["two raters"], ["same label", "num"], ["Cohen's kappa", "num"], ["claims", "num"]]),
    el("tbody", null, [...panel.judge_pairs, ...panel.judge_vs_panel].map(row)),
  );
}

function noiseTable({ noise }, short) {
  const judges = Object.entries(noise ?? {}).filter(([, { claims }]) => claims);
  if (!judges.length) return null;
  const row = ([judge, { claims, inconsistent, variance_share: share }]) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, data(short.get(judge) ?? judge), " and itself"),
      el("td", { class: "num" }, `${inconsistent} of ${claims}`),
      el("td", { class: "num" }, percent(share)),
    );
  return el(
    "table",
    { class: "plain" },
    columns([["repeats"], ["contradicted itself", "num"], ["of a verdict's variance", "num"]]),
    el("tbody", null, judges.map(row)),
  );
}

function preferenceTable({ self_preference: preferences }) {
  if (!preferences?.length) return null;
  const row = ({ metric, family, value, low, high, n, because }) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, data(family), " on ", data(metric)),
      el("td", { class: "num" }, signed(value)),
      el("td", { class: "num" }, low === null ? data(because ?? "–") : signedRange([low, high])),
      el("td", { class: "num" }, String(n)),
    );
  return el(
    "table",
    { class: "plain" },
    columns([
      ["favours its own family", null, "how much more than other judges do"],
      ["by", "num"],
      ["95 % interval", "num"],
      ["samples", "num"],
    ]),
    el("tbody", null, preferences.map(row)),
  );
}

function disputes(disputed, short, run) {
  const vote = ([judge, said]) => [
    data(short.get(judge) ?? judge),
    " ",
    Object.hasOwn(LABELS, said) ? [sign(said), ` ${LABELS[said].word}`] : data(said),
  ];
  const entry = ({ sample, subject: id, claim, of, evidence, votes }) => {
    const row = rowOf(sample);
    const metric = report.metrics.find((m) => m.against === evidence.part && m.claims_of === of);
    const target = row && sampleAddress(row, { metric: metric?.name, claim: id, run: run || null });
    return el(
      "li",
      null,
      el(target ? "a" : "span", { href: target, class: "worst-claim" }, data(claim)),
      el(
        "p",
        { class: "quiet small" },
        Object.entries(votes).map((pair, i) => [i ? " · " : "", vote(pair)]),
      ),
    );
  };
  return el(
    "details",
    { class: "more" },
    el("summary", null, `The ${plural(disputed.length, "claim")} that divide them most`),
    el("ol", { class: "worst" }, disputed.map(entry)),
  );
}
