// Unpacks a compressed block of data in the page.

import { byId } from "./elements.js";

/**
 * The bytes of a base64 text, decoded by the browser itself where it can, which is many times as fast.
 *
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 */
function decoded(text) {
  if ("fromBase64" in Uint8Array) return /** @type {any} */ (Uint8Array).fromBase64(text);
  return Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0));
}

/** The text of a block of data. @param {string} name id of the element that holds it */
export function unpackText(name) {
  const stream = new Blob([decoded(byId(name).textContent ?? "")]).stream();
  return new Response(stream.pipeThrough(new DecompressionStream("deflate"))).text();
}

/** @param {string} name id of the element that holds it @returns {Promise<any>} */
export async function unpack(name) {
  return JSON.parse(await unpackText(name));
}
