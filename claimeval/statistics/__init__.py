"""Intervals, paired comparison, agreement and correction by human labels; knows nothing of judges.

Importing loads neither numpy nor scipy. An undefined number is `None` with a reason, never NaN, and every
seed is an argument.
"""

from claimeval.statistics.estimate import Estimate
from claimeval.statistics.intervals import mean_interval, ratio_interval
from claimeval.statistics.paired import (
    PairedComparison,
    SignFlipTest,
    holm,
    mcnemar_exact,
    paired_difference,
    sign_flip_test,
)
from claimeval.statistics.sparse import wilson_interval

__all__ = [
    "Estimate",
    "PairedComparison",
    "SignFlipTest",
    "holm",
    "mcnemar_exact",
    "mean_interval",
    "paired_difference",
    "ratio_interval",
    "sign_flip_test",
    "wilson_interval",
]
