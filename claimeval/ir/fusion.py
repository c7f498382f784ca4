"""Fusion of several runs: reciprocal ranks, or normalized scores combined."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from math import fsum
from typing import Literal

from claimeval.ir.columnar import Source
from claimeval.ir.mappings import Table, TrecRun, as_run
from claimeval.ir.trec_files import read_run
from claimeval.types.errors import DataError, UsageError, unknown_name

Fusion = Literal["rrf", "sum", "mnz", "min", "max", "anz", "med"]
"""``rrf``: the sum of 1 / (k + rank). Others combine normalized scores (Fox and Shaw 1994, CombSUM
and so on): their sum, the sum times the number of runs that retrieved the document, the smallest,
the largest, the mean, the median."""
ScoreNormalization = Literal["min-max", "max", "sum", "zmuv", "rank", "none"]
"""Normalization of the scores of one query in one run. ``min-max``: to 0..1; ``max``: divided by
the highest; ``sum``: minus the lowest, then divided by their sum; ``zmuv``: mean 0, variance 1;
``rank``: 1 - (rank - 1) / n; ``none``: unchanged."""

_COMBINE: dict[str, Callable[[list[float]], float]] = {
    "rrf": fsum,
    "sum": fsum,
    "mnz": lambda scores: fsum(scores) * len(scores),
    "min": min,
    "max": max,
    "anz": lambda scores: fsum(scores) / len(scores),
    "med": statistics.median,
}
_LEAST = 1e-9
"""Minimum of a denominator, so that equal scores become 0."""


def fuse(
    trec_runs: Sequence[TrecRun | Source | Table],
    method: Fusion = "rrf",
    *,
    k: int = 60,
    normalization: ScoreNormalization = "min-max",
    weights: Sequence[float] | None = None,
    depth: int | None = None,
) -> dict[str, dict[str, float]]:
    """Fuse runs: by rank, ``score(d) = sum(1 / (k + rank of d))`` over the runs that retrieved d,
    or by score.

    Ranks count from 1 in the order of trec_eval (by score, then document id, both descending). Runs
    without a query or document do not count for it. The result has the best documents first; equal
    scores are ordered by the best rank in any run, then by document id, descending. Source of
    ``rrf``: Cormack, Clarke and Büttcher 2009, where k is 60. The values of the other methods and
    normalizations equal those of ranx.

    >>> fuse([{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 9.0}}])["q"]["b"] == 1 / 62 + 1 / 61
    True
    >>> trec_runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 8.0, "a": 0.0}}]
    >>> fuse(trec_runs, "sum", weights=[0.75, 0.25])
    {'q': {'a': 0.75, 'b': 0.25}}

    Args:
        trec_runs: Query id to document id to score, names of TREC, MS MARCO or JSON run files, or
            tables.
        method: How to combine the scores of a document in several runs.
        k: For ``rrf``, at least 1. With a larger k, the first ranks dominate less.
        normalization: For the other methods: how to make the scores of a query comparable between
            runs.
        weights: A factor for each run; 1 by default.
        depth: Number of documents to keep per query; all by default.

    Raises:
        UsageError: If an option is unknown or out of range, or there is no run.
        DataError: If a score is NaN, or infinite where scores are normalized, or a file cannot be
            read.
    """
    _check_options(method, k, normalization, depth)
    if not trec_runs:
        raise UsageError("no run to fuse; give at least one")
    factors = _factors(weights, len(trec_runs))
    loaded = map(as_run, trec_runs)
    read = [run if isinstance(run, Mapping) else read_run(run) for run in loaded]
    normalize = (
        (lambda scores: [1 / (k + rank) for rank in range(1, len(scores) + 1)])
        if method == "rrf"
        else _NORMALIZE[normalization]
    )
    fused: dict[str, dict[str, float]] = {}
    for query in sorted(set().union(*read)):
        pairs = [
            (run[query], factor) for run, factor in zip(read, factors, strict=True) if query in run
        ]
        fused[query] = _fuse_query(pairs, normalize, _COMBINE[method], depth)
    return fused


def _check_options(
    method: Fusion,
    k: int,
    normalization: ScoreNormalization,
    depth: int | None,
) -> None:
    if method not in _COMBINE:
        raise unknown_name("fusion", method, _COMBINE)
    if normalization not in _NORMALIZE:
        raise unknown_name("normalization", normalization, _NORMALIZE)
    if k < 1:
        raise UsageError(f"k of the fusion is {k!r}; it must be at least 1 (60 is usual)")
    if depth is not None and depth < 1:
        raise UsageError(f"the depth of the fusion is {depth!r}; it must be at least 1")


def _factors(weights: Sequence[float] | None, runs: int) -> list[float]:
    """Return the factor of each run. Raises UsageError unless there is a finite one for each."""
    if weights is None:
        return [1.0] * runs
    factors = list(weights)
    if len(factors) != runs or not all(map(math.isfinite, factors)):
        raise UsageError(
            f"the weights of the fusion are {factors}; expected a finite number for each of the"
            f" {runs} runs"
        )
    return factors


def _fuse_query(
    runs: Sequence[tuple[Mapping[str, float], float]],
    normalize: Callable[[list[float]], list[float]],
    combine: Callable[[list[float]], float],
    depth: int | None,
) -> dict[str, float]:
    ranks: dict[str, int] = {}
    parts: dict[str, list[float]] = {}
    for run, factor in runs:
        ordered = _ordered(run)
        scores = normalize([score for score, _ in ordered]) if ordered else []
        for rank, ((_, document), score) in enumerate(zip(ordered, scores, strict=True), 1):
            parts.setdefault(document, []).append(score * factor)
            ranks[document] = min(rank, ranks.get(document, rank))
    fused = {document: combine(scores) for document, scores in parts.items()}
    best_first = sorted(
        fused,
        key=lambda document: (fused[document], -ranks[document], document),
        reverse=True,
    )
    return {document: fused[document] for document in best_first[:depth]}


def _ordered(run: Mapping[str, float]) -> list[tuple[float, str]]:
    """Return score and document from the first rank on, in the order of trec_eval. Raises DataError
    for NaN."""
    ordered = sorted(((float(score), document) for document, score in run.items()), reverse=True)
    undefined = [document for score, document in ordered if math.isnan(score)]
    if undefined:
        raise DataError(f"the score of document {undefined[0]!r} is NaN, so it has no rank")
    return ordered


def _scaled(scores: list[float], lowest: float, width: float) -> list[float]:
    if not math.isfinite(width):
        raise DataError(
            "an infinite score cannot be normalized; fuse by rank: method 'rrf' or normalization"
            " 'rank'"
        )
    return [(score - lowest) / max(width, _LEAST) for score in scores]


_NORMALIZE: dict[str, Callable[[list[float]], list[float]]] = {
    "min-max": lambda scores: _scaled(scores, scores[-1], scores[0] - scores[-1]),
    "max": lambda scores: _scaled(scores, 0.0, scores[0]),
    "sum": lambda scores: _scaled(scores, scores[-1], fsum(score - scores[-1] for score in scores)),
    "zmuv": lambda scores: _scaled(scores, statistics.fmean(scores), statistics.pstdev(scores)),
    "rank": lambda scores: [1 - position / len(scores) for position in range(len(scores))],
    "none": lambda scores: scores,
}
"""The normalizations, for the scores of one query in one run in descending order."""
