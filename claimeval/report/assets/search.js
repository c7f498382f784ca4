// Search: in ids and questions at once, then chunk by chunk in answers, claims, explanations and references.

import { parsed, report } from "./data.js";
import { has, terms } from "./text.js";
import { unpackText } from "./unpacking.js";

/** @type {string[]} */
const searchTexts = []; // row number -> lower-cased texts, filled as chunks are read

/** @param {import("./data.js").Row} row @param {Line.SampleResult[]} results */
function searchText(row, results) {
  const texts = [row.id, row.question];
  for (const { sample, claims, assessments } of results) {
    texts.push(
      sample.question,
      sample.answer ?? "",
      ...(sample.reference_answers ?? []),
      sample.generator ?? "",
    );
    texts.push(...(claims ?? []).map((claim) => claim.text));
    for (const { verdicts } of assessments ?? [])
      texts.push(...verdicts.map((verdict) => verdict.explanation ?? ""));
    texts.push(
      ...(sample.contexts ?? []).map((document) => document.id),
      JSON.stringify(sample.metadata ?? {}),
    );
  }
  return texts.join("\n").toLowerCase();
}

const AHEAD = 4; // chunks that are unpacked while one is searched

/**
 * Whether a chunk can hold all terms: they are in its JSON as they are, unless JSON escapes them.
 *
 * @param {string} json
 * @param {string[]} wanted
 */
function mayHave(json, wanted) {
  const text = json.toLowerCase();
  return wanted.every((term) => /["\\\p{C}]/u.test(term) || text.includes(term));
}

/**
 * Finds the samples that have all words of a query, first in ids and questions, then in everything, chunk by chunk.
 *
 * @param {string} query
 * @param {AbortSignal} signal ends it
 * @param {(matches: Set<number>, share: number) => void} found is called repeatedly with the numbers of the matching
 *   rows and the share of the samples searched so far
 */
export async function search(query, signal, found) {
  const wanted = terms(query);
  const matches = new Set();
  for (const row of report.rows) {
    if (has(searchTexts[row.number] ?? `${row.id}\n${row.question}`.toLowerCase(), wanted))
      matches.add(row.number);
  }
  const unread = report.starts
    .map((_start, i) => i)
    .filter((i) => searchTexts[report.starts[i]] === undefined);
  found(matches, unread.length ? 0 : 1);
  if (!unread.length) return;
  await parsed();
  /** @type {Promise<string>[]} */
  const ahead = [];
  let reported = performance.now();
  for (const [done, index] of unread.entries()) {
    while (ahead.length < AHEAD && done + ahead.length < unread.length)
      ahead.push(unpackText(`chunk-${unread[done + ahead.length]}`));
    const json = await /** @type {Promise<string>} */ (ahead.shift());
    if (signal.aborted) return;
    if (mayHave(json, wanted)) {
      for (const [at, runs] of JSON.parse(json).results.entries()) {
        const row = report.rows[report.starts[index] + at];
        searchTexts[row.number] = searchText(row, runs);
        if (has(searchTexts[row.number], wanted)) matches.add(row.number);
      }
    }
    if (done === unread.length - 1 || performance.now() - reported > 150) {
      found(matches, (done + 1) / unread.length);
      reported = performance.now();
    }
  }
}
