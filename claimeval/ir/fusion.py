"""Reciprocal rank fusion of several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum

from claimeval.ir.mappings import TrecRun
from claimeval.ir.text_columns import Source
from claimeval.ir.trec_files import read_run
from claimeval.types.errors import DataError, UsageError


def fuse(trec_runs: Sequence[TrecRun | Source], k: int = 60, depth: int | None = None) -> dict[str, dict[str, float]]:
    """Fuse runs by rank: ``score(d) = sum(1 / (k + rank of d))`` over the runs that retrieved d.

    Ranks count from 1 in the order of trec_eval (score, then document id, falling). A query or document that a run
    lacks gets nothing from it. The documents of each query come best first; equal scores are ordered by the best rank
    in any run, then by document id, falling. Source: Cormack, Clarke and Büttcher 2009, where k is 60.

    >>> fuse([{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 9.0}}])["q"]["b"] == 1 / 62 + 1 / 61
    True

    Args:
        trec_runs: Query id to document id to score, or names of TREC run files.
        k: The larger, the less the first ranks dominate; at least 1.
        depth: Keep so many documents per query; all by default.

    Raises:
        UsageError: If ``k`` or ``depth`` is below 1, or there is no run.
        DataError: If a score is NaN or a file cannot be read.
    """
    if k < 1:
        raise UsageError(f"k of the fusion is {k!r}; it must be at least 1 (60 is usual)")
    if depth is not None and depth < 1:
        raise UsageError(f"the depth of the fusion is {depth!r}; it must be at least 1")
    if not trec_runs:
        raise UsageError("no run to fuse; give at least one")
    read = [run if isinstance(run, Mapping) else read_run(run) for run in trec_runs]
    queries = sorted({query for run in read for query in run})
    return {query: _fuse_query([run[query] for run in read if query in run], k, depth) for query in queries}


def _fuse_query(runs: Sequence[Mapping[str, float]], k: int, depth: int | None) -> dict[str, float]:
    ranks: dict[str, list[int]] = {}
    for run in runs:
        undefined = [document for document, score in run.items() if score != score]
        if undefined:
            raise DataError(f"the score of document {undefined[0]!r} is NaN, so it has no rank")
        ordered = sorted(run.items(), key=lambda item: (item[1], item[0]), reverse=True)
        for rank, (document, _) in enumerate(ordered, 1):
            ranks.setdefault(document, []).append(rank)
    scores = {document: fsum(1 / (k + rank) for rank in ranked) for document, ranked in ranks.items()}
    best_first = sorted(scores, key=lambda document: (scores[document], -min(ranks[document]), document), reverse=True)
    return {document: scores[document] for document in best_first[:depth]}
