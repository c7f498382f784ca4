"""What a formula of a rank measure is given: the ranks of the judged documents, and the settings of the measure.

A measure needs to know the ranks of the judged documents, how many documents were retrieved and which grades exist;
it never needs the thousands of unjudged documents between them. So a run is reduced to these columns once, and each
measure is a few sums over them, for all queries together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


LARGEST_GRADE = 1 << 31
"""Grades lie between its negative and itself, so that no product with them leaves 64 bits."""


def whole_numbers(values: Floats) -> Bools:
    """Return which values can be grades: whole numbers of at most `LARGEST_GRADE`."""
    whole: Bools = (values == np.rint(values)) & (np.abs(values) <= LARGEST_GRADE)
    return whole


class Relevant(NamedTuple):
    """The relevant documents that were retrieved, by query, then by rank."""

    query: Ints
    rank: Ints
    nth: Ints
    """1 for the first relevant document of its query, 2 for the second."""


class Ideal(NamedTuple):
    """The documents worth retrieving, by query, then from the best grade down."""

    query: Ints
    rank: Ints
    grade: Ints


@dataclass(frozen=True)
class Ranked:
    """The judged documents of every query and the ranks they got; queries are numbered from 0, ranks from 1.

    Documents with a negative grade were pooled but not judged and appear nowhere here, as in trec_eval.
    """

    queries: tuple[str, ...]
    retrieved: Ints
    """Documents retrieved, per query."""
    judged: Ints | None
    """How many of them are judged; None if no measure asks for it."""
    query: Ints
    """Query of each judged document that was retrieved; the three columns are sorted by query, then rank. Documents
    graded 0 are left out where no measure asks for them."""
    rank: Ints
    grade: Ints
    pool_query: Ints
    """Query of each judged document, retrieved or not."""
    pool_grade: Ints
    _relevant: dict[int, Relevant] = field(default_factory=dict, init=False, repr=False, compare=False)
    _total: dict[int, Floats] = field(default_factory=dict, init=False, repr=False, compare=False)

    def sums(self, query: Ints, weights: Floats | None = None) -> Floats:
        """Return, per query, the number of rows or the sum of their weights, added in the order given."""
        return np.bincount(query, weights, len(self.queries)).astype(np.float64, copy=False)

    def relevant(self, level: int) -> Relevant:
        """Return the retrieved documents graded ``level`` or better."""
        if level not in self._relevant:
            kept = self.grade >= level
            query = self.query[kept]
            self._relevant[level] = Relevant(query, self.rank[kept], within(query) + 1)
        return self._relevant[level]

    def total_relevant(self, level: int) -> Floats:
        """Return, per query, how many documents are graded ``level`` or better, retrieved or not."""
        if level not in self._total:
            self._total[level] = self.sums(self.pool_query[self.pool_grade >= level])
        return self._total[level]

    @cached_property
    def ideal(self) -> Ideal:
        """Sort the documents graded above 0 into the best possible order: grades falling."""
        positive = self.pool_grade > 0
        span = int(self.pool_grade.max(initial=0)) + 1
        key = _sorted((self.pool_query[positive] + 1) * span - self.pool_grade[positive])
        query = key // span
        return Ideal(query, within(query) + 1, (query + 1) * span - key)

    def only(self, kept: Bools) -> Ranked:
        """Return the same run with only the queries of ``kept``."""
        number = np.cumsum(kept) - 1
        rows, pool = kept[self.query], kept[self.pool_query]
        return Ranked(
            queries=tuple(query for query, keep in zip(self.queries, kept.tolist(), strict=True) if keep),
            retrieved=self.retrieved[kept],
            judged=None if self.judged is None else self.judged[kept],
            query=number[self.query[rows]],
            rank=self.rank[rows],
            grade=self.grade[rows],
            pool_query=number[self.pool_query[pool]],
            pool_grade=self.pool_grade[pool],
        )

    def first(self, count: int) -> Ranked:
        """Return the same run, cut after ``count`` documents per query."""
        kept = self.rank <= count
        return replace(
            self,
            retrieved=np.minimum(self.retrieved, count),
            judged=np.bincount(self.query[kept], minlength=len(self.queries)),
            query=self.query[kept],
            rank=self.rank[kept],
            grade=self.grade[kept],
        )

    def judged_only(self) -> Ranked:
        """Return the same run without its unjudged documents; the others move up."""
        retrieved = np.bincount(self.query, minlength=len(self.queries))
        return replace(self, retrieved=retrieved, rank=within(self.query) + 1)


def join(parts: Sequence[Ranked]) -> Ranked:
    """Concatenate the queries of several parts."""
    offsets = np.cumsum([0, *(len(part.queries) for part in parts)]).tolist()
    numbered = list(zip(parts, offsets, strict=False))
    judged = [part.judged for part in parts if part.judged is not None]
    return Ranked(
        queries=tuple(query for part in parts for query in part.queries),
        retrieved=np.concatenate([part.retrieved for part in parts]),
        judged=np.concatenate(judged) if judged else None,
        query=np.concatenate([part.query + offset for part, offset in numbered]),
        rank=np.concatenate([part.rank for part in parts]),
        grade=np.concatenate([part.grade for part in parts]),
        pool_query=np.concatenate([part.pool_query + offset for part, offset in numbered]),
        pool_grade=np.concatenate([part.pool_grade for part in parts]),
    )


def _sorted(keys: Ints) -> Ints:
    """Sort keys, by counting if they are dense."""
    most = int(keys.max(initial=0))
    if most > 4 * keys.size:
        return np.sort(keys)
    return np.repeat(np.arange(most + 1), np.bincount(keys, minlength=most + 1))


def within(group: Ints) -> Ints:
    """Return the position of each row in its group, from 0; rows of a group follow each other."""
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]]) if group.size else np.zeros(0, np.int64)
    lengths = np.diff(np.r_[starts, group.size])
    return np.arange(group.size) - np.repeat(starts, lengths)


@dataclass(frozen=True)
class MeasureSettings:
    """Relevance level, cutoff and options of one measure."""

    level: int = 1
    """The lowest grade that counts as relevant."""
    cutoff: float | None = None
    """Only the first so many documents are looked at; for ``iprec`` the recall, 0 to 1."""
    options: Mapping[str, float] = field(default_factory=dict)
    """``p`` of rank-biased precision, ``beta`` of set_F, gains by grade of nDCG."""
    binary: bool = False
    """A relevance level was requested, so a measure that is graded by default counts relevant documents as 1."""
