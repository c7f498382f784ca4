// The data in the page: compressed blocks, unpacked when they are needed.

const KEPT = 6; // chunks of details that stay unpacked

const report = {
  runs: [], // facts of run a, and of run b in a comparison
  comparison: null,
  reasons: {},
  rows: [], // { number, id, question, ungrounded, failed, cells, other: the same of run b, flips }
  metrics: [], // what the list shows: the metrics that all runs have
  starts: [],
  numbers: new Map(), // sample id -> row number
};

async function load() {
  const [overview, index] = await Promise.all([unpack("overview"), unpack("index")]);
  Object.assign(report, overview, { starts: index.starts });
  const { metrics } = report.runs[0];
  report.metrics = [
    ...metrics.map(({ metric }) => metric),
    ...otherMetrics(report.runs[0]),
  ].filter(({ name }) => !report.comparison || report.comparison.metrics.some((m) => m.metric === name));
  report.rows = index.rows.map((runs, number) => ({
    number,
    ...readRow(runs[0]),
    other: runs.length > 1 ? readRow(runs[1]) : null,
    flips: runs[2] ?? 0,
  }));
  for (const row of report.rows) report.numbers.set(row.id, row.number);
}

// The metrics of a run that are not of claims, with their unit.
function otherMetrics({ manifest, summary }) {
  return manifest.job === "score" ? [] : manifest.metrics.map((name) => ({ name, unit: summary.metrics[name].unit }));
}

function readRow([id, question, ungrounded, failed, cells]) {
  return {
    id,
    question,
    ungrounded,
    failed,
    cells: cells.map(([value, strip, because]) => ({ value, strip, because })),
  };
}

const chunks = new Map();

function chunk(number) {
  const promise = chunks.get(number) ?? parsed().then(() => unpack(`chunk-${number}`));
  chunks.delete(number);
  chunks.set(number, promise);
  if (chunks.size > KEPT) chunks.delete(chunks.keys().next().value);
  return promise;
}

// The details stand behind the script, so that the overview shows before they are read.
function parsed() {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
}

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

// Everything about one sample: { results: [of a, of b], requests: [of a, of b], literals }.
async function detail(number) {
  const index = chunkOf(number);
  const { results, requests, literals } = await chunk(index);
  const at = number - report.starts[index];
  return { results: results[at], requests: requests[at], literals };
}

function claimsOf(result, part) {
  return (result.claims ?? []).filter((claim) => claim.of === part);
}

function turnsOf(sample) {
  return (sample.history ?? []).map(({ role, content }, i) => ({ id: `turn-${i + 1}`, title: role, text: content }));
}

function documentsOf(sample, part) {
  if (part === "contexts") return sample.contexts ?? [];
  if (part === "reference")
    return (sample.reference_answers ?? []).map((text, i) => ({ id: `reference-${i + 1}`, text }));
  if (part === "answer") return sample.answer === undefined ? [] : [{ id: "answer", text: sample.answer }];
  if (part === "reference_contexts") {
    const texts = sample.reference_contexts ?? [];
    const ids = sample.reference_context_ids ?? [];
    return texts.map((text, i) => ({ id: ids.length === texts.length ? ids[i] : String(i + 1), text }));
  }
  if (part === "history") return turnsOf(sample);
  if (part === "contexts+history") return [...(sample.contexts ?? []), ...turnsOf(sample)];
  return Object.hasOwn(sample.evidence ?? {}, part) ? sample.evidence[part] : [];
}

// Whether evidence is all documents of a part in their own order.
function isWhole(evidence, part) {
  return evidence.part === part && evidence.document === undefined && evidence.order === undefined;
}

function textOf(sample, part) {
  if (part === "answer") return sample.answer ?? null;
  const documents = documentsOf(sample, part);
  return documents.length ? documents.map((document) => document.text).join("\n\n") : null;
}
