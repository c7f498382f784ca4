"""What is shown of ratings of whole answers: counts by word, judges, and the same answers by their claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from claimeval.evaluation.raters import Members, RatingComparison, words
from claimeval.providers.specs import short_names
from claimeval.runs.views import Block, Cell, Column, Data, line, remark, table
from claimeval.statistics.formatting import estimate, tally
from claimeval.types.estimates import Estimate

APART = 5
"""Answers that are shown of those which ratings and claims judge differently."""


def view(
    counts: Mapping[str, Mapping[str, int]], judged: Mapping[str, Members], compared: Sequence[RatingComparison]
) -> Iterator[Block]:
    """Yield counts by word, the judges of a panel with their agreement, and ratings next to metrics of claims."""
    for name, of_word in counts.items():
        yield line(Data(name), f": {tally(of_word)}")
    for question, panel in judged.items():
        if panel.alpha is not None:
            yield from _members(question, panel)
    if compared:
        yield from _beside(compared)


def _members(question: str, panel: Members) -> Iterator[Block]:
    of_first = next(iter(panel.judges.values())).words
    shorter = short_names(list(panel.judges))
    columns = (Column(Data(question)), *(Column(Data(word), "count") for word in of_first), Column("unassessed"))
    yield table(
        f"members/{question}",
        columns,
        [
            (Data(shorter[name]), *member.words.values(), tally(member.unassessed) or "0")
            for name, member in panel.judges.items()
        ],
    )
    if alpha := panel.alpha:
        yield remark(f"Krippendorff's alpha: {estimate(alpha.value, alpha.reported)}, {alpha.n} answers")


COLUMNS = (
    Column("whole answer against claims"), Column("share", "number"), Column("95 % interval", "ends"),
    Column("n", "count"),
)  # fmt: skip


def _beside(compared: Sequence[RatingComparison]) -> Iterator[Block]:
    """Yield ratings next to metrics of claims, and the samples in which they differ."""
    rows = [
        row
        for one in compared
        for row in (
            _row(Data(f"{one.rating}: yes"), one.whole),
            _row(Data(f"{one.metric}: every claim supported"), one.claims),
            _row("agreement", one.agreement),
            _row("kappa", one.kappa),
        )
    ]
    yield table("beside", COLUMNS, rows)
    for one in compared:
        shown = ", ".join(words(disagreement) for disagreement in one.apart[:APART])
        more = f", and {len(one.apart) - APART} more" if len(one.apart) > APART else ""
        differ = f" differ in {len(one.apart)} of {one.agreement.n}{': ' if shown else ''}"
        yield remark(Data(f"{one.rating} and {one.metric}"), differ, Data(shown), more)


def _row(name: str, share: Estimate) -> tuple[Cell, ...]:
    return name, share.value, share, share.n
