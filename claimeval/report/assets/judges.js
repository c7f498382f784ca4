// Comparison of the judges: cost and speed against agreement, confusions, failures and disputed claims.

import { runLetter } from "./cells.js";
import { report } from "./data.js";
import { div, el, figure, fill, intro, list, p } from "./elements.js";
import { judgeNames, reasonInWords } from "./labels.js";
import { plural } from "./numbers.js";
import { disputes } from "./panel.js";
import { listed, rowOf, sampleAddress } from "./route.js";
import { drawn } from "./tables.js";
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

/** @param {Page.Overview} facts @param {number} run */
function section(facts, run) {
  const judges = (run === 0 && report.agreement?.judges) || facts.judge_numbers;
  const short = judgeNames(facts);
  const id = `judges-${run}`;
  const odd = judges.find(({ odd_one: alone }) => alone);
  const disputed = facts.summary.panel?.disputes ?? [];
  const differing = (/** @type {number} */ i) => listed({ judge: judges[i].judge, run });
  const people = judges[0].agrees_with === "people";
  const named = (/** @type {string} */ name) => report.pictures[`${name}/${run}`];
  const ofJudges = (/** @type {string} */ name) =>
    judges.map(({ judge }) => report.pictures[`${name}/${run}/${judge}`]);
  return el(
    "section",
    null,
    el("h2", { id }, runLetter(run), `${plural(judges.length, "judge")}`),
    drawn(id, report.tables[run].judges, { href: differing }),
    odd &&
      p(null, data(short.get(odd.judge) ?? odd.judge), " agrees least with the other judges. ", [
        "See ",
        el("a", { href: listed({ judge: odd.judge, run }) }, "samples where it differs"),
        ".",
      ]),
    figures(null, ["cost", "kappa"].map(named)),
    figures(
      `Labels: a judge's against those of ${people ? "people" : "the panel"}`,
      ofJudges("confusion"),
    ),
    figures("Calibration", ofJudges("calibration")),
    failures(judges, short, run),
    disputed.length > 0 && [
      el("h3", null, "Disputed claims"),
      p(
        "quiet",
        "The claims that divide the judges most. ",
        el("a", { href: listed({ show: "differ", sort: "divided", run }) }, "All samples"),
        " where judges differ, the most divided first.",
      ),
      disputes(disputed, short, run, true),
    ],
  );
}

/** The pictures that there are. @param {string | null} title @param {any[]} images */
function figures(title, images) {
  const found = images.filter(Boolean).map(figure);
  return found.length > 0 && [title && el("h3", null, title), div("pictures", found)];
}

/** @param {Page.JudgeNumbers[]} judges @param {Map<string, string>} short @param {number} run */
function failures(judges, short, run) {
  const examples = judges.flatMap((one) =>
    Object.entries(one.examples).map(([reason, example]) => ({
      one,
      reason,
      example,
      row: rowOf(example.sample_id),
    })),
  );
  if (!examples.length) return null;
  return [
    el("h3", null, "Failed calls, with a raw reply of each kind"),
    p(
      "quiet",
      el("a", { href: listed({ show: "failed", run }) }, "All samples with a failed call"),
    ),
    list("ul", "failures", examples, ({ one, reason, example, row }) => [
      el("b", null, data(short.get(one.judge) ?? one.judge)),
      `: ${one.failed[reason]} ${reason} (${reasonInWords(reason)}), as in `,
      row ? el("a", { href: sampleAddress(row, { run }) }, data(row.id)) : data(example.sample_id),
      el("pre", { class: "raw" }, data(example.reply ?? example.message ?? "no reply")),
    ]),
  ];
}
