"""Intervals, paired comparison, agreement and correction by human labels; knows nothing of judges.

numpy and scipy are not loaded before a function needs them. An undefined number is `None` with a reason, never NaN, and
every seed is an argument.
"""

from __future__ import annotations

from claimeval.statistics.agreement import cohen_kappa, gwet_ac1, krippendorff_alpha, raw_agreement
from claimeval.statistics.bootstrap import NO_INTERVAL, IntervalEstimate, Resampling
from claimeval.statistics.classification import BinaryReport, Confusion, binary_report, confusion
from claimeval.statistics.correction import (
    CorrectedEstimate,
    Rate,
    active_estimate,
    prediction_powered,
    rogan_gladen,
)
from claimeval.statistics.intervals import difference_interval, mean_interval, ratio_interval, wilson_interval
from claimeval.statistics.paired import (
    PairedComparison,
    SignFlipTest,
    holm,
    mcnemar_exact,
    paired_difference,
    sign_flip_test,
)
from claimeval.statistics.panels import VarianceComponents, self_preference, variance_components, vote_entropy
from claimeval.statistics.ranking import auroc, correlation
from claimeval.statistics.sampling import Draw, draw_by_uncertainty, draw_stratified, draw_uniform
from claimeval.statistics.truth_inference import DawidSkene, Vote, dawid_skene, vote_weight
from claimeval.statistics.validity import (
    AlternativeAnnotatorTest,
    AnnotatorComparison,
    PairAgreement,
    alternative_annotator_test,
    pairwise_agreement,
)

__all__ = [
    "NO_INTERVAL",
    "AlternativeAnnotatorTest",
    "AnnotatorComparison",
    "BinaryReport",
    "Confusion",
    "CorrectedEstimate",
    "DawidSkene",
    "Draw",
    "IntervalEstimate",
    "PairAgreement",
    "PairedComparison",
    "Rate",
    "Resampling",
    "SignFlipTest",
    "VarianceComponents",
    "Vote",
    "active_estimate",
    "alternative_annotator_test",
    "auroc",
    "binary_report",
    "cohen_kappa",
    "confusion",
    "correlation",
    "dawid_skene",
    "difference_interval",
    "draw_by_uncertainty",
    "draw_stratified",
    "draw_uniform",
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
    "wilson_interval",
]
