"""Every estimate that a command, a page or a file prints, and the method of its interval.

`benchmarks/estimate_coverage.py` simulates each method, and a test compares this table with the
fields of all records: an estimate that is not here has an interval that nobody has tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

COVERED = 92.0
"""Percent of its simulated intervals that a method covers at least, unless its row has `least`."""


class IntervalMethod(NamedTuple):
    """How the 95% interval of a kind of estimate is made."""

    function: str
    """The function of `claimeval.statistics` that makes it; empty if there is no interval."""
    words: str
    """The method in words, with its source."""
    least: float = COVERED
    """Percent of the simulated intervals that cover the true value, in the worst shape."""


METHODS: Mapping[str, IntervalMethod] = {
    "mean": IntervalMethod(
        "mean_interval",
        "BCa bootstrap of questions (Efron 1987; Hesterberg 2015); Wilson's if hardly any value"
        " differs; Student's t joined with Wilson's below ten questions",
    ),
    "share": IntervalMethod(
        "ratio_interval", "as the mean, of hits over items that are summed by question"
    ),
    "difference": IntervalMethod(
        "paired_difference",
        "symmetric bootstrap of questions (Hall 1988), or Student's t for few",
        90,
    ),
    "balanced_accuracy": IntervalMethod(
        "binary_report", "MOVER of recall and specificity (Zou & Donner 2008)"
    ),
    "f1": IntervalMethod("binary_report", "as a share: 2 TP of 2 TP + FP + FN"),
    "kappa": IntervalMethod("cohen_kappa", "BCa bootstrap of questions; none for rare labels"),
    "weighted_kappa": IntervalMethod(
        "cohen_kappa", "as kappa, with squared distances of grades", 89
    ),
    "kappa_difference": IntervalMethod(
        "kappa_difference",
        "symmetric bootstrap of questions over both raters; none for rare labels",
    ),
    "alpha": IntervalMethod(
        "krippendorff_alpha", "BCa bootstrap of questions; none for rare labels"
    ),
    "ac1": IntervalMethod(
        "gwet_ac1",
        "BCa bootstrap of questions, joined with the interval of the raw agreement",
    ),
    "auroc": IntervalMethod(
        "auroc", "Wilson's on the effective number by DeLong's error (Obuchowski 1997)"
    ),
    "spearman": IntervalMethod("correlation", "BCa bootstrap of questions that ranks each draw"),
    "corrected_micro": IntervalMethod(
        "prediction_powered", "Wilson's on the effective number of labels (PPI++ 2311.01453)"
    ),
    "corrected_macro": IntervalMethod(
        "weighted_correction",
        "Wilson's on the effective number of labels by weight and by their part of the variance",
        89,
    ),
    "rogan_gladen": IntervalMethod("rogan_gladen", "adjusted normal (Lee et al. 2511.21140)"),
    "self_preference": IntervalMethod("self_preference", "symmetric bootstrap of questions"),
    "calibrated_share": IntervalMethod(
        "calibration",
        "Wilson's with the exact end next to 0 or 1, on the effective number of items",
    ),
    "slope": IntervalMethod(
        "straight_fall",
        "jackknife of questions (CR3), with a hit and a miss at each end (Agresti and Caffo 2000)",
    ),
    "none": IntervalMethod("", "a count or share without an interval"),
}
"""The methods by name."""

ESTIMATES: Mapping[str, tuple[str, ...]] = {
    "Agreement.ac1": ("ac1",),
    "Agreement.alpha": ("alpha",),
    "Agreement.leads": ("difference",),
    "ArmMetric.difference": ("difference",),
    "ArmMetric": ("mean",),
    "ByRank.drop": ("slope",),
    "ByRank.ends": ("mean",),
    "ByRank.middle": ("mean",),
    "CalibrationPoint": ("calibrated_share",),
    "ChangeSlice.difference": ("difference",),
    "CorrectedScore.corrected": ("corrected_micro", "corrected_macro", "rogan_gladen"),
    "CorrectedScore.judged": ("mean", "share"),
    "CorrectedScore.people": ("corrected_micro", "corrected_macro"),
    "ExtractionSummary.measures": ("share",),
    "ExtractionSummary.people": ("share",),
    "Gain.gain": ("difference",),
    "Gain.kappa": ("kappa_difference",),
    "GateResult": ("mean", "difference"),
    "GraderReport.exact": ("mean",),
    "GraderReport.kappa": ("kappa",),
    "GraderReport.kappa_binary": ("kappa",),
    "GraderReport.kappa_quadratic": ("weighted_kappa",),
    "Grades.alpha": ("alpha",),
    "LabelAgreement.accuracy": ("mean",),
    "LabelAgreement.behind": ("difference",),
    "LabelAgreement.balanced_accuracy": ("balanced_accuracy",),
    "LabelAgreement.kappa": ("kappa",),
    "LabelAgreement.same": ("mean",),
    "LgtmEstimate": ("mean",),
    "Mark": ("mean",),
    "Members.alpha": ("alpha",),
    "MetricComparison.difference": ("difference",),
    "MetricSummary": ("mean",),
    "OrderEffects.rate": ("mean",),
    "Pairing.comparison": ("difference",),
    "PanelSummary.self_preference": ("self_preference",),
    "PeopleCorrelation.spearman": ("spearman",),
    "PlainRow.estimate": ("mean", "difference"),
    "RaterPair.kappa": ("kappa",),
    "RaterPair.raw": ("mean",),
    "RaterReport.accuracy": ("mean",),
    "RaterReport.advantage": ("none",),
    "RaterReport.alt_test": ("none",),
    "RaterReport.auroc": ("auroc",),
    "RaterReport.balanced_accuracy": ("balanced_accuracy",),
    "RaterReport.f1": ("f1",),
    "RaterReport.kappa": ("kappa",),
    "RaterReport.kappa_of_labels": ("kappa",),
    "RaterReport.precision": ("share",),
    "RaterReport.recall": ("share",),
    "RaterReport.same": ("mean",),
    "RaterReport.specificity": ("share",),
    "RaterReport.weighted_kappa": ("weighted_kappa",),
    "RaterSlice.kappa": ("kappa",),
    "RaterSlice.same": ("mean",),
    "Ratio": ("share",),
    "RankShare.share": ("mean",),
    "RatingComparison.agreement": ("mean",),
    "RatingComparison.claims": ("mean",),
    "RatingComparison.kappa": ("kappa",),
    "RatingComparison.whole": ("mean",),
    "RatingCorrelation.agreeing": ("mean",),
    "RatingCorrelation.pearson": ("none",),
    "RatingCorrelation.spearman": ("spearman",),
    "RunPoint": ("mean",),
    "RunStep.difference": ("difference",),
    "Selection.gain": ("difference",),
    "Selection.kappa": ("kappa_difference",),
    "SelfPreference": ("self_preference",),
    "Slice.estimate": ("mean",),
    "Summary.by": ("mean",),
    "Trend.slope": ("difference",),
    "Validity.exact": ("mean",),
    "Validity.kappa": ("kappa",),
    "Validity.kappa_binary": ("kappa",),
    "Validity.kappa_quadratic": ("weighted_kappa",),
}
"""The methods of each printed estimate: of a field of a record or of another class, as
`Record.field`, or of a class that is an estimate itself."""


def coverage_notes(shown: str, estimate: str) -> tuple[str, ...]:
    """Return the note beside an estimate, `shown` by that name, whose interval covers too little;
    none if all its methods cover at least `COVERED`."""
    least = least_covered(estimate)
    if least is None:
        return ()
    return (f"{shown}: the 95% interval covered as little as {least:.0f}% in simulations",)


def least_covered(estimate: str) -> float | None:
    """Return the percent that the intervals of an estimate cover in the worst of their simulations;
    None if it is not less than `COVERED`."""
    least = min(METHODS[method].least for method in ESTIMATES[estimate])
    return least if least < COVERED else None


def coverage_in(values: object) -> dict[str, float]:
    """Return by field the percent that intervals in a printed object cover in the worst of their
    simulations, of those that cover less than `COVERED`."""
    found: dict[str, float] = {}
    if isinstance(values, Mapping):
        for name, value in values.items():
            least = _LOW.get(name)
            if least and isinstance(value, Mapping) and value.get("low") is not None:
                found[name] = least
            found |= coverage_in(value)
    elif isinstance(values, (list, tuple)):
        for value in values:
            found |= coverage_in(value)
    return found


def _low_fields() -> dict[str, float]:
    found: dict[str, float] = {}
    for estimate in ESTIMATES:
        least = least_covered(estimate)
        _, dot, field = estimate.partition(".")
        if dot and least is not None and field != "estimate":
            found[field] = min(least, found.get(field, least))
    return found


_LOW = _low_fields()
"""The percent of fields whose intervals cover less than `COVERED`, by name."""
