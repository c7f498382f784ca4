// Comparison of the judges: cost and speed against agreement, confusions, failures and disputed claims.

import { runLetter } from "./cells.js";
import { report } from "./data.js";
import { el, fill, intro, picture, scrolling, table } from "./elements.js";
import { judgeNames, reasonInWords } from "./labels.js";
import { dollars, number, plural } from "./numbers.js";
import { disputes } from "./panel.js";
import { address, rowOf, sampleAddress } from "./route.js";
import { data } from "./text.js";

/** Whether a run has judges that can be compared. */
export function anyJudges() {
  return report.runs.some(({ judge_numbers: judges }) => judges.length > 0);
}

/** @param {HTMLElement} main */
export function drawJudges(main) {
  fill(
    main,
    intro("Judges", "Cost, speed, agreement and failures of each judge."),
    report.runs.flatMap((facts, run) => (facts.judge_numbers.length ? section(facts, run) : [])),
  );
}

/**
 * @param {Page.Overview} facts
 * @param {number} run
 */
function section(facts, run) {
  const judges = (run === 0 && report.agreement?.judges) || facts.judge_numbers;
  const short = judgeNames(facts);
  const id = `judges-${run}`;
  const odd = judges.find(({ odd_one: alone }) => alone);
  const disputed = facts.summary.panel?.disputes ?? [];
  const images = ["cost", "kappa"].map((name) => report.pictures[`${name}/${run}`]).filter(Boolean);
  const confused = judges.map(({ judge }) => report.pictures[`confusion/${run}/${judge}`]).filter(Boolean);
  const calibrated = judges.map(({ judge }) => report.pictures[`calibration/${run}/${judge}`]).filter(Boolean);
  return el(
    "section",
    null,
    el("h2", { id }, runLetter(run), `${plural(judges.length, "judge")}`),
    scrolling(id, judgeTable(judges, short, run)),
    odd &&
      el("p", null, data(short.get(odd.judge) ?? odd.judge), " agrees least with the other judges. ", [
        "See ",
        el("a", { href: address(["samples"], { judge: odd.judge, run: run || null }) }, "samples where it differs"),
        ".",
      ]),
    images.length > 0 && el("div", { class: "pictures" }, images.map(figure)),
    confused.length > 0 && [
      el(
        "h3",
        null,
        `Labels: a judge's against those of ${judges[0].agrees_with === "people" ? "people" : "the panel"}`,
      ),
      el("div", { class: "pictures" }, confused.map(figure)),
    ],
    calibrated.length > 0 && [el("h3", null, "Calibration"), el("div", { class: "pictures" }, calibrated.map(figure))],
    failures(judges, short, run),
    disputed.length > 0 && [
      el("h3", null, "Disputed claims"),
      el(
        "p",
        { class: "quiet" },
        "The claims that divide the judges most. ",
        el("a", { href: address(["samples"], { show: "differ", sort: "divided", run: run || null }) }, "All samples"),
        " where judges differ, the most divided first.",
      ),
      opened(disputes(disputed, short, run)),
    ],
  );
}

/** @param {HTMLDetailsElement} details */
function opened(details) {
  details.open = true;
  return details;
}

/** @param {any} image */
function figure(image) {
  return el("figure", null, picture(image));
}

/**
 * @param {Page.JudgeNumbers[]} judges
 * @param {Map<string, string>} short
 * @param {number} run
 */
function judgeTable(judges, short, run) {
  const compared = judges.find(({ agrees_with: with_ }) => with_)?.agrees_with ?? "others";
  const link = (/** @type {string} */ judge) => ({
    href: address(["samples"], { judge, run: run || null }),
    title: `samples where ${judge} differs from the panel`,
  });
  return table(
    null,
    [
      "judge",
      ["verdicts", "num"],
      ["per 1,000", "num", "US dollars for 1,000 verdicts, without extraction"],
      ["seconds a call", "num", "median, when the reply was asked for"],
      [`equal to ${compared}`, "num", "share of equal labels"],
      ["kappa", "num", `Cohen's kappa with ${compared}`],
      ["kappa with judges", "num", "mean of Cohen's kappa with each other judge"],
      ["remark", null, "best for its price: no other judge agrees at least as much for less"],
    ],
    judges.map((one) => [
      el("a", link(one.judge), data(short.get(one.judge) ?? one.judge)),
      one.verdicts.toLocaleString("en"),
      dollars(one.dollars_per_1000),
      number(one.seconds, 2),
      number(one.agreement),
      number(one.kappa),
      number(one.kappa_with_judges),
      [
        one.on_front ? "best for its price" : "",
        one.on_front && one.odd_one ? ", " : "",
        one.odd_one ? "odd one out" : "",
      ],
    ]),
  );
}

/**
 * @param {Page.JudgeNumbers[]} judges
 * @param {Map<string, string>} short
 * @param {number} run
 */
function failures(judges, short, run) {
  const entries = judges.flatMap((one) =>
    Object.entries(one.examples).map(([reason, example]) => {
      const row = rowOf(example.sample_id);
      return el(
        "li",
        null,
        el("b", null, data(short.get(one.judge) ?? one.judge)),
        `: ${one.failed[reason]} ${reason} (${reasonInWords(reason)}), as in `,
        row ? el("a", { href: sampleAddress(row, { run: run || null }) }, data(row.id)) : data(example.sample_id),
        el("pre", { class: "raw" }, data(example.reply ?? example.message ?? "no reply")),
      );
    }),
  );
  if (!entries.length) return null;
  return [
    el("h3", null, "Failed calls, with a raw reply of each kind"),
    el(
      "p",
      { class: "quiet" },
      el("a", { href: address(["samples"], { show: "failed", run: run || null }) }, "All samples with a failed call"),
    ),
    el("ul", { class: "failures" }, entries),
  ];
}
