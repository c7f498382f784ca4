"""The input of a measure's formula: the ranks of the judged documents, and the settings of the
measure.

Measures need the ranks of the judged documents, the number of retrieved documents and the grades,
but none of the thousands of unjudged documents. So every run is first reduced to these:
`document_ranks` ranks the judged documents by score, with a rule for equal scores. `Ranked` has all
queries as columns. `RankedQuery` has one query as plain numbers, which are faster than short
columns. Formulas work for both, because they only use the operations of `Rankings`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count
from typing import Generic, Literal, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from claimeval.types.errors import DataError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Grades = NDArray[np.int64] | NDArray[np.float64]
"""Integers if all grades are, which sort faster."""
Value = TypeVar("Value", float, Floats)
"""The value of one query, or the values of many."""
Gain = Callable[[Value], Value]
LARGEST_GRADE = 1 << 31
"""Maximum absolute grade, so that no product with grades exceeds 64 bits."""


def as_grades(values: Floats) -> Grades:
    """Return grades as integers if all of them are."""
    # TREC's grades are whole; the graded pools of some test sets are 0.5 and 1.
    return values.astype(np.int64) if (values == np.rint(values)).all() else values


def ratio(above: Value, below: Value) -> Value:
    """Return ``above / below``; 0 if ``below`` is 0."""
    if isinstance(below, float):
        return above / below if below else 0.0
    return np.divide(above, below, out=np.zeros(len(below)), where=below != 0)


def least(value: Value, limit: float) -> Value:
    """Return the minimum of both."""
    if isinstance(value, float):
        return value if value < limit else limit
    return np.minimum(value, limit)


_DISCOUNTS: list[float] = np.log2(np.arange(1, 1025)).tolist()


def discount(rank: Value) -> Value:
    """Return ``log2(rank + 1)``."""
    if isinstance(rank, int) and rank < 1024:
        return _DISCOUNTS[rank]
    return cast(Value, np.log2(rank + 1.0))


class Rankings(ABC, Generic[Value]):
    """The operations of formulas on the ranking of one query or of many. Each returns one value per
    query."""

    @abstractmethod
    def length(self) -> Value:
        """Return the number of retrieved documents, n."""

    @abstractmethod
    def total_relevant(self, level: float) -> Value:
        """Return the number of documents graded ``level`` or better, retrieved or not, R."""

    @abstractmethod
    def over_hits(
        self,
        settings: MeasureSettings,
        term: Callable[[Value, Value], Value] | None = None,
        *,
        up_to: Value | None = None,
    ) -> Value:
        """Add up a term over the retrieved relevant documents; without a term, count them.

        Args:
            settings: The relevance level and the cutoff.
            term: Function of the rank of a relevant document and its number among the relevant
                ones, from 1.
            up_to: A cutoff for each query, instead of the settings'.
        """

    @abstractmethod
    def judged_within(self, cutoff: float | None, level: float | None = None) -> Value:
        """Return the number of documents up to a rank that are judged, or judged and graded below
        ``level``."""

    @abstractmethod
    def gained(self, settings: MeasureSettings, gain: Gain[Value], *, discounted: bool) -> Value:
        """Add up the gain of the documents up to the cutoff, divided by ``log2(rank + 1)`` if
        discounted."""

    @abstractmethod
    def ideal_gain(self, settings: MeasureSettings, gain: Gain[Value]) -> Value:
        """Return the discounted gain of the best possible order of all judged documents."""

    @abstractmethod
    def by_columns(self, formula: Callable[[Ranked], Floats]) -> Value:
        """Return the result of a formula for columns."""

    @abstractmethod
    def by_query(self, formula: Callable[[RankedQuery], float]) -> Value:
        """Return the result of a formula for the ranking of one query."""


class Relevant(NamedTuple):
    """The relevant documents that were retrieved, by query, then by rank."""

    query: Ints
    rank: Ints
    nth: Ints
    """1 for the first relevant document of its query, 2 for the second."""


class Ideal(NamedTuple):
    """The documents with a grade above 0, by query, then by grade, best first."""

    query: Ints
    rank: Ints
    grade: Grades


@dataclass(frozen=True)
class Ranked(Rankings[Floats]):
    """The judged documents of all queries with their ranks. Queries are numbered from 0, ranks from
    1.

    Documents with a negative grade, which were pooled but not judged, are left out, as in
    trec_eval.
    """

    queries: tuple[str, ...]
    retrieved: Ints
    """Number of retrieved documents per query."""
    judged: Ints | None
    """Number of retrieved documents that are judged; None if no measure needs it."""
    query: Ints
    """Query of each judged document that was retrieved. The columns `query`, `rank` and `grade` are
    sorted by query, then rank. Documents graded 0 are left out if no measure needs them."""
    rank: Ints
    grade: Grades
    pool_query: Ints
    """Query of each judged document, retrieved or not."""
    pool_grade: Grades
    _relevant: dict[float, Relevant] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _total: dict[float, Floats] = field(default_factory=dict, init=False, repr=False, compare=False)

    def length(self) -> Floats:
        """Return the number of retrieved documents, n."""
        return self.retrieved.astype(np.float64)

    def sums(self, query: Ints, weights: Floats | None = None) -> Floats:
        """Return the number of rows per query, or the sum of their weights, added in the given
        order."""
        return np.bincount(query, weights, len(self.queries)).astype(np.float64, copy=False)

    def relevant(self, level: float) -> Relevant:
        """Return the retrieved documents graded ``level`` or better."""
        if level not in self._relevant:
            mask = self.grade >= level
            query = self.query[mask]
            self._relevant[level] = Relevant(query, self.rank[mask], within(query) + 1)
        return self._relevant[level]

    def total_relevant(self, level: float) -> Floats:
        """Return the number of documents graded ``level`` or better, retrieved or not, R."""
        if level not in self._total:
            self._total[level] = self.sums(self.pool_query[self.pool_grade >= level])
        return self._total[level]

    def over_hits(
        self,
        settings: MeasureSettings,
        term: Callable[[Floats, Floats], Floats] | None = None,
        *,
        up_to: Floats | None = None,
    ) -> Floats:
        """Add up a term over the retrieved relevant documents; without a term, count them."""
        query, rank, nth = self.relevant(settings.level)
        limit = settings.cutoff if up_to is None else up_to[query]
        if limit is not None:
            mask = rank <= limit
            query = query[mask]
            rank = rank[mask]
            nth = nth[mask]
        return self.sums(
            query, None if term is None else term(cast(Floats, rank), cast(Floats, nth))
        )

    def judged_within(self, cutoff: float | None, level: float | None = None) -> Floats:
        """Return the number of documents up to a rank that are judged, or judged and graded below
        ``level``."""
        counted = np.ones(len(self.rank), np.bool_) if cutoff is None else self.rank <= cutoff
        return self.sums(self.query[counted if level is None else counted & (self.grade < level)])

    def gained(self, settings: MeasureSettings, gain: Gain[Floats], *, discounted: bool) -> Floats:
        """Add up the gain of the documents up to the cutoff, divided by ``log2(rank + 1)`` if
        discounted."""
        gains = gain(cast(Floats, self.grade))
        return self.cumulated(self.query, self.rank, gains, settings.cutoff, discounted=discounted)

    def ideal_gain(self, settings: MeasureSettings, gain: Gain[Floats]) -> Floats:
        """Return the discounted gain of the best possible order of all judged documents."""
        query, rank, grade = self.ideal
        return self.cumulated(
            query,
            rank,
            gain(cast(Floats, grade)),
            settings.cutoff,
            discounted=True,
        )

    def cumulated(
        self,
        query: Ints,
        rank: Ints,
        gains: Floats,
        cutoff: float | None,
        *,
        discounted: bool,
    ) -> Floats:
        """Add up the gains of rows up to a rank, per query.

        Args:
            query: The query of each row, as a number.
            rank: The rank of each row, from 1.
            gains: The gain of each row.
            cutoff: The last rank that counts; None for all.
            discounted: Whether gains are divided by the discount of their rank.
        """
        # Rows without a gain are most rows, and adding 0 changes no sum.
        counted = gains != 0
        if cutoff is not None:
            counted &= rank <= cutoff
        gained = (
            gains[counted] / discount(cast(Floats, rank[counted])) if discounted else gains[counted]
        )
        return self.sums(query[counted], gained)

    def by_columns(self, formula: Callable[[Ranked], Floats]) -> Floats:
        """Return the result of a formula for columns."""
        return formula(self)

    def by_query(self, formula: Callable[[RankedQuery], float]) -> Floats:
        """Return the result of a formula for the ranking of one query."""
        return np.array([formula(query) for query in self._each])

    @cached_property
    def _each(self) -> list[RankedQuery]:
        rows = np.searchsorted(self.query, np.arange(len(self.queries) + 1)).tolist()
        order = np.argsort(self.pool_query, kind="stable")
        pooled = np.searchsorted(self.pool_query[order], np.arange(len(self.queries) + 1)).tolist()
        judged = list(zip(self.rank.tolist(), self.grade.tolist(), strict=True))
        grades = self.pool_grade[order].tolist()
        return [
            RankedQuery(
                Pool(grades[pooled[i] : pooled[i + 1]]),
                count,
                judged[rows[i] : rows[i + 1]],
            )
            for i, count in enumerate(self.retrieved.tolist())
        ]

    @cached_property
    def ideal(self) -> Ideal:
        """The documents with a grade above 0 in the best possible order."""
        positive = self.pool_grade > 0
        pool_query = self.pool_query[positive]
        pool_grade = self.pool_grade[positive]
        # Grades that are no integers cannot be part of one integer key.
        if pool_grade.dtype == np.float64:
            order = np.lexsort((-pool_grade, pool_query))
            return Ideal(pool_query[order], within(pool_query[order]) + 1, pool_grade[order])
        span = int(self.pool_grade.max(initial=0)) + 1
        key = _sorted(((pool_query + 1) * span - pool_grade).astype(np.int64, copy=False))
        query = key // span
        return Ideal(query, within(query) + 1, (query + 1) * span - key)

    def only(self, mask: Bools) -> Ranked:
        """Return the run with only the queries of ``mask``."""
        number = np.cumsum(mask) - 1
        rows = mask[self.query]
        pool = mask[self.pool_query]
        return Ranked(
            queries=tuple(
                query for query, keep in zip(self.queries, mask.tolist(), strict=True) if keep
            ),
            retrieved=self.retrieved[mask],
            judged=None if self.judged is None else self.judged[mask],
            query=number[self.query[rows]],
            rank=self.rank[rows],
            grade=self.grade[rows],
            pool_query=number[self.pool_query[pool]],
            pool_grade=self.pool_grade[pool],
        )

    def first(self, count: int) -> Ranked:
        """Return the run with at most ``count`` documents per query."""
        mask = self.rank <= count
        return replace(
            self,
            retrieved=np.minimum(self.retrieved, count),
            judged=np.bincount(self.query[mask], minlength=len(self.queries)),
            query=self.query[mask],
            rank=self.rank[mask],
            grade=self.grade[mask],
        )

    def judged_only(self) -> Ranked:
        """Return the run without its unjudged documents, so that the others move up."""
        retrieved = np.bincount(self.query, minlength=len(self.queries))
        return replace(self, retrieved=retrieved, rank=within(self.query) + 1)


class Pool:
    """The judgments of one query, retrieved or not."""

    __slots__ = ("_ideals", "_totals", "grades", "subtopics")

    def __init__(
        self,
        grades: Iterable[float],
        subtopics: Sequence[frozenset[str]] | None = None,
    ) -> None:
        self.grades = [grade for grade in grades if grade >= 0]
        """The grades of the judged documents. A negative grade means pooled but not judged."""
        self.subtopics = subtopics
        """The subtopics that each document is relevant to; None if the judgments have no
        subtopics."""
        self._totals: dict[float, float] = {}
        self._ideals: dict[tuple[Gain[float], float | None], float] = {}

    def total_relevant(self, level: float) -> float:
        """Return the number of documents graded ``level`` or better."""
        if level not in self._totals:
            self._totals[level] = float(sum(grade >= level for grade in self.grades))
        return self._totals[level]

    def ideal_gain(self, cutoff: float | None, gain: Gain[float]) -> float:
        """Return the discounted gain of the best possible order."""
        key = (gain, cutoff)
        if key not in self._ideals:
            best_first = enumerate(sorted(self.grades, reverse=True), 1)
            self._ideals[key] = _gained(best_first, cutoff, gain, discounted=True)
        return self._ideals[key]


class RankedQuery(Rankings[float]):
    """The judged documents of one query with their ranks."""

    __slots__ = ("_hits", "covered", "judged", "pool", "pooled", "retrieved")

    def __init__(
        self,
        pool: Pool,
        retrieved: int,
        judged: list[tuple[int, float]],
        pooled: Sequence[int] = (),
        covered: Sequence[tuple[int, frozenset[str]]] = (),
    ) -> None:
        self.pool = pool
        self.retrieved = retrieved
        self.judged = judged
        """Rank and grade of each judged document that was retrieved, by rank."""
        self.pooled = pooled
        """Ranks of the documents that were pooled but not judged."""
        self.covered = covered
        """Rank and subtopics of each document that is relevant to a subtopic."""
        self._hits: dict[float, list[tuple[int, int]]] = {}

    def length(self) -> float:
        """Return the number of retrieved documents, n."""
        return float(self.retrieved)

    def total_relevant(self, level: float) -> float:
        """Return the number of documents graded ``level`` or better, retrieved or not, R."""
        return self.pool.total_relevant(level)

    def _hits_from(self, level: float) -> list[tuple[int, int]]:
        """Return rank and number of each retrieved document graded ``level`` or better."""
        if level not in self._hits:
            ranks = [rank for rank, grade in self.judged if grade >= level]
            self._hits[level] = list(zip(ranks, count(1)))
        return self._hits[level]

    def over_hits(
        self,
        settings: MeasureSettings,
        term: Callable[[float, float], float] | None = None,
        *,
        up_to: float | None = None,
    ) -> float:
        """Add up a term over the retrieved relevant documents; without a term, count them."""
        hits = self._hits_from(settings.level)
        if up_to is None:
            up_to = settings.cutoff
        if up_to is not None and hits and hits[-1][0] > up_to:
            hits = [hit for hit in hits if hit[0] <= up_to]
        if term is None:
            return float(len(hits))
        total = 0.0
        for rank, nth in hits:
            total += term(rank, nth)
        return total

    def judged_within(self, cutoff: float | None, level: float | None = None) -> float:
        """Return the number of documents up to a rank that are judged, or judged and graded below
        ``level``."""
        return float(
            sum(
                (cutoff is None or rank <= cutoff) and (level is None or grade < level)
                for rank, grade in self.judged
            )
        )

    def gained(self, settings: MeasureSettings, gain: Gain[float], *, discounted: bool) -> float:
        """Add up the gain of the documents up to the cutoff, divided by ``log2(rank + 1)`` if
        discounted."""
        return _gained(self.judged, settings.cutoff, gain, discounted=discounted)

    def ideal_gain(self, settings: MeasureSettings, gain: Gain[float]) -> float:
        """Return the discounted gain of the best possible order of all judged documents."""
        return self.pool.ideal_gain(settings.cutoff, gain)

    def by_columns(self, formula: Callable[[Ranked], Floats]) -> float:
        """Return the result of a formula for columns."""
        grades = np.array(self.pool.grades, np.float64)
        ranked = Ranked(
            queries=("",),
            retrieved=np.array([self.retrieved]),
            judged=np.array([len(self.judged)]),
            query=np.zeros(len(self.judged), np.int64),
            rank=np.array([rank for rank, _ in self.judged], np.int64),
            grade=as_grades(np.array([grade for _, grade in self.judged], np.float64)),
            pool_query=np.zeros(len(grades), np.int64),
            pool_grade=as_grades(grades),
        )
        return float(formula(ranked)[0])

    def by_query(self, formula: Callable[[RankedQuery], float]) -> float:
        """Return the result of a formula for the ranking of one query."""
        return formula(self)

    def first(self, count: int) -> RankedQuery:
        """Return the ranking with at most ``count`` documents."""
        return RankedQuery(
            self.pool,
            min(self.retrieved, count),
            [(rank, grade) for rank, grade in self.judged if rank <= count],
            [rank for rank in self.pooled if rank <= count],
            [(rank, topics) for rank, topics in self.covered if rank <= count],
        )

    def judged_only(self) -> RankedQuery:
        """Return the ranking without its unjudged documents, so that the others move up."""
        moved = {old: new for new, (old, _) in enumerate(self.judged, 1)}
        covered = [(moved[rank], topics) for rank, topics in self.covered]
        return RankedQuery(
            self.pool,
            len(moved),
            [(moved[rank], grade) for rank, grade in self.judged],
            (),
            covered,
        )


def _gained(
    graded: Iterable[tuple[int, float]],
    cutoff: float | None,
    gain: Gain[float],
    *,
    discounted: bool,
) -> float:
    total = 0.0
    for rank, grade in graded:
        if cutoff is not None and rank > cutoff:
            break
        if grade > 0:
            gained = gain(grade)
            total += (
                gained / (_DISCOUNTS[rank] if rank < 1024 else discount(rank))
                if discounted
                else gained
            )
    return total


def join(parts: Sequence[Ranked]) -> Ranked:
    """Concatenate the queries of several parts."""
    offsets = np.cumsum([0, *(len(part.queries) for part in parts)]).tolist()
    numbered = list(zip(parts, offsets, strict=False))
    judged = [part.judged for part in parts if part.judged is not None]
    return Ranked(
        queries=tuple(chain.from_iterable(part.queries for part in parts)),
        retrieved=np.concatenate([part.retrieved for part in parts]),
        judged=np.concatenate(judged) if judged else None,
        query=np.concatenate([part.query + offset for part, offset in numbered]),
        rank=np.concatenate([part.rank for part in parts]),
        grade=np.concatenate([part.grade for part in parts]),
        pool_query=np.concatenate([part.pool_query + offset for part, offset in numbered]),
        pool_grade=np.concatenate([part.pool_grade for part in parts]),
    )


def _sorted(keys: Ints) -> Ints:
    """Sort non-negative keys, by counting if they are dense."""
    largest = int(keys.max(initial=0))
    if largest > 4 * keys.size:
        return np.sort(keys)
    return np.repeat(np.arange(largest + 1), np.bincount(keys, minlength=largest + 1))


def within(group: Ints) -> Ints:
    """Return the position of each row in its group, from 0. The rows of a group are adjacent."""
    starts = (
        np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
        if group.size
        else np.zeros(0, np.int64)
    )
    lengths = np.diff(np.r_[starts, group.size])
    return np.arange(group.size) - np.repeat(starts, lengths)


@dataclass(frozen=True)
class MeasureSettings:
    """Relevance level, cutoff and options of one measure."""

    level: float = 1
    """The lowest grade that counts as relevant."""
    cutoff: float | None = None
    """Number of documents that count, from the first; for ``iprec`` the recall, 0 to 1."""
    options: Mapping[str, float] = field(default_factory=dict)
    """``p`` of rank-biased precision, ``beta`` of set_F, gains by grade of nDCG."""
    binary: bool = False
    """Whether a relevance level was requested, so that a graded measure counts relevant documents
    as 1."""
    collection: int = 0
    """Number of documents in the collection, for ``utility``."""


Ties = Literal["trec", "stable", "error"]
"""Order of equal scores. ``trec``: by document id, descending, as in trec_eval. ``stable``: in the
given order. ``error``: equal scores are an error."""
Name = TypeVar("Name", str, bytes)


class Scores(NamedTuple):
    """The concatenated scores of several queries, in descending order within each query."""

    negated: Floats
    """The scores times -1, in ascending order within each query."""
    starts: Ints
    """The start of each query, and the end of the last one."""
    resorted: frozenset[int]
    """Queries whose scores were not in descending order, so that positions here differ from those
    in the input."""


def arrange(scores: Floats, starts: Ints) -> Scores:
    """Sort the scores of each query. ``starts`` has the start of each query, and the end of the
    last one."""
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
            f"query {query!r} has several documents with score {-scores.negated[equal[0]]}, which"
            " ties='error' refuses; ties='trec' orders them by document id, ties='stable' keeps"
            " the order given"
        )


Tied = tuple[int, int, int, float]
"""Documents of one query with the same score: the query, the number of documents with a higher
score, the number with a higher or equal score, and the score."""


def document_ranks(
    scores: Scores,
    query: Ints,
    score: Floats,
    names: Callable[[Ints], list[Name]],
    members: Callable[[list[Tied]], list[list[Name]]],
    ties: Ties,
) -> Ints:
    """Return the rank, from 1, of each document by its query and score. Ids are only read for equal
    scores.

    Args:
        scores: The sorted scores of all documents.
        query: The query of each document to rank.
        score: The score of each document to rank.
        names: Returns the ids of the documents in the given rows of ``query``.
        members: Returns the ids of all documents of each group of equal scores, in the order of the
            run.
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
        ranks[tied] = _break_ties(groups, names(tied), members, ties)
    return ranks


def _break_ties(
    groups: list[Tied],
    names: list[Name],
    members: Callable[[list[Tied]], list[list[Name]]],
    ties: Ties,
) -> list[int]:
    """Return the rank of each named document within its group of equal scores."""
    distinct = list(dict.fromkeys(groups))
    ids_of = dict(zip(distinct, members(distinct), strict=True))
    if ties == "trec":
        for ids in ids_of.values():
            ids.sort()
        return [
            group[2] - bisect_left(ids_of[group], name)
            for group, name in zip(groups, names, strict=True)
        ]
    order = {
        group: {name: rank for rank, name in enumerate(ids, group[1] + 1)}
        for group, ids in ids_of.items()
    }
    return [order[group][name] for group, name in zip(groups, names, strict=True)]


def _above(scores: Scores, query: Ints, score: Floats, *, or_equal: bool = False) -> Ints:
    """Count the documents with a score higher than (or equal to) each score, by one binary search
    in all queries."""
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
