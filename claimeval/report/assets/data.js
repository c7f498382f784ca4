import { learnReasons } from "./labels.js";
import { unpack } from "./unpacking.js";

/** @import { Table } from "./tables.js" */

/**
 * The score of a sample: a letter of `strip` is a claim, and the value is `hits` of `judged`, where it is a share.
 *
 * @typedef {{ value: number | null, strip: string, because: string | null, hits: number | null, judged: number | null,
 *   reasons: string[], dissenters: number[], entropy: number }} Cell
 */
/**
 * A sample in the list; `other` is the same sample in run b, and `changed` has a letter for each part of it that differs:
 * a answer, c contexts, r reference, q question.
 *
 * @typedef {{ id: string, question: string, ungrounded: number, failed: number, cells: Cell[],
 *   blame: string | null, gold: string, worst: [string, string] | null }} RunRow
 * @typedef {RunRow & { number: number, other: RunRow | null, flips: number, changed: string,
 *   causes: Record<string, Record<string, number>>, documents: string[] }} Row
 */
/**
 * A metric. A metric that is computed from the verdicts of others is `derived` and has a description.
 *
 * @typedef {{ name: string, unit?: string, claims_of?: string, against?: string, derived?: string }} Metric
 */
/** @typedef {{ results: Line.SampleResult[], requests: any[], literals: string[], diagnosis: string[],
 *   citations: Citation[][], documents: Listed, sentences: JudgedSentence[][], cited: ClaimCitation[][] }} Detail */
/** @typedef {[claim: string, kind: string, words: string]} ClaimCitation what is right or wrong with the citations of a claim */
/** @typedef {[claim: string, part: string, document: string, start: number, end: number]} JudgedSentence the sentence that
 *   the reason of a judge is about, in code points */
/** @typedef {{ start: number, end: number, label: string | null, document: string | null, words: string }} Citation */

/** @typedef {{ words: string, figure: string, inner: boolean, part: Omit<Page.CausePart, "largest" | "parts"> | null }} CauseRow
 *   a row of the table of causes; a sum has no part */
/** @typedef {Record<string, [number | null, number | null, string][]>} Listed documents of both runs in one list, by part */

const CELL = ["value", "strip", "because", "hits", "judged", "reasons", "dissenters", "entropy"];
const KEPT = 6; // chunks of details that stay unpacked

export const report = {
  /** @type {string[]} metrics of which a low value is good */
  lower: [],
  /** @type {Page.Overview[]} facts of run a, and of run b in a comparison */
  runs: [],
  /** @type {Page.PairedRuns | null} */
  comparison: null,
  /** @type {Row[]} */
  rows: [],
  /** @type {Metric[]} what the list shows: the metrics that all runs have */
  metrics: [],
  /** @type {number[]} the first row of every chunk of details */
  starts: [],
  /** @type {Map<string, number>} sample id -> row number */
  numbers: new Map(),
  /** @type {{ field: string, values: string[], codes: number[] }[]} fields by which samples can be chosen */
  facets: [],
  /** @type {Record<string, any>} pictures that Python drew, by name */
  pictures: {},
  /** @type {Record<string, Table>[]} tables of each run, by name */
  tables: [],
  /** @type {Record<string, Table>} tables of a comparison, by name */
  compared: {},
  flipped: "",
  /** @type {string[]} the system and the day of each run */
  of: [],
  /** @type {Page.DecidingClaim[]} samples of a comparison that changed */
  changed: [],
  /** @type {Record<string, CauseRow[]>} rows of the table of causes, by metric */
  because: {},
  /** @type {Record<string, string>} why values change, in words */
  causes: {},
  /** @type {Record<string, string>} whether retrieval or generation is to blame, in words */
  cells: {},
  /** @type {Page.Agreement | null} judges against people, where the run has labels */
  agreement: null,
  version: "",
};

/** The name of a metric, with an arrow if a low value is good. @param {string} name */
export function directed(name) {
  return report.lower.includes(name) ? `${name} ↓` : name;
}

export async function load() {
  const [overview, index] = await Promise.all([unpack("overview"), unpack("index")]);
  const { reasons, ...facts } = overview;
  learnReasons(reasons);
  Object.assign(report, facts, { starts: index.starts });
  const { metrics, derived, summary } = report.runs[0];
  report.metrics = [
    ...metrics.map(({ metric }) => metric),
    ...Object.entries(derived).map(([name, says]) => ({
      name,
      derived: says,
      unit: summary.metrics[name].unit,
    })),
    ...otherMetrics(report.runs[0]),
  ].filter(({ name }) => report.comparison?.metrics.some((m) => m.metric === name) ?? true);
  report.rows = index.rows.map((/** @type {any[]} */ runs, /** @type {number} */ number) => ({
    number,
    ...readRow(runs[0]),
    other: runs.length > 1 ? readRow(runs[1]) : null,
    flips: runs[2] ?? 0,
    changed: runs[3] ?? "",
    causes: runs[4] ?? {},
    documents: runs[5] ?? [],
  }));
  for (const row of report.rows) report.numbers.set(row.id, row.number);
}

/** The metrics of a run that are not of claims, with their unit. @param {Page.Overview} facts @returns {Metric[]} */
export function otherMetrics({ manifest, summary }) {
  return manifest.job === "score"
    ? []
    : manifest.metrics.map(String).map((name) => ({ name, unit: summary.metrics[name].unit }));
}

/** @param {Page.SampleRow} row @returns {RunRow} */
function readRow([id, question, ungrounded, failed, cells, blame, gold, worst]) {
  const named = (/** @type {any[]} */ cell) =>
    Object.fromEntries(CELL.map((name, i) => [name, cell[i]]));
  return {
    id,
    question,
    ungrounded,
    failed,
    blame,
    gold,
    worst,
    cells: cells.map((cell) => /** @type {Cell} */ (named(cell))),
  };
}

const chunks = new Map();

/** @param {number} number */
export function chunk(number) {
  const promise = chunks.get(number) ?? parsed().then(() => unpack(`chunk-${number}`));
  chunks.delete(number);
  chunks.set(number, promise);
  if (chunks.size > KEPT) chunks.delete([...chunks.keys()][0]);
  return promise;
}

// The details come after the script, so that the overview is shown before they are read.
export function parsed() {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((resolve) =>
    document.addEventListener("DOMContentLoaded", resolve, { once: true }),
  );
}

/** @param {number} number */
function chunkOf(number) {
  let low = 0;
  let high = report.starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (report.starts[middle] <= number) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * Everything about one sample: its results and the requests of their calls, of run a and of run b.
 *
 * @param {number} number
 * @returns {Promise<Detail>}
 */
export async function detail(number) {
  const index = chunkOf(number);
  const { literals, ...many } = await chunk(index);
  const at = number - report.starts[index];
  const of = Object.fromEntries(Object.entries(many).map(([name, values]) => [name, values[at]]));
  return /** @type {Detail} */ ({ ...of, literals });
}

/** @param {Line.SampleResult} result @param {string | undefined} part */
export function claimsOf(result, part) {
  return (result.claims ?? []).filter((claim) => claim.of === part);
}

/** @param {Line.Sample} sample */
function turnsOf(sample) {
  return (sample.history ?? []).map(({ role, content }, i) => ({
    id: `turn-${i + 1}`,
    title: role,
    text: content,
  }));
}

/**
 * The documents that a part of a sample consists of.
 *
 * @param {Line.Sample} sample
 * @param {string | undefined} part
 * @returns {Line.Document[]}
 */
export function documentsOf(sample, part) {
  if (part === "contexts") return sample.contexts ?? [];
  if (part === "reference")
    return (sample.reference_answers ?? []).map((text, i) => ({ id: `reference-${i + 1}`, text }));
  if (part === "answer")
    return sample.answer === undefined || sample.answer === null
      ? []
      : [{ id: "answer", text: sample.answer }];
  if (part === "reference_contexts") {
    const texts = sample.reference_contexts ?? [];
    const ids = sample.reference_context_ids ?? [];
    return texts.map((text, i) => ({
      id: ids.length === texts.length ? ids[i] : String(i + 1),
      text,
    }));
  }
  if (part === "history") return turnsOf(sample);
  if (part === "contexts+history") return [...(sample.contexts ?? []), ...turnsOf(sample)];
  const own = sample.evidence ?? {};
  return part !== undefined && Object.hasOwn(own, part) ? own[part] : [];
}

/**
 * Whether an assessment is against all documents of a part in their own order.
 *
 * @param {Line.Assessment} assessment
 * @param {string | undefined} part
 */
export function isWhole({ against, document, order }, part) {
  return against === part && document === undefined && order === undefined;
}

/** @param {Line.Sample} sample @param {string | undefined} part */
export function textOf(sample, part) {
  if (part === "answer") return sample.answer ?? null;
  const documents = documentsOf(sample, part);
  return documents.length ? documents.map((document) => document.text).join("\n\n") : null;
}
