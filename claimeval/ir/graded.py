"""Measures over graded relevance: cumulated gain, nDCG, rank-biased precision.

Notation: g(i) is the gain of the document at rank i, by default its grade; unjudged documents and grades below 1 gain
nothing. As in trec_eval, the relevance level is ignored. Each function returns one value per query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from claimeval.ir.binary import ratio
from claimeval.ir.ranked import Floats, Ints, MeasureSettings, Ranked, within
from claimeval.types.errors import DataError

Gain = Callable[[Ints], Floats]

_LARGEST_EXPONENT = 1000


def linear(grade: Ints) -> Floats:
    """Return the grade itself as gain: Järvelin and Kekäläinen 2002, trec_eval."""
    return np.maximum(grade, 0).astype(np.float64)


def exponential(grade: Ints) -> Floats:
    """Return ``2 ** grade - 1`` as gain: Burges et al. 2005, many papers on learning to rank; ranx ``ndcg_burges``."""
    if grade.max(initial=0) > _LARGEST_EXPONENT:
        raise DataError(f"the grade {grade.max()} is too large for exponential gain; use linear gain or lower grades")
    return np.exp2(linear(grade)) - 1


def cumulated_gain(ranked: Ranked, settings: MeasureSettings, gain: Gain = linear) -> Floats:
    """Return ``sum(g(i) for i <= k)``."""
    return _cumulated(ranked, ranked.query, ranked.rank, gain(ranked.grade), settings, discount=False)


def discounted_gain(ranked: Ranked, settings: MeasureSettings, gain: Gain = linear) -> Floats:
    """Return DCG, ``sum(g(i) / log2(i + 1) for i <= k)``. Source: trec_eval ``dcg``."""
    return _cumulated(ranked, ranked.query, ranked.rank, gain(ranked.grade), settings, discount=True)


def ndcg(ranked: Ranked, settings: MeasureSettings, gain: Gain = linear) -> Floats:
    """Return DCG@k divided by the DCG@k of the best possible order of all judged documents; 0 if that is 0.

    Options are gains by grade, ``ndcg(1=3,2=9)``, which replace the default gain of that grade. Source: trec_eval
    ``ndcg`` and ``ndcg_cut``.
    """
    if settings.options:
        gain = _remapped(gain, settings.options)
        gains = gain(ranked.pool_grade)
        best_first = np.lexsort((-gains, ranked.pool_query))
        query, gains = ranked.pool_query[best_first], np.maximum(gains[best_first], 0)
        rank = within(query) + 1
    else:
        query, rank, grade = ranked.ideal
        gains = gain(grade)
    return ratio(
        discounted_gain(ranked, settings, gain), _cumulated(ranked, query, rank, gains, settings, discount=True)
    )


def rank_biased_precision(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return ``(1 - p) * sum(g(i) * p ** (i - 1))`` with g scaled to 0..1; p defaults to 0.9.

    Gains above 1 are divided by the highest grade judged for the query; with a relevance level, ``rbp(rel=2)``, g is
    1 for relevant documents. Source: Moffat and Zobel 2008 in the form of trec_eval 10.0 ``rbp``.
    """
    if settings.binary:
        gains = (ranked.grade >= settings.level).astype(np.float64)
    else:
        highest = np.ones(len(ranked.queries))
        np.maximum.at(highest, ranked.pool_query, ranked.pool_grade)
        gains = linear(ranked.grade) / highest[ranked.query]
    return _persistent(ranked, settings, gains)


def rank_biased_residual(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return how much rbp could rise if every unjudged or unseen document were perfect; 0 if all retrieved are judged.

    Source: trec_eval 10.0 ``rbp_resid``.
    """
    known = _persistent(ranked, settings, np.ones(len(ranked.rank)))
    return np.where(ranked.sums(ranked.query) < ranked.retrieved, 1 - known, 0.0)


def _persistent(ranked: Ranked, settings: MeasureSettings, gains: Floats) -> Floats:
    p = settings.options["p"]
    seen = ranked.rank <= (np.inf if settings.cutoff is None else settings.cutoff)
    return (1 - p) * ranked.sums(ranked.query[seen], (gains * p ** (ranked.rank - 1.0))[seen])


def _cumulated(
    ranked: Ranked, query: Ints, rank: Ints, gains: Floats, settings: MeasureSettings, *, discount: bool
) -> Floats:
    counted = gains != 0
    if settings.cutoff is not None:
        counted &= rank <= settings.cutoff
    gained = gains[counted] / np.log2(rank[counted] + 1.0) if discount else gains[counted]
    return ranked.sums(query[counted], gained)


def _remapped(gain: Gain, gains: Mapping[str, float]) -> Gain:
    def remapped(grade: Ints) -> Floats:
        """Return the gain of each grade, replaced where an option gives another."""
        result = gain(grade)
        for level, value in gains.items():
            result[grade == int(level)] = value
        return result

    return remapped
