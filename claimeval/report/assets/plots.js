// Plots as SVG, each with a description in words.

import { div, list, svg } from "./elements.js";
import { listed } from "./route.js";
import { countsInWords, LABELS, sign } from "./labels.js";
import { digitsOf, number, plural, range, total } from "./numbers.js";

// A mean with its interval and bounds on an axis from 0 to 1.
/** @param {Page.MetricSummary} summary @param {string} name */
export function intervalPlot({ mean, low, high, bounds, ends: reported }, name) {
  const ends = reported === "bounds" || low === null || high === null ? null : [low, high];
  const [width, left, scale] = [300, 8, 284];
  const x = (/** @type {number} */ value) => left + scale * value;
  const wide = (/** @type {number[]} */ [from, to]) => Math.max(1, scale * (to - from));
  const description =
    mean === null
      ? `${name} has no mean`
      : `${name}: mean ${number(mean, digitsOf(ends))}, ${ends ? `95% interval ${range(ends)}` : "no interval"}, ${range(bounds)} whatever the unassessed claims are`;
  return svg(
    "svg",
    { class: "plot", viewBox: `0 0 ${width} 34`, role: "img", "aria-label": description },
    svg("title", null, description),
    svg("line", { class: "axis", x1: x(0), x2: x(1), y1: 14, y2: 14 }),
    [0, 0.25, 0.5, 0.75, 1].map((tick) =>
      svg("line", { class: "axis", x1: x(tick), x2: x(tick), y1: 10, y2: 18 }),
    ),
    [0, 0.5, 1].map((tick) =>
      svg("text", { class: "tick", x: x(tick), y: 31, "text-anchor": "middle" }, String(tick)),
    ),
    bounds &&
      svg("rect", {
        class: "bounds",
        x: x(bounds[0]),
        width: wide(bounds),
        y: 8,
        height: 12,
        rx: 2,
      }),
    ends && svg("line", { class: "interval", x1: x(ends[0]), x2: x(ends[1]), y1: 14, y2: 14 }),
    ends?.map((end) =>
      svg("line", { class: "interval-end", x1: x(end), x2: x(end), y1: 9, y2: 19 }),
    ),
    mean !== null && svg("circle", { class: "mean", cx: x(mean), cy: 14, r: 5 }),
  );
}

/**
 * How many samples have which value: bars for exactly 0, the tenths between, exactly 1, and no value at all.
 *
 * @param {number[]} bars
 * @param {number} without samples that have none
 * @param {string} name
 * @param {number} run
 */
export function histogram(bars, without, name, run) {
  const [step, height, top] = [20, 64, 16];
  const highest = Math.max(1, ...bars, without);
  const spots = [
    ...bars.map((n, /** @type {number | null} */ i) => ({ n, i, x: 4 + (i ?? 0) * step })),
    { n: without, i: null, x: 4 + (bars.length + 0.6) * step },
  ];
  const ends = (/** @type {number} */ i) =>
    i === 0 ? [0, 0] : i === bars.length - 1 ? [1, 1] : [(i - 1) / 10, i / 10];
  const words = (/** @type {number | null} */ i) =>
    i === null
      ? "without a value"
      : i === 0
        ? "at 0"
        : i === bars.length - 1
          ? "at 1"
          : `in ${ends(i).join(" to ")}`;
  const description = `${name}: ${
    spots
      .filter(({ n }) => n)
      .map(({ n, i }) => `${plural(n, "sample")} ${words(i)}`)
      .join(", ") || "no samples"
  }`;
  const draw = (/** @type {{ n: number, i: number | null, x: number }} */ { n, i, x }) => {
    const tall = Math.max(2, (n / highest) * height);
    const kind = i === null ? "column without" : "column";
    const [from, to] = i === null ? [] : ends(i);
    return svg(
      "a",
      { href: listed({ metric: name, run, from, to, show: i === null ? "no_score" : null }) },
      svg("title", null, `${plural(n, "sample")} ${words(i)}`),
      svg("rect", { class: kind, x, y: top + height - tall, width: step - 4, height: tall }),
      label(x, top + height - tall - 4, n.toLocaleString("en")),
    );
  };
  const label = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ text) =>
    svg("text", { class: "tick", x: x + (step - 4) / 2, y, "text-anchor": "middle" }, text);
  const links = spots.filter(({ n }) => n).map(draw);
  links.forEach((link, i) => link.setAttribute("tabindex", i ? "-1" : "0"));
  const tick = (/** @type {number} */ i, /** @type {string} */ text) =>
    label(4 + i * step, top + height + 13, text);
  return svg(
    "svg",
    {
      class: "plot",
      viewBox: `0 0 ${10 + (bars.length + 1.6) * step} ${top + height + 18}`,
      role: "group",
      "aria-label": `${description}. Arrow keys lead from bar to bar.`,
      keydown: (/** @type {KeyboardEvent} */ event) => toNext(links, event),
    },
    svg("line", {
      class: "axis",
      x1: 0,
      x2: bars.length * step,
      y1: top + height,
      y2: top + height,
    }),
    links,
    [
      tick(0, "0"),
      tick(5.5, "0.5"),
      tick(bars.length - 1, "1"),
      without ? tick(bars.length + 0.6, "none") : null,
    ],
  );
}

/**
 * Moves the focus among links that are one stop of the tab key.
 *
 * @param {SVGElement[]} links
 * @param {KeyboardEvent} event
 */
function toNext(links, event) {
  const at = links.findIndex((link) => link === document.activeElement);
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const next = at >= 0 && by ? links[at + by] : undefined;
  if (!next) return;
  event.preventDefault();
  links[at].setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

/**
 * How many claims have which label, as one bar with a legend under it.
 *
 * @param {Page.LabelCounts} counted
 * @param {string} name
 */
export function labelBar(counted, name) {
  const found = /** @type {Record<string, number>} */ (counted);
  const all = total(found);
  let x = 0;
  const pieces = Object.keys(LABELS).map((label) => {
    const width = all ? (found[label] / all) * 300 : 0;
    const piece = svg("rect", {
      class: `piece is-${label}`,
      x,
      y: 0,
      width: Math.max(0.5, width - 1),
      height: 14,
    });
    const at = {
      class: `piece-sign is-${label}`,
      x: x + width / 2,
      y: 10.5,
      "text-anchor": "middle",
    };
    const inside = width > 14 && svg("text", at, LABELS[label].sign);
    x += width;
    return width ? [piece, inside] : null;
  });
  const description = `${name}: ${countsInWords(found)}`;
  const present = Object.keys(LABELS).filter((label) => found[label]);
  return div(
    "label-bar",
    svg(
      "svg",
      { class: "plot", viewBox: "0 0 300 14", role: "img", "aria-label": description },
      pieces,
    ),
    list("ul", "legend", present, (label) => [
      sign(label),
      ` ${found[label].toLocaleString("en")} ${LABELS[label].word}`,
    ]),
  );
}
