// The failed claims of a sample of `locate`, with the cause of each and the passages that decide it.

import { documentsOf } from "./data.js";
import { all, button, div, el, list, p, scrolling, table } from "./elements.js";
import { partName, reasonInWords } from "./labels.js";
import { block, data } from "./text.js";

/** @import { Side } from "./opened.js" */

const UNKNOWN = "no cause";

/** @param {Line.Assessment} one */
function causeOf({ cause, unassessed }) {
  return cause ? cause.replaceAll("_", " ") : unassessed ? reasonInWords(unassessed) : UNKNOWN;
}

/** The claims of a sample, which can be filtered by cause. @param {Side} side */
export function locatedClaims({ result, run, short }) {
  const { sample, claims = [], assessments = [] } = result;
  const texts = new Map(claims.map((claim) => [claim.id, claim]));
  const passages = new Map(documentsOf(sample, "corpus").map((one) => [one.id, one]));
  const rows = assessments.map((one) => {
    const claim = texts.get(one.subject);
    const cited = [...new Set(one.verdicts.flatMap(({ cites = [] }) => cites))];
    const verdict = (/** @type {Line.Verdict} */ said) => [
      data(short.get(said.judge) ?? said.judge),
      ": ",
      data(said.label ?? reasonInWords(said.unassessed)),
      said.explanation ? [" · ", data(said.explanation)] : null,
    ];
    return [
      data(claim?.text ?? one.subject),
      partName(claim?.of),
      el("strong", { "data-cause": causeOf(one) }, data(causeOf(one))),
      cited.map((name) =>
        p(null, el("code", null, data(name)), " ", block(passages.get(name)?.text ?? "")),
      ),
      list("ul", "reasons", one.verdicts, verdict),
    ];
  });
  const name = `located-${run}`;
  const heads = ["claim", "of", "cause", "passages", "verdicts"];
  const shown = div(null, scrolling(name, table(null, heads, rows)));
  return [causeFilter(assessments.map(causeOf), shown), shown];
}

/** Buttons that leave only claims with some causes. @param {string[]} causes @param {HTMLElement} shown */
function causeFilter(causes, shown) {
  const counted = new Map();
  for (const cause of causes) counted.set(cause, (counted.get(cause) ?? 0) + 1);
  if (counted.size < 2) return null;
  /** @type {Set<string>} */
  const pressed = new Set();
  const press = (/** @type {MouseEvent} */ event, /** @type {string} */ cause) => {
    const on = pressed.delete(cause) ? false : Boolean(pressed.add(cause));
    /** @type {HTMLElement} */ (event.currentTarget).setAttribute("aria-pressed", String(on));
    for (const mark of all("[data-cause]", shown)) {
      const row = mark.closest("tr");
      if (row) row.hidden = pressed.size > 0 && !pressed.has(mark.dataset.cause ?? "");
    }
  };
  const buttons = [...counted].map(([cause, number]) =>
    button("token", (event) => press(event, cause), `${number} ${cause}`, {
      "aria-pressed": "false",
    }),
  );
  const attributes = {
    class: "claim-filter",
    role: "group",
    "aria-label": "Show only claims whose cause is",
  };
  return el("p", attributes, buttons);
}
