"""What is shown of two runs side by side: differences, causes, slices, and the claims that
flipped."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import chain, takewhile

from claimeval.metrics.flips import Flip, words
from claimeval.runs.causes import CHANCE, RETRIEVAL, CauseRow, Culprit, of_whole_samples
from claimeval.runs.overview import MetricComparison, PairedRuns, SampleChange
from claimeval.runs.pairing import PairedBy
from claimeval.runs.slices import chance_of_many
from claimeval.runs.views import (
    Block,
    Cell,
    Column,
    Data,
    Entries,
    Entry,
    Named,
    Sentence,
    Table,
    caution,
    heading,
    line,
    named,
    remark,
    table,
)
from claimeval.statistics.formatting import adding_up, decimal, number_of, p_value, signed
from claimeval.types.clusters import sample_count
from claimeval.types.estimates import Estimate

FLIPS = 10
"""Default number of flipped claims that are shown."""
MEANS = (Column("a", "number", at="a"), Column("b", "number", at="b"))
DIFFERENCE = (
    Column("b - a", "signed", at="difference.value"),
    Column("95% interval", "signed_ends", at="difference", estimate="MetricComparison.difference"),
)
COLUMNS = (
    Column("metric", "metric", at="metric"),
    Column("n", "count", 1, "n"),
    *MEANS,
    *DIFFERENCE,
    Column("change", "text", 3, "change_in_percent", sparse=True),
    Column("p", "p", 2, "p"),
    Column("p (Holm)", "p", at="p_adjusted"),
    Column("higher in b", "count", 4, "increased"),
    Column("lower in b", "count", 4, "decreased"),
    Column("without a value", "count", 5, "dropped", sparse=True),
)
COUNTS = Column("samples", "text", 1, lambda m: f"{m.n} ({m.increased} up, {m.decreased} down)")
DISCORDANT = (
    COLUMNS[0],
    Column("only in a", "count", at="discordant.only_a"),
    Column("only in b", "count", at="discordant.only_b"),
    Column("p", "p", at="discordant.p"),
)
CAUSES = (
    Column(
        "because of",
        at=lambda row: Sentence(row.words) if row.part and row.part.name else row.words,
    ),
    Column("b - a", "signed", at=lambda row: row.figure),
    Column("claims", "count", at=lambda row: row.part.claims if row.part else ""),
    Column("samples", "count", at=lambda row: row.part.samples if row.part else ""),
)
CHANGED = (
    COLUMNS[0],
    Column("samples, a to b", at=lambda metric: Data(changes(metric.changed_samples))),
)
MOST_METRICS = 4
MOST_CAUSES = 3
"""Rows of the tables of the front."""
STANDS_OUT = 0.1
"""p-value of contradicted answers below which their numbers are shown: 0 and 5 of 20 have 0.06."""
ROUNDING = 1e-9
"""Largest error of a sum of floats."""


_HOW_PAIRED: Mapping[PairedBy, str] = {
    "id": "",
    "question": ", paired by question",
    "row": ", paired by row number",
}


def front(pair: PairedRuns) -> Iterator[Block]:
    """Yield what a reader sees first of two runs: the culprit, the means, its causes and an
    example."""
    culprit = pair.culprit
    shared = re.sub(
        "samples?",
        r"\g<0> in both",
        sample_count(pair.shared, pair.clusters, pair.cluster),
        count=1,
    )
    once = "".join(
        f", {n} only in {run}" for n, run in ((pair.only_a, "a"), (pair.only_b, "b")) if n
    )
    yield heading(Sentence(culprit.sentence))
    how = _HOW_PAIRED[pair.paired_by]
    yield remark("a = ", Data(pair.a), ", b = ", Data(pair.b), f", {shared}{how}{once}")
    yield from map(caution, pair.abstained)
    head = [metric for metric in pair.metrics if metric.metric == culprit.metric]
    shown = [*head, *(metric for metric in pair.metrics if metric not in head)][:MOST_METRICS]
    yield table(
        "front",
        (COLUMNS[0], *MEANS, *DIFFERENCE, COUNTS),
        shown,
        notes=by_chance(shown),
    )
    if pair.contradicted.p < STANDS_OUT:
        counts = f"{pair.contradicted.a:,} in a, {pair.contradicted.b:,} in b"
        p = p_value(pair.contradicted.p)
        chance = "" if pair.contradicted.p < CHANCE else ", inside chance"
        yield remark(f"Answers with a contradicted claim: {counts} (p {p}{chance}).")
    # Nothing is explained that may be chance.
    if head and head[0].because and culprit.significant:
        yield why(head[0])
        yield from _example(pair, head[0]) if not pair.abstained else ()


def by_chance(metrics: Iterable[MetricComparison]) -> Iterator[str]:
    """Yield which differences may be chance although their intervals, each of one metric alone,
    have no 0."""
    names = []
    for metric in metrics:
        p = metric.p_adjusted
        ends = metric.difference.reported
        if not p or p < CHANCE or not ends:
            continue
        # An end is taken as it is printed: an interval of “+0.00 to +0.31” shows no side of 0.
        if round(ends[0], 2) * round(ends[1], 2) > 0:
            names.append(f"{metric.metric} ({p_value(p)})")
    if names:
        yield Sentence(
            f"may be chance although the interval has no 0, by p (Holm): {', '.join(names)}"
        )


def why(metric: MetricComparison) -> Table:
    """Return the largest causes of one metric; the rows that are not inside another one add up."""
    rows = metric.cause_rows
    outer = [row for row in rows if row.part and not row.inner]
    # Printed figures are added as decimals: as floats, 0.1 and 0.2 make 0.30000000000000004.
    outer.sort(key=lambda row: abs(Decimal(row.figure)), reverse=True)
    first, *others = outer[:MOST_CAUSES]
    smaller = outer[MOST_CAUSES:]
    parts = takewhile(lambda row: row.inner, rows[rows.index(first) + 1 :])
    if smaller:
        figures = sum((Decimal(row.figure) for row in smaller), Decimal(0))
        others.append(
            CauseRow(f"{len(smaller)} smaller", signed(float(figures), _decimals(figures)))
        )
    moved = "rose" if (metric.change or 0) > 0 else "fell"
    columns = [column for column in CAUSES if column.name != "claims"]
    return table(
        "why",
        columns,
        [first, *parts, *others, rows[-1]],
        f"Why {metric.metric} {moved}",
        inner="inner",
    )


def _decimals(figure: Decimal) -> int:
    return -int(figure.as_tuple().exponent)


def documents(pair: PairedRuns) -> Table:
    """Return the documents that retrieval lost or gained, or that were rewritten.

    Rounded figures add up to those of their causes: what no single document has is a row of its
    own.
    """
    culprit = pair.culprit
    figures = dict[int, str]()
    others = list[tuple[Cell, ...]]()
    causes = list(
        chain.from_iterable(
            metric.cause_rows for metric in pair.metrics if metric.metric == culprit.metric
        )
    )
    for part, figure in ((row.part, row.figure) for row in causes if row.part and not row.inner):
        places = [i for i, one in enumerate(culprit.documents) if one.change == part.cause]
        values = [culprit.documents[i].value for i in places]
        rest = part.value - math.fsum(values)
        summands = [*values, rest] if abs(rest) > ROUNDING else values
        found = adding_up(summands, float(figure), digits=_decimals(Decimal(figure)))
        figures |= dict(zip(places, found, strict=False))
        if part.cause in RETRIEVAL and len(found) > len(places):
            others.append(("others, or several at once", part.cause, "", found[-1]))
    columns = (
        Column("document"),
        Column("change"),
        Column("samples", "count"),
        Column("b - a", "signed"),
    )
    rows = [
        (Data(one.name), one.change, one.samples, figures.get(i, one.value))
        for i, one in enumerate(culprit.documents)
    ]
    title = f"Documents that changed, and what they add to {culprit.metric}"
    return table("documents", columns, [*rows, *others] if rows else (), title)


def where(culprit: Culprit) -> Table:
    """Return what the named cause adds by the values of one field."""
    field = culprit.slices[0].field if culprit.slices else ""
    columns = (
        Column(Data(field)),
        Column("samples", "count"),
        Column("affected", "count"),
        Column("b - a", "signed"),
    )
    values = [one.contribution for one in culprit.slices]
    figures = adding_up(values, math.fsum(values))
    rows = (
        (Data(one.value), one.samples, one.affected, figure)
        for one, figure in zip(culprit.slices, figures, strict=True)
    )
    return table("where", columns, rows, f"Where it is: the named cause by {field}")


def _example(pair: PairedRuns, metric: MetricComparison) -> Iterator[Block]:
    """Yield the claim that counts most in the named cause, with its question; it went the way of
    the difference."""
    direction = metric.difference.value or 0.0
    parts = sorted(
        pair.culprit.causes, key=lambda part: (part.cause != pair.culprit.cause, -abs(part.value))
    )
    for one in chain.from_iterable(part.largest for part in parts):
        if not one.claim or one.value * direction <= 0:
            continue
        labels = " → ".join(
            "absent" if label is None else label.replace("_", " ") for label in (one.a, one.b)
        )
        yield line("Example: ", Data(_cut(f"{one.sample_id} {one.question}", 70)))
        yield remark(f"{labels}: ", Data(f"“{_cut(one.claim or '', 74 - len(labels))}”"))
        return


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def view(pair: PairedRuns, by: str = "", flips: int = FLIPS) -> Iterator[Block]:
    """Yield what is shown of two runs, with at most `flips` flipped claims; `by` is the field of
    `pair.by`."""
    yield from front(pair)
    yield from details(pair, by, flips)


def details(pair: PairedRuns, by: str = "", flips: int = FLIPS) -> Iterator[Block]:
    """Yield all that is not on the front: settings, tests, causes of all metrics, slices and
    flips."""
    yield heading(
        f"Samples with other texts: {pair.changed_texts}, with other claims: {pair.changed_claims}"
    )
    yield from (remark(Sentence(setting)) for setting in pair.settings)
    yield from results(pair)
    yield from causes(pair)
    yield from (block for block in (documents(pair), where(pair.culprit)) if block.rows)
    if pair.by:
        yield slices(pair, by)
    if of_ranks := ranks(pair):
        yield of_ranks
    if moved := [metric for metric in pair.metrics if metric.changed_samples]:
        yield table("changed", CHANGED, moved, "Changed most")
    yield from flipped(pair, flips)
    if pair.other_changes:
        yield remark(f"Not counted as flips: {pair.other_changes}")


def results(pair: PairedRuns) -> Iterator[Table]:
    """Yield a row for each metric, and the claims that only one run supports if claims are in
    both."""
    yield table("differences", COLUMNS, pair.metrics)
    of_claims = list[MetricComparison]()
    for metric in pair.metrics:
        counts = metric.discordant
        if counts and counts.only_a + counts.only_b:  # else there is nothing to test
            of_claims.append(metric)
    if of_claims:
        note = "p: McNemar's test, claims taken as independent"
        yield table(
            "discordant", DISCORDANT, of_claims, "Claims that one run alone supports", (note,)
        )


def causes(pair: PairedRuns) -> Iterator[Block]:
    """Yield the table of causes, whose rounded figures add up; nothing if no value differs."""
    rows = list[Named]()
    for metric in pair.metrics:
        for i, row in enumerate(metric.cause_rows):
            rows.append(
                Named(
                    Data(metric.metric if i == 0 else ""),
                    row,
                    inner=row.inner,
                )
            )
    if rows:
        title = "Why it changed: what the difference consists of"
        yield table("causes", named("metric", CAUSES, "metric"), rows, title, inner="inner")
        if whole := [metric.metric for metric in pair.metrics if of_whole_samples(metric.because)]:
            yield remark(
                "without a count of claims, whole samples are counted: ", Data(", ".join(whole))
            )


def slices(pair: PairedRuns, by: str) -> Table:
    """Return a row for each value of a field and metric, with what it adds to the difference over
    all samples."""
    rows = list[Named]()
    for value, metrics in pair.by.items():
        rows += (Named(Data(value or "-"), metric) for metric in metrics)
    repeated = chance_of_many([row.of.difference for row in rows])
    columns = named(Data(by), (*COLUMNS, Column("of the difference", "signed", at="contribution")))
    return table("slices", columns, rows, "", (repeated,) if repeated else ())


def changes(samples: tuple[SampleChange, ...]) -> str:
    """Return the values of samples before and after, in words."""
    return ", ".join(
        f"{sample.sample} {decimal(sample.before)} to {decimal(sample.after)}" for sample in samples
    )


def flipped(pair: PairedRuns, most: int) -> Iterator[Block]:
    """Yield how many claims flipped, with the first ones, at most `most`; nothing for runs without
    claims."""
    first = f", the first {most}" if 0 < most < pair.flipped else ""
    if pair.flips[:most]:
        yield Entries(f"{flips_in_words(pair)}{first}", tuple(map(flip, pair.flips[:most])))
    elif words := flips_in_words(pair):
        yield heading(words)


def flips_in_words(pair: PairedRuns) -> str:
    """Return how many of the claims of both runs flipped, or that there are none; empty for runs
    without claims."""
    if pair.compared:
        return f"{pair.flipped:,} of {number_of(pair.compared, 'claim')} flipped"
    return (
        "No claim is in both runs"
        if any(metric.source == "claims" for metric in pair.metrics)
        else ""
    )


def flip(one: Flip) -> Entry:
    """Return a claim that flipped."""
    label = f"{words(one.a, one.a_word)} → {words(one.b, one.b_word)}"
    of = f"{label} against the {one.evidence}, claim of the {one.of}"
    why = (("judge", Data(one.b_explanation)),) if one.b_explanation else ()
    return Entry(Data(one.sample_id), (("claim", Data(one.claim)), ("label", Sentence(of)), *why))


RANKS = (
    Column("rank", "count"),
    Column("a", "number"),
    Column("b", "number"),
    Column("claims in a", "count", 1),
    Column("claims in b", "count", 1),
)


def ranks(pair: PairedRuns) -> Table | None:
    """Return the shares of gold claims in the answers by the rank of their evidence; None if a run
    has none."""
    a, b = pair.by_rank
    if a is None or b is None:
        return None
    shares = [{one.rank: one.share for one in run.ranks} for run in (a, b)]
    rows: list[tuple[Cell, ...]] = []
    for rank in sorted(shares[0].keys() | shares[1].keys()):
        x, y = (of.get(rank, Estimate()) for of in shares)
        rows.append((rank, x.value, y.value, x.n, y.n))
    of_runs = (("a", a), ("b", b))
    notes = [f"{name}: {run.sentence}" for name, run in of_runs if run.sentence]
    title = "Gold claims in the answer, by the rank of their evidence"
    return table("ranks", RANKS, rows, title, notes)
