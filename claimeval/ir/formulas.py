"""Formulas of the measures. Each function returns one value per query.

Notation: A query has R relevant documents in the qrels and n retrieved documents. rel(i) is 1 if
the document at rank i is relevant (its grade is at least the relevance level), else 0; unjudged
documents are not relevant. g(i) is the gain of the document at rank i, by default its grade.
Unjudged documents and grades below 1 have no gain and, as in trec_eval, gains ignore the relevance
level. If the denominator is 0, so is the value, as in trec_eval.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, cast

import numpy as np

from claimeval.ir.ranked import (
    Floats,
    Gain,
    MeasureSettings,
    Ranked,
    RankedQuery,
    Rankings,
    Value,
    discount,
    least,
    ratio,
    within,
)
from claimeval.types.errors import DataError


class Formula(Protocol):
    """The values of one query or of many."""

    def __call__(self, ranked: Rankings[Value], settings: MeasureSettings, /) -> Value:
        """Return one value per query."""
        ...


def of_columns(formula: Callable[[Ranked, MeasureSettings], Floats]) -> Formula:
    """Return a formula for any rankings from one for columns."""
    return lambda ranked, settings: ranked.by_columns(lambda columns: formula(columns, settings))


def of_query(formula: Callable[[RankedQuery, MeasureSettings], float]) -> Formula:
    """Return a formula for any rankings from one for the ranking of a single query."""
    return lambda ranked, settings: ranked.by_query(lambda query: formula(query, settings))


def precision(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return ``sum(rel(i) for i <= k) / k``, even if fewer than k documents were retrieved.

    Source: trec_eval ``P``.
    """
    assert settings.cutoff is not None
    return relevant_at(ranked, settings) / settings.cutoff


def recall(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return ``sum(rel(i) for i <= k) / R``. Source: trec_eval ``recall``; without a cutoff
    ``set_recall``."""
    return ratio(relevant_at(ranked, settings), ranked.total_relevant(settings.level))


def capped_recall(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return ``sum(rel(i) for i <= k) / min(k, R)``, which can reach 1 even if R > k.

    Source: BEIR ``recall_cap`` (Thakur et al. 2021, section 3), which fails if R is 0.
    """
    assert settings.cutoff is not None
    return ratio(
        relevant_at(ranked, settings), least(ranked.total_relevant(settings.level), settings.cutoff)
    )


def hit(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return 1 if one of the first k documents is relevant, else 0. Source: trec_eval
    ``success``."""
    return least(relevant_at(ranked, settings), 1.0)


def f1(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return the harmonic mean of P@k and recall@k, ``2 * hits / (k + R)``."""
    assert settings.cutoff is not None
    return ratio(
        2 * relevant_at(ranked, settings), settings.cutoff + ranked.total_relevant(settings.level)
    )


def set_precision(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return the relevant share of all retrieved documents, ``hits / n``. Source: trec_eval
    ``set_P``."""
    return ratio(relevant_at(ranked, settings), ranked.length())


def set_f(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return the weighted harmonic mean of set_P and set_recall, ``(x + 1) * P * R / (R + x * P)``;
    x defaults to 1.

    Source: trec_eval ``set_F``. x weighs recall; van Rijsbergen's beta is its square root.
    """
    p = set_precision(ranked, settings)
    r = recall(ranked, settings)
    x = settings.options["x"]
    return ratio((x + 1) * p * r, x * p + r)


def reciprocal_rank(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return 1 / rank of the first relevant document; 0 if its rank is above the cutoff.

    Source: trec_eval ``recip_rank``; MRR is the mean.
    """
    return ranked.over_hits(settings, lambda rank, nth: (nth == 1) / rank)


def average_precision(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return the sum of P@rank over the ranks of the retrieved relevant documents, divided by R.

    Relevant documents that were not retrieved count as 0. Source: trec_eval ``map``, ``map_cut``;
    MAP is the mean.
    """
    return ratio(ranked.over_hits(settings, _precision_at), ranked.total_relevant(settings.level))


def ap_retrieved(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return the mean of P@rank over the ranks of the retrieved relevant documents; missed
    documents are ignored.

    Some RAG tools call it MAP or context precision. It can fall when another relevant document is
    retrieved at a low rank. Source: unitxt ``map``, ragas ``ContextPrecision``; trec_eval has no
    such measure.
    """
    return ratio(ranked.over_hits(settings, _precision_at), ranked.over_hits(settings))


def _precision_at(rank: Value, nth: Value) -> Value:
    return nth / rank


def r_precision(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return the precision at rank R. Source: trec_eval ``Rprec``."""
    total = ranked.total_relevant(settings.level)
    return ratio(ranked.over_hits(settings, up_to=total), total)


@of_columns
def bpref(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return the share of judged non-relevant documents that relevant documents precede; unjudged
    ones are ignored.

    ``1/R * sum(1 - min(judged non-relevant above, R) / min(N, R))`` over the retrieved relevant
    documents, N being the judged non-relevant documents. Source: Buckley and Voorhees 2004 in the
    form of trec_eval ``bpref``.
    """
    relevant = ranked.grade >= settings.level
    query = ranked.query[relevant]
    so_far = np.cumsum(~relevant)
    before_query = np.r_[0, so_far][np.searchsorted(ranked.query, np.arange(len(ranked.queries)))]
    nonrelevant_above = so_far[relevant] - before_query[query]
    total = ranked.total_relevant(settings.level)
    nonrelevant = ranked.sums(ranked.pool_query) - total
    worst = np.minimum(nonrelevant, total)[query]
    share = 1 - ratio(np.minimum(nonrelevant_above, total[query]), worst)
    return ratio(ranked.sums(query, share), total)


@of_columns
def interpolated_precision(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return the best precision at or below the rank that reaches the given recall; 0 if no rank
    reaches it.

    Recall r is reached with ``round(r * R)`` relevant documents, halves rounded up. Source:
    trec_eval 10.0 ``iprec_at_recall``; 9.x truncates ``r * R + 0.9`` instead.
    """
    assert settings.cutoff is not None
    hits_needed = np.floor(settings.cutoff * ranked.total_relevant(settings.level) + 0.5)
    hits = ranked.relevant(settings.level)
    counted = hits.nth >= hits_needed[hits.query]
    query = hits.query[counted]
    precisions = (hits.nth / hits.rank)[counted]
    best = np.zeros(len(ranked.queries))
    if query.size:
        starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
        best[query[starts]] = np.maximum.reduceat(precisions, starts)
    return best


def relevant_at(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Count the relevant documents among the first k; without k among all retrieved,
    ``num_rel_ret``."""
    return ranked.over_hits(settings)


@of_query
def inferred_ap(query: RankedQuery, settings: MeasureSettings) -> float:
    """Return average precision for pools of which only a random part was judged.

    A negative grade means pooled but not judged. Such documents are assumed to be relevant as often
    as the judged ones above them; documents outside the pool are not relevant. Source: Yilmaz and
    Aslam 2006, trec_eval ``infAP``.
    """
    unjudged = iter([*query.pooled, math.inf])
    next_unjudged = next(unjudged)
    relevant = nonrelevant = pooled = 0
    total = 0.0
    for rank, grade in query.judged:
        while next_unjudged < rank:
            pooled += 1
            next_unjudged = next(unjudged)
        if grade < settings.level:
            nonrelevant += 1
            continue
        judged = relevant + nonrelevant
        inferred = (relevant + _SMOOTHED) / (judged + 2 * _SMOOTHED)
        total += 1 / rank + (judged + pooled) / rank * inferred
        relevant += 1
    return ratio(total, query.total_relevant(settings.level))


_SMOOTHED = 1e-5
"""Added to the counts of ``infAP``, as in trec_eval."""


def utility(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return ``a * hits + b * (n - hits) + c * (R - hits) + d * (rest of the collection, not
    relevant)``.

    The collection has N documents (0 if not given). a, b, c and d default to 1, -1, 0 and 0.
    Source: trec_eval ``utility``.
    """
    hits = relevant_at(ranked, settings)
    n = ranked.length()
    total = ranked.total_relevant(settings.level)
    a, b, c, d = (settings.options[name] for name in "abcd")
    return (
        a * hits
        + b * (n - hits)
        + c * (total - hits)
        + d * (settings.collection + hits - n - total)
    )


def queries(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return 1 for each query. Source: trec_eval ``num_q``."""
    return ranked.length() * 0 + 1


def retrieved(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Count the documents retrieved, n. Source: trec_eval ``num_ret``."""
    return ranked.length()


def relevant(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Count the relevant documents in the qrels, R. Source: trec_eval ``num_rel``."""
    return ranked.total_relevant(settings.level)


def nonrelevant_judged_retrieved(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Count the retrieved documents judged as not relevant. Source: trec_eval
    ``num_nonrel_judged_ret``."""
    return ranked.judged_within(None, settings.level)


def judged(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return the judged share of the first k documents, or of the n retrieved if n < k; 0 if n is
    0.

    Source: ir_measures ``Judged``.
    """
    return ratio(ranked.judged_within(settings.cutoff), _retrieved_within(ranked, settings))


def unjudged(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    """Return the unjudged documents among the first k, divided by k. Source: trec_eval 10.0
    ``unj``."""
    assert settings.cutoff is not None
    return (
        _retrieved_within(ranked, settings) - ranked.judged_within(settings.cutoff)
    ) / settings.cutoff


def _retrieved_within(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
    return ranked.length() if settings.cutoff is None else least(ranked.length(), settings.cutoff)


_LARGEST_EXPONENT = 1000


def linear(grade: Value) -> Value:
    """Return the grade itself as the gain: Järvelin and Kekäläinen 2002, trec_eval."""
    return grade * (grade > 0)


def exponential(grade: Value) -> Value:
    """Return ``2 ** grade - 1`` as the gain: Burges et al. 2005, common in learning to rank; ranx
    ``ndcg_burges``."""
    highest = np.max(grade, initial=0) if isinstance(grade, np.ndarray) else grade
    if highest > _LARGEST_EXPONENT:
        raise DataError(
            f"the grade {highest} is too large for exponential gain; use linear gain or lower"
            " grades"
        )
    powered: Value = 2.0 ** linear(grade)
    return powered - 1


def total_gain(gain: Gain[Any], *, discounted: bool) -> Formula:
    """Return the formula of ``sum(g(i) for i <= k)``; discounted, DCG: ``sum(g(i) / log2(i + 1) for
    i <= k)``.

    Source of the discounted one with linear gain: trec_eval ``dcg``.
    """
    return lambda ranked, settings: ranked.gained(settings, gain, discounted=discounted)


def ndcg(gain: Gain[Any]) -> Formula:
    """Return the formula of DCG@k divided by that of the best possible order of all judged
    documents; 0 if that is 0.

    Options are gains by grade, ``ndcg(1=3,2=9)``, which replace the default gain of that grade.
    Source: trec_eval ``ndcg`` and ``ndcg_cut``.
    """

    def formula(ranked: Rankings[Value], settings: MeasureSettings) -> Value:
        """Return one value per query."""
        if settings.options:
            return ranked.by_columns(lambda columns: _remapped_ndcg(columns, settings, gain))
        return ratio(
            ranked.gained(settings, gain, discounted=True), ranked.ideal_gain(settings, gain)
        )

    return formula


def _remapped_ndcg(ranked: Ranked, settings: MeasureSettings, gain: Gain[Floats]) -> Floats:
    gain = _remapped(gain, settings.options)
    gains = gain(cast(Floats, ranked.pool_grade))
    best_first = np.lexsort((-gains, ranked.pool_query))
    query = ranked.pool_query[best_first]
    gains = np.maximum(gains[best_first], 0)
    ideal = ranked.cumulated(query, within(query) + 1, gains, settings.cutoff, discounted=True)
    return ratio(ranked.gained(settings, gain, discounted=True), ideal)


@of_columns
def rank_biased_precision(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return ``(1 - p) * sum(g(i) * p ** (i - 1))`` with g scaled to 0..1; p defaults to 0.9.

    Gains above 1 are divided by the highest grade judged for the query; with a relevance level,
    ``rbp(rel=2)``, g is 1 for relevant documents. Source: Moffat and Zobel 2008 in the form of
    trec_eval 10.0 ``rbp``.
    """
    if settings.binary:
        gains = (ranked.grade >= settings.level).astype(np.float64)
    else:
        highest = np.ones(len(ranked.queries))
        np.maximum.at(highest, ranked.pool_query, ranked.pool_grade)
        gains = linear(cast(Floats, ranked.grade)) / highest[ranked.query]
    return _persistent(ranked, settings, gains)


@of_columns
def rank_biased_residual(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return how much rbp would rise if all documents without a judgment were perfect; 0 if all
    retrieved are judged.

    Source: trec_eval 10.0 ``rbp_resid``.
    """
    lower = _persistent(ranked, settings, np.ones(len(ranked.rank)))
    return np.where(ranked.sums(ranked.query) < ranked.retrieved, 1 - lower, 0.0)


def _persistent(ranked: Ranked, settings: MeasureSettings, gains: Floats) -> Floats:
    p = settings.options["p"]
    counted = ranked.rank <= (np.inf if settings.cutoff is None else settings.cutoff)
    return (1 - p) * ranked.sums(ranked.query[counted], (gains * p ** (ranked.rank - 1.0))[counted])


def _remapped(gain: Gain[Floats], gains: Mapping[str, float]) -> Gain[Floats]:
    def remapped(grade: Floats) -> Floats:
        """Return the gain of each grade, with those of the options."""
        result = gain(grade).astype(np.float64)
        for level, value in gains.items():
            result[grade == int(level)] = value
        return result

    return remapped


@of_query
def expected_reciprocal_rank(query: RankedQuery, settings: MeasureSettings) -> float:
    """Return ``sum(s(i) / i * product(1 - s(j) for j < i) for i <= k)``: readers stop at rank i
    with probability s(i).

    ``s = (2 ** grade - 1) / 2 ** max``, where the option ``max`` is the highest grade of the scale;
    4 by default, as in TREC's gdeval. Source: Chapelle, Metzler, Zhang and Grinspan 2009.
    """
    return _stopping(query.judged, settings)


@of_query
def normalized_err(query: RankedQuery, settings: MeasureSettings) -> float:
    """Return ERR@k divided by the ERR@k of the best possible order of all judged documents; 0 if
    that is 0."""
    best_first = enumerate(sorted(query.pool.grades, reverse=True), 1)
    return ratio(_stopping(query.judged, settings), _stopping(best_first, settings))


def _stopping(graded: Iterable[tuple[int, float]], settings: MeasureSettings) -> float:
    highest = settings.options["max"]
    total = 0.0
    reached = 1.0
    for rank, grade in graded:
        if settings.cutoff is not None and rank > settings.cutoff:
            break
        if grade > highest:
            raise DataError(
                f"the grade {grade} is above max={highest:g}, the highest of the scale; write"
                f" ERR(max={grade})"
            )
        stops = exponential(grade) / 2.0**highest
        total += reached * stops / rank
        reached *= 1 - stops
    return total


@of_query
def alpha_ndcg(query: RankedQuery, settings: MeasureSettings) -> float:
    """Return nDCG with a gain for each subtopic of a document, which is lower if the subtopic was
    covered before.

    The n-th document of a subtopic gains ``(1 - alpha) ** (n - 1)``; alpha defaults to .5. The best
    order is computed greedily, because finding it is NP-hard. Source: Clarke et al. 2008, TREC's
    ndeval ``alpha-nDCG``.
    """
    if query.pool.subtopics is None:
        raise DataError(
            "alpha_ndcg needs judgments of subtopics: a qrels file with the subtopic in its second"
            " column, or query to document to subtopic to grade"
        )
    ideal = _diverse(_greedy(query.pool.subtopics, settings), settings)
    return ratio(_diverse(query.covered, settings), ideal)


def _diverse(covered: Iterable[tuple[int, frozenset[str]]], settings: MeasureSettings) -> float:
    novelty = 1 - settings.options["alpha"]
    total = 0.0
    covered_before: Counter[str] = Counter()
    for rank, topics in covered:
        if settings.cutoff is not None and rank > settings.cutoff:
            break
        total += sum(novelty ** covered_before[topic] for topic in topics) / discount(rank)
        covered_before.update(topics)
    return total


def _greedy(
    documents: Iterable[frozenset[str]], settings: MeasureSettings
) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield the documents in greedy order, highest gain first."""
    novelty = 1 - settings.options["alpha"]
    remaining: Counter[frozenset[str]] = Counter(documents)
    covered_before: Counter[str] = Counter()
    for rank in range(1, remaining.total() + 1):
        best = max(
            remaining, key=lambda topics: sum(novelty ** covered_before[topic] for topic in topics)
        )
        yield rank, best
        covered_before.update(best)
        remaining -= Counter([best])
