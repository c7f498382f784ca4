/**
 * Puts a question to the search of the site, which finds sections with all of its words. If no
 * section has all of them, those with all but as few as possible are found, and of several choices
 * that of the fewest sections: `judge returns invalid JSON` found none, and finds what an unreadable
 * reply is. Words that no section has are left out first.
 *
 * @param {Function} search The search of the worker.
 * @param {object} data The question, as the page sends it.
 */
function relaxed(search, data) {
  const ask = (input) => search({ type: "text", data: { ...data, input } });
  const count = (input) => ask(input).data.pagination.total;
  const whole = ask(data.input);
  if (typeof data.input !== "string" || whole.data.pagination.total) return whole;
  const every = count("");
  const words = [...new Set(data.input.split(/\s+/))].filter((word) => {
    const total = word && count(word);
    return total > 0 && total !== every;
  });
  // Of a pasted paragraph, 2 ** n choices would be too many.
  let choices = words.length > 7 ? [] : [words];
  while (choices.length && choices[0].length) {
    const found = choices
      .map((choice) => ({ input: choice.join(" "), total: count(choice.join(" ")) }))
      .filter(({ total }) => total > 0)
      .sort((one, other) => one.total - other.total);
    if (found.length) return ask(found[0].input);
    // The first words of a question say most, so the last ones are left out first.
    const shorter = choices.flatMap((choice) =>
      choice.map((_, left) => choice.filter((_, n) => n !== left).join(" ")).reverse(),
    );
    choices = [...new Set(shorter)].map((choice) => choice.split(" ").filter(Boolean));
  }
  return ask(data.input);
}
