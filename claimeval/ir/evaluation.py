"""Evaluate a run against judgments, from dicts or from files: values per query, means, and what they leave out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from claimeval.ir import columnar, mappings
from claimeval.ir.mappings import Qrels, TrecRun
from claimeval.ir.names import Measure, parse
from claimeval.ir.order import Ties
from claimeval.ir.ranked import Floats, Ranked
from claimeval.ir.text_columns import FileContent, Source
from claimeval.ir.trec_files import parse_qrels, parse_run
from claimeval.types.errors import DataError, UsageError, unknown_name

_LEAST = 1e-5
"""What an average precision below it counts in ``gm_map``, as in trec_eval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCounts:
    """The queries and documents that the means are based on."""

    queries: int
    """Queries evaluated."""
    missing: tuple[str, ...] = ()
    """Queries of the qrels that the run lacks."""
    missing_are_zero: bool = False
    """They count as 0; otherwise they are left out of the means."""
    not_judged: tuple[str, ...] = ()
    """Queries of the run that the qrels lack; they are ignored."""
    no_relevant: tuple[str, ...] = ()
    """Evaluated queries for which no document is relevant."""
    no_relevant_are_zero: bool = True
    """They count as 0; otherwise their values are None and left out of the means."""
    level: int
    """The lowest grade that counts as relevant, for the measures that go by relevant or not."""
    highest_grade: int
    """Of the documents of the evaluated queries, retrieved or not."""
    graded: int
    """Documents of the evaluated queries graded above 0, retrieved or not."""
    retrieved: int
    """Documents retrieved for the evaluated queries, after any cut."""
    unjudged: int | None
    """How many of them have no judgment; they count as not relevant. None if they were not counted: dicts are only
    searched for what the measures need, so ask for ``judged`` as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The values of one run, per query and on average."""

    run_id: str | None = None
    """The tag of the run file."""
    measures: tuple[Measure, ...]
    per_query: Mapping[str, Mapping[str, float | None]]
    """Query to measure to value; None if it is undefined."""
    mean: Mapping[str, float | None]
    """Measure to its mean over the queries where it is defined; counts are summed, ``gm_map`` is geometric."""
    counts: QueryCounts

    def only(self, measures: tuple[Measure, ...]) -> Evaluation:
        """Return the same evaluation with only some of the measures."""
        names = {measure.name for measure in measures}
        return replace(
            self,
            measures=measures,
            per_query={
                query: {name: value for name, value in values.items() if name in names}
                for query, values in self.per_query.items()
            },
            mean={name: value for name, value in self.mean.items() if name in names},
        )

    def as_dict(self, *, per_query: bool = True) -> dict[str, object]:
        """Return the numbers as JSON takes them; ``per_query=False`` leaves the values of each query out."""
        shown: dict[str, object] = {"run_id": self.run_id, "mean": dict(self.mean), "counts": asdict(self.counts)}
        if per_query:
            shown["per_query"] = {query: dict(values) for query, values in self.per_query.items()}
        return shown


def summarize(
    ranked: Ranked,
    measures: tuple[Measure, ...],
    *,
    counts: QueryCounts,
    level: int = 1,
    undefined: bool = False,
    run_id: str | None = None,
) -> Evaluation:
    """Compute measures from ranked columns.

    Args:
        ranked: The ranks of the judged documents.
        measures: The measures to compute.
        counts: The counts to report with them.
        level: The lowest grade that counts as relevant.
        undefined: Give queries without relevant documents no value instead of 0.
        run_id: The tag of the run.
    """
    columns = [_column(measure, ranked, level, undefined=undefined) for measure in measures]
    names = [measure.name for measure in measures]
    listed = [_plain(measure, values) for measure, values in zip(measures, columns, strict=True)]
    return Evaluation(
        run_id=run_id,
        measures=measures,
        per_query={
            query: dict(zip(names, values, strict=True))
            for query, values in zip(ranked.queries, zip(*listed, strict=True), strict=True)
        },
        mean={measure.name: _mean(measure, values) for measure, values in zip(measures, columns, strict=True)},
        counts=counts,
    )


def count(ranked: Ranked, level: int) -> QueryCounts:
    """Count the queries and documents of a ranking; missing queries are for the caller to add."""
    return QueryCounts(
        queries=len(ranked.queries),
        no_relevant=tuple(ranked.queries[number] for number in np.flatnonzero(ranked.total_relevant(level) == 0)),
        level=level,
        highest_grade=int(ranked.pool_grade.max(initial=0)),
        graded=int((ranked.pool_grade > 0).sum()),
        retrieved=int(ranked.retrieved.sum()),
        unjudged=None if ranked.judged is None else int((ranked.retrieved - ranked.judged).sum()),
    )


def _column(measure: Measure, ranked: Ranked, level: int, *, undefined: bool) -> Floats:
    """Return the values of one measure, NaN if it is undefined."""
    setting = measure.setting(level)
    values = measure.row.formula(ranked, setting)
    if not undefined or measure.row.relevance == "none" or measure.row.summary == "sum":
        return values
    graded = measure.row.relevance != "binary" and not setting.binary
    return np.where(ranked.total_relevant(1 if graded else setting.level) == 0, np.nan, values)


def _mean(measure: Measure, values: Floats) -> float | None:
    """Return the summary over the queries for which the measure is defined; None if it is defined for none.

    Values are added one by one in the order of the queries, as trec_eval adds them.
    """
    defined = values[~np.isnan(values)]
    if not defined.size:
        return None
    if measure.row.summary == "sum":
        return int(defined.sum())
    if measure.row.summary == "geometric":
        return float(np.exp(_added(np.log(np.maximum(defined, _LEAST))) / defined.size))
    return _added(defined) / defined.size


def _added(values: Floats) -> float:
    return float(np.cumsum(values)[-1])


def _plain(measure: Measure, values: Floats) -> list[float | None]:
    if measure.row.summary == "sum":
        return list(values.astype(np.int64).tolist())
    if np.isnan(values).any():
        return [None if value != value else value for value in values.tolist()]
    return list(values.tolist())


DEFAULT_MEASURES = "map,ndcg@10,mrr,P@10,recall@100,judged@10"

Missing = Literal["skip", "zero", "error"]
"""What a query of the qrels counts that the run lacks: nothing, as in trec_eval; 0, as in trec_eval with ``-c``; or it
is refused."""
NoRelevant = Literal["zero", "undefined"]
"""What a query without relevant documents counts: 0, as in trec_eval; or nothing."""


def evaluate(
    qrels: Qrels | Source,
    run: TrecRun | Source,
    measures: str | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    level: int = 1,
    judged_only: bool = False,
    max_retrieved: int | None = None,
    ties: Ties = "trec",
    missing: Missing = "skip",
    no_relevant: NoRelevant = "zero",
    collapse_ids: str | None = None,
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
        level: The lowest grade that counts as relevant; DCG, nDCG and rbp ignore it, as in trec_eval.
        judged_only: Drop unjudged documents first; the others move up.
        max_retrieved: Use only the first so many documents of each query.
        ties: The order of documents with equal scores.
        missing: What queries of the qrels count that the run lacks.
        no_relevant: What queries without relevant documents count.
        collapse_ids: A regular expression. What it matches is removed from the document ids on both sides before
            anything else, and of documents with equal ids the best is kept: ``"#.*"`` makes ``report#p12`` a
            document.

    Returns:
        The values per query, the means, and counts of what the means leave out.

    Raises:
        UsageError: If a measure or a setting is unknown or out of range.
        DataError: If a file or a value cannot be read, if qrels and run have no query in common, or if ``missing`` or
            ``ties`` is ``error`` and there is such a query.
    """
    asked = parse(measures)
    _check(level, max_retrieved, ties, missing, no_relevant)
    everything = judged_only or max_retrieved is not None or any(m.needs_nonrelevant(level) for m in asked)
    if collapse_ids is None:
        ranked, in_run, run_id = _join(qrels, run, ties, 0 if everything else 1)
    else:
        ranked, in_run, run_id = _join_collapsed(qrels, run, collapse_ids, ties, 0 if everything else 1)
    missing_queries = _missing_queries(ranked, in_run, missing)
    not_judged = tuple(sorted(in_run.difference(ranked.queries)))
    if missing_queries and missing == "skip":
        ranked = ranked.only(np.array([query in in_run for query in ranked.queries]))
    if max_retrieved is not None:
        ranked = ranked.first(max_retrieved)
    return summarize(
        ranked.judged_only() if judged_only else ranked,
        asked,
        level=level,
        undefined=no_relevant == "undefined",
        run_id=run_id,
        counts=replace(
            count(ranked, level),
            missing=missing_queries,
            missing_are_zero=missing == "zero",
            not_judged=not_judged,
            no_relevant_are_zero=no_relevant == "zero",
        ),
    )


class _JoinedRun(NamedTuple):
    """Run and judgments together."""

    ranked: Ranked
    """Of all queries of the qrels, sorted."""
    in_run: frozenset[str]
    run_id: str | None


def _join(qrels: Qrels | Source, run: TrecRun | Source, ties: Ties, lowest: int) -> _JoinedRun:
    """Join run and judgments, by columns if the run is a file in the usual form."""
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


def _join_collapsed(qrels: Qrels | Source, run: TrecRun | Source, pattern: str, ties: Ties, lowest: int) -> _JoinedRun:
    judgments = qrels if isinstance(qrels, Mapping) else parse_qrels(FileContent.read(qrels))
    trec_run, tag = (run, None) if isinstance(run, Mapping) else parse_run(FileContent.read(run))
    return _join_mappings(
        mappings.collapse_ids(judgments, pattern), mappings.collapse_ids(trec_run, pattern), tag, ties, lowest
    )


def _written(qrels: Qrels) -> FileContent | None:
    """Write judgments as the text of a file; None if they cannot be written so."""
    if not all(isinstance(pool, Mapping) and pool for pool in qrels.values()):
        return None
    lines = [f"{query} 0 {document} {grade}" for query, pool in qrels.items() for document, grade in pool.items()]
    text = "\n".join(lines)
    if text.count("\n") != len(lines) - 1:
        return None
    return FileContent.of(text.encode("utf-8", "surrogateescape"), "qrels")


def _join_mappings(qrels: Qrels, run: TrecRun, run_id: str | None, ties: Ties, lowest: int) -> _JoinedRun:
    if not qrels:
        raise DataError("the qrels hold no queries")
    if not run:
        raise DataError("the run holds no queries")
    return _JoinedRun(mappings.rank(qrels, run, sorted(qrels), ties, lowest), frozenset(run), run_id)


def _missing_queries(ranked: Ranked, in_run: frozenset[str], missing: Missing) -> tuple[str, ...]:
    """Return the queries of the qrels that the run lacks."""
    missing_queries = tuple(query for query in ranked.queries if query not in in_run)
    if len(missing_queries) == len(ranked.queries):
        raise DataError(
            f"qrels and run have no query in common: the qrels have {min(ranked.queries)!r}, "
            f"the run has {min(in_run)!r}"
        )
    if missing_queries and missing == "error":
        raise DataError(
            f"the run lacks {len(missing_queries)} of the {len(ranked.queries)} queries of the qrels, "
            f"first {missing_queries[0]!r}, which missing='error' refuses; missing='zero' counts them as 0, "
            "missing='skip' leaves them out"
        )
    return missing_queries


def _check(level: int, max_retrieved: int | None, ties: str, missing: str, no_relevant: str) -> None:
    if level < 0:
        raise UsageError(f"the relevance level is {level!r}; it must be at least 0")
    if max_retrieved is not None and max_retrieved < 1:
        raise UsageError(f"max_retrieved is {max_retrieved!r}; it must be at least 1")
    for kind, given, allowed in (
        ("tie rule", ties, ("trec", "stable", "error")),
        ("policy for missing queries", missing, ("skip", "zero", "error")),
        ("policy for queries without relevant documents", no_relevant, ("zero", "undefined")),
    ):
        if given not in allowed:
            raise unknown_name(kind, given, allowed)
