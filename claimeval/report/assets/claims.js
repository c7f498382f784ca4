// A text with its claims marked in place, and the list of these claims with the verdicts of every judge.

const GRAVITY = ["contradicted", "not_found", "unassessed", "supported"]; // which label a piece of several claims shows

// The claims of one metric with what was found: [{ claim, number, assessment, label, because }].
function entriesOf(result, metric) {
  const found = new Map(
    (result.assessments ?? []).filter((a) => isWhole(a.evidence, metric.against)).map((a) => [a.subject, a]),
  );
  const score = result.scores?.[metric.name];
  return claimsOf(result, metric.claims_of).map((claim, i) => {
    const assessment = found.get(claim.id) ?? null;
    const because = assessment ? assessment.unassessed : score?.because;
    return { claim, number: i + 1, assessment, label: labelOf(assessment ?? {}), because };
  });
}

// The text in pieces: a piece that claims stand on is a mark, and each claim has a pin where it ends.
function markedText(text, entries, select) {
  const placed = entries
    .filter(({ claim }) => claim.span)
    .map((entry) => ({ start: entry.claim.span[0], end: entry.claim.span[1], entry }));
  const nodes = cut(text, placed).flatMap(({ text: piece, to, spans }) => {
    if (!spans.length) return visible(piece);
    const innermost = [...spans].sort((a, b) => a.to - a.from - (b.to - b.from)).map(({ entry }) => entry);
    const label = GRAVITY.find((grave) => spans.some(({ entry }) => entry.label === grave));
    const mark = el(
      "mark",
      {
        class: `piece is-${label}${spans.length > 1 ? " several" : ""}`,
        "data-claims": innermost.map(({ claim }) => claim.id).join(" "),
        click: () => select(following(innermost)),
      },
      visible(piece),
    );
    return [mark, ...spans.filter((span) => span.to === to).map(({ entry }) => pin(entry, select))];
  });
  return el("div", { class: "text marked", dir: "auto" }, nodes);
}

// A click on a piece that several claims share goes from one to the next.
function following(entries) {
  const at = entries.findIndex(({ claim }) => claim.id === opened.claim);
  return entries[(at + 1) % entries.length].claim.id;
}

function pin({ claim, number, label, because }, select) {
  return el(
    "button",
    {
      type: "button",
      class: `pin is-${label}`,
      "data-claim": claim.id,
      "aria-label": `Claim ${number}: ${labelInWords(label, because)}`,
      click: () => select(claim.id),
    },
    signText(label, because),
    String(number),
  );
}

function claimList(side, select) {
  if (!side.entries.length) return el("p", { class: "quiet" }, noClaims(side));
  return el(
    "ol",
    { class: "claims" },
    side.entries.map((entry) => claimItem(entry, side, select)),
  );
}

function noClaims({ result, metric }) {
  const because = result.unextracted?.[metric.claims_of] ?? result.scores?.[metric.name]?.because;
  const failed = (result.calls ?? []).findLast((call) => call.step === "extract" && call.part === metric.claims_of && call.failed);
  return [
    "No claims",
    because ? `: ${reasonInWords(because)}.` : ".",
    failed?.message ? [" ", data(failed.message)] : null,
  ];
}

// Which of several gold answers a claim is of, and whether the score is counted over that one.
function alternativeNote(claim, side) {
  const score = side.result.scores[side.metric.name];
  const counts = score?.alternative ?? null;
  const said = counts === null ? "" : counts === claim.alternative ? ", which counts" : `; gold answer ${counts} counts`;
  return `Of gold answer ${claim.alternative}${said}.`;
}

function claimItem(entry, side, select) {
  const { claim, number, label, because, assessment } = entry;
  const verdicts = assessment?.verdicts ?? [];
  const votes =
    verdicts.length > 1 &&
    el(
      "span",
      { class: "votes" },
      verdicts.map((v) =>
        el(
          "span",
          { class: "vote", title: `${v.judge}: ${labelInWords(labelOf(v), v.unassessed)}` },
          data(judgeOf(v, side)),
          " ",
          sign(labelOf(v)),
          el("span", { class: "unseen" }, LABELS[labelOf(v)].word),
        ),
      ),
    );
  const item = el(
    "details",
    {
      class: `claim is-${label}`,
      "data-claim": claim.id,
      toggle: (event) => event.target.open && event.target.dataset.claim !== opened.claim && select(claim.id, side.run),
    },
    el(
      "summary",
      null,
      sign(label, because),
      el("span", { class: "claim-number" }, `${number}.`),
      el("span", { class: "claim-text" }, data(claim.text), flipBadge(entry, side)),
      votes,
    ),
    el(
      "div",
      { class: "claim-body" },
      el(
        "p",
        { class: "claim-label" },
        chip(label, because),
        verdicts.length > 1 && assessment.agreement !== null && assessment.agreement !== undefined
          ? el("span", { class: "quiet small" }, ` ${percent(assessment.agreement)} of the judges`)
          : null,
      ),
      assessment?.label === "not_found" &&
        verdicts.length === 0 &&
        el("p", { class: "quiet small" }, "No judge was asked: there is nothing to hold it against."),
      claim.alternative && el("p", { class: "quiet small" }, alternativeNote(claim, side)),
      verdicts.map((verdict) => verdictItem(verdict, claim, side)),
      el(
        "p",
        { class: "quiet small" },
        grounding(claim),
        " · ",
        el(
          "a",
          { href: sampleAddress(side.row, { metric: side.metric.name, claim: claim.id, run: side.run || null }) },
          "link to this claim",
        ),
      ),
    ),
  );
  return el("li", null, item);
}

function flipBadge({ claim, label }, { run, others }) {
  const other = others?.find((entry) => entry.claim.id === claim.id && entry.claim.text === claim.text);
  if (!other || other.label === label) return null;
  return el("span", { class: "flag" }, run ? `was ${LABELS[other.label].word}` : `became ${LABELS[other.label].word}`);
}

function grounding({ grounding: how, missing_numbers: missing, span, sentence_ids: ids }) {
  const said = {
    exact: "stands in the text word for word",
    fuzzy: "stands in the text in nearly these words",
    ids_only: "placed by its sentences",
  }[how];
  if (missing?.length) return ["not in the text or the question: ", data(missing.join(", "))];
  return (
    said ??
    (span
      ? "not tied to its text"
      : `no place in the text${ids?.length ? `, said to come from sentence ${ids.join(", ")}` : ""}`)
  );
}

// A judge that was asked several times is told apart by the number of the repeat.
function judgeOf({ judge, replicate }, side) {
  const name = side.short.get(judge) ?? judge;
  return side.facts.manifest.panel.replicates > 1 ? `${name} #${(replicate ?? 0) + 1}` : name;
}

function verdictItem(verdict, claim, side) {
  const judge = judgeOf(verdict, side);
  const named = verdict.cites ?? [];
  return el(
    "div",
    { class: "verdict" },
    el(
      "p",
      { class: "verdict-head" },
      el("strong", null, data(judge, { title: verdict.judge })),
      " ",
      chip(labelOf(verdict), verdict.unassessed),
      el("span", { class: "small" }, wordOf(verdict)),
      verdict.probability !== null && verdict.probability !== undefined
        ? el("span", { class: "quiet small" }, ` probability of “supported” ${number(verdict.probability, 2)}`)
        : null,
    ),
    verdict.explanation ? el("blockquote", null, block(verdict.explanation)) : null,
    el(
      "p",
      { class: "small" },
      named.length
        ? [
            "names ",
            named.map((id, i) => [
              i ? ", " : "",
              el("button", { type: "button", class: "link", click: () => showDocument(id) }, data(id)),
            ]),
            " · ",
          ]
        : [el("span", { class: "quiet" }, "names no document"), " · "],
      el(
        "button",
        {
          type: "button",
          class: "link exchange",
          click: () =>
            showExchange(
              side,
              (call) =>
                call.step === "assess" &&
                call.judge === verdict.judge &&
                (call.replicate ?? 0) === (verdict.replicate ?? 0) &&
                call.evidence?.part === side.metric.against &&
                (call.subjects ?? []).includes(claim.id),
            ),
        },
        "request and reply",
      ),
    ),
  );
}
