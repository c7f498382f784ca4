"""Judgments and runs as dicts of dicts: passages collapsed into documents, and the ranks of the judged documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, compress, islice, repeat
from typing import TypeVar

import numpy as np

from claimeval.ir.order import Tied, Ties, arrange, places, refuse_ties
from claimeval.ir.ranked import LARGEST_GRADE, Floats, Ints, Ranked, join, whole_numbers
from claimeval.types.errors import DataError, UsageError

Qrels = Mapping[str, Mapping[str, int]]
"""Query id to document id to grade."""
TrecRun = Mapping[str, Mapping[str, float]]
"""Query id to document id to score."""

_QUERIES_AT_ONCE = 256
"""So many queries' columns stay in the processor's cache."""
_NOWHERE = repeat(float("nan"))


def rank(qrels: Qrels, run: TrecRun, queries: Sequence[str], ties: Ties, lowest: int = 0) -> Ranked:
    """Rank the documents of ``queries`` that are graded ``lowest`` or better; only judged documents are looked up.

    A query that the run lacks has retrieved nothing.

    Args:
        qrels: Query id to document id to grade.
        run: Query id to document id to score.
        queries: The queries to rank, in order; all of them are in ``qrels``.
        ties: The order of documents with equal scores.
        lowest: The lowest grade to rank; 0 includes judged documents that are not relevant.

    Raises:
        DataError: If a grade is no whole number, a score is NaN, or ``ties="error"`` and two scores are equal.
    """
    return join(
        [
            _rank_some(qrels, run, queries[first : first + _QUERIES_AT_ONCE], ties, lowest)
            for first in range(0, len(queries), _QUERIES_AT_ONCE)
        ]
    )


def _rank_some(qrels: Qrels, run: TrecRun, queries: Sequence[str], ties: Ties, lowest: int) -> Ranked:
    judged = [qrels[query] for query in queries]
    retrieved = [run.get(query, {}) for query in queries]
    scores = _numbers("run", "score", retrieved, queries)
    grades = _numbers("qrels", "grade", judged, queries)
    sizes = np.array([len(docs) for docs in retrieved])
    order = arrange(scores, np.r_[0, np.cumsum(sizes)])
    if ties == "error":
        refuse_ties(order, queries)

    ranked = grades >= lowest
    pool_query = np.repeat(np.arange(len(queries)), [len(pool) for pool in judged])
    documents = list(compress(chain.from_iterable(judged), ranked.tolist()))
    looked_up = _look_up(documents, np.bincount(pool_query[ranked], minlength=len(queries)), retrieved)
    rows = np.flatnonzero(~np.isnan(looked_up))
    query, score, grade = pool_query[ranked][rows], looked_up[rows], grades[ranked][rows].astype(np.int64)

    def names(hits: Ints) -> list[str]:
        """Return the ids of the documents that were retrieved and judged."""
        return [documents[row] for row in rows[hits].tolist()]

    def members(groups: list[Tied]) -> list[list[str]]:
        """Return the ids of each group of equal scores."""
        return [
            [document for document, number in retrieved[at].items() if float(number) == value]
            if at in order.resorted
            else list(islice(retrieved[at], first, last))
            for at, first, last, value in groups
        ]

    ranks = places(order, query, score, names, members, ties)
    by_rank = np.argsort(query * (int(sizes.max(initial=0)) + 1) + ranks)
    pooled = grades >= 0
    return Ranked(
        queries=tuple(queries),
        retrieved=sizes,
        judged=np.bincount(query, minlength=len(queries)) if lowest == 0 else None,
        query=query[by_rank],
        rank=ranks[by_rank],
        grade=grade[by_rank],
        pool_query=pool_query[pooled],
        pool_grade=grades[pooled].astype(np.int64),
    )


def _look_up(documents: Sequence[str], counts: Ints, retrieved: Sequence[Mapping[str, float]]) -> Floats:
    """Return the scores of documents, so many for each query; NaN for those that were not retrieved."""
    following = iter(documents)
    looked_up = (
        map(docs.get, islice(following, count), _NOWHERE)
        for docs, count in zip(retrieved, counts.tolist(), strict=True)
    )
    return np.fromiter(chain.from_iterable(looked_up), np.float64, len(documents))


def _numbers(source: str, what: str, given: Sequence[Mapping[str, float]], queries: Sequence[str]) -> Floats:
    """All values behind each other; grades must be whole numbers, scores anything but NaN."""
    try:
        values = chain.from_iterable(documents.values() for documents in given)
        numbers = np.fromiter(values, np.float64, sum(map(len, given)))
    except (AttributeError, TypeError, ValueError):
        raise _bad_value(source, what, given, queries) from None
    wrong = np.isnan(numbers) if what == "score" else ~whole_numbers(numbers)
    if wrong.any():
        raise _bad_value(source, what, given, queries)
    return numbers


def _bad_value(source: str, what: str, given: Sequence[object], queries: Sequence[str]) -> DataError:
    """Return the error that names the first value that is not a usable number."""
    needed = "a number, not NaN" if what == "score" else "a whole number"
    for query, documents in zip(queries, given, strict=True):
        if not isinstance(documents, Mapping):
            return DataError(
                f"{source}: query {query!r} has {type(documents).__name__}; "
                f"needed is a mapping of document id to {what}"
            )
        for document, value in documents.items():
            number = isinstance(value, (int, float, np.number))
            if not number or value != value or (what == "grade" and not _is_grade(value)):
                return DataError(
                    f"{source}: the {what} of document {document!r} for query {query!r} is {value!r}; "
                    f"needed is {needed}"
                )
    raise AssertionError("every value is a usable number")


def _is_grade(value: float) -> bool:
    return abs(value) <= LARGEST_GRADE and value == round(value)


Number = TypeVar("Number", int, float)


def collapse_ids(by_query: Mapping[str, Mapping[str, Number]], pattern: str) -> dict[str, dict[str, Number]]:
    """Remove what the pattern (a regular expression) matches from the document ids of a run or of qrels.

    Of documents with equal ids the highest score or grade is kept, at the position of that document: MaxP (Dai & Callan
    2019). Raises UsageError if the pattern is no regular expression, DataError if it leaves an id empty or a score is
    NaN.

    >>> collapse_ids({"q": {"a#p7": 3.0, "b#p1": 2.0, "a#p1": 1.0}}, "#.*")
    {'q': {'a': 3.0, 'b': 2.0}}
    """
    cut = compiled(pattern)
    return {query: _collapse_query(documents, cut) for query, documents in by_query.items()}


def collapse_names(names: Iterable[str], pattern: str) -> list[str]:
    """Remove what the pattern matches from the ids of a ranked list; each id keeps its first rank."""
    cut = compiled(pattern)
    return list(dict.fromkeys(_collapsed(name, cut) for name in names))


def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression; UsageError if it is none."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is no regular expression: {error}; as in '#.*' for all from a # on") from None


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
