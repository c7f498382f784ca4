// Finds words in samples: at once in ids and questions, then chunk by chunk in answers, claims, reasons and references.

const searchTexts = []; // row number -> lower-cased texts, filled as chunks are read

function terms(query) {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

function has(text, wanted) {
  return wanted.every((term) => text.includes(term));
}

function searchText(row, results) {
  const texts = [row.id, row.question];
  for (const { sample, claims, assessments } of results) {
    texts.push(sample.question, sample.answer ?? "", ...(sample.reference_answers ?? []), sample.generator ?? "");
    texts.push(...(claims ?? []).map((claim) => claim.text));
    for (const { verdicts } of assessments ?? []) texts.push(...verdicts.map((verdict) => verdict.explanation ?? ""));
    texts.push(...(sample.contexts ?? []).map((document) => document.id), JSON.stringify(sample.metadata ?? {}));
  }
  return texts.join("\n").toLowerCase();
}

// Calls `found(matches, share)` with the set of matching row numbers, again and again until all is searched.
// `signal.aborted` ends it.
async function search(query, signal, found) {
  const wanted = terms(query);
  const matches = new Set();
  for (const row of report.rows) {
    if (has(searchTexts[row.number] ?? `${row.id}\n${row.question}`.toLowerCase(), wanted)) matches.add(row.number);
  }
  const unread = report.starts.map((start, i) => i).filter((i) => searchTexts[report.starts[i]] === undefined);
  found(matches, unread.length ? 0 : 1);
  let told = performance.now();
  for (const [done, index] of unread.entries()) {
    await parsed();
    const { results } = await unpack(`chunk-${index}`);
    if (signal.aborted) return;
    for (const [at, runs] of results.entries()) {
      const row = report.rows[report.starts[index] + at];
      searchTexts[row.number] = searchText(row, runs);
      if (has(searchTexts[row.number], wanted)) matches.add(row.number);
    }
    const last = done === unread.length - 1;
    if (last || performance.now() - told > 150) {
      found(matches, (done + 1) / unread.length);
      told = performance.now();
    }
  }
}
