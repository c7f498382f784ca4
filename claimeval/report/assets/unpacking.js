// A compressed block of data in the page, unpacked.

async function unpack(name) {
  const binary = atob(document.getElementById(name).textContent);
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
