// Plots as SVG. Each says in words what it shows.

// A mean with its interval and bounds on the way from 0 to 1.
function intervalPlot({ mean, low, high, bounds, shown }, name) {
  const ends = shown === "bounds" || low === null ? null : [low, high];
  const [width, left, scale] = [300, 8, 284];
  const x = (value) => left + scale * value;
  const said =
    mean === null
      ? `${name} has no mean`
      : `${name}: mean ${number(mean)}, 95 % interval ${range(ends)}, between ${range(bounds)} whatever the unassessed claims are`;
  return svg(
    "svg",
    { class: "plot", viewBox: `0 0 ${width} 34`, role: "img", "aria-label": said },
    svg("title", null, said),
    svg("line", { class: "axis", x1: x(0), x2: x(1), y1: 14, y2: 14 }),
    [0, 0.25, 0.5, 0.75, 1].map((tick) => svg("line", { class: "axis", x1: x(tick), x2: x(tick), y1: 10, y2: 18 })),
    [0, 0.5, 1].map((tick) => svg("text", { class: "tick", x: x(tick), y: 31, "text-anchor": "middle" }, String(tick))),
    bounds &&
      svg("rect", {
        class: "bounds",
        x: x(bounds[0]),
        width: Math.max(1, scale * (bounds[1] - bounds[0])),
        y: 8,
        height: 12,
        rx: 2,
      }),
    ends && svg("line", { class: "interval", x1: x(low), x2: x(high), y1: 14, y2: 14 }),
    ends && ends.map((end) => svg("line", { class: "interval-end", x1: x(end), x2: x(end), y1: 9, y2: 19 })),
    mean !== null && svg("circle", { class: "mean", cx: x(mean), cy: 14, r: 5 }),
  );
}

// How many samples have which value: bars for exactly 0, the tenths between, exactly 1, and no value at all.
// `target(low, high)` is the address of the list of these samples, `low` excluded unless it equals `high`.
function histogram(bars, without, name, target) {
  const [step, height, top] = [20, 64, 16];
  const highest = Math.max(1, ...bars, without);
  const spots = [
    ...bars.map((n, i) => ({ n, i, x: 4 + i * step })),
    { n: without, i: null, x: 4 + (bars.length + 0.6) * step },
  ];
  const ends = (i) => (i === 0 ? [0, 0] : i === bars.length - 1 ? [1, 1] : [(i - 1) / 10, i / 10]);
  const words = (i) =>
    i === null ? "without a value" : i === 0 ? "at 0" : i === bars.length - 1 ? "at 1" : `in ${ends(i).join(" to ")}`;
  const said = `${name}: ${
    spots
      .filter(({ n }) => n)
      .map(({ n, i }) => `${plural(n, "sample")} ${words(i)}`)
      .join(", ") || "no samples"
  }`;
  const draw = ({ n, i, x }) => {
    const tall = n ? Math.max(2, (n / highest) * height) : 0;
    const bar = svg("rect", {
      class: i === null ? "column without" : "column",
      x,
      y: top + height - tall,
      width: step - 4,
      height: tall,
    });
    const count = svg(
      "text",
      { class: "tick", x: x + (step - 4) / 2, y: top + height - tall - 4, "text-anchor": "middle" },
      n ? String(n) : "",
    );
    if (!n) return null;
    return svg(
      "a",
      { href: target(i === null ? null : ends(i)), "aria-label": `${plural(n, "sample")} ${words(i)}` },
      svg("title", null, `${plural(n, "sample")} ${words(i)}`),
      bar,
      count,
    );
  };
  const tick = (i, label) =>
    svg(
      "text",
      { class: "tick", x: 4 + i * step + (step - 4) / 2, y: top + height + 13, "text-anchor": "middle" },
      label,
    );
  return svg(
    "svg",
    {
      class: "plot",
      viewBox: `0 0 ${10 + (bars.length + 1.6) * step} ${top + height + 18}`,
      role: "group",
      "aria-label": said,
    },
    svg("line", { class: "axis", x1: 0, x2: bars.length * step, y1: top + height, y2: top + height }),
    spots.map(draw),
    [tick(0, "0"), tick(5.5, "0.5"), tick(bars.length - 1, "1"), without ? tick(bars.length + 0.6, "none") : null],
  );
}

// How many claims have which label, as one bar with a legend under it.
function labelBar(found, name) {
  const total = Object.values(found).reduce((sum, n) => sum + n, 0);
  let x = 0;
  const pieces = Object.keys(LABELS).map((label) => {
    const width = total ? (found[label] / total) * 300 : 0;
    const piece = svg("rect", { class: `piece is-${label}`, x, y: 0, width: Math.max(0.5, width - 1), height: 14 });
    const inside =
      width > 14 &&
      svg(
        "text",
        { class: `piece-sign is-${label}`, x: x + width / 2, y: 10.5, "text-anchor": "middle" },
        LABELS[label].sign,
      );
    x += width;
    return width ? [piece, inside] : null;
  });
  return el(
    "div",
    { class: "label-bar" },
    svg(
      "svg",
      { class: "plot", viewBox: "0 0 300 14", role: "img", "aria-label": `${name}: ${countsInWords(found)}` },
      pieces,
    ),
    el(
      "ul",
      { class: "legend" },
      Object.keys(LABELS)
        .filter((label) => found[label])
        .map((label) => el("li", null, sign(label), ` ${found[label].toLocaleString("en")} ${LABELS[label].word}`)),
    ),
  );
}

// A difference with its interval around 0; `reach` is the largest distance from 0 among the plots of a table.
function differencePlot({ value, low, high }, reach, name) {
  const x = (difference) => 150 + (difference / reach) * 140;
  const said =
    value === null
      ? `${name}: no difference can be told`
      : `${name}: ${signed(value)}, 95 % interval ${signedRange([low, high])}`;
  return svg(
    "svg",
    { class: "plot", viewBox: "0 0 300 26", role: "img", "aria-label": said },
    svg("title", null, said),
    svg("line", { class: "axis", x1: 10, x2: 290, y1: 13, y2: 13 }),
    svg("line", { class: "zero", x1: x(0), x2: x(0), y1: 2, y2: 24 }),
    low !== null && svg("line", { class: "interval", x1: x(low), x2: x(high), y1: 13, y2: 13 }),
    low !== null &&
      [low, high].map((end) => svg("line", { class: "interval-end", x1: x(end), x2: x(end), y1: 8, y2: 18 })),
    value !== null && svg("circle", { class: "mean", cx: x(value), cy: 13, r: 5 }),
  );
}

// For every rank a bar of the samples whose context there is cited, and a mark for those where it is relevant.
function rankPlot(ranks) {
  const [step, height, top] = [34, 70, 14];
  const words = ({ rank, samples, cited, relevant }) =>
    `rank ${rank}: cited in ${cited} of ${plural(samples, "sample")}${relevant === null ? "" : `, relevant in ${relevant}`}`;
  const draw = (facts, i) => {
    const x = 6 + i * step;
    const tall = (n) => (n / facts.samples) * height;
    return svg(
      "g",
      null,
      svg("title", null, words(facts)),
      svg("rect", { class: "column-back", x, y: top, width: step - 8, height }),
      svg("rect", {
        class: "column",
        x,
        y: top + height - tall(facts.cited),
        width: step - 8,
        height: tall(facts.cited),
      }),
      facts.relevant !== null &&
        svg("line", {
          class: "relevant-mark",
          x1: x - 3,
          x2: x + step - 5,
          y1: top + height - tall(facts.relevant),
          y2: top + height - tall(facts.relevant),
        }),
      svg(
        "text",
        { class: "tick", x: x + (step - 8) / 2, y: top - 3, "text-anchor": "middle" },
        `${Math.round((100 * facts.cited) / facts.samples)}%`,
      ),
      svg(
        "text",
        { class: "tick", x: x + (step - 8) / 2, y: top + height + 13, "text-anchor": "middle" },
        String(facts.rank),
      ),
    );
  };
  const wide = 8 + ranks.length * step;
  return svg(
    "svg",
    {
      class: "plot ranks",
      viewBox: `0 0 ${wide} ${top + height + 18}`,
      width: wide * 1.3,
      role: "img",
      "aria-label": ranks.map(words).join("; "),
    },
    ranks.map(draw),
  );
}
