"""What is shown of two runs side by side: differences, causes, slices, and the claims that flipped."""

from __future__ import annotations

import re
from collections.abc import Iterator

from claimeval.metrics.flips import Flip, words
from claimeval.runs.causes import of_whole_samples
from claimeval.runs.overview import MetricComparison, PairedRuns, SampleChange
from claimeval.runs.slices import chance_of_many
from claimeval.runs.views import (
    Block,
    Cell,
    Column,
    Data,
    Entries,
    Entry,
    Line,
    Table,
    caution,
    heading,
    remark,
    table,
    without,
)
from claimeval.statistics.formatting import decimal, p_value
from claimeval.types.clusters import sample_count

FLIPS = 10
"""Default number of flipped claims that are shown."""
COLUMNS = (
    Column("metric"), Column("n", "count", 1), Column("a", "number"), Column("b", "number"),
    Column("b - a", "signed"), Column("95 % interval", "signed_ends"), Column("p", "p", 2), Column("p (Holm)", "p"),
    Column("higher in b", "count", 4), Column("lower in b", "count", 4), Column("without a value in one", "count", 5),
)  # fmt: skip
CAUSES = (
    Column("metric"),
    Column("because of"),
    Column("b - a", "signed"),
    Column("claims", "count"),
    Column("samples", "count"),
)


def view(pair: PairedRuns, by: str = "", flips: int = FLIPS) -> Iterator[Block]:
    """Yield what is shown of two runs, with at most `flips` flipped claims; `by` is the field of `pair.by`."""
    yield heading("a = ", Data(pair.a), ", b = ", Data(pair.b), f", {_aligned(pair)}")
    yield from (remark(Data(setting)) for setting in pair.settings)
    yield differences(pair)
    yield from map(caution, pair.abstained)
    yield from _supported_once(pair)
    yield from causes(pair)
    if pair.by:
        yield slices(pair, by)
    for metric in pair.metrics:
        if metric.changed_samples:
            yield Line((f"Changed most in {metric.metric}", ": ", Data(changes(metric.changed_samples))), "heading")
    if pair.flipped:
        yield flipped(pair, flips)
    if pair.other_changes:
        yield remark(f"Not counted as flips: {pair.other_changes}")


def differences(pair: PairedRuns) -> Table:
    """Return a row for each metric."""
    return without(table("differences", COLUMNS, map(_row, pair.metrics)), "without a value in one")


def _row(metric: MetricComparison) -> tuple[Cell, ...]:
    change = metric.difference
    means = Data(metric.metric), metric.n, metric.a, metric.b, change.value, change, metric.p, metric.p_adjusted
    return *means, metric.increased, metric.decreased, metric.dropped


def _supported_once(pair: PairedRuns) -> Iterator[Block]:
    """Yield a line on the claims of each metric that only one run supports."""
    for metric in pair.metrics:
        if counts := metric.discordant:
            yield remark(
                Data(metric.metric),
                f": claims supported only in a {counts.only_a}, only in b {counts.only_b} (McNemar, claims taken as "
                f"independent: p {p_value(counts.p)})",
            )


def causes(pair: PairedRuns) -> Iterator[Block]:
    """Yield the table of causes, whose rounded figures add up; nothing if no value differs."""
    if pair.cause_cells:
        yield table(
            "causes", CAUSES, ((Data(metric), *row) for metric, *row in pair.cause_cells),
            "Why it changed: what the difference consists of",
        )  # fmt: skip
        if whole := [metric.metric for metric in pair.metrics if of_whole_samples(metric.because)]:
            yield remark("without a count of claims, whole samples are counted: ", Data(", ".join(whole)))


def slices(pair: PairedRuns, by: str) -> Table:
    """Return a row for each value of a field and metric, with what it adds to the difference over all samples."""
    rows = [
        (Data(value or "-"), *_row(metric), metric.contribution)
        for value, metrics in pair.by.items()
        for metric in metrics
    ]
    repeated = chance_of_many([metric.difference for metrics in pair.by.values() for metric in metrics])
    columns = (Column(Data(by)), *COLUMNS, Column("of the difference", "signed"))
    return without(table("slices", columns, rows, "", (repeated,) if repeated else ()), "without a value in one")


def changes(samples: tuple[SampleChange, ...]) -> str:
    """Return the values of samples before and after, in words."""
    return ", ".join(f"{sample.sample} {decimal(sample.before)} to {decimal(sample.after)}" for sample in samples)


def flipped(pair: PairedRuns, most: int) -> Entries:
    """Return the first claims that flipped, at most `most`."""
    first = f", the first {most}" if 0 < most < pair.flipped else ""
    return Entries(f"{pair.flipped} of {pair.compared} claims flipped{first}", tuple(map(flip, pair.flips[:most])))


def flip(one: Flip) -> Entry:
    """Return a claim that flipped."""
    label = f"{words(one.a, one.a_word)} → {words(one.b, one.b_word)}"
    fields = (("claim", Data(one.claim)), ("against", Data(one.evidence)), ("label", label))
    why = (("judge", Data(one.b_explanation)),) if one.b_explanation else ()
    return Entry(Data(one.sample_id), (*fields, *why))


def _aligned(pair: PairedRuns) -> str:
    shared = sample_count(pair.shared, pair.clusters, pair.cluster)
    parts = [re.sub("samples?", r"\g<0> in both", shared, count=1)]
    parts += [f"{n} only in {run}" for n, run in ((pair.only_a, "a"), (pair.only_b, "b")) if n]
    if pair.changed_texts:
        parts.append(f"{pair.changed_texts} of them with other texts")
    if pair.changed_claims:
        parts.append(f"{pair.changed_claims} with other claims")
    return ", ".join(parts)
