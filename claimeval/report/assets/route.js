// Routes: fragments of the address, as in #/sample/q-17?metric=faithfulness&claim=answer-3.

import { report } from "./data.js";

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function route() {
  const [path, query] = location.hash.slice(1).split(/\?(.*)/s);
  const [view, ...rest] = path.split("/").filter(Boolean).map(decoded);
  return { view: view ?? "", rest, params: new URLSearchParams(query ?? "") };
}

/**
 * The address of a view; parameters that are null, undefined or empty are left out, and so is the first run. Lists are
 * repeated.
 *
 * @param {string[]} path
 * @param {Record<string, any>} [params]
 */
export function address(path, params = {}) {
  const kept = Object.entries(params)
    .flatMap(([name, value]) =>
      Array.isArray(value) ? value.map((one) => [name, one]) : [[name, value]],
    )
    .filter(
      ([name, value]) =>
        value !== null && value !== undefined && value !== "" && (value || name !== "run"),
    );
  const query = new URLSearchParams(kept).toString();
  return `#/${path.join("/")}${query ? `?${query}` : ""}`;
}

/** The address of a list of samples. @param {Record<string, any>} params as `address` takes them */
export function listed(params) {
  return address(["samples"], params);
}

/**
 * The address of a sample. An id with half a surrogate pair cannot be in it, so its number is used.
 *
 * @param {import("./data.js").Row} row
 * @param {Record<string, any>} [params] as `address` takes them
 */
export function sampleAddress(row, params) {
  return address(
    ["sample", row.id.isWellFormed() ? encodeURIComponent(row.id) : `~${row.number}`],
    params,
  );
}

/** @param {string} name id of a sample, or ~ and its number */
export function rowOf(name) {
  const number = report.numbers.get(name);
  if (number !== undefined) return report.rows[number];
  return /^~\d+$/.test(name) ? report.rows[Number(name.slice(1))] : undefined;
}

/** Changes the address without a history entry and without drawing again. @param {string} target */
export function rewrite(target) {
  history.replaceState(null, "", target);
}
