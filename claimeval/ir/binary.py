"""Measures over relevant and non-relevant documents: precision, recall and what is built from them.

Notation: R relevant documents are known for a query, n documents were retrieved, rel(i) is 1 where the document at
rank i is relevant (its grade is at least the relevance level) and 0 elsewhere; unjudged documents are not relevant.
Each function returns one value per query. Unless it says otherwise, the value is 0 where the denominator is 0, as in
trec_eval.
"""

from __future__ import annotations

import numpy as np

from claimeval.ir.ranked import Floats, Ranked, Relevant
from claimeval.ir.setting import MeasureSettings


def precision(ranked: Ranked, at: MeasureSettings) -> Floats:
    """``sum(rel(i) for i <= k) / k``; k stays the denominator where fewer documents were retrieved.

    Source: trec_eval ``P``.
    """
    assert at.cutoff is not None
    return found(ranked, at) / at.cutoff


def recall(ranked: Ranked, at: MeasureSettings) -> Floats:
    """``sum(rel(i) for i <= k) / R``. Source: trec_eval ``recall``."""
    return ratio(found(ranked, at), ranked.total_relevant(at.level))


def capped_recall(ranked: Ranked, at: MeasureSettings) -> Floats:
    """``sum(rel(i) for i <= k) / min(k, R)``, which can reach 1 where R > k.

    Source: BEIR ``recall_cap`` (Thakur et al. 2021, section 3), which fails where R is 0.
    """
    assert at.cutoff is not None
    return ratio(found(ranked, at), np.minimum(ranked.total_relevant(at.level), at.cutoff))


def hit(ranked: Ranked, at: MeasureSettings) -> Floats:
    """1 where one of the first k documents is relevant, else 0. Source: trec_eval ``success``."""
    return np.minimum(found(ranked, at), 1.0)


def f1(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Harmonic mean of P@k and recall@k, ``2 * hits / (k + R)``."""
    assert at.cutoff is not None
    return ratio(2 * found(ranked, at), at.cutoff + ranked.total_relevant(at.level))


def set_precision(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Relevant among all retrieved documents, ``hits / n``. Source: trec_eval ``set_P``."""
    return ratio(found(ranked, at), ranked.retrieved.astype(np.float64))


def set_recall(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Retrieved among all relevant documents, ``hits / R``. Source: trec_eval ``set_recall``."""
    return ratio(found(ranked, at), ranked.total_relevant(at.level))


def set_f(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Weighted harmonic mean of set_P and set_recall, ``(x + 1) * P * R / (R + x * P)``; x is 1 unless given.

    Source: trec_eval ``set_F``. x weighs recall; van Rijsbergen's beta is its square root.
    """
    p, r = set_precision(ranked, at), set_recall(ranked, at)
    x = at.options["x"]
    return ratio((x + 1) * p * r, x * p + r)


def reciprocal_rank(ranked: Ranked, at: MeasureSettings) -> Floats:
    """1 / rank of the first relevant document; with a cutoff, 0 where it comes later. Source: trec_eval
    ``recip_rank``; MRR is the mean.
    """
    hits = _hits(ranked, at)
    first = hits.nth == 1
    return ranked.sums(hits.query[first], 1 / hits.rank[first])


def average_precision(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Sum of P@rank over the ranks of the retrieved relevant documents, divided by R.

    Relevant documents that were not retrieved count as 0. Source: trec_eval ``map``, ``map_cut``; MAP is the mean.
    """
    hits = _hits(ranked, at)
    return ratio(ranked.sums(hits.query, hits.nth / hits.rank), ranked.total_relevant(at.level))


def ap_retrieved(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Mean of P@rank over the ranks of the retrieved relevant documents: missed documents are ignored.

    Some RAG tools call it MAP or context precision; it can fall when a further relevant document is found low in the
    list. Source: unitxt ``map``, ragas ``ContextPrecision``; trec_eval has no such measure.
    """
    hits = _hits(ranked, at)
    return ratio(ranked.sums(hits.query, hits.nth / hits.rank), ranked.sums(hits.query))


def r_precision(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Precision at rank R. Source: trec_eval ``Rprec``."""
    hits = ranked.relevant(at.level)
    total = ranked.total_relevant(at.level)
    return ratio(ranked.sums(hits.query[hits.rank <= total[hits.query]]), total)


def bpref(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Fraction of judged non-relevant documents that relevant documents precede; unjudged documents are ignored.

    ``1/R * sum(1 - min(judged non-relevant above, R) / min(N, R))`` over the retrieved relevant documents, N being
    the judged non-relevant documents. Source: Buckley and Voorhees 2004 in the form of trec_eval ``bpref``.
    """
    relevant = ranked.grade >= at.level
    query = ranked.query[relevant]
    so_far = np.cumsum(~relevant)
    before_query = np.r_[0, so_far][np.searchsorted(ranked.query, np.arange(len(ranked.queries)))]
    nonrelevant_above = so_far[relevant] - before_query[query]
    total = ranked.total_relevant(at.level)
    nonrelevant = ranked.sums(ranked.pool_query) - total
    worst = np.minimum(nonrelevant, total)[query]
    share = 1 - ratio(np.minimum(nonrelevant_above, total[query]), worst)
    return ratio(ranked.sums(query, share), total)


def interpolated_precision(ranked: Ranked, at: MeasureSettings) -> Floats:
    """The best precision at or below the rank where the given recall is reached; 0 where it is not reached.

    Recall r is reached with ``round(r * R)`` relevant documents, halves rounded up. Source: trec_eval 10.0
    ``iprec_at_recall``; 9.x truncates ``r * R + 0.9`` instead.
    """
    assert at.cutoff is not None
    needed = np.floor(at.cutoff * ranked.total_relevant(at.level) + 0.5)
    hits = ranked.relevant(at.level)
    counted = hits.nth >= needed[hits.query]
    query, precisions = hits.query[counted], (hits.nth / hits.rank)[counted]
    best = np.zeros(len(ranked.queries))
    if query.size:
        starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
        best[query[starts]] = np.maximum.reduceat(precisions, starts)
    return best


def found(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Relevant documents among the first k, or among all retrieved ones."""
    return ranked.sums(_hits(ranked, at).query)


def ratio(above: Floats, below: Floats) -> Floats:
    """``above / below``, 0 where ``below`` is 0."""
    return np.divide(above, below, out=np.zeros(len(above)), where=below != 0)


def _hits(ranked: Ranked, at: MeasureSettings) -> Relevant:
    hits = ranked.relevant(at.level)
    if at.cutoff is None:
        return hits
    kept = hits.rank <= at.cutoff
    return Relevant(*(column[kept] for column in hits))
