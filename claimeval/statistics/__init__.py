"""Intervals, paired comparison, agreement and correction by human labels; knows nothing of judges.

Every name is loaded when it is first used, and numpy and scipy not before a function needs them. An undefined
number is `None` with a reason, never NaN, and every seed is an argument.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimeval.statistics.agreement import cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha, raw_agreement
    from claimeval.statistics.bootstrap import IntervalEstimate
    from claimeval.statistics.classification import BinaryReport, Confusion, binary_report, confusion
    from claimeval.statistics.correction import (
        CorrectedEstimate,
        Rate,
        active_estimate,
        prediction_powered,
        rogan_gladen,
        rogan_gladen_rate,
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
    from claimeval.statistics.panels import preference_given_human, self_preference, vote_entropy
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
    from claimeval.statistics.variance import VarianceComponents, variance_components

_HOMES = {
    "agreement": (
        "cohen_kappa",
        "fleiss_kappa",
        "gwet_ac1",
        "krippendorff_alpha",
        "raw_agreement",
    ),
    "bootstrap": ("IntervalEstimate",),
    "classification": (
        "BinaryReport",
        "Confusion",
        "binary_report",
        "confusion",
    ),
    "correction": (
        "CorrectedEstimate",
        "Rate",
        "active_estimate",
        "prediction_powered",
        "rogan_gladen",
        "rogan_gladen_rate",
    ),
    "intervals": (
        "difference_interval",
        "mean_interval",
        "ratio_interval",
        "wilson_interval",
    ),
    "paired": (
        "PairedComparison",
        "SignFlipTest",
        "holm",
        "mcnemar_exact",
        "paired_difference",
        "sign_flip_test",
    ),
    "panels": (
        "preference_given_human",
        "self_preference",
        "vote_entropy",
    ),
    "ranking": (
        "auroc",
        "correlation",
    ),
    "sampling": (
        "Draw",
        "draw_by_uncertainty",
        "draw_stratified",
        "draw_uniform",
    ),
    "truth_inference": (
        "DawidSkene",
        "Vote",
        "dawid_skene",
        "vote_weight",
    ),
    "validity": (
        "AlternativeAnnotatorTest",
        "AnnotatorComparison",
        "PairAgreement",
        "alternative_annotator_test",
        "pairwise_agreement",
    ),
    "variance": (
        "VarianceComponents",
        "variance_components",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
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
    "fleiss_kappa",
    "gwet_ac1",
    "holm",
    "krippendorff_alpha",
    "mcnemar_exact",
    "mean_interval",
    "paired_difference",
    "pairwise_agreement",
    "prediction_powered",
    "preference_given_human",
    "ratio_interval",
    "raw_agreement",
    "rogan_gladen",
    "rogan_gladen_rate",
    "self_preference",
    "sign_flip_test",
    "variance_components",
    "vote_entropy",
    "vote_weight",
    "wilson_interval",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
