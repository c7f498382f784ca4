// Quality of the claims of a run, from their words alone.

import { list, note, p, section } from "./elements.js";
import { plural } from "./numbers.js";
import { drawn } from "./tables.js";
import { data } from "./text.js";

/** @param {Page.ExtractionSummary} found @param {import("./tables.js").Table} measures */
export function claimSection(found, measures) {
  const kinds = Object.entries(found.unclaimed).map(
    ([kind, n]) => `${kind.replaceAll("_", "-")} ${n}`,
  );
  return section(
    "claims-quality",
    "Quality of the claims",
    p("quiet", `By their wording alone: ${scope(found)}.`),
    drawn("claims-quality", measures),
    kinds.length > 0 && note(`Sentences without a claim: ${kinds.join(", ")}.`),
    found.remarks.length > 0 && list("ul", "reasons small", found.remarks, (text) => data(text)),
  );
}

/** @param {Page.ExtractionSummary} found */
function scope({ claims, sentences, texts, all_texts: all, part }) {
  const of =
    texts < all
      ? `${texts.toLocaleString("en")} of ${plural(all, `${part} text`)}`
      : plural(all, `${part} text`);
  return `${plural(claims, "claim")} of ${plural(sentences, "sentence")} in ${of}`;
}
