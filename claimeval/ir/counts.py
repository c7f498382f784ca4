"""What was retrieved, judged and relevant: counts, and the judged share of the top of a run.

Each function returns one value per query; the summary of a count is its sum.
"""

from __future__ import annotations

import numpy as np

from claimeval.ir.binary import found, ratio
from claimeval.ir.ranked import Floats, Ranked
from claimeval.ir.setting import MeasureSettings


def queries(ranked: Ranked, at: MeasureSettings) -> Floats:
    """1 for each query. Source: trec_eval ``num_q``."""
    return np.ones(len(ranked.queries))


def retrieved(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Documents retrieved. Source: trec_eval ``num_ret``."""
    return ranked.retrieved.astype(np.float64)


def relevant(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Relevant documents in the qrels. Source: trec_eval ``num_rel``."""
    return ranked.total_relevant(at.level)


def relevant_retrieved(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Relevant documents retrieved. Source: trec_eval ``num_rel_ret``."""
    return found(ranked, at)


def nonrelevant_judged_retrieved(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Retrieved documents judged as not relevant. Source: trec_eval ``num_nonrel_judged_ret``."""
    return ranked.sums(ranked.query[ranked.grade < at.level])


def judged(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Judged share of the first k documents, or of the retrieved ones where they are fewer; 0 where there are none.

    Source: ir_measures ``Judged``.
    """
    return ratio(_judged_retrieved(ranked, at), _looked_at(ranked, at))


def unjudged(ranked: Ranked, at: MeasureSettings) -> Floats:
    """Unjudged documents among the first k, divided by k. Source: trec_eval 10.0 ``unj``."""
    assert at.cutoff is not None
    return (_looked_at(ranked, at) - _judged_retrieved(ranked, at)) / at.cutoff


def _judged_retrieved(ranked: Ranked, at: MeasureSettings) -> Floats:
    return ranked.sums(ranked.query if at.cutoff is None else ranked.query[ranked.rank <= at.cutoff])


def _looked_at(ranked: Ranked, at: MeasureSettings) -> Floats:
    return np.minimum(ranked.retrieved, np.inf if at.cutoff is None else at.cutoff)
