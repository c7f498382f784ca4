"""What is shown of two runs side by side: differences, causes, slices, and the claims that flipped."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from claimeval.metrics.flips import Flip, words
from claimeval.runs.causes import Cause, CauseRow, of_whole_samples
from claimeval.runs.culprit import Culprit
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
    Sentence,
    Table,
    caution,
    heading,
    line,
    remark,
    table,
)
from claimeval.statistics.formatting import adding_up, decimal, p_value, signed
from claimeval.types.clusters import sample_count

FLIPS = 10
"""Default number of flipped claims that are shown."""
MEANS = (Column("a", "number", at="a"), Column("b", "number", at="b"))
DIFFERENCE = (
    Column("b - a", "signed", at="difference.value"), Column("95 % interval", "signed_ends", at="difference"),
)  # fmt: skip
COLUMNS = (
    Column("metric", at="metric"), Column("n", "count", 1, "n"), *MEANS, *DIFFERENCE, Column("p", "p", 2, "p"),
    Column("p (Holm)", "p", at="p_adjusted"), Column("higher in b", "count", 4, "increased"),
    Column("lower in b", "count", 4, "decreased"), Column("without a value", "count", 5, "dropped", sparse=True),
)  # fmt: skip
COUNTS = Column("samples", at=lambda m: f"{m.n} ({m.increased} up, {m.decreased} down)")
CAUSES = (Column("because of"), Column("b - a", "signed"), Column("samples", "count"))
MOST_METRICS, MOST_CAUSES = 4, 3
"""Rows of the tables of the front."""
ROUNDING = 1e-9
"""Largest error of a sum of floats."""


def front(pair: PairedRuns) -> Iterator[Block]:
    """Yield what a reader sees first of two runs: the culprit, the means, its causes and an example."""
    culprit = pair.culprit
    shared = re.sub("samples?", r"\g<0> in both", sample_count(pair.shared, pair.clusters, pair.cluster), count=1)
    once = "".join(f", {n} only in {run}" for n, run in ((pair.only_a, "a"), (pair.only_b, "b")) if n)
    yield heading(Sentence(culprit.sentence))
    yield remark("a = ", Data(pair.a), ", b = ", Data(pair.b), f", {shared}{once}")
    yield from map(caution, pair.abstained)
    head = [metric for metric in pair.metrics if metric.metric == culprit.metric]
    shown = [*head, *(metric for metric in pair.metrics if metric not in head)][:MOST_METRICS]
    yield table("front", (COLUMNS[0], *MEANS, *DIFFERENCE, COUNTS), shown)
    if len(pair.metrics) > len(shown):
        yield remark(f"{len(pair.metrics) - len(shown)} more metrics: --details")
    if head and head[0].because:
        yield why(head[0])
        yield from _example(pair) if not pair.abstained else ()


def why(metric: MetricComparison) -> Table:
    """Return the largest causes of one metric; the rows that are not inside another one add up."""
    rows = metric.cause_rows
    outer = sorted(((abs(row.part.value), i) for i, row in enumerate(rows) if row.part and not row.inner), reverse=True)
    shown = [i for _, i in outer[:MOST_CAUSES]]
    smaller = [Decimal(rows[i].figure) for _, i in outer[MOST_CAUSES:]]
    first = rows[shown[0]].part
    shown[1:1] = range(shown[0] + 1, shown[0] + 1 + len(first.parts if first else ()))
    cells = [_cause(rows[i]) for i in shown]
    if smaller:
        cells.append((f"{len(smaller)} smaller", signed(float(sum(smaller))), ""))
    cells.append(("all", signed(metric.change), ""))
    moved = "rose" if (metric.change or 0) > 0 else "fell"
    drawn = table("why", CAUSES, cells, f"Why {metric.metric} {moved} {decimal(abs(metric.change or 0))}")
    return drawn._replace(indented=frozenset(place for place, i in enumerate(shown) if rows[i].inner))


def _cause(row: CauseRow) -> tuple[Cell, ...]:
    """Return a cause, what it adds and its samples; a sum has none."""
    named = row.part is not None and row.part.name is not None
    return Sentence(row.words) if named else row.words, row.figure, row.part.samples if row.part else ""


CHANGES: dict[Cause, str] = {"lost": "only in a", "gained": "only in b", "rewritten": "another text in b"}


def documents(pair: PairedRuns) -> Table:
    """Return the documents that retrieval lost or gained, or that were rewritten.

    Rounded figures add up to those of their causes: what no single document has is a row of its own.
    """
    culprit, figures, others = pair.culprit, dict[int, str](), list[tuple[Cell, ...]]()
    causes = [row for metric in pair.metrics if metric.metric == culprit.metric for row in metric.cause_rows]
    for part, figure in ((row.part, row.figure) for row in causes if row.part and not row.inner):
        places = [i for i, one in enumerate(culprit.documents) if one.change == part.cause]
        values = [culprit.documents[i].value for i in places]
        rest = part.value - math.fsum(values)
        found = adding_up([*values, rest] if abs(rest) > ROUNDING else values, float(figure))
        figures |= dict(zip(places, found, strict=False))
        if part.cause in CHANGES and len(found) > len(places):
            others.append(("others, or several at once", CHANGES[part.cause], "", found[-1]))
    columns = Column("document"), Column("change"), Column("samples", "count"), Column("b - a", "signed")
    rows = [
        (Data(one.name), CHANGES[one.change], one.samples, figures.get(i, one.value))
        for i, one in enumerate(culprit.documents)
    ]
    title = f"Documents that changed, and what they add to {culprit.metric}"
    return table("documents", columns, [*rows, *others] if rows else (), title)


def where(culprit: Culprit) -> Table:
    """Return what the named cause adds by the values of one field."""
    field = culprit.slices[0].field if culprit.slices else ""
    columns = Column(Data(field)), Column("samples", "count"), Column("affected", "count"), Column("b - a", "signed")
    values = [one.contribution for one in culprit.slices]
    figures = adding_up(values, math.fsum(values))
    rows = (
        (Data(one.value), one.samples, one.affected, figure)
        for one, figure in zip(culprit.slices, figures, strict=True)
    )
    return table("where", columns, rows, f"Where it is: the named cause by {field}")


def _example(pair: PairedRuns) -> Iterator[Block]:
    """Yield the claim that counts most in the named cause, with its question."""
    parts = sorted(pair.culprit.causes, key=lambda part: (part.cause != pair.culprit.cause, -abs(part.value)))
    for one in (one for part in parts for one in part.largest if one.claim):
        question = next((flip.question for flip in pair.flips if flip.sample_id == one.sample_id), "")
        labels = " → ".join("absent" if label is None else label.replace("_", " ") for label in (one.a, one.b))
        yield line("Example: ", Data(_cut(f"{one.sample_id} {question}", 70)))
        yield remark(f"{labels}: ", Data(f"“{_cut(one.claim or '', 74 - len(labels))}”"))
        return


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def view(pair: PairedRuns, by: str = "", flips: int = FLIPS) -> Iterator[Block]:
    """Yield what is shown of two runs, with at most `flips` flipped claims; `by` is the field of `pair.by`."""
    yield from front(pair)
    yield from details(pair, by, flips)


def details(pair: PairedRuns, by: str = "", flips: int = FLIPS) -> Iterator[Block]:
    """Yield all that is not on the front: settings, tests, causes of all metrics, slices and flips."""
    texts, claims = pair.changed_texts, pair.changed_claims
    yield heading(f"Samples with other texts: {texts}, with other claims: {claims}")
    yield from (remark(Data(setting)) for setting in pair.settings)
    yield differences(pair)
    for metric in pair.metrics:
        if counts := metric.discordant:
            yield remark(
                Data(metric.metric),
                f": claims supported only in a {counts.only_a}, only in b {counts.only_b} (McNemar, claims taken as "
                f"independent: p {p_value(counts.p)})",
            )
    yield from causes(pair)
    yield from (block for block in (documents(pair), where(pair.culprit)) if block.rows)
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
    return table("differences", COLUMNS, pair.metrics)


def causes(pair: PairedRuns) -> Iterator[Block]:
    """Yield the table of causes, whose rounded figures add up; nothing if no value differs."""
    found = [
        (metric.metric if i == 0 else "", row) for metric in pair.metrics for i, row in enumerate(metric.cause_rows)
    ]
    if found:
        rows = []
        for metric, row in found:
            name, figure, samples = _cause(row)
            claims = "" if row.part is None or row.part.claims is None else row.part.claims
            rows.append((Data(metric), name, figure, claims, samples))
        columns = (Column("metric"), *CAUSES[:2], Column("claims", "count"), CAUSES[2])
        drawn = table("causes", columns, rows, "Why it changed: what the difference consists of")
        yield drawn._replace(indented=frozenset(i for i, (_, row) in enumerate(found) if row.inner))
        if whole := [metric.metric for metric in pair.metrics if of_whole_samples(metric.because)]:
            yield remark("without a count of claims, whole samples are counted: ", Data(", ".join(whole)))


class _OfValue(NamedTuple):
    value: str
    metric: MetricComparison


def slices(pair: PairedRuns, by: str) -> Table:
    """Return a row for each value of a field and metric, with what it adds to the difference over all samples."""
    rows = [_OfValue(Data(value or "-"), metric) for value, metrics in pair.by.items() for metric in metrics]
    repeated = chance_of_many([row.metric.difference for row in rows])
    of_metric = (*COLUMNS, Column("of the difference", "signed", at="contribution"))
    columns = (Column(Data(by), at="value"), *(column._replace(at=f"metric.{column.at}") for column in of_metric))
    return table("slices", columns, rows, "", (repeated,) if repeated else ())


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
