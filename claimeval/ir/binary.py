"""Measures over relevant and non-relevant documents: counts, precision, recall and what is built from them.

Notation: R relevant documents are known for a query, n documents were retrieved, rel(i) is 1 if the document at rank
i is relevant (its grade is at least the relevance level) and 0 otherwise; unjudged documents are not relevant.
Each function returns one value per query; the summary of a count is its sum. Unless a docstring says otherwise, the
value is 0 if the denominator is 0, as in trec_eval.
"""

from __future__ import annotations

import numpy as np

from claimeval.ir.ranked import Floats, MeasureSettings, Ranked, Relevant


def precision(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return ``sum(rel(i) for i <= k) / k``; k stays the denominator if fewer documents were retrieved.

    Source: trec_eval ``P``.
    """
    assert settings.cutoff is not None
    return relevant_at(ranked, settings) / settings.cutoff


def recall(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return ``sum(rel(i) for i <= k) / R``. Source: trec_eval ``recall``; without a cutoff ``set_recall``."""
    return ratio(relevant_at(ranked, settings), ranked.total_relevant(settings.level))


def capped_recall(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return ``sum(rel(i) for i <= k) / min(k, R)``, which can reach 1 even if R > k.

    Source: BEIR ``recall_cap`` (Thakur et al. 2021, section 3), which fails if R is 0.
    """
    assert settings.cutoff is not None
    return ratio(relevant_at(ranked, settings), np.minimum(ranked.total_relevant(settings.level), settings.cutoff))


def hit(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return 1 if one of the first k documents is relevant, else 0. Source: trec_eval ``success``."""
    return np.minimum(relevant_at(ranked, settings), 1.0)


def f1(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return the harmonic mean of P@k and recall@k, ``2 * hits / (k + R)``."""
    assert settings.cutoff is not None
    return ratio(2 * relevant_at(ranked, settings), settings.cutoff + ranked.total_relevant(settings.level))


def set_precision(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return the relevant share of all retrieved documents, ``hits / n``. Source: trec_eval ``set_P``."""
    return ratio(relevant_at(ranked, settings), ranked.retrieved.astype(np.float64))


def set_f(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return the weighted harmonic mean of set_P and set_recall, ``(x + 1) * P * R / (R + x * P)``; x defaults to 1.

    Source: trec_eval ``set_F``. x weighs recall; van Rijsbergen's beta is its square root.
    """
    p, r = set_precision(ranked, settings), recall(ranked, settings)
    x = settings.options["x"]
    return ratio((x + 1) * p * r, x * p + r)


def reciprocal_rank(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return 1 / rank of the first relevant document; with a cutoff, 0 if that comes later.

    Source: trec_eval ``recip_rank``; MRR is the mean.
    """
    hits = _hits(ranked, settings)
    first = hits.nth == 1
    return ranked.sums(hits.query[first], 1 / hits.rank[first])


def average_precision(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return the sum of P@rank over the ranks of the retrieved relevant documents, divided by R.

    Relevant documents that were not retrieved count as 0. Source: trec_eval ``map``, ``map_cut``; MAP is the mean.
    """
    hits = _hits(ranked, settings)
    return ratio(ranked.sums(hits.query, hits.nth / hits.rank), ranked.total_relevant(settings.level))


def ap_retrieved(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return the mean of P@rank over the ranks of the retrieved relevant documents; missed documents are ignored.

    Some RAG tools call it MAP or context precision. It can fall when another relevant document is retrieved at a low
    rank. Source: unitxt ``map``, ragas ``ContextPrecision``; trec_eval has no such measure.
    """
    hits = _hits(ranked, settings)
    return ratio(ranked.sums(hits.query, hits.nth / hits.rank), ranked.sums(hits.query))


def r_precision(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return the precision at rank R. Source: trec_eval ``Rprec``."""
    hits = ranked.relevant(settings.level)
    total = ranked.total_relevant(settings.level)
    return ratio(ranked.sums(hits.query[hits.rank <= total[hits.query]]), total)


def bpref(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return the share of judged non-relevant documents that relevant documents precede; unjudged ones are ignored.

    ``1/R * sum(1 - min(judged non-relevant above, R) / min(N, R))`` over the retrieved relevant documents, N being
    the judged non-relevant documents. Source: Buckley and Voorhees 2004 in the form of trec_eval ``bpref``.
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


def interpolated_precision(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return the best precision at or below the rank that reaches the given recall; 0 if no rank reaches it.

    Recall r is reached with ``round(r * R)`` relevant documents, halves rounded up. Source: trec_eval 10.0
    ``iprec_at_recall``; 9.x truncates ``r * R + 0.9`` instead.
    """
    assert settings.cutoff is not None
    needed = np.floor(settings.cutoff * ranked.total_relevant(settings.level) + 0.5)
    hits = ranked.relevant(settings.level)
    counted = hits.nth >= needed[hits.query]
    query, precisions = hits.query[counted], (hits.nth / hits.rank)[counted]
    best = np.zeros(len(ranked.queries))
    if query.size:
        starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
        best[query[starts]] = np.maximum.reduceat(precisions, starts)
    return best


def relevant_at(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Count the relevant documents among the first k; without k among all retrieved, ``num_rel_ret``."""
    return ranked.sums(_hits(ranked, settings).query)


def ratio(above: Floats, below: Floats) -> Floats:
    """Return ``above / below``, 0 if ``below`` is 0."""
    return np.divide(above, below, out=np.zeros(len(above)), where=below != 0)


def _hits(ranked: Ranked, settings: MeasureSettings) -> Relevant:
    hits = ranked.relevant(settings.level)
    if settings.cutoff is None:
        return hits
    kept = hits.rank <= settings.cutoff
    return Relevant(*(column[kept] for column in hits))


def queries(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return 1 for each query. Source: trec_eval ``num_q``."""
    return np.ones(len(ranked.queries))


def retrieved(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Count the documents retrieved, n. Source: trec_eval ``num_ret``."""
    return ranked.retrieved.astype(np.float64)


def relevant(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Count the relevant documents in the qrels, R. Source: trec_eval ``num_rel``."""
    return ranked.total_relevant(settings.level)


def nonrelevant_judged_retrieved(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Count the retrieved documents judged as not relevant. Source: trec_eval ``num_nonrel_judged_ret``."""
    return ranked.sums(ranked.query[ranked.grade < settings.level])


def judged(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return the judged share of the first k documents, or of the n retrieved if n < k; 0 if n is 0.

    Source: ir_measures ``Judged``.
    """
    return ratio(_judged_retrieved(ranked, settings), _looked_at(ranked, settings))


def unjudged(ranked: Ranked, settings: MeasureSettings) -> Floats:
    """Return the unjudged documents among the first k, divided by k. Source: trec_eval 10.0 ``unj``."""
    assert settings.cutoff is not None
    return (_looked_at(ranked, settings) - _judged_retrieved(ranked, settings)) / settings.cutoff


def _judged_retrieved(ranked: Ranked, settings: MeasureSettings) -> Floats:
    return ranked.sums(ranked.query if settings.cutoff is None else ranked.query[ranked.rank <= settings.cutoff])


def _looked_at(ranked: Ranked, settings: MeasureSettings) -> Floats:
    return np.minimum(ranked.retrieved, np.inf if settings.cutoff is None else settings.cutoff)
