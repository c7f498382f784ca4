"""Evaluation of TREC runs against judgments: `evaluate` for one run, `Evaluator` for many, and
comparisons of runs."""

from __future__ import annotations

import html
import math
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, islice
from typing import Literal, NamedTuple

import numpy as np

from claimeval.ir import columnar, mappings
from claimeval.ir.columnar import FileContent, Source
from claimeval.ir.mappings import JudgedQuery, Qrels, Table, TrecRun, as_qrels, as_run
from claimeval.ir.measures import Measure, parse
from claimeval.ir.ranked import Floats, MeasureSettings, Ranked, RankedQuery, Ties
from claimeval.ir.trec_files import parse_qrels, parse_run
from claimeval.statistics import PairedComparison, holm, paired_difference
from claimeval.statistics.formatting import decimal, number_of
from claimeval.types.errors import DataError, NoteWarning, UsageError, unknown_name
from claimeval.types.ids import as_floats

SHOWN_QUERIES = 5
"""Queries whose values a notebook shows."""
_LEAST = 1e-5
"""Minimum value of an average precision in ``gm_map``, as in trec_eval."""


def _cells(kind: str, texts: Iterable[str]) -> str:
    """Return a row of an HTML table."""
    cells = (f"<{kind}>{html.escape(text)}</{kind}>" for text in texts)
    return f"<tr>{''.join(cells)}</tr>"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCounts:
    """The queries and documents that the means are based on."""

    queries: int
    """Number of evaluated queries."""
    missing: tuple[str, ...] = ()
    """Queries of the qrels that are missing in the run."""
    missing_are_zero: bool = False
    """Whether missing queries count as 0. Otherwise the means do not include them."""
    not_judged: tuple[str, ...] = ()
    """Queries of the run that are missing in the qrels. They are ignored."""
    no_relevant: tuple[str, ...] = ()
    """Evaluated queries without relevant documents."""
    no_relevant_are_zero: bool = True
    """Whether queries without relevant documents count as 0. Otherwise their values are None."""
    level: float
    """The lowest grade that counts as relevant, for binary measures."""
    highest_grade: float
    """The highest grade for the evaluated queries, retrieved or not."""
    graded: int
    """Number of documents with a grade above 0 for the evaluated queries, retrieved or not."""
    retrieved: int
    """Number of documents retrieved for the evaluated queries, after any cut."""
    unjudged: int | None
    """Number of retrieved documents without a judgment, which count as not relevant. None if they
    were not counted: large runs are only searched as far as the measures need. The measure
    ``judged`` makes sure that they are."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The values of one run, per query and as means."""

    run_id: str | None = None
    """The tag of the run file."""
    measures: tuple[Measure, ...]
    per_query: Mapping[str, Mapping[str, float | None]]
    """Query to measure to value; None if it is undefined."""
    count: Callable[[], QueryCounts] = field(repr=False, compare=False)
    """Computes `counts`."""

    @cached_property
    def mean(self) -> dict[str, float | None]:
        """The mean of each measure over the queries with a value. Counts are summed, ``gm_map`` is
        a geometric mean."""
        values = self.per_query.values()
        return {
            m.name: _mean(m, [value for query in values if (value := query[m.name]) is not None])
            for m in self.measures
        }

    @cached_property
    def counts(self) -> QueryCounts:
        """The queries and documents that the means are based on."""
        return self.count()

    def only(self, measures: tuple[Measure, ...]) -> Evaluation:
        """Return the evaluation with only these measures."""
        names = {measure.name for measure in measures}
        return replace(
            self,
            measures=measures,
            per_query={
                query: {name: value for name, value in values.items() if name in names}
                for query, values in self.per_query.items()
            },
        )

    def z_scores(self, norms: Mapping[str, Mapping[str, tuple[float, float]]]) -> Evaluation:
        """Return the evaluation with Z scores as values, as trec_eval does with ``-Z``.

        ``norms`` maps queries to trec_eval's names of measures to mean and standard deviation; see
        `read_z_scores`. A value without them is None. Geometric means have no Z score and are left
        out.
        """
        measures = tuple(measure for measure in self.measures if measure.row.summary != "geometric")
        return replace(
            self,
            measures=measures,
            per_query={
                query: {m.name: _z_score(m, values[m.name], norms.get(query, {})) for m in measures}
                for query, values in self.per_query.items()
            },
        )

    def as_dict(self, *, per_query: bool = True) -> dict[str, object]:
        """Return the numbers as a dict for JSON, with or without the values of each query."""
        numbers: dict[str, object] = {
            "run_id": self.run_id,
            "mean": dict(self.mean),
            "counts": asdict(self.counts),
        }
        if per_query:
            numbers["per_query"] = {query: dict(values) for query, values in self.per_query.items()}
        return numbers

    def __repr__(self) -> str:
        of_run = f" of {self.run_id}" if self.run_id else ""
        means = ", ".join(f"{name} {decimal(value, 4)}" for name, value in self.mean.items())
        return f"<Evaluation{of_run}, {number_of(len(self.per_query), 'query')}: {means}>"

    def _repr_html_(self) -> str:
        """Show the mean of each measure, and its values for the first queries."""
        queries = list(islice(self.per_query.items(), SHOWN_QUERIES))
        head = ["measure", "mean", *(query for query, _ in queries)]
        rows = [
            [name, decimal(mean, 4), *(decimal(values[name], 4) for _, values in queries)]
            for name, mean in self.mean.items()
        ]
        more = len(self.per_query) - len(queries)
        note = f"<p><small>and {number_of(more, 'query')} more</small></p>" if more else ""
        return (
            f"<table>{_cells('th', head)}{''.join(_cells('td', row) for row in rows)}</table>{note}"
        )


def _z_score(
    measure: Measure,
    value: float | None,
    norms: Mapping[str, tuple[float, float]],
) -> float | None:
    # trec_eval prints a Z score of 1 for the number of queries of a query.
    if measure.row.name == "num_q":
        return 1.0
    mean, deviation = norms.get(measure.trec_name, (0.0, math.nan))
    if value is None or math.isnan(deviation):
        return None
    if deviation:
        return (value - mean) / deviation
    # Every run of the norms has the same value, so that any other is infinitely far.
    return 0.0 if value == mean else None


def summarize(
    ranked: Ranked,
    measures: tuple[Measure, ...],
    settings: Sequence[MeasureSettings],
    *,
    count: Callable[[], QueryCounts],
    undefined: bool = False,
    run_id: str | None = None,
) -> Evaluation:
    """Compute measures from ranked columns.

    Args:
        ranked: The ranks of the judged documents.
        measures: The measures to compute.
        settings: The settings of each measure.
        count: Computes the counts of the evaluation.
        undefined: Whether queries without relevant documents have no value instead of 0.
        run_id: The tag of the run.
    """
    listed = []
    for measure, setting in zip(measures, settings, strict=True):
        values = measure.row.formula(ranked, setting)
        level = measure.defined_from(setting) if undefined else None
        if level is not None:
            values = np.where(ranked.total_relevant(level) == 0, np.nan, values)
        listed.append(_plain(measure, values))
    names = [measure.name for measure in measures]
    return Evaluation(
        run_id=run_id,
        measures=measures,
        per_query={
            query: dict(zip(names, values, strict=True))
            for query, values in zip(ranked.queries, zip(*listed, strict=True), strict=True)
        },
        count=count,
    )


def _plain(measure: Measure, values: Floats) -> list[float | None]:
    if measure.row.summary == "sum":
        return list(values.astype(np.int64).tolist())
    if np.isnan(values).any():
        return [None if value != value else value for value in values.tolist()]
    return list(values.tolist())


def count_columns(ranked: Ranked, level: float) -> QueryCounts:
    """Count the queries and documents of ranked columns, without missing queries."""
    return QueryCounts(
        queries=len(ranked.queries),
        no_relevant=tuple(
            ranked.queries[number] for number in np.flatnonzero(ranked.total_relevant(level) == 0)
        ),
        level=level,
        highest_grade=ranked.pool_grade.max(initial=0).item(),
        graded=int((ranked.pool_grade > 0).sum()),
        retrieved=int(ranked.retrieved.sum()),
        unjudged=None if ranked.judged is None else int((ranked.retrieved - ranked.judged).sum()),
    )


def count_queries(ranked: Mapping[str, RankedQuery], level: float) -> QueryCounts:
    """Count the queries and documents of rankings, without missing queries."""
    grades = list(chain.from_iterable(ranking.pool.grades for ranking in ranked.values()))
    return QueryCounts(
        queries=len(ranked),
        no_relevant=tuple(
            query for query, ranking in ranked.items() if not ranking.total_relevant(level)
        ),
        level=level,
        highest_grade=max(grades, default=0),
        graded=sum(grade > 0 for grade in grades),
        retrieved=sum(ranking.retrieved for ranking in ranked.values()),
        unjudged=sum(ranking.retrieved - len(ranking.judged) for ranking in ranked.values()),
    )


def _mean(measure: Measure, values: Sequence[float]) -> float | None:
    """Return the summary of the defined values; None if there are none.

    Values are added one by one in the order of the queries, as in trec_eval.
    """
    if not values:
        return None
    if measure.row.summary == "geometric":
        return math.exp(_added(math.log(max(value, _LEAST)) for value in values) / len(values))
    return _added(values) if measure.row.summary == "sum" else _added(values) / len(values)


def _added(values: Iterable[float]) -> float:
    # `sum` of Python 3.12 compensates rounding, and trec_eval does not: the fourth decimal of a
    # mean may differ.
    total: float = 0
    for value in values:
        total += value
    return total


class Pairing(NamedTuple):
    """A comparison of one measure of a run with the first run."""

    run: str
    measure: str
    comparison: PairedComparison
    """Mean of run minus first run over the queries of both, with interval and sign-flip permutation
    test."""
    p_adjusted: float | None
    """The p-value adjusted over the runs."""


def against_first(evaluations: Sequence[Evaluation], labels: Sequence[str]) -> list[Pairing]:
    """Compare every later run with the first, measure by measure.

    Queries that are missing in one of the runs are left out and counted. p-values are adjusted over
    the runs (Holm). Source of the test: Smucker, Allan and Carterette 2007 (randomization test for
    retrieval runs).
    """
    first, *later = evaluations
    pairings: list[Pairing] = []
    for measure in first.mean:
        compared = [_compare(first, other, measure) for other in later]
        tested = [i for i, comparison in enumerate(compared) if comparison.p is not None]
        adjusted = dict(zip(tested, holm([compared[i].p or 0.0 for i in tested]), strict=True))
        pairings += [
            Pairing(label, measure, comparison, adjusted.get(i))
            for i, (label, comparison) in enumerate(zip(labels[1:], compared, strict=True))
        ]
    return pairings


def _compare(first: Evaluation, other: Evaluation, measure: str) -> PairedComparison:
    baseline = first.per_query
    compared = other.per_query
    queries = sorted({*baseline, *compared})
    return paired_difference(
        [compared[q].get(measure) if q in compared else None for q in queries],
        [baseline[q].get(measure) if q in baseline else None for q in queries],
    )


DEFAULT_MEASURES = "map,ndcg@10,mrr,P@10,recall@100,judged@10"
Missing = Literal["skip", "zero", "error"]
"""Treatment of queries that are missing in the run: left out, as in trec_eval; counted as 0, as in
trec_eval with ``-c``; or an error."""
NoRelevant = Literal["zero", "undefined"]
"""Value of queries without relevant documents: 0, as in trec_eval, or None."""


class Evaluator:
    """Evaluates many runs against the same judgments, faster than `evaluate`.

    >>> evaluator = Evaluator({"q1": {"a": 1, "b": 2}}, "ndcg@10,mrr")
    >>> evaluator.evaluate({"q1": {"x": 0.9, "a": 0.8}}).per_query
    {'q1': {'ndcg@10': 0.23981246656813146, 'mrr': 0.5}}

    The arguments are those of `evaluate`.
    """

    def __init__(
        self,
        qrels: Qrels | Source | Table,
        measures: str | Iterable[str | Measure] = DEFAULT_MEASURES,
        *,
        level: float = 1,
        judged_only: bool = False,
        max_retrieved: int | None = None,
        ties: Ties = "trec",
        missing: Missing = "skip",
        no_relevant: NoRelevant = "zero",
        collapse_ids: str | None = None,
        collection: int = 0,
    ) -> None:
        _check(level, max_retrieved, ties, missing, no_relevant)
        self.measures = parse(measures)
        self._qrels = as_qrels(qrels)
        self._level = level
        self._judged_only = judged_only
        self._max_retrieved = max_retrieved
        self._ties = ties
        self._missing = missing
        self._no_relevant = no_relevant
        self._collapse_ids = collapse_ids
        self._settings = [measure.setting(level, collection) for measure in self.measures]
        self._formulas = [
            (measure.name, measure.row.formula, setting)
            for measure, setting in zip(self.measures, self._settings, strict=True)
        ]
        self._counts = [measure.name for measure in self.measures if measure.row.summary == "sum"]
        self._subtopics = any(measure.row.name == "alpha_ndcg" for measure in self.measures)
        if self._subtopics and collapse_ids is not None:
            raise UsageError(
                "alpha_ndcg cannot be combined with collapse_ids: collapse the ids of the files"
                " first"
            )
        self._one_by_one = any(measure.row.one_by_one for measure in self.measures)
        if not self._subtopics and isinstance(self._qrels, Mapping) and _has_subtopics(self._qrels):
            self._qrels = mappings.without_subtopics(self._qrels)
        self._judged: dict[str, JudgedQuery] = {}

    def evaluate(self, run: TrecRun | Source | Table) -> Evaluation:
        """Evaluate a run, like `evaluate`. A small run takes microseconds."""
        trec_run = as_run(run)
        if isinstance(trec_run, Mapping):
            _note_decimals(self._judgments, trec_run)
            return self._of_mapping(trec_run, None)
        content = FileContent.read(trec_run)
        joined: columnar.ColumnarRun | None = None
        if self._file is not None and self._collapse_ids is None and not self._one_by_one:
            joined = columnar.rank(self._file, content, self._ties, positive=self._positive)
        return self._by_columns(joined) if joined else self._of_mapping(*parse_run(content))

    def _of_mapping(self, run: TrecRun, tag: str | None) -> Evaluation:
        if not run:
            raise DataError("the run has no queries")
        if self._collapse_ids is not None:
            run = mappings.collapse_ids(run, self._collapse_ids)
        judgments = self._judgments
        if self._one_by_one or _is_small(run, len(judgments) if self._missing == "zero" else 0):
            return self._by_queries(run, tag)
        ranked = mappings.rank(
            judgments,
            run,
            sorted(judgments),
            self._ties,
            positive=self._positive,
        )
        return self._by_columns(columnar.ColumnarRun(ranked, frozenset(run), tag))

    @cached_property
    def _positive(self) -> bool:
        """Whether no measure needs documents that are not relevant."""
        needs_all = self._judged_only or self._max_retrieved is not None
        return not needs_all and not any(
            measure.needs_nonrelevant(self._level) for measure in self.measures
        )

    @cached_property
    def _file(self) -> FileContent | None:
        return (
            _written(self._qrels)
            if isinstance(self._qrels, Mapping)
            else FileContent.read(self._qrels)
        )

    @cached_property
    def _judgments(self) -> Qrels:
        if isinstance(self._qrels, Mapping):
            judgments = self._qrels
        else:
            assert self._file is not None, "it was given as a file"
            judgments = parse_qrels(self._file, subtopics=self._subtopics)
        if not judgments:
            raise DataError("the qrels have no queries")
        return (
            judgments
            if self._collapse_ids is None
            else mappings.collapse_ids(judgments, self._collapse_ids)
        )

    def _by_columns(self, joined: columnar.ColumnarRun) -> Evaluation:
        ranked, in_run, tag = joined
        missing = _missing_queries(ranked.queries, in_run, self._missing)
        not_judged = tuple(sorted(in_run.difference(ranked.queries)))
        if missing and self._missing == "skip":
            ranked = ranked.only(np.array([query in in_run for query in ranked.queries]))
        if self._max_retrieved is not None:
            ranked = ranked.first(self._max_retrieved)
        counts = replace(
            count_columns(ranked, self._level),
            missing=missing,
            missing_are_zero=self._missing == "zero",
            not_judged=not_judged,
            no_relevant_are_zero=self._no_relevant == "zero",
        )
        return summarize(
            ranked.judged_only() if self._judged_only else ranked,
            self.measures,
            self._settings,
            count=partial(replace, counts),
            undefined=self._no_relevant == "undefined",
            run_id=tag,
        )

    def _by_queries(self, run: TrecRun, tag: str | None) -> Evaluation:
        judgments = self._judgments
        zero = self._missing == "zero"
        ranked: dict[str, RankedQuery] = {}
        values: dict[str, Mapping[str, float | None]] = {}
        for query in sorted(judgments if zero else run):
            if query in judgments:
                ranking = ranked[query] = self._rank(query, run.get(query, {}))
                values[query] = self._measure(ranking)
        in_run = frozenset(run)
        if zero or self._missing == "error" or not ranked:
            _missing_queries(judgments, in_run, self._missing)
        count = partial(
            _count,
            ranked,
            judgments,
            in_run,
            self._level,
            (self._missing, self._no_relevant),
        )
        return Evaluation(run_id=tag, measures=self.measures, per_query=values, count=count)

    def _measure(self, ranked: RankedQuery) -> dict[str, float | None]:
        ranking = ranked.judged_only() if self._judged_only else ranked
        values: dict[str, float | None] = {
            name: formula(ranking, setting) for name, formula, setting in self._formulas
        }
        for name in self._counts:
            values[name] = int(values[name] or 0)
        if self._no_relevant == "undefined":
            for measure, setting in zip(self.measures, self._settings, strict=True):
                level = measure.defined_from(setting)
                if level is not None and not ranked.total_relevant(level):
                    values[measure.name] = None
        return values

    def _rank(self, query: str, documents: Mapping[str, float]) -> RankedQuery:
        judged = self._judged.get(query)
        if judged is None:
            judged = self._judged[query] = JudgedQuery(query, self._judgments[query])
        ranked = judged.rank(documents, self._ties)
        return ranked if self._max_retrieved is None else ranked.first(self._max_retrieved)


def evaluate(
    qrels: Qrels | Source | Table,
    run: TrecRun | Source | Table,
    measures: str | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    level: float = 1,
    judged_only: bool = False,
    max_retrieved: int | None = None,
    ties: Ties = "trec",
    missing: Missing = "skip",
    no_relevant: NoRelevant = "zero",
    collapse_ids: str | None = None,
    collection: int = 0,
) -> Evaluation:
    """Evaluate a run: the values of each query, their means, and what is missing.

    >>> qrels = {"q1": {"a": 1, "b": 2}}
    >>> evaluate(qrels, {"q1": {"b": 0.9, "x": 0.8, "a": 0.7}}, "P@2,recip_rank").mean
    {'P@2': 0.5, 'recip_rank': 1.0}

    The values are those of trec_eval 10.0, which compares scores as 64-bit numbers (9.x: 32 bits).
    To evaluate many runs against the same judgments, make an `Evaluator`.

    Args:
        qrels: Query id to document id to grade; the name of a TREC, BEIR or JSON qrels file; a
            DataFrame with columns such as query_id, doc_id and relevance; or tuples of these three,
            as ir_measures has them.
        run: Query id to document id to score; the name of a TREC, MS MARCO or JSON run file; a
            DataFrame with columns such as query_id, doc_id and score; or tuples of these three.
        measures: Names such as ``"ndcg@10,map"``; see ``parse``.
        level: The lowest grade that counts as relevant; DCG, nDCG and rbp ignore it, as in
            trec_eval.
        judged_only: Remove unjudged documents first, so that the others move up.
        max_retrieved: Use only the first documents of each query, up to this number.
        ties: The order of documents with equal scores.
        missing: How to count queries of the qrels that are missing in the run.
        no_relevant: How to count queries without relevant documents.
        collapse_ids: A regular expression. Its matches are removed from all document ids first, and
            of documents with equal ids the best is kept: ``"#.*"`` turns passages such as
            ``report#p12`` into documents.
        collection: The number of documents in the collection, which ``utility`` needs.

    Returns:
        The values per query, the means, and counts of queries and documents.

    Raises:
        UsageError: If a measure or a setting is unknown or out of range.
        DataError: If a file or a value cannot be read, if qrels and run have no query in common, or
            if ``missing`` or ``ties`` is ``error`` and there is such a query.
    """
    evaluator = Evaluator(
        qrels,
        measures,
        level=level,
        judged_only=judged_only,
        max_retrieved=max_retrieved,
        ties=ties,
        missing=missing,
        no_relevant=no_relevant,
        collapse_ids=collapse_ids,
        collection=collection,
    )
    return evaluator.evaluate(run)


_FEW = 600
"""Number of documents, plus ten per query, up to which evaluation query by query is faster than by
columns."""


def _is_small(run: TrecRun, queries: int) -> bool:
    """Return whether the run has few documents. ``queries`` is the minimum number of queries to
    count."""
    most = _FEW - 10 * max(len(run), queries)
    try:
        return most > 0 and sum(map(len, run.values())) <= most
    except TypeError:
        return False


_LOOKED_AT = 20
"""Queries in which ids with decimals are looked for."""


def _note_decimals(qrels: Qrels, run: TrecRun) -> None:
    """Warn of an id such as `10.0` that is `10` on the other side: they are two documents."""
    for query in islice(run, _LOOKED_AT):
        judged = qrels.get(query)
        retrieved = run[query]
        if not isinstance(judged, Mapping) or not isinstance(retrieved, Mapping):
            continue
        name = as_floats(judged, retrieved) or as_floats(retrieved, judged)
        if name:
            text = (
                f"query {query!r}: the document ids {name!r} and {name[:-2]!r} are different; in"
                " one of the tables they were written as numbers with decimals"
            )
            warnings.warn(text, NoteWarning, stacklevel=4)
            return


def _has_subtopics(qrels: Qrels) -> bool:
    """Return whether the first document of any query is judged for subtopics."""
    pools = (pool for pool in qrels.values() if isinstance(pool, Mapping))
    return any(isinstance(next(iter(pool.values()), None), Mapping) for pool in pools)


def _written(qrels: Qrels) -> FileContent | None:
    """Write judgments as the text of a file; None if that is impossible."""
    if not all(isinstance(pool, Mapping) and pool for pool in qrels.values()):
        return None
    lines: list[str] = []
    for query, pool in qrels.items():
        lines.extend(f"{query} 0 {document} {grade}" for document, grade in pool.items())
    text = "\n".join(lines)
    if text.count("\n") != len(lines) - 1:
        return None
    return FileContent.of(text.encode("utf-8", "surrogateescape"), "qrels")


def _count(
    ranked: Mapping[str, RankedQuery],
    judgments: Qrels,
    in_run: frozenset[str],
    level: float,
    policies: tuple[Missing, NoRelevant],
) -> QueryCounts:
    missing, no_relevant = policies
    return replace(
        count_queries(ranked, level),
        missing=tuple(sorted(judgments.keys() - in_run)),
        missing_are_zero=missing == "zero",
        not_judged=tuple(sorted(in_run.difference(judgments))),
        no_relevant_are_zero=no_relevant == "zero",
    )


def _missing_queries(
    queries: Collection[str],
    in_run: frozenset[str],
    missing: Missing,
) -> tuple[str, ...]:
    """Return the queries that are missing in the run. Raises DataError if all are, or if this is an
    error."""
    lacking = tuple(sorted(query for query in queries if query not in in_run))
    if len(lacking) == len(queries):
        raise DataError(
            f"qrels and run have no query in common: the qrels have {min(queries)!r}, the run has"
            f" {min(in_run)!r}"
        )
    if lacking and missing == "error":
        raise DataError(
            f"the run lacks {len(lacking)} of the {len(queries)} queries of the qrels, first"
            f" {lacking[0]!r}, which missing='error' refuses; missing='zero' counts them as 0,"
            " missing='skip' leaves them out"
        )
    return lacking


def _check(
    level: float,
    max_retrieved: int | None,
    ties: str,
    missing: str,
    no_relevant: str,
) -> None:
    if level < 0:
        raise UsageError(f"the relevance level is {level!r}; it must be at least 0")
    if max_retrieved is not None and max_retrieved < 1:
        raise UsageError(f"max_retrieved is {max_retrieved!r}; it must be at least 1")
    for kind, value, allowed in (
        ("tie rule", ties, ("trec", "stable", "error")),
        ("policy for missing queries", missing, ("skip", "zero", "error")),
        ("policy for queries without relevant documents", no_relevant, ("zero", "undefined")),
    ):
        if value not in allowed:
            raise unknown_name(kind, value, allowed)
