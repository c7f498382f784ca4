"""What is shown of a run: scores, slices, panel, orders of documents, attached runs, diagnosis,
claims and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.evaluation.summary.cost import RunCost
from claimeval.evaluation.summary.orders import OrderEffects
from claimeval.evaluation.summary.panel import Dispute, PanelSummary
from claimeval.judging.panel import ABSTAIN, CONSERVATIVE, Panel
from claimeval.metrics.claim_quality import GOLD_METRICS, ExtractionSummary
from claimeval.metrics.derived import ZERO_IS_BEST, derived, directed, loss
from claimeval.metrics.scoring import MetricSummary
from claimeval.runs.by_rank import ByRank
from claimeval.runs.directory import ScoresSummary
from claimeval.runs.front import Front, head
from claimeval.runs.judges import JudgeNumbers
from claimeval.runs.notes import notes
from claimeval.runs.overview import Overview
from claimeval.runs.slices import CELLS, DiagnosisCounts, chance_of_many
from claimeval.runs.views import (
    Block,
    Cell,
    Column,
    Data,
    Entries,
    Entry,
    Line,
    Named,
    Sentence,
    Table,
    confusion,
    heading,
    itself,
    kappas,
    line,
    named,
    remark,
    table,
)
from claimeval.runs.worst import WorstAnswer, WorstClaim
from claimeval.statistics.formatting import (
    DIGITS,
    decimal,
    dollars,
    interval,
    number_of,
    percent,
    signed_estimate,
    tally,
)
from claimeval.types.clusters import sample_count
from claimeval.types.errors import visible
from claimeval.types.estimates import Cost, Estimate
from claimeval.types.records import Part, SampleResult

READ = 5
"""Claims to read first."""
MEMBERS = 8
"""Maximum number of judges whose scores are shown below the panel's; for more, the range is
shown."""
PAIRS = 10
"""Maximum number of pairs of judges whose agreement is shown; for more, the range is shown."""
DISPUTES = 3
"""Disputed claims that are shown."""
CLAIM = 100
"""Characters of a disputed claim, and of a reply that could not be used."""
CONFUSIONS = 4
"""Raters whose confusions are shown."""
LOSING = 3
"""Texts that are named whose claims lose most."""
TEXT = 132
"""Characters of a text of a claim to read."""


def view(
    manifest: Manifest,
    summary: Summary,
    shown: Front,
    *,
    sides: Sequence[ScoresSummary] = (),
    diagnosis: DiagnosisCounts | None = None,
    by_rank: ByRank | None = None,
    extraction: ExtractionSummary | None = None,
) -> Iterator[Block]:
    """Yield what is shown of a run after its front.

    Args:
        manifest: The manifest.
        summary: The summary.
        shown: The front, with the claims or answers to read first.
        sides: The metrics of attached runs.
        diagnosis: Whether retrieval or generation is to blame.
        by_rank: Gold claims in the answer by the rank of their evidence.
        extraction: The quality of the claims.
    """
    names = manifest.short_names
    yield scores("scores", summary.metrics, names)
    against = {row.name: row.against for row in manifest.rows}
    for name, metric in summary.metrics.items():
        meaning = [derived(name).description] if name in manifest.derived else []
        if words := "; ".join((*meaning, *_beyond(metric, against.get(name)))):
            yield remark(Data(directed(name)), f": {words}")
    yield from _missing(summary.metrics)
    yield from attached(sides)
    if shown.read:
        yield Entries("First to read, one claim a sample", tuple(map(worst, shown.read[:READ])))
    if shown.answers:
        yield Entries("First to read", tuple(map(worst_answer, shown.answers[:READ])))
    for field, means in summary.by.items():
        yield slices(field, means, summary.units)
    yield from panel(manifest, summary)
    if summary.order_effects:
        yield from orders(summary.order_effects)
    if diagnosis:
        yield blame(diagnosis)
    if by_rank:
        yield ranks(by_rank)
    if extraction:
        yield from claims(extraction)
    if cost := costs(summary.cost, names):
        yield cost
    if summary.other_models:
        yield served(summary, names)


def front(manifest: Manifest, summary: Summary, shown: Front) -> Iterator[Line]:
    """Yield what was judged, where the answers fail, and what to know before trusting the
    numbers."""
    subject = (Data(Path(manifest.data.path).name), ": ") if manifest.data.path else ()
    yield heading(
        *subject, *(Data(part) if i % 2 else part for i, part in enumerate(head(manifest, summary)))
    )
    if shown.sentence:
        yield line(shown.sentence)
    yield from cautions(manifest, summary)
    if shown.few:
        yield remark(shown.few)


def of(overview: Overview) -> tuple[list[Line], list[Block]]:
    """Return the front of a run, and what follows it."""
    manifest = overview.manifest
    summary = overview.summary
    rest = view(
        manifest,
        summary,
        overview.front,
        sides=overview.sides,
        diagnosis=overview.diagnosis,
        by_rank=overview.by_rank,
        extraction=overview.extraction,
    )
    return list(front(manifest, summary, overview.front)), list(rest)


def cautions(manifest: Manifest, summary: Summary) -> Iterator[Line]:
    """Yield what to know before trusting the numbers; the ending says why a run stopped."""
    for note in notes(summary, manifest.short_names):
        # The last lines of a command say why it stopped, and the same words above them would be
        # read twice.
        if note.kind != "incomplete":
            yield Line((Sentence(note.text),), "note" if note.kind == "note" else "caution")


SCORES = (
    Column("mean", "number", at="mean"),
    Column("95% interval", "ends", at=itself),
    Column("n", "count", at="n"),
    Column("missing", "count", 1, lambda metric: sum(metric.missing.values())),
    Column(
        "counted",
        "count",
        4,
        lambda m: f"{m.hits or 0:,} of {m.judged or 0:,}" if m.total else "",
        sparse=True,
    ),
    Column("micro", "number", 3, "micro", sparse=True),
    Column(
        "bounds",
        "range",
        2,
        lambda m: m.bounds if m.bounds and m.bounds[0] < m.bounds[1] else None,
        sparse=True,
    ),
)


def scores(
    table_name: str, metrics: Mapping[str, MetricSummary], names: Mapping[str, str] = {}
) -> Table:
    """Return a row for each metric and, for a small panel, one for each judge alone, if there are
    `names` of judges."""
    rows = list[Named]()
    for name, metric in metrics.items():
        rows.append(
            Named(Data(name if metric.unit == "share" else f"{name} ({metric.unit})"), metric)
        )
        if names and len(metric.by_judge) <= MEMBERS:
            rows += [
                Named(Data(names[judge]), member, inner=True)
                for judge, member in metric.by_judge.items()
            ]
    return table(table_name, named("metric", SCORES, "metric"), rows, inner="inner")


def _missing(metrics: Mapping[str, MetricSummary]) -> Iterator[Block]:
    """Yield why samples have no score, one line for metrics with the same reasons."""
    names: dict[str, list[str]] = {}
    for name, metric in metrics.items():
        if metric.missing:
            names.setdefault(tally(metric.missing), []).append(directed(name))
    for reason, lacking in names.items():
        yield remark(f"without a score: {reason} (", Data(", ".join(lacking)), ")")


def _beyond(metric: MetricSummary, against: Part | None) -> Iterator[str]:
    """Yield what the table of scores does not say of a metric, in words."""
    if metric.unassessed:
        yield f"{sum(metric.unassessed.values())} unassessed ({tally(metric.unassessed)})"
    if metric.ungrounded:
        yield f"{metric.ungrounded} ungrounded"
    if metric.unasked:
        lack = "an answer" if against == "answer" else "documents"
        yield (
            f"{number_of(metric.unasked, 'sample')} without {lack}"
            f" count{'s' * (metric.unasked == 1)} 0"
        )
    means = sorted(member.mean for member in metric.by_judge.values() if member.mean is not None)
    if len(metric.by_judge) > MEMBERS and means:
        ends = interval((means[0], means[-1]), DIGITS)
        middle = decimal(means[len(means) // 2])
        yield f"{len(metric.by_judge)} judges alone: {ends}, median {middle}"


RANKS = (
    Column("in the answer", "number", at="share.value"),
    Column("95% interval", "ends", at="share"),
    Column("gold claims", "count", at="share.n"),
)


def ranks(by_rank: ByRank) -> Table:
    """Return the share of gold claims in the answer by the rank of their evidence."""
    rows = [Named(str(one.rank), one) for one in by_rank.ranks]
    notes = [by_rank.sentence] if by_rank.sentence else []
    title = "Gold claims in the answer, by the rank of their evidence"
    return table("ranks", named("rank", RANKS), rows, title, notes)


SLICES = (
    Column("metric", "metric"),
    Column("mean", "number"),
    Column("95% interval", "ends"),
    Column("n", "count"),
    Column("loss", "number"),
)


def slices(
    field: str, means: Mapping[str, Mapping[str, Estimate]], units: Mapping[str, str]
) -> Table:
    """Return the means of all metrics by value of a field, and what each group adds to the loss of
    those whose unit is a share."""
    counts = Counter[str]()
    for by_metric in means.values():
        counts.update({name: estimate.n for name, estimate in by_metric.items()})
    rows = list[tuple[Cell, ...]]()
    estimates: list[Estimate] = []
    for value, by_metric in means.items():
        for name, mean in by_metric.items():
            # A mean grade of 2.4 has no best value that it could be away from.
            lost = None
            if mean.value is not None and units[name] == "share":
                lost = loss(name, mean.value) * mean.n / counts[name]
            rows.append((Data(value or "(none)"), Data(name), mean.value, mean, mean.n, lost))
            estimates.append(mean)
    repeated = chance_of_many(estimates)
    faults = ", ".join(name for name in counts if name in ZERO_IS_BEST)
    where = f"; where 0 is best ({faults}), to the mean" if faults else ""
    notes = [f"loss: what a group adds to one minus the mean{where}"]
    if all(row[-1] is None for row in rows):
        notes = []
    if repeated:
        notes.append(repeated)
    return table(
        f"slices/{field}", (Column(Data(field)), *SLICES), rows, Data(f"by {field}"), notes
    )


def panel(manifest: Manifest, summary: Summary) -> Iterator[Block]:
    """Yield the rules, agreement and disputes of a panel; nothing for a single judge."""
    names = manifest.short_names
    found = summary.panel
    if not found:
        return
    yield heading(f"Panel of {len(found.judges)}", f": {_rules(manifest.panel, len(found.judges))}")
    yield from _agreement(found)
    if found.judge_pairs:
        pairs = (*found.judge_pairs, *found.judge_vs_panel)
        who = [
            f"{names.get(pair.first, pair.first)} / {names.get(pair.second, pair.second)}"
            for pair in pairs
        ]
        rows = [
            (Data(both), pair.claims, pair.raw_agreement, pair.kappa)
            for both, pair in zip(who, pairs, strict=True)
        ]
        yield kappas("claims", rows, [pair.kappa for pair in pairs], PAIRS, "number")
    yield from _own_family(found)
    for judge, noise in found.noise.items():
        share = noise.variance_share
        of = (
            ""
            if share is None
            else f"; {percent(share)} of the variance of one verdict is the judge's"
        )
        changed = f"contradicted itself on {noise.inconsistent} of {noise.claims} repeated claims"
        yield line(Data(names[judge]), f": {changed}{of}")
    if found.disputes:
        yield line("The claims that divide them most:")
        yield from disputes(found.disputes, names, DISPUTES)


def _own_family(found: PanelSummary) -> Iterator[Block]:
    """Yield how far the judges of a family prefer its answers."""
    for family in dict.fromkeys(preference.family for preference in found.self_preference):
        estimates = ", ".join(
            f"{one.metric} {signed_estimate(one.value, one.reported)}"
            for one in found.self_preference
            if one.family == family and one.value is not None
        )
        if estimates:
            of = " for answers of the same family, compared with other judges: "
            yield line("preference of ", Data(family), f"{of}{estimates}")


def _rules(panel: Panel, judges: int) -> str:
    ties = {ABSTAIN: "ties have no label", CONSERVATIVE: "ties are not supported"}
    parts = [f"{panel.vote} vote", ties.get(panel.tie, f"ties are broken by {panel.tie}")]
    if judges > 1:
        parts.append(f"quorum {panel.needed(judges)}")
    if panel.replicates > 1:
        parts.append(f"{panel.replicates} repeats a judge")
    same = {"no-vote": "do not vote", "skip": "are not asked"}.get(str(panel.on_same_family))
    return ", ".join((*parts, *([f"judges of the same family {same}"] if same else ())))


def _agreement(found: PanelSummary) -> Iterator[Block]:
    if len(found.judges) < 2:
        return
    yield line(
        f"{found.claims} claims: {found.unanimous} with equal labels, {found.split} with different"
        f" ones; {found.ties} without a label because of ties, {found.no_quorum} for lack of a"
        " quorum"
    )
    yield line(f"Krippendorff's alpha {decimal(found.alpha)}, Gwet's AC1 {decimal(found.ac1)}")
    yield remark(
        "How many independent votes they are worth is shown by labels of people:"
        " claimeval agreement"
    )


def disputes(found: Sequence[Dispute], names: Mapping[str, str], most: int) -> Iterator[Line]:
    """Yield at most `most` disputed claims with samples and votes, and with their evidence if it
    differs among them."""
    several = len({dispute.evidence for dispute in found}) > 1
    for dispute in found[:most]:
        votes = ", ".join(
            f"{names.get(judge, judge)}: {vote}" for judge, vote in dispute.votes.items()
        )
        if len(dispute.votes) > MEMBERS:
            votes = ", ".join(
                f"{n} say {vote}" for vote, n in Counter(dispute.votes.values()).most_common()
            )
        against = f"against {dispute.evidence}; " if several else ""
        yield line(
            "- ", Sentence(f"{dispute.sample} “{visible(dispute.claim, CLAIM)}” ({against}{votes})")
        )


def judges(found: Sequence[JudgeNumbers], names: Mapping[str, str]) -> Iterator[Block]:
    """Yield cost, speed, agreement and failures of each judge."""
    if not found:
        return
    compared = next((judge.agrees_with for judge in found if judge.agrees_with), "others")
    columns = (
        Column("judge", at=lambda judge: Data(names[judge.judge] + " *" * judge.on_front)),
        Column("verdicts", "count", at="verdicts"),
        Column("per 1,000", "dollars", at="dollars_per_1000"),
        Column("seconds a call", "seconds", 1, "seconds"),
        Column(f"equal to {compared}", "number", at="agreement"),
        Column("kappa", "number", at="kappa"),
        Column("kappa with judges", "number", 2, "kappa_with_judges"),
        Column("failed calls", "count", at=lambda judge: sum(judge.failed.values())),
    )
    best = len(found) > 1 and any(judge.on_front for judge in found)
    yield table(
        "judges",
        columns,
        found,
        notes=("* no other judge agrees as much for less",) if best else (),
    )
    if odd := next((names[judge.judge] for judge in found if judge.odd_one), None):
        yield line(Data(odd), " agrees least with the other judges")
    # People are compared with each rater in tables of their own.
    if compared == "panel":
        yield from _confusions(found[:CONFUSIONS], names)
    yield from _failed_calls(found, names)


def _confusions(found: Iterable[JudgeNumbers], names: Mapping[str, str]) -> Iterator[Block]:
    """Yield how often each judge gave another label than the panel."""
    for judge in found:
        name = names[judge.judge]
        yield confusion(
            f"confusion/panel/{name}", Data(f"panel \\ {name}"), judge.labels, judge.confusion
        )


def _failed_calls(found: Iterable[JudgeNumbers], names: Mapping[str, str]) -> Iterator[Block]:
    """Yield a call of each judge for each reason why calls failed."""
    for judge in found:
        for reason, example in judge.examples.items():
            reply = visible(example.reply or example.message or "", CLAIM)
            failed = f": {judge.failed[reason]} {reason}, as in "
            yield line(
                Data(names[judge.judge]),
                failed,
                Data(example.sample_id),
                ": ",
                Data(reply),
            )


ORDERS = (
    Column("evidence at rank", "count", at="rank"),
    Column("labels", "count", at="labeled"),
    Column("supported", "percent", at=lambda place: place.supported / place.labeled),
    Column("in other orders", "count", at="compared"),
    Column(
        "flipped",
        "percent",
        at=lambda place: place.flipped / place.compared if place.compared else None,
    ),
)


def orders(effects: OrderEffects) -> Iterator[Block]:
    """Yield how labels change under other orders of the documents."""
    ends = effects.rate.reported
    within = f", 95% interval {percent(ends[0])} to {percent(ends[1])}" if ends else ""
    rate = (
        ""
        if effects.rate.value is None
        else f" ({percent(effects.rate.value)} of a sample's claims{within})"
    )
    yield heading(
        "Order of the documents",
        f": {effects.flipped} of {effects.claims} claims flip in one of {effects.orders} other"
        f" orders{rate}; {effects.lost} labels lose support, {effects.gained} gain it",
    )
    if effects.places:
        yield table("orders", ORDERS, effects.places)


def attached(sides: Sequence[ScoresSummary]) -> Iterator[Block]:
    """Yield the scores of attached runs."""
    metrics = dict[str, MetricSummary]()
    counts = dict[str, None]()
    for side in sides:
        metrics |= side.metrics
        for metric in side.metrics.values():
            if metric.clusters < metric.n:
                counts[sample_count(metric.n, metric.clusters, side.cluster)] = None
    if not metrics:
        return
    yield scores("sides", metrics)
    for count in counts:
        yield remark(count)
    yield from _missing(metrics)


def blame(counts: DiagnosisCounts) -> Table:
    """Return the samples by what is to blame, retrieval or generation."""
    low = Column("contradict the gold answer", "count", sparse=not counts.correctness)
    rows = [(CELLS[cell], n, counts.contradicting[cell]) for cell, n in counts.cells.items()]
    undefined = (
        f"; {number_of(counts.undefined, 'sample')} without a value" if counts.undefined else ""
    )
    note = f"high: {counts.threshold:g} or more of context_recall, of faithfulness{undefined}"
    return table(
        "diagnosis",
        (Column("Retrieval or generation"), Column("samples", "count"), low),
        rows,
        notes=(note,),
    )


def claims(found: ExtractionSummary) -> Iterator[Block]:
    """Yield the quality of the claims by their words alone, and of claims by people if there are
    some."""
    people = found.people
    columns = (
        Column("claims, by their words"),
        Column("value", "number"),
        Column("95% interval", "ends", sparse=True),
        Column("counts", "count"),
        *([Column("people", "number")] if people else ()),
    )
    rows = [
        (
            directed(name).replace("_", " "),
            ratio.in_words,
            ratio if ratio.reported else None,
            f"{ratio.hits:,} of {ratio.total:,}",
        )
        + ((people[name].in_words,) if people else ())
        for name, ratio in found.measures.items()
    ]
    some = f"{found.texts} of " if found.texts < found.all_texts else ""
    of = (
        f"{number_of(found.claims, 'claim')} of {number_of(found.sentences, 'sentence')} in"
        f" {some}{number_of(found.all_texts, 'text')} ({found.part})"
    )
    yield table("claims", columns, rows, of)
    yield from map(line, map(Sentence, found.remarks))


GOLD = (
    Column("precision", "number"),
    Column("recall", "number"),
    Column("F1", "number"),
    Column("95% interval", "ends"),
)


def losing(results: Iterable[SampleResult]) -> Iterator[Block]:
    """Yield the texts to read first, whose claims lose most."""
    lost = Counter[str]()
    for result in results:
        for name, score in result.scores.items():
            if name.endswith("_lost"):
                lost[result.id] += score.hits or 0
    most = [name for name, count in lost.most_common(LOSING) if count]
    if most:
        yield line("First to read, claims lose most of: ", Data(", ".join(most)))


def _lost_in_words(summary: ExtractionSummary) -> str:
    """Return what the claims lose of their texts, counted."""
    if not summary.sentences:
        return "No result: there is no sentence."
    losses = {
        name.removesuffix("s_lost"): ratio
        for name, ratio in summary.measures.items()
        if name.endswith("_lost")
    }
    lost = [
        f"{ratio.hits:,} of {number_of(ratio.total, what)}"
        for what, ratio in losses.items()
        if ratio.hits
    ]
    if lost:
        return f"Without a claim: {', '.join(lost)}."
    kept = [f"{what}s" for what, ratio in losses.items() if ratio.total]
    if not kept:
        return "The texts have no statement, number, date or name that claims could lose."
    all_kept = " and ".join(filter(None, (", ".join(kept[:-1]), kept[-1])))
    return f"The claims have all {all_kept} of the texts."


def extraction(
    summary: ExtractionSummary, manifest: Manifest, metrics: Mapping[str, MetricSummary]
) -> Iterator[Block]:
    """Yield the quality of claims by their words, and beside claims by people."""
    claims_of = f": {number_of(summary.claims, 'claim')} ({manifest.settings['claims']})"
    texts = f"{number_of(summary.sentences, 'sentence')}, {number_of(summary.texts, 'text')}"
    subject = Data(Path(manifest.data.path or "data").name)
    yield heading(subject, f"{claims_of} of {texts}")
    yield line(_lost_in_words(summary))
    yield from claims(summary)
    if summary.people:
        precision, recall, f1, size = (metrics[name] for name in GOLD_METRICS)
        note = f"{decimal(size.mean, 2)} claims per gold claim"
        row = "against gold claims", precision.mean, recall.mean, f1.mean, f1
        yield table(
            "gold",
            (Column(""), *GOLD),
            [row],
            notes=(note,),
        )


def worst(claim: WorstClaim) -> Entry:
    """Return a claim that its evidence does not support."""
    labels = {"contradicted": "contradicted by", "supported": "supported by"}
    label = labels.get(claim.label, "not found in")
    why = f": {visible(claim.explanation, TEXT)}" if claim.explanation else ""
    verdict = claim.citation or f"{label} the {claim.evidence}{why}"
    return Entry(
        Data(claim.sample_id),
        (
            ("question", Data(visible(claim.question, TEXT))),
            ("claim", Data(visible(claim.claim, TEXT))),
            ("verdict", Data(verdict)),
            ("answer", claim.standing),
            ("evidence", Data(visible(claim.near, TEXT))),
        ),
    )


def worst_answer(one: WorstAnswer) -> Entry:
    """Return an answer with bad ratings."""
    rated = ", ".join(f"{name} {word}" for name, word in one.ratings.items())
    why = f": {visible(one.explanation, TEXT)}" if one.explanation else ""
    texts = {"question": one.question}
    if one.answer != one.question:  # a metric that is about no answer shows the question alone
        texts["answer"] = one.answer
    shown = ((name, Data(visible(text, TEXT))) for name, text in texts.items())
    return Entry(Data(one.sample_id), (*shown, ("value", Data(f"{rated}{why}"))))


COSTS = (
    Column("judge"),
    Column("step"),
    Column("questions", "count"),
    Column("of source run", "count", 1, sparse=True),
    Column("tokens in", "count"),
    Column("of it cached", "count", 2, sparse=True),
    Column("tokens out", "count"),
    Column("verdicts", "count", 3, sparse=True),
    Column("cost of replies", "dollars"),
    Column("a thousand verdicts", "dollars", 1, sparse=True),
)


SERVED = (Column("judge"), Column("model that answered"), Column("replies", "count"))


def served(summary: Summary, names: Mapping[str, str]) -> Table:
    """Return the replies by the model that answered, of judges of which another one did."""
    unexpected = {judge.name for judge in summary.other_models}
    rows: list[tuple[Cell, ...]] = []
    for judge in summary.judges:
        if judge.name in unexpected:
            name = names.get(judge.name, judge.name)
            rows.extend((Data(name), Data(model), n) for model, n in judge.served.items())
    return table("served", SERVED, rows, "Models that answered")


def is_free(cost: RunCost | None) -> bool:
    """Return whether there is nothing to say of the cost: no judge, or local ones alone."""
    return cost is None or (cost.total.dollars == 0 and cost.total.prompt_tokens is None)


def costs(cost: RunCost | None, names: Mapping[str, str]) -> Table | None:
    """Return questions, tokens and cost by judge and step, and the cost of a thousand verdicts;
    None if free."""
    if cost is None or is_free(cost):
        return None
    rows = [
        (Data(names.get(part.judge, part.judge)), part.step, *_cost(part.cost)) for part in cost.by
    ]
    if len(rows) > 1:
        rows.append(("all", "", *_cost(cost.total)))
    return table("cost", COSTS, rows)


def _cost(cost: Cost) -> tuple[Cell, ...]:
    asked = (
        cost.calls + cost.reused,
        cost.reused,
        cost.prompt_tokens,
        cost.cached_tokens,
        cost.completion_tokens,
    )
    return (
        *asked,
        cost.verdicts,
        cost.dollars,
        1000 * cost.dollars_per_verdict if cost.dollars_per_verdict else "",
    )


def cheaper(cost: RunCost) -> str:
    """Return what would have saved tokens, in a sentence after others; empty if nothing would."""
    if cost.fewer_prompt_tokens is None:
        return ""
    return (
        f" Cheaper: --claims-per-call auto, {percent(cost.fewer_prompt_tokens)} fewer tokens in, if"
        " the model can handle it (claimeval doctor --judge tests that)."
    )


def cost_of_replies(cost: RunCost | None) -> str:
    """Return the cost of all replies of a run, in a sentence; empty if they are free."""
    if cost is None or is_free(cost):
        return ""
    total = cost.total
    replies = number_of(total.calls + total.reused, "call")
    if total.dollars is None:
        return f"Cost of all replies of this run: unknown ({replies}, no price)."
    each = (
        f", ${dollars(1000 * total.dollars_per_verdict)} per 1,000 verdicts"
        if total.dollars_per_verdict
        else ""
    )
    return f"Cost of all replies of this run: ${dollars(total.dollars)} ({replies}){each}."
