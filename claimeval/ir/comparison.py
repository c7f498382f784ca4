"""Comparison of runs: differences per query with interval and significance test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from claimeval.ir.evaluation import Evaluation
from claimeval.statistics import PairedComparison, Resampling, holm, paired_difference


class Pairing(NamedTuple):
    """One measure of one run against the first run."""

    run: str
    measure: str
    comparison: PairedComparison
    """Mean of run minus first run over the queries that both have, interval, sign-flip permutation test."""
    p_adjusted: float | None
    """The p-value adjusted over the runs."""


def against_first(evaluations: Sequence[Evaluation], labels: Sequence[str], *, seed: int = 0) -> list[Pairing]:
    """Compare every later run with the first, measure by measure.

    Queries that one of the two runs lacks are left out and counted. p-values are adjusted over the runs (Holm). Source
    of the test: Smucker, Allan and Carterette 2007 (randomization test for retrieval runs).
    """
    first, *others = evaluations
    pairings: list[Pairing] = []
    for measure in first.mean:
        compared = [_compare(first, other, measure, seed) for other in others]
        tested = [i for i, comparison in enumerate(compared) if comparison.p is not None]
        adjusted = dict(zip(tested, holm([compared[i].p or 0.0 for i in tested]), strict=True))
        pairings += [
            Pairing(label, measure, comparison, adjusted.get(i))
            for i, (label, comparison) in enumerate(zip(labels[1:], compared, strict=True))
        ]
    return pairings


def _compare(first: Evaluation, other: Evaluation, measure: str, seed: int) -> PairedComparison:
    baseline, compared = first.per_query, other.per_query
    queries = sorted({*baseline, *compared})
    return paired_difference(
        [compared[q].get(measure) if q in compared else None for q in queries],
        [baseline[q].get(measure) if q in baseline else None for q in queries],
        resampling=Resampling(seed=seed),
    )
