"""From dicts of dicts to ranked columns: only the judged documents are looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, compress, islice, repeat

import numpy as np

from claimeval.ir.order import Tied, Ties, arrange, places, refuse_ties
from claimeval.ir.ranked import LARGEST_GRADE, Floats, Ints, Ranked, join, whole_numbers
from claimeval.types.errors import DataError

Qrels = Mapping[str, Mapping[str, int]]
"""Query id to document id to grade."""
Run = Mapping[str, Mapping[str, float]]
"""Query id to document id to score."""

_QUERIES_AT_ONCE = 256
"""So many queries' columns stay in the processor's cache."""
_NOWHERE = repeat(float("nan"))


def rank(qrels: Qrels, run: Run, queries: Sequence[str], ties: Ties, lowest: int = 0) -> Ranked:
    """Rank the documents of these queries that are graded ``lowest`` or better.

    A query that the run lacks has retrieved nothing.
    """
    return join(
        [
            _rank_some(qrels, run, queries[first : first + _QUERIES_AT_ONCE], ties, lowest)
            for first in range(0, len(queries), _QUERIES_AT_ONCE)
        ]
    )


def _rank_some(qrels: Qrels, run: Run, queries: Sequence[str], ties: Ties, lowest: int) -> Ranked:
    judged = [qrels[query] for query in queries]
    retrieved = [run.get(query, {}) for query in queries]
    scores = _numbers("run", "score", retrieved, queries)
    grades = _numbers("qrels", "grade", judged, queries)
    sizes = np.array([len(docs) for docs in retrieved])
    order = arrange(scores, np.r_[0, np.cumsum(sizes)])
    if ties == "error":
        refuse_ties(order, queries)

    wanted = grades >= lowest
    pool_query = np.repeat(np.arange(len(queries)), [len(pool) for pool in judged])
    documents = list(compress(chain.from_iterable(judged), wanted.tolist()))
    found = _look_up(documents, np.bincount(pool_query[wanted], minlength=len(queries)), retrieved)
    rows = np.flatnonzero(~np.isnan(found))
    query, score, grade = pool_query[wanted][rows], found[rows], grades[wanted][rows].astype(np.int64)

    def names(hits: Ints) -> list[str]:
        return [documents[row] for row in rows[hits].tolist()]

    def members(groups: list[Tied]) -> list[list[str]]:
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
    """The scores of documents, so many for each query; NaN for those that were not retrieved."""
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
        raise _complaint(source, what, given, queries) from None
    wrong = np.isnan(numbers) if what == "score" else ~whole_numbers(numbers)
    if wrong.any():
        raise _complaint(source, what, given, queries)
    return numbers


def _complaint(source: str, what: str, given: Sequence[object], queries: Sequence[str]) -> DataError:
    """The error that names the first value that is not a usable number."""
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
