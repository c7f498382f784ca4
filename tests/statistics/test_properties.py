"""What holds for any small input: no NaN, no warning, the value inside its interval, or a
reason."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as some

from claimeval.statistics import (
    NO_INTERVAL,
    IntervalEstimate,
    Resampling,
    binary_report,
    cohen_kappa,
    correlation,
    difference_interval,
    gwet_ac1,
    krippendorff_alpha,
    mean_interval,
    paired_difference,
    prediction_powered,
    ratio_interval,
    rogan_gladen,
    self_preference,
    weighted_correction,
)

shares = some.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0])
labels = some.sampled_from(["yes", "no", "part", None])
verdicts = some.booleans()
unknown_or = some.one_of(some.none(), verdicts)
keys = some.integers(0, 4)


def check(estimate: IntervalEstimate, low: float = -math.inf, high: float = math.inf) -> None:
    numbers = (estimate.value, estimate.low, estimate.high, estimate.standard_error)
    assert all(number is None or math.isfinite(number) for number in numbers)
    if estimate.low is None or estimate.high is None or estimate.value is None:
        assert estimate.because
        assert estimate.method == "none"
    else:
        assert low - 1e-9 <= estimate.low <= estimate.value + 1e-9
        assert estimate.value - 1e-9 <= estimate.high <= high + 1e-9


@settings(max_examples=80, deadline=None)
@given(some.lists(some.tuples(shares, some.integers(0, 4), keys), max_size=14), verdicts)
def test_means(rows: list[tuple[float, int, int]], clustered: bool) -> None:
    values = [value for value, _, _ in rows]
    claims = [number for _, number, _ in rows]
    groups = [key for _, _, key in rows] if clustered else None
    check(mean_interval(values, clusters=groups, resampling=Resampling(resamples=50)), 0, 1)
    supported = [value * number for value, number in zip(values, claims, strict=True)]
    check(
        ratio_interval(supported, claims, clusters=groups, resampling=Resampling(resamples=50)),
        0,
        1,
    )
    check(
        difference_interval(
            [value - 0.5 for value in values], clusters=groups, resampling=Resampling(resamples=50)
        )
    )


@settings(max_examples=60, deadline=None)
@given(some.lists(some.tuples(some.one_of(some.none(), shares), shares), max_size=12))
def test_comparisons(pairs: list[tuple[float | None, float]]) -> None:
    result = paired_difference(
        [a for a, _ in pairs], [b for _, b in pairs], resampling=Resampling(resamples=50), flips=100
    )
    assert result.p is None or 0 < result.p <= 1
    assert result.n + result.dropped == len(pairs)
    assert (result.low is None) == (result.because is not None)


@settings(max_examples=80, deadline=None)
@given(
    some.lists(some.tuples(shares, shares, keys), min_size=2, max_size=30),
    verdicts,
    some.sampled_from([0.8, 0.95, 0.99]),
)
def test_p_and_interval_of_a_comparison_are_those_of_one_test(
    rows: list[tuple[float, float, int]], clustered: bool, level: float
) -> None:
    result = paired_difference(
        [row[0] for row in rows],
        [row[1] for row in rows],
        clusters=[row[2] for row in rows] if clustered else None,
        resampling=Resampling(level=level, resamples=50),
        flips=100,
    )
    if result.p is not None and result.low is not None and result.high is not None:
        has_zero = result.low <= 0 <= result.high
        assert (result.p >= 1 - level) == has_zero
        assert result.value is not None
        assert result.low <= result.value <= result.high


@settings(max_examples=60, deadline=None)
@given(some.lists(some.tuples(labels, labels, labels, keys), max_size=12), verdicts)
def test_agreement(
    rows: list[tuple[str | None, str | None, str | None, int]], clustered: bool
) -> None:
    ratings = [row[:3] for row in rows]
    groups = [row[3] for row in rows] if clustered else None
    check(
        cohen_kappa(
            [row[0] for row in rows],
            [row[1] for row in rows],
            clusters=groups,
            resampling=Resampling(resamples=50),
        )
    )
    check(gwet_ac1(ratings, clusters=groups, resampling=Resampling(resamples=50)))
    check(krippendorff_alpha(ratings, clusters=groups, resampling=Resampling(resamples=50)))


@settings(max_examples=60, deadline=None)
@given(some.lists(some.tuples(verdicts, unknown_or, keys), max_size=14), verdicts)
def test_corrections(rows: list[tuple[bool, bool | None, int]], clustered: bool) -> None:
    judge = [row[0] for row in rows]
    human = [row[1] for row in rows]
    groups = [row[2] for row in rows] if clustered else None
    powered = prediction_powered(judge, human, clusters=groups, resampling=NO_INTERVAL)
    check(powered.corrected, 0, 1)
    check(rogan_gladen(judge, human, clusters=groups, resampling=NO_INTERVAL).corrected, 0, 1)
    check(
        weighted_correction(
            judge,
            human,
            weights=[1 + i for i in range(len(rows))],
            clusters=groups,
            resampling=NO_INTERVAL,
        ).corrected,
        0,
        1,
    )


@settings(max_examples=60, deadline=None)
@given(some.lists(some.tuples(unknown_or, unknown_or, shares, keys), max_size=14))
def test_reports(rows: list[tuple[bool | None, bool | None, float, int]]) -> None:
    groups = [row[3] for row in rows]
    probabilities = [row[2] for row in rows]
    report = binary_report(
        [row[0] for row in rows],
        [row[1] for row in rows],
        probabilities=probabilities,
        clusters=groups,
        resampling=Resampling(resamples=50),
    )
    for estimate in (report.accuracy, report.precision, report.recall, report.specificity):
        check(estimate, 0, 1)
    for estimate in (report.balanced_accuracy, report.f1, report.kappa):
        check(estimate)
    assert report.auroc is not None
    check(report.auroc, 0, 1)
    outcomes = [bool(row[0]) for row in rows]
    check(
        correlation(
            probabilities,
            [float(outcome) for outcome in outcomes],
            clusters=groups,
            resampling=Resampling(resamples=50),
        )
    )
    generators = ["x" if row[1] else "y" for row in rows]
    for estimate in self_preference(
        {"x": probabilities, "y": [0.5] * len(rows)},
        generators,
        resampling=Resampling(resamples=50),
    ).values():
        check(estimate)
