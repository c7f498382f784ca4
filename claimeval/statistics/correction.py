"""What every correction of a judge by human labels returns, and the interval of a share with a given error.

Which correction: the labelled items are a random sample of the items in question, perhaps drawn by stratum ->
`prediction_powered`; they were drawn with known unequal probabilities -> `active_estimate`; they come from
elsewhere, and only the judge's error rates carry over -> `rogan_gladen`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from claimeval.statistics.estimate import IntervalEstimate
from claimeval.statistics.quantiles import critical_value
from claimeval.statistics.sparse import constant_interval, wilson_interval


@dataclass(frozen=True, slots=True)
class CorrectedEstimate:
    """A corrected mean beside the two it is made of."""

    corrected: IntervalEstimate
    """The judge's mean corrected by the human labels."""
    judge: IntervalEstimate
    """The judge's mean over all items, uncorrected: its interval knows nothing of the judge's errors."""
    human: IntervalEstimate
    """The mean by the human labels alone."""
    labelled: int
    """Items with a human label."""
    unlabelled: int
    """Items with the judge's value only."""
    method: Literal["ppi++", "stratified ppi++", "active", "rogan-gladen"]
    """How the mean was corrected."""
    judge_weight: float | None = None
    """How much the judge counts, 0 (not at all) to 1: PPI++'s lambda, averaged over strata."""
    labels_to_halve: int | None = None
    """How many more labels would halve the corrected interval; `None` where labelling every item would not."""


def share_estimate(
    value: float, error: float, spread: float, *, n: int, clusters: int, freedom: int, level: float
) -> IntervalEstimate:
    """The estimate of a share from its standard `error`: Wilson's interval on the effective number of observations.

    The effective number is v(1 - v) / spread^2, with Student's critical value for `freedom` degrees of
    freedom; `spread` is the error, possibly widened. At or beyond 0 and 1 the rule of three for `clusters`
    holds instead.
    """
    share = min(1.0, max(0.0, value))
    if share in (0.0, 1.0) or spread == 0:
        interval = constant_interval(share, clusters, (0.0, 1.0), level)
        return IntervalEstimate(share, *interval, n, "rule_of_three", error, clusters, level)
    widening = critical_value(level, freedom) / critical_value(level)
    interval = wilson_interval(share, share * (1 - share) / (spread * widening) ** 2, level=level)
    return IntervalEstimate(share, *interval, n, "wilson", error, clusters, level)


def mean_estimate(value: float, error: float, *, n: int, clusters: int, freedom: int, level: float) -> IntervalEstimate:
    """The estimate of a mean from its standard error: Student's t interval."""
    reach = critical_value(level, freedom) * error
    return IntervalEstimate(value, value - reach, value + reach, n, "t", error, clusters, level)
