// Two runs: what was asked differently, what the means changed by, and which claims flipped.

function drawComparison(main) {
  const { comparison } = report;
  const reach = Math.max(
    0.05,
    ...comparison.metrics.flatMap(({ difference: d }) => [d.value, d.low, d.high].map((v) => Math.abs(v ?? 0))),
  );
  main.replaceChildren(
    ...[
      el(
        "header",
        { class: "intro" },
        el("h1", null, "Two runs over the same samples"),
        el(
          "p",
          null,
          el("span", { class: "run-letter" }, "a"),
          data(comparison.a),
          " and ",
          el("span", { class: "run-letter" }, "b"),
          data(comparison.b),
          `: ${plural(comparison.shared, "shared sample")}${clustersInWords(comparison.shared, comparison.clusters, comparison.cluster)}`,
          comparison.only_a ? `, ${comparison.only_a} only in a` : null,
          comparison.only_b ? `, ${comparison.only_b} only in b` : null,
          ". Differences are b − a.",
        ),
      ),
      cautionBox(comparisonCautions(comparison)),
      comparison.settings.length > 0 &&
        el(
          "section",
          { "aria-labelledby": "settings" },
          el("h2", { id: "settings" }, "What was different"),
          el(
            "ul",
            { class: "settings" },
            comparison.settings.map((text) => el("li", null, data(text))),
          ),
        ),
      el(
        "section",
        { "aria-labelledby": "differences" },
        el("h2", { id: "differences" }, "What came out"),
        scrolling("differences", differenceTable(comparison.metrics, reach)),
      ),
      flipSection(comparison),
    ].filter(Boolean),
  );
}

function comparisonCautions({ other_texts, other_claims, shared, abstained }) {
  const found = [];
  if (other_texts)
    found.push({
      text: `${other_texts} of ${shared} shared samples have other texts in the two runs (another answer, other contexts or an edited reference): the difference is not the judges' alone.`,
    });
  if (other_claims)
    found.push({
      text: `${other_claims} of ${shared} shared samples were taken apart into other claims; labels are compared only for claims that both runs have word for word.`,
    });
  return [...abstained.map((text) => ({ text })), ...found];
}

function differenceTable(metrics, reach) {
  const test = "sign-flip permutation test, Holm-adjusted over the metrics";
  const head = [
    ["metric"],
    ["a", "num"],
    ["b", "num"],
    ["b − a", "num"],
    ["95 % interval"],
    ["p (Holm)", "num", test],
    ["higher, lower in b", "num"],
    ["n", "num"],
  ];
  return el(
    "table",
    { class: "plain differences" },
    columns(head),
    el(
      "tbody",
      null,
      metrics.map((m) =>
        el(
          "tr",
          null,
          el("th", { scope: "row" }, data(m.metric)),
          el("td", { class: "num" }, number(m.a)),
          el("td", { class: "num" }, number(m.b)),
          el("td", { class: "num strong" }, signed(m.difference.value)),
          el(
            "td",
            null,
            differencePlot(m.difference, reach, m.metric),
            el("span", { class: "small" }, signedRange([m.difference.low, m.difference.high])),
          ),
          el("td", { class: "num" }, pValue(m.p_adjusted)),
          el("td", { class: "num" }, `${m.higher}, ${m.lower}`),
          el(
            "td",
            { class: "num" },
            `${m.n}`,
            m.dropped ? el("span", { class: "quiet small" }, ` (${m.dropped} without a value)`) : null,
          ),
        ),
      ),
    ),
  );
}

function flipSection({ compared, flipped, relabeled, labeled_once, flips }) {
  const others = [
    labeled_once && `${plural(labeled_once, "claim")} with a label in one run only`,
    relabeled && `${plural(relabeled, "claim")} with another label that counts the same`,
  ].filter(Boolean);
  const other = (word) => (word === null ? "" : ` (${word.replaceAll("_", " ")})`);
  const all = el("a", { href: address(["samples"], { show: "flipped" }) }, "all samples that changed");
  const entry = (flip) => {
    const metric = report.metrics.find(
      (m) => m.against === flip.evidence.part && m.claims_of === flip.of,
    );
    return el(
      "li",
      null,
      el(
        "a",
        {
          class: "worst-claim",
          href: sampleAddress(rowOf(flip.sample_id), { metric: metric?.name, claim: flip.subject }),
        },
        sign(flip.a),
        "→",
        sign(flip.b),
        el("span", null, data(flip.claim)),
      ),
      el(
        "p",
        { class: "quiet small" },
        `${LABELS[flip.a].word}${other(flip.a_word)} → ${LABELS[flip.b].word}${other(flip.b_word)} against the `,
        data(partName(flip.evidence.part)),
        " · ",
        data(flip.sample_id),
      ),
    );
  };
  return el(
    "section",
    { "aria-labelledby": "flips" },
    el("h2", { id: "flips" }, `${flipped} of ${plural(compared, "claim")} flipped`),
    el(
      "p",
      { class: "quiet" },
      "Claims that both runs have and that count differently in the two",
      others.length > 0 && `; not counted as flips: ${others.join(", ")}`,
      ". See ",
      all,
      ".",
    ),
    flips.length > 0 && el("ol", { class: "worst" }, flips.map(entry)),
  );
}
