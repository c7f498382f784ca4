// Where the reader is: the fragment of the address, as in #/sample/q-17?metric=faithfulness&claim=answer-3.

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function route() {
  const [path, query] = location.hash.slice(1).split(/\?(.*)/s);
  const [view, ...rest] = path.split("/").filter(Boolean).map(decoded);
  return { view: view ?? "", rest, params: new URLSearchParams(query ?? "") };
}

function address(path, params = {}) {
  const kept = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(kept).toString();
  return `#/${path.join("/")}${query ? `?${query}` : ""}`;
}

// An id goes into the address as it is; one with half a surrogate pair cannot, and its number stands for it.
function sampleAddress(row, params) {
  return address(["sample", row.id.isWellFormed() ? encodeURIComponent(row.id) : `~${row.number}`], params);
}

function rowOf(name) {
  if (report.numbers.has(name)) return report.rows[report.numbers.get(name)];
  return /^~\d+$/.test(name) ? report.rows[Number(name.slice(1))] : undefined;
}

// Changes the address without a step in the history and without drawing anew.
function rewrite(target) {
  history.replaceState(null, "", target);
}
