"""Judgments and runs as dicts of dicts or tables: ranks the judged documents, and collapses
passages to documents."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, compress, islice, repeat
from operator import itemgetter
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from claimeval.ir.columnar import Source
from claimeval.ir.ranked import (
    LARGEST_GRADE,
    Floats,
    Ints,
    Pool,
    Ranked,
    RankedQuery,
    Tied,
    Ties,
    arrange,
    as_grades,
    document_ranks,
    join,
    refuse_ties,
)
from claimeval.types.errors import DataError, UsageError
from claimeval.types.ids import id_text

Qrels = Mapping[str, Mapping[str, float]]
"""Query id to document id to grade, usually an integer."""
TrecRun = Mapping[str, Mapping[str, float]]
"""Query id to document id to score."""

_QUERIES_AT_ONCE = 256
"""Number of queries whose columns fit into the processor's cache."""
_NOT_RETRIEVED = repeat(float("nan"))


def rank(
    qrels: Qrels,
    run: TrecRun,
    queries: Sequence[str],
    ties: Ties,
    *,
    positive: bool = False,
) -> Ranked:
    """Rank the judged documents of ``queries``. A query that is missing in the run has no retrieved
    documents.

    Args:
        qrels: Query id to document id to grade.
        run: Query id to document id to score.
        queries: The queries to rank, in order. All must be in ``qrels``.
        ties: The order of documents with equal scores.
        positive: Rank only documents with a grade above 0.

    Raises:
        DataError: If a grade is not a number, a score is NaN, or ``ties="error"`` and two scores
            are equal.
    """
    return join(
        [
            _rank_some(
                qrels,
                run,
                queries[first : first + _QUERIES_AT_ONCE],
                ties,
                positive=positive,
            )
            for first in range(0, len(queries), _QUERIES_AT_ONCE)
        ]
    )


def _rank_some(
    qrels: Qrels,
    run: TrecRun,
    queries: Sequence[str],
    ties: Ties,
    *,
    positive: bool,
) -> Ranked:
    judged = [qrels[query] for query in queries]
    retrieved = [run.get(query, {}) for query in queries]
    scores = _numbers("run", "score", retrieved, queries)
    grades = _numbers("qrels", "grade", judged, queries)
    sizes = np.array([len(docs) for docs in retrieved])
    order = arrange(scores, np.r_[0, np.cumsum(sizes)])
    if ties == "error":
        refuse_ties(order, queries)

    ranked = grades > 0 if positive else grades >= 0
    pool_query = np.repeat(np.arange(len(queries)), [len(pool) for pool in judged])
    documents = list(compress(chain.from_iterable(judged), ranked.tolist()))
    looked_up = _look_up(
        documents,
        np.bincount(pool_query[ranked], minlength=len(queries)),
        retrieved,
    )
    rows = np.flatnonzero(~np.isnan(looked_up))
    if not rows.size:
        for name, pool, docs in zip(queries, judged, retrieved, strict=True):
            _check_kinds(pool, docs, name)
    query = pool_query[ranked][rows]
    score = looked_up[rows]
    grade = as_grades(grades[ranked][rows])

    def names(hits: Ints) -> list[str]:
        """Return the ids of the documents that were retrieved and judged."""
        return [documents[row] for row in rows[hits].tolist()]

    def members(groups: list[Tied]) -> list[list[str]]:
        """Return the ids of each group of equal scores."""
        return [
            (
                [document for document, number in retrieved[at].items() if float(number) == value]
                if at in order.resorted
                else list(islice(retrieved[at], first, last))
            )
            for at, first, last, value in groups
        ]

    ranks = document_ranks(order, query, score, names, members, ties)
    by_rank = np.argsort(query * (int(sizes.max(initial=0)) + 1) + ranks)
    pooled = grades >= 0
    return Ranked(
        queries=tuple(queries),
        retrieved=sizes,
        judged=None if positive else np.bincount(query, minlength=len(queries)),
        query=query[by_rank],
        rank=ranks[by_rank],
        grade=grade[by_rank],
        pool_query=pool_query[pooled],
        pool_grade=as_grades(grades[pooled]),
    )


class JudgedQuery:
    """The judgments of one query, for ranking several runs."""

    __slots__ = ("_covered", "_grades", "_query", "_simple", "pool")

    def __init__(self, query: str, judgments: Mapping[str, Any]) -> None:
        self._query = query
        if not isinstance(judgments, Mapping):
            raise _bad_value("qrels", "grade", [judgments], [query])
        nested: dict[str, Mapping[str, float]]
        nested = {name: grade for name, grade in judgments.items() if isinstance(grade, Mapping)}
        for topics in nested.values():
            _numbers("qrels", "grade", [topics], [query])
        self._covered = {
            name: frozenset(topic for topic, grade in topics.items() if float(grade) > 0)
            for name, topics in nested.items()
        }
        best = without_subtopics({query: judgments})[query] if nested else judgments
        grades = as_grades(_numbers("qrels", "grade", [best], [query]))
        self._grades: dict[str, float] = dict(zip(best, grades.tolist(), strict=True))
        self.pool = Pool(self._grades.values(), list(self._covered.values()) if nested else None)
        self._simple = not nested and len(self.pool.grades) == len(self._grades)

    def rank(self, documents: Mapping[str, float], ties: Ties) -> RankedQuery:
        """Rank the documents of a run. Raises DataError if a score is not a number."""
        ordered = self._ordered(documents, ties)
        grade_of = self._grades
        graded = [
            (rank, grade_of[name]) for rank, (_, name) in enumerate(ordered, 1) if name in grade_of
        ]
        if not graded:
            _check_kinds(grade_of, documents, self._query)
        if self._simple:
            return RankedQuery(self.pool, len(ordered), graded)
        return RankedQuery(
            self.pool,
            len(ordered),
            [(rank, grade) for rank, grade in graded if grade >= 0],
            [rank for rank, grade in graded if grade < 0],
            [
                (rank, self._covered[name])
                for rank, (_, name) in enumerate(ordered, 1)
                if self._covered.get(name)
            ],
        )

    def _ordered(self, documents: Mapping[str, float], ties: Ties) -> list[tuple[float, str]]:
        """Return scores and documents, the best first."""
        try:
            scores = list(map(float, documents.values()))
            total = sum(scores)
        except (AttributeError, TypeError, ValueError):
            raise _bad_value("run", "score", [documents], [self._query]) from None
        if total != total and any(score != score for score in scores):
            raise _bad_value("run", "score", [documents], [self._query])
        named = zip(scores, documents)  # noqa: B905  # both from one mapping
        if ties == "trec":
            return sorted(named, reverse=True)
        ordered = sorted(named, key=itemgetter(0), reverse=True)
        if ties == "error" and len(set(scores)) < len(scores):
            values = np.array([score for score, _ in ordered])
            refuse_ties(arrange(values, np.array([0, len(scores)])), [self._query])
        return ordered


def _check_kinds(judged: Iterable[object], retrieved: Iterable[object], query: str) -> None:
    """Raise DataError for ids that can never be equal: text on one side, numbers on the other."""
    kinds = [{isinstance(name, str) for name in names} for names in (judged, retrieved)]
    if all(kinds) and kinds[0].isdisjoint(kinds[1]):
        text, numbers = ("qrels", "run") if True in kinds[0] else ("run", "qrels")
        raise DataError(
            f"query {query!r}: document ids are text in the {text} and numbers in the {numbers};"
            " make all of them text"
        )


def without_subtopics(qrels: Mapping[str, Mapping[str, Any]]) -> Qrels:
    """Return judgments in which documents judged for subtopics have their best grade."""
    return {
        query: (
            {
                name: (
                    max(grade.values(), key=float, default=0)
                    if isinstance(grade, Mapping)
                    else grade
                )
                for name, grade in pool.items()
            }
            if isinstance(pool, Mapping)
            else pool
        )
        for query, pool in qrels.items()
    }


def _look_up(
    documents: Sequence[str],
    counts: Ints,
    retrieved: Sequence[Mapping[str, float]],
) -> Floats:
    """Return the scores of documents, of which each query has `counts`; NaN for those that were not
    retrieved."""
    following = iter(documents)
    looked_up = (
        map(docs.get, islice(following, count), _NOT_RETRIEVED)
        for docs, count in zip(retrieved, counts.tolist(), strict=True)
    )
    return np.fromiter(chain.from_iterable(looked_up), np.float64, len(documents))


def _numbers(
    source: str,
    what: str,
    mappings: Sequence[Mapping[str, float]],
    queries: Sequence[str],
) -> Floats:
    """Return all values, concatenated. Raises DataError for NaN and for grades beyond
    ``LARGEST_GRADE``."""
    try:
        values = chain.from_iterable(documents.values() for documents in mappings)
        numbers = np.fromiter(values, np.float64, sum(map(len, mappings)))
    except (AttributeError, TypeError, ValueError):
        raise _bad_value(source, what, mappings, queries) from None
    wrong = np.isnan(numbers) if what == "score" else ~(np.abs(numbers) <= LARGEST_GRADE)
    if wrong.any():
        raise _bad_value(source, what, mappings, queries)
    return numbers


def _bad_value(
    source: str,
    what: str,
    mappings: Sequence[object],
    queries: Sequence[str],
) -> DataError:
    """Return the error that names the first value that is not a usable number."""
    expected = "a number, not NaN" if what == "score" else "a number such as 0, 1 or 2"
    for query, documents in zip(queries, mappings, strict=True):
        if not isinstance(documents, Mapping):
            return DataError(
                f"{source}: query {query!r} has {type(documents).__name__}; expected a mapping of"
                f" document id to {what}"
            )
        for document, value in documents.items():
            number = isinstance(value, (int, float, np.number))
            if not number or value != value or (what == "grade" and abs(value) > LARGEST_GRADE):
                return DataError(
                    f"{source}: the {what} of document {document!r} for query {query!r} is"
                    f" {value!r}; expected {expected}"
                )
    raise AssertionError("every value is a usable number")


Number = TypeVar("Number", int, float)


def collapse_ids(
    by_query: Mapping[str, Mapping[str, Number]], pattern: str
) -> dict[str, dict[str, Number]]:
    """Remove the matches of a regular expression from the document ids of a run or of qrels.

    Of documents with equal ids, the highest score or grade is kept, at its position: MaxP (Dai &
    Callan 2019). Raises UsageError if the pattern is invalid, DataError if it leaves an id empty or
    a score is NaN.

    >>> collapse_ids({"q": {"a#p7": 3.0, "b#p1": 2.0, "a#p1": 1.0}}, "#.*")
    {'q': {'a': 3.0, 'b': 2.0}}
    """
    cut = compiled(pattern)
    return {query: _collapse_query(documents, cut) for query, documents in by_query.items()}


def collapse_names(names: Iterable[str], pattern: str) -> list[str]:
    """Remove the matches of the pattern from the ids of a ranked list. Each id keeps its first
    rank."""
    cut = compiled(pattern)
    return list(dict.fromkeys(_collapsed(name, cut) for name in names))


def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression. Raises UsageError if it is invalid."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"{pattern!r} is not a regular expression: {error}; '#.*' removes all from the first"
            " # on"
        ) from None


def _collapse_query(documents: Mapping[str, Number], cut: re.Pattern[str]) -> dict[str, Number]:
    collapsed: dict[str, Number] = {}
    for name, number in documents.items():
        if number != number:
            raise DataError(f"the score of document {name!r} is NaN, so it has no rank")
        whole = _collapsed(name, cut)
        if whole not in collapsed:
            collapsed[whole] = number
        elif number > collapsed[whole]:
            del collapsed[whole]
            collapsed[whole] = number
    return collapsed


def _collapsed(name: str, cut: re.Pattern[str]) -> str:
    whole = cut.sub("", name)
    if not whole:
        raise DataError(f"{cut.pattern!r} leaves nothing of the document id {name!r}")
    return whole


class Frame(Protocol):
    """A DataFrame of pandas, polars or another library."""

    @property
    def columns(self) -> Iterable[Any]:
        """The names of its columns."""
        ...

    def __getitem__(self, name: Any, /) -> Iterable[Any]:
        """Return a column."""
        ...


Table = Frame | Iterable[Sequence[Any]]
"""A table with one row per document: a DataFrame, or tuples of query, document and number, such as
``ScoredDoc`` and ``Qrel`` of ir_measures."""

_QUERY = (
    "query_id",
    "qid",
    "q_id",
    "query-id",
    "query",
    "topic",
    "question_id",
    "search_group_id",
    "search_id",
    "group_id",
)
_DOCUMENT = (
    "doc_id",
    "docno",
    "docid",
    "did",
    "pid",
    "corpus-id",
    "corpus_id",
    "document",
    "doc",
    "document_id",
    "item_id",
    "item",
    "chunk_id",
    "passage_id",
)
_SCORE = ("score", "scores", "sim", "similarity")
_RANK = ("rank", "ranks", "position")
"""Columns that take the place of a score: the first rank is the best."""
_GRADE = (
    "relevance",
    "label",
    "rel",
    "grade",
    "judgment",
    "qrel",
    "gain",
    "gains",
    "rating",
    "score",
)


def as_run(data: TrecRun | Source | Table) -> TrecRun | Source:
    """Return a table as query to document to score. File names and mappings are returned
    unchanged."""
    return data if isinstance(data, Source) else _by_query(data, "run", _SCORE)


def as_qrels(data: Qrels | Source | Table) -> Qrels | Source:
    """Return a table as query to document to grade. File names and mappings are returned
    unchanged."""
    return data if isinstance(data, Source) else _by_query(data, "qrels", _GRADE)


def _by_query(
    data: Mapping[str, Any] | Table,
    what: str,
    names: Sequence[str],
) -> Mapping[str, Any]:
    if isinstance(data, Mapping):
        return _with_ids(data, what)
    rows: object = _columns(cast(Frame, data), what, names) if hasattr(data, "columns") else data
    table: dict[str, dict[str, Any]] = {}
    if not isinstance(rows, Iterable):
        raise _unknown(what, data)
    for number, row in enumerate(rows, 1):
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) < 3:
            raise _unknown(what, row)
        if getattr(row, "_fields", ("",))[0] == "Index":
            raise DataError(
                f"{what}: rows of a DataFrame begin with their index; give the DataFrame itself"
            )
        query = id_text(row[0], f"{what}, row {number}, query")
        document = id_text(row[1], f"{what}, row {number}, document")
        documents = table.setdefault(query, {})
        if document in documents:
            raise DataError(
                f"{what}: document {document!r} appears twice for query {query!r}; remove one"
            )
        documents[document] = row[2]
    return table


def _with_ids(data: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    """Return a mapping with ids that are text; the same if all are, which is the ordinary case."""
    inner = [pool for pool in data.values() if isinstance(pool, Mapping)]
    if set(map(type, chain.from_iterable((data, *inner)))) <= {str}:
        return data
    table: dict[str, Any] = {}
    for query, pool in data.items():
        name = id_text(query, f"{what}, query {query!r}")
        if name in table:
            raise DataError(f"{what}: query {name!r} appears twice; remove one")
        table[name] = pool
        if isinstance(pool, Mapping):
            table[name] = _named(pool, f"{what}, query {name!r}")
    return table


def _named(pool: Mapping[Any, Any], location: str) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for document, value in pool.items():
        name = id_text(document, f"{location}, document {document!r}")
        if name in named:
            raise DataError(f"{location}: document {name!r} appears twice; remove one")
        named[name] = value
    return named


def _columns(frame: Frame, what: str, names: Sequence[str]) -> Iterable[tuple[Any, Any, Any]]:
    """Return query, document and number of each row."""
    columns = {str(name).casefold(): name for name in frame.columns}
    query = _first_in(columns, _QUERY)
    document = _first_in(columns, _DOCUMENT)
    number = _first_in(columns, names)
    takes_rank = what == "run" and number is None
    if takes_rank:
        number = _first_in(columns, _RANK)
    if query is None or document is None or number is None:
        or_rank = ", or for a run rank" if what == "run" else ""
        raise DataError(
            f"{what}: a table needs the columns {_QUERY[0]}, {_DOCUMENT[0]} and {names[0]} (or"
            f" other usual names{or_rank}); it has {', '.join(map(str, columns.values()))}"
        )
    values = [_number_in_text(cell) for cell in frame[columns[number]]]
    if takes_rank:
        # A run is ordered by score, highest first, and rank 1 is the best.
        values = [-rank for rank in values]
    return zip(frame[columns[query]], frame[columns[document]], values, strict=True)


def _first_in(columns: Collection[str], names: Sequence[str]) -> str | None:
    """Return the first of the names that is a column; None if none is."""
    return next((name for name in names if name in columns), None)


def _number_in_text(value: Any) -> Any:
    """Return the number in a text, as cells of a CSV are; any other value as it is."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


def _unknown(what: str, data: object) -> DataError:
    number = "grade" if what == "qrels" else "score"
    return DataError(
        f"{what}: expected a file name, a mapping of query to document to {number}, a table, or"
        f" tuples of query, document and {number}; got {data!r:.80}"
    )
