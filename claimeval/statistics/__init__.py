"""Confidence intervals, paired comparisons, agreement, correction by human labels, and charts.

The library can be used without the rest of claimeval. numpy is loaded when a function needs it.
Undefined numbers are `None` with a reason, never NaN, and every seed is an argument.
"""

from __future__ import annotations

from claimeval.statistics.agreement import cohen_kappa, gwet_ac1, krippendorff_alpha, raw_agreement
from claimeval.statistics.bootstrap import NO_INTERVAL, IntervalEstimate, Resampling
from claimeval.statistics.classification import (
    AlternativeAnnotatorTest,
    AnnotatorComparison,
    BinaryReport,
    Calibration,
    CalibrationBin,
    Confusion,
    PairAgreement,
    alternative_annotator_test,
    auroc,
    binary_report,
    calibration,
    confusion,
    correlation,
    pairwise_agreement,
)
from claimeval.statistics.correction import (
    CorrectedEstimate,
    Rate,
    prediction_powered,
    rogan_gladen,
    weighted_correction,
)
from claimeval.statistics.intervals import (
    PairedComparison,
    SignFlipTest,
    difference_interval,
    holm,
    mcnemar_exact,
    mean_interval,
    paired_difference,
    ratio_interval,
    sign_flip_test,
    wilson_interval,
)
from claimeval.statistics.panels import (
    EffectiveVotes,
    VarianceComponents,
    effective_votes,
    self_preference,
    variance_components,
    vote_entropy,
    vote_weight,
)
from claimeval.statistics.sampling import Draw, draw_even, draw_stratified

__all__ = [
    "NO_INTERVAL",
    "AlternativeAnnotatorTest",
    "AnnotatorComparison",
    "BinaryReport",
    "Calibration",
    "CalibrationBin",
    "Confusion",
    "CorrectedEstimate",
    "Draw",
    "EffectiveVotes",
    "IntervalEstimate",
    "PairAgreement",
    "PairedComparison",
    "Rate",
    "Resampling",
    "SignFlipTest",
    "VarianceComponents",
    "alternative_annotator_test",
    "auroc",
    "binary_report",
    "calibration",
    "cohen_kappa",
    "confusion",
    "correlation",
    "difference_interval",
    "draw_even",
    "draw_stratified",
    "effective_votes",
    "gwet_ac1",
    "holm",
    "krippendorff_alpha",
    "mcnemar_exact",
    "mean_interval",
    "paired_difference",
    "pairwise_agreement",
    "prediction_powered",
    "ratio_interval",
    "raw_agreement",
    "rogan_gladen",
    "self_preference",
    "sign_flip_test",
    "variance_components",
    "vote_entropy",
    "vote_weight",
    "weighted_correction",
    "wilson_interval",
]
