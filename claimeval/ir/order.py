"""The order of a run: scores falling, and a rule for documents with equal scores."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from claimeval.ir.ranked import Bools, Floats, Ints
from claimeval.types.errors import DataError

Ties = Literal["trec", "stable", "error"]
"""``trec``: equal scores are ordered by document id, falling, as trec_eval does. ``stable``: in the order given.
``error``: equal scores are refused."""

Name = TypeVar("Name", str, bytes)


class Scores(NamedTuple):
    """The scores of several queries, concatenated; the scores of each query fall."""

    negated: Floats
    """The scores times -1, so that they rise within a query."""
    starts: Ints
    """Where each query begins, and the end of the last one."""
    resorted: frozenset[int]
    """Queries whose scores were not given in falling order, so that positions here are not positions there."""


def arrange(scores: Floats, starts: Ints) -> Scores:
    """Sort the scores of each query; ``starts`` has one entry more than there are queries."""
    negated = -scores
    rises = _same_query(starts, np.flatnonzero(negated[1:] < negated[:-1]) + 1)
    resorted = frozenset(_query_of(starts, rises).tolist())
    for query in resorted:
        negated[starts[query] : starts[query + 1]].sort()
    return Scores(negated, starts, resorted)


def refuse_ties(scores: Scores, names: Sequence[str]) -> None:
    """Raise DataError for the first query in which two documents have the same score."""
    equal = np.flatnonzero(scores.negated[1:] == scores.negated[:-1]) + 1
    equal = _same_query(scores.starts, equal)
    if equal.size:
        query = names[int(_query_of(scores.starts, equal[:1])[0])]
        raise DataError(
            f"query {query!r} has several documents with score {-scores.negated[equal[0]]}, which ties='error' "
            "refuses; ties='trec' orders them by document id, ties='stable' keeps the order given"
        )


Tied = tuple[int, int, int, float]
"""Documents of one query with the same score: the query, how many documents score higher, how many score higher or
equal, the score."""


def places(
    scores: Scores,
    query: Ints,
    score: Floats,
    names: Callable[[Ints], list[Name]],
    members: Callable[[list[Tied]], list[list[Name]]],
    ties: Ties,
) -> Ints:
    """Return the rank, from 1, of each document whose query and score are given.

    Ids are read only if scores are equal, so that a run without ties needs none.

    Args:
        scores: The sorted scores of all documents.
        query: The query of each document to rank.
        score: The score of each document to rank.
        names: Returns the ids of the documents in the given rows of ``query``.
        members: Returns the ids of all documents of each group of equal scores, in the order given.
        ties: The order of documents with equal scores.
    """
    higher = _above(scores, query, score)
    following = scores.starts[query] + higher + 1
    inside = following < scores.starts[query + 1]
    tied = np.flatnonzero(inside & (scores.negated[np.where(inside, following, 0)] == -score))
    ranks = higher + 1
    if tied.size:
        up_to = _above(scores, query[tied], score[tied], or_equal=True)
        columns = (query[tied], higher[tied], up_to, score[tied])
        groups = list(zip(*(column.tolist() for column in columns), strict=True))
        ranks[tied] = _settle(groups, names(tied), members, ties)
    return ranks


def _settle(
    groups: list[Tied], names: list[Name], members: Callable[[list[Tied]], list[list[Name]]], ties: Ties
) -> list[int]:
    """Return the rank of each named document within its group of equal scores."""
    distinct = list(dict.fromkeys(groups))
    alike = dict(zip(distinct, members(distinct), strict=True))
    if ties == "trec":
        for ids in alike.values():
            ids.sort()
        return [group[2] - bisect_left(alike[group], name) for group, name in zip(groups, names, strict=True)]
    order = {group: {name: place for place, name in enumerate(ids, group[1] + 1)} for group, ids in alike.items()}
    return [order[group][name] for group, name in zip(groups, names, strict=True)]


def _above(scores: Scores, query: Ints, score: Floats, *, or_equal: bool = False) -> Ints:
    """Count the documents of its query that score higher than (or equal to) each given score.

    One binary search in all queries at once.
    """
    negated = -score
    low, high = scores.starts[query], scores.starts[query + 1]
    last = len(scores.negated) - 1
    for _ in range(int(np.diff(scores.starts).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        values = scores.negated[np.minimum(middle, last)]
        counted = (values <= negated) if or_equal else (values < negated)
        counted &= low < high
        low = np.where(counted, middle + 1, low)
        high = np.where(counted, high, middle)
    count: Ints = low - scores.starts[query]
    return count


def _query_of(starts: Ints, rows: Ints) -> Ints:
    return np.searchsorted(starts, rows, side="right") - 1


def _same_query(starts: Ints, rows: Ints) -> Ints:
    """Return those rows that belong to the same query as the row before."""
    first: Bools = starts[np.searchsorted(starts, rows)] == rows
    return rows[~first]
