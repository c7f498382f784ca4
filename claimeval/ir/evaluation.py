"""The front door: evaluate a run against judgments, from dicts or from files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from claimeval.ir import columnar, folding, mappings
from claimeval.ir.content import FileContent, Source
from claimeval.ir.mappings import Qrels, Run
from claimeval.ir.names import Measure, parse
from claimeval.ir.order import Ties
from claimeval.ir.ranked import Ranked
from claimeval.ir.results import Evaluation, count, summarise
from claimeval.ir.trec_files import parse_qrels, parse_run
from claimeval.types.errors import DataError, UsageError, unknown_name

DEFAULT_MEASURES = "map,ndcg@10,mrr,P@10,recall@100,judged@10"

Missing = Literal["skip", "zero", "error"]
"""What a query of the qrels counts that the run lacks: nothing, as in trec_eval; 0, as in trec_eval with ``-c``; or it
is refused."""
WithoutRelevant = Literal["zero", "undefined"]
"""What a query without relevant documents counts: 0, as in trec_eval; or nothing."""


def evaluate(
    qrels: Qrels | Source,
    run: Run | Source,
    measures: str | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    level: int = 1,
    judged_only: bool = False,
    max_retrieved: int | None = None,
    ties: Ties = "trec",
    missing: Missing = "skip",
    without_relevant: WithoutRelevant = "zero",
    fold: str | None = None,
) -> Evaluation:
    """Evaluate a run: the values of each query, their means, and what is missing.

    >>> result = evaluate({"q1": {"a": 1, "b": 2}}, {"q1": {"b": 0.9, "x": 0.8, "a": 0.7}}, "P@2,recip_rank")
    >>> result.mean
    {'P@2': 0.5, 'recip_rank': 1.0}

    The values are those of trec_eval 10.0, which compares scores as 64-bit numbers (9.x: 32 bits).

    Args:
        qrels: Query id to document id to grade, or the name of a TREC or BEIR qrels file.
        run: Query id to document id to score, or the name of a TREC run file.
        measures: Names such as ``"ndcg@10,map"``; see ``parse``.
        level: The lowest grade that counts as relevant; DCG, nDCG and rbp do not look at it, as in trec_eval.
        judged_only: Drop unjudged documents first, the others moving up.
        max_retrieved: Look at the first so many documents of each query only.
        ties: The order of documents with equal scores.
        missing: What queries of the qrels count that the run lacks.
        without_relevant: What queries without relevant documents count.
        fold: A regular expression. What it matches is cut out of the ids of documents on both sides before anything
            else, and of those that then are the same the best stays: ``"#.*"`` makes documents of ``report#p12``.
    """
    asked = parse(measures)
    _check(level, max_retrieved, ties, missing, without_relevant)
    everything = judged_only or max_retrieved is not None or any(m.needs_nonrelevant(level) for m in asked)
    if fold is None:
        ranked, in_run, run_id = _join(qrels, run, ties, 0 if everything else 1)
    else:
        ranked, in_run, run_id = _join_folded(qrels, run, fold, ties, 0 if everything else 1)
    lacking = _lacking(ranked, in_run, missing)
    not_judged = tuple(sorted(in_run.difference(ranked.queries)))
    if lacking and missing == "skip":
        ranked = ranked.only(np.array([query in in_run for query in ranked.queries]))
    if max_retrieved is not None:
        ranked = ranked.first(max_retrieved)
    return summarise(
        ranked.judged_only() if judged_only else ranked,
        asked,
        level=level,
        undefined=without_relevant == "undefined",
        run_id=run_id,
        counts=replace(
            count(ranked, level),
            missing=lacking,
            missing_are_zero=missing == "zero",
            not_judged=not_judged,
            without_relevant_are_zero=without_relevant == "zero",
        ),
    )


class _JoinedRun(NamedTuple):
    ranked: Ranked
    """Of all queries of the qrels, sorted."""
    in_run: frozenset[str]
    run_id: str | None


def _join(qrels: Qrels | Source, run: Run | Source, ties: Ties, lowest: int) -> _JoinedRun:
    """Bring run and judgments together, by columns where the run is a file in the usual form."""
    if isinstance(run, Mapping):
        judgments = qrels if isinstance(qrels, Mapping) else parse_qrels(FileContent.read(qrels))
        return _join_mappings(judgments, run, None, ties, lowest)
    content = FileContent.read(run)
    if not isinstance(qrels, Mapping):
        judged = FileContent.read(qrels)
        placed = columnar.rank(judged, content, ties, lowest)
        if placed:
            return _JoinedRun(*placed)
        qrels = parse_qrels(judged)
    written = _written(qrels)
    placed = columnar.rank(written, content, ties, lowest) if written else None
    if placed:
        return _JoinedRun(*placed)
    return _join_mappings(qrels, *parse_run(content), ties, lowest=0)


def _join_folded(qrels: Qrels | Source, run: Run | Source, pattern: str, ties: Ties, lowest: int) -> _JoinedRun:
    judgments = qrels if isinstance(qrels, Mapping) else parse_qrels(FileContent.read(qrels))
    found, tag = (run, None) if isinstance(run, Mapping) else parse_run(FileContent.read(run))
    return _join_mappings(folding.fold(judgments, pattern), folding.fold(found, pattern), tag, ties, lowest)


def _written(qrels: Qrels) -> FileContent | None:
    """Judgments as the text of a file, where they can be written so."""
    if not all(isinstance(pool, Mapping) and pool for pool in qrels.values()):
        return None
    lines = [f"{query} 0 {document} {grade}" for query, pool in qrels.items() for document, grade in pool.items()]
    text = "\n".join(lines)
    if text.count("\n") != len(lines) - 1:
        return None
    return FileContent.of(text.encode("utf-8", "surrogateescape"), "qrels")


def _join_mappings(qrels: Qrels, run: Run, run_id: str | None, ties: Ties, lowest: int) -> _JoinedRun:
    if not qrels:
        raise DataError("the qrels hold no queries")
    if not run:
        raise DataError("the run holds no queries")
    return _JoinedRun(mappings.rank(qrels, run, sorted(qrels), ties, lowest), frozenset(run), run_id)


def _lacking(ranked: Ranked, in_run: frozenset[str], missing: Missing) -> tuple[str, ...]:
    """The queries of the qrels that the run lacks."""
    lacking = tuple(query for query in ranked.queries if query not in in_run)
    if len(lacking) == len(ranked.queries):
        raise DataError(
            f"qrels and run have no query in common: the qrels have {min(ranked.queries)!r}, "
            f"the run has {min(in_run)!r}"
        )
    if lacking and missing == "error":
        raise DataError(
            f"the run lacks {len(lacking)} of the {len(ranked.queries)} queries of the qrels, first {lacking[0]!r}, "
            "which missing='error' refuses; missing='zero' counts them as 0, missing='skip' leaves them out"
        )
    return lacking


def _check(level: int, max_retrieved: int | None, ties: str, missing: str, without_relevant: str) -> None:
    if level < 0:
        raise UsageError(f"the relevance level is {level!r}; it must be at least 0")
    if max_retrieved is not None and max_retrieved < 1:
        raise UsageError(f"max_retrieved is {max_retrieved!r}; it must be at least 1")
    for kind, given, allowed in (
        ("tie rule", ties, ("trec", "stable", "error")),
        ("policy for missing queries", missing, ("skip", "zero", "error")),
        ("policy for queries without relevant documents", without_relevant, ("zero", "undefined")),
    ):
        if given not in allowed:
            raise unknown_name(kind, given, allowed)
