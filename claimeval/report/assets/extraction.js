// Quality of the claims of a run, or of every arm of an experiment, from their words alone.

import { below, el, numeric, scrolling, section, table } from "./elements.js";
import { number, plural, range } from "./numbers.js";
import { data } from "./text.js";

/**
 * @param {Page.ExtractionSummary} found
 */
export function claimSection(found) {
  const { measures, people, unclaimed } = found;
  const beside = Object.keys(people).length > 0;
  const rows = Object.entries(measures).map(([name, ratio]) => [
    name.replaceAll("_", " "),
    [inWords(ratio), ratio.low !== null && below(range([ratio.low, ratio.high]))],
    `${ratio.hits.toLocaleString("en")} of ${ratio.total.toLocaleString("en")}`,
    ...(beside ? [inWords(people[name])] : []),
  ]);
  const kinds = Object.entries(unclaimed).map(([kind, n]) => `${kind.replaceAll("_", "-")} ${n}`);
  return section(
    "claims-quality",
    "Quality of the claims",
    el("p", { class: "quiet" }, `By their wording alone: ${scope(found)}.`),
    scrolling(
      "claims-quality",
      table(null, ["count", ...numeric("value", "counts"), ...(beside ? numeric("people") : [])], rows),
    ),
    kinds.length > 0 && el("p", { class: "quiet small" }, `Sentences without a claim: ${kinds.join(", ")}.`),
    found.remarks.length > 0 &&
      el(
        "ul",
        { class: "reasons small" },
        found.remarks.map((text) => el("li", null, data(text))),
      ),
  );
}

const SHOWN = ["claims_per_sentence", "statements_lost", "numbers_lost", "names_lost", "negations_lost"];

/**
 * The claims of every arm; an arm that covers less than another one is not comparable.
 *
 * @param {Page.ArmResult[]} arms
 */
export function claimsOfArms(arms) {
  const rows = arms.map(
    ({ name, extraction, covers_less: less }) =>
      extraction && [
        [data(name), less && below("scores fewer claims: not comparable; covers less ", data(less))],
        ...SHOWN.map((measure) => inWords(extraction.measures[measure])),
      ],
  );
  const heads = numeric(...SHOWN.map((name) => name.replaceAll("_", " ")));
  return section("claims-of-arms", "Claims", scrolling("claims-of-arms", table(null, ["arm", ...heads], rows)));
}

/** @param {Page.Ratio} found */
function inWords({ value, because }) {
  return value === null ? (because ?? "–") : number(value);
}

/** @param {Page.ExtractionSummary} found */
function scope({ claims, sentences, texts, all_texts: all, part }) {
  const of =
    texts < all ? `${texts.toLocaleString("en")} of ${plural(all, `${part} text`)}` : plural(all, `${part} text`);
  return `${plural(claims, "claim")} of ${plural(sentences, "sentence")} in ${of}`;
}
