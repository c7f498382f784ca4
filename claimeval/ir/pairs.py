"""Are two runs different, or is it noise? Differences per query, with interval and test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from claimeval.ir.results import Evaluation
from claimeval.statistics import PairedComparison, holm, paired_difference
from claimeval.statistics.formatting import p_value, signed, signed_interval


class Pairing(NamedTuple):
    """One measure of one run against the first run."""

    run: str
    measure: str
    comparison: PairedComparison
    """Mean of run minus first run over the queries that both have, interval, sign-flip permutation test."""
    p_holm: float | None
    """The p-value adjusted over the runs."""


def against_first(evaluations: Sequence[Evaluation], labels: Sequence[str], *, seed: int = 0) -> list[Pairing]:
    """Every later run against the first, measure by measure; queries that one of them lacks are left out and counted.

    Source of the test: Smucker, Allan and Carterette 2007 (randomisation test for retrieval runs).
    """
    first, *others = evaluations
    found: list[Pairing] = []
    for measure in first.mean:
        compared = [_compare(first, other, measure, seed) for other in others]
        tested = [i for i, comparison in enumerate(compared) if comparison.p_value is not None]
        adjusted = dict(zip(tested, holm([compared[i].p_value or 0.0 for i in tested]), strict=True))
        found += [
            Pairing(label, measure, comparison, adjusted.get(i))
            for i, (label, comparison) in enumerate(zip(labels[1:], compared, strict=True))
        ]
    return found


def _compare(first: Evaluation, other: Evaluation, measure: str, seed: int) -> PairedComparison:
    ours, theirs = first.per_query, other.per_query
    queries = sorted({*ours, *theirs})
    return paired_difference(
        [theirs[q].get(measure) if q in theirs else None for q in queries],
        [ours[q].get(measure) if q in ours else None for q in queries],
        seed=seed,
    )


def text(pairings: Sequence[Pairing], first: str) -> str:
    """The pairings as a table, a row a measure and run."""
    rows = [["measure", f"run minus {first}", "difference", "95 % interval", "p", "p (Holm)", "queries"]]
    for run, measure, found, p_holm in pairings:
        interval, difference = signed_interval((found.low, found.high), 4), signed(found.difference, 4)
        rows.append([measure, run, difference, interval, p_value(found.p_value), p_value(p_holm), str(found.n)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"
