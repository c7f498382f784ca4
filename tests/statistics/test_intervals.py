"""Intervals of macro and micro means."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from claimeval.statistics import difference_interval, mean_interval, ratio_interval, wilson_interval
from claimeval.statistics.bootstrap import (
    NO_INTERVAL,
    ClusterSums,
    IntervalEstimate,
    Resampling,
    _bca_levels,
    bca_interval,
    bootstrap_sums,
    distinct_rows,
    effective_number,
    resample_sums,
)
from claimeval.statistics.intervals import clopper_pearson_interval
from claimeval.statistics.quantiles import (
    beta_quantile,
    critical_value,
    student_cdf,
    student_quantile,
)
from claimeval.types.errors import UsageError


def test_the_value_is_the_mean_and_the_error_is_the_textbook_one() -> None:
    values = [0.0, 0.5, 0.6, 1.0, 1.0] * 2
    estimate = mean_interval(values)
    assert estimate.value == 0.62
    assert estimate.standard_error == pytest.approx(scipy.stats.sem(values), abs=1e-12)
    assert (estimate.n, estimate.clusters, estimate.method) == (10, 10, "bca")
    assert mean_interval(values[:9]).method == "t"


def test_few_clusters_get_what_students_t_and_wilsons_interval_span() -> None:
    """.73 and .80: t 12.706 * .035 = .445 either way, to the end of the scale; Wilson of .765 in
    two: .205 to .977."""
    estimate = mean_interval([0.73, 0.80])
    assert estimate.method == "t"
    assert (estimate.low, estimate.high) == pytest.approx(
        (wilson_interval(0.765, 2).low, 1.0), abs=1e-12
    )
    assert estimate.low == pytest.approx(0.2053, abs=1e-4)
    apart = mean_interval([2.0, 3.0, 7.0], support=(-np.inf, np.inf))
    theirs = scipy.stats.t.interval(0.95, 2, loc=4, scale=scipy.stats.sem([2.0, 3.0, 7.0]))
    assert (apart.low, apart.high) == pytest.approx(theirs)


def test_many_values_in_few_clusters_are_few() -> None:
    """Cluster means 2/4, 1/4 and 4/4: as three values."""
    values = [1.0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    clustered = mean_interval(values, clusters=[i // 4 for i in range(12)])
    by_hand = mean_interval([0.5, 0.25, 1.0])
    assert (clustered.low, clustered.high, clustered.method) == (by_hand.low, by_hand.high, "t")
    assert clustered.clusters == 3


def test_few_differences_get_students_t() -> None:
    estimate = difference_interval([0.1, 0.05, 0.12])
    assert estimate.value is not None
    theirs = scipy.stats.t.interval(0.95, 2, loc=0.09, scale=scipy.stats.sem([0.1, 0.05, 0.12]))
    assert (estimate.low, estimate.high) == pytest.approx(theirs)
    assert estimate.method == "t"
    assert difference_interval([0.9, -0.9]).low == -1


def test_five_clusters_are_enough_to_resample_and_four_are_not() -> None:
    five = np.array([[1.0, 2], [2, 2], [1, 3], [2, 3], [3, 3]])
    four = np.array([[1.0, 2], [2, 2], [1, 3], [2, 3]])
    ratio = [lambda sums: sums[:, 0] / sums[:, 1]]
    (enough,) = bootstrap_sums(ClusterSums(five, 5), ratio, Resampling(), because="why")
    (few,) = bootstrap_sums(ClusterSums(four, 4), ratio, Resampling(), because="why")
    assert enough.low is not None
    assert (few.value, few.low, few.because) == (
        0.6,
        None,
        "an interval needs 5 clusters, here are 4",
    )


def test_bca_equals_scipy_on_the_same_resamples_at_the_expanded_level() -> None:
    values = np.random.default_rng(3).beta(4, 1, 25)
    rows = np.stack([values, np.ones(25)], axis=1)
    replicates = resample_sums(*distinct_rows(rows), 2000, seed=5)
    reach = np.sqrt(25 / 24) * critical_value(0.95, 24)
    mine = mean_interval(list(values), resampling=Resampling(resamples=2000, seed=5))
    given = scipy.stats.bootstrap((values,), np.mean, n_resamples=2, method="percentile")
    given.bootstrap_distribution = replicates[:, 0] / replicates[:, 1]
    theirs = scipy.stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=0,
        bootstrap_result=given,
        confidence_level=2 * scipy.stats.norm.cdf(reach) - 1,
        method="BCa",
    ).confidence_interval
    assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


EVENLY = np.linspace(0.0, 1.0, 1001)
"""Replicates whose quantile at a level is the level."""


def test_a_statistic_that_no_cluster_moves_is_not_corrected_for_skewness() -> None:
    """Half of the replicates are below .5, so there is no bias either: the levels are those of the
    reach itself."""
    found = bca_interval(0.5, EVENLY, np.full(25, 0.5), np.ones(25, dtype=np.int64), 25, 0.95)
    level = scipy.stats.norm.cdf(-np.sqrt(25 / 24) * scipy.stats.t.ppf(0.975, 24))
    assert found == pytest.approx((level, 1 - level), abs=1e-6)


@pytest.mark.parametrize("one_cluster", [1.0, -1.0])
def test_beyond_the_pole_of_the_correction_the_interval_goes_to_the_end(one_cluster: float) -> None:
    """One of 1000 clusters has all influence, so the acceleration is 1/6 either way, and its pole
    is at 6.

    The reach of 2 clusters is sqrt(2) * 12.7 = 18: on one side 1 - 18/6 < 0, on the other 18 / (1 +
    18/6) = 4.5.
    """
    left_out = np.array([0.0, one_cluster])
    times = np.array([999, 1])
    assert bca_interval(0.5, EVENLY, left_out, times, 2, 0.95) == pytest.approx((0, 1), abs=1e-4)


@pytest.mark.parametrize("point", [-1.0, 2.0])
def test_a_value_outside_all_of_its_replicates_has_no_interval(point: float) -> None:
    assert bca_interval(point, EVENLY, np.array([0.0, 1.0]), np.array([2, 3]), 5, 0.95) is None


def test_rows_that_look_alike_to_the_projection_are_told_apart() -> None:
    """With the factors a and b of the projection, the rows (b, 0) and (0, a) are both projected
    onto ab."""
    a, b = np.random.default_rng(0).normal(size=2)
    rows, times = distinct_rows(np.array([[b, 0.0], [0.0, a], [0.0, a]]))
    assert dict(zip(map(tuple, rows.tolist()), times.tolist(), strict=True)) == {
        (b, 0.0): 1,
        (0.0, a): 2,
    }


def test_an_estimate_without_both_ends_has_no_width() -> None:
    assert [IntervalEstimate(0.5, low, 0.75, 4, "t").width for low in (None, 0.25)] == [None, 0.5]
    assert IntervalEstimate(0.5, 0.25, None, 4, "t").width is None


def test_an_estimate_has_no_clusters_unless_it_says_so() -> None:
    assert IntervalEstimate(None, None, None, 0, "none").clusters == 0


def test_few_distinct_rows_are_drawn_as_counts_with_the_same_distribution() -> None:
    labels = np.array([1.0] * 800 + [0.0] * 200)
    few = np.stack([labels, np.ones(1000)], axis=1)
    many = np.stack([labels + np.arange(1000) * 1e-9, np.ones(1000)], axis=1)
    counted = resample_sums(*distinct_rows(few), 4000, seed=1)[:, 0]
    scattered = resample_sums(*distinct_rows(many), 4000, seed=1)[:, 0]
    expected = scipy.stats.binom(1000, 0.8)
    for drawn in (counted, scattered):
        assert drawn.mean() == pytest.approx(expected.mean(), abs=0.6)
        assert drawn.std() == pytest.approx(expected.std(), rel=0.05)


def test_no_values_have_no_mean_and_one_cluster_has_no_interval() -> None:
    nothing = mean_interval([])
    assert (nothing.value, nothing.low, nothing.n, nothing.because) == (None, None, 0, "no values")
    single = mean_interval([0.5])
    assert (single.value, single.low, single.width, single.n) == (0.5, None, None, 1)
    assert mean_interval([0.0, 1.0], clusters=["q", "q"]).low is None


def test_all_ones_get_the_rule_of_three() -> None:
    estimate = mean_interval([1.0] * 20)
    assert (estimate.low, estimate.high) == pytest.approx((0.05 ** (1 / 20), 1.0))
    assert estimate.low == pytest.approx(1 - 3 / 20, abs=0.012)
    assert estimate.method == "rule_of_three"
    mirrored = mean_interval([0.0] * 20)
    assert (mirrored.low, mirrored.high) == pytest.approx((0.0, 1 - 0.05 ** (1 / 20)))


def test_the_rule_of_three_counts_clusters_not_claims() -> None:
    few = mean_interval([1.0] * 80, clusters=[i // 8 for i in range(80)])
    assert few.low == pytest.approx(0.05 ** (1 / 10))


def test_other_constants_move_towards_both_ends_of_their_support() -> None:
    """A share 1 - .05^(1/20) = .1391 of the clusters may differ from .5, each by at most .5."""
    half = mean_interval([0.5] * 20)
    assert (half.low, half.high) == pytest.approx((0.5 - 0.1391 / 2, 0.5 + 0.1391 / 2), abs=1e-4)
    assert mean_interval([3.0] * 20).because == "nothing varies between resamples"
    assert mean_interval([3.0] * 20, support=(1, 5)).high == pytest.approx(3 + 2 * 0.1391, abs=1e-4)


@pytest.mark.parametrize(("failures", "answers"), [(1, 30), (3, 200), (1, 200)])
def test_a_share_of_995_is_not_excluded_by_a_failure_more_than_expected(
    failures: int, answers: int
) -> None:
    estimate = mean_interval([1.0] * (answers - failures) + [0.0] * failures)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < 0.995 < estimate.high < 1


def test_few_failures_get_wilson_on_clusters_drawn_towards_full_variance() -> None:
    """2 of 50 answers score 0: share .04 away from the common 1, design effect (2 * d + 1) / 3 with
    d = 1 * 50/49.

    d is capped at 1, so the effective number is 50 / (t/z)^2 with t of 49 degrees of freedom.
    Clopper and Pearson's interval on the same number is the wider one.
    """
    estimate = mean_interval([1.0] * 48 + [0.0] * 2)
    number = 50 / (critical_value(0.95, 49) / critical_value(0.95)) ** 2
    low = min(
        wilson_interval(0.96, number).low,
        scipy.stats.beta.ppf(0.025, 0.96 * number, 0.04 * number + 1),
    )
    assert estimate.method == "wilson"
    assert (estimate.low, estimate.high) == pytest.approx(
        (low, scipy.stats.beta.ppf(0.975, 0.96 * number + 1, 0.04 * number)), abs=1e-12
    )


def test_half_failures_are_less_sure_than_their_own_spread_says() -> None:
    """Two answers at .5: d = variance .0098 / (.98 * .02) / (49/50) = .51, drawn to (2 * .51 + 1) /
    3 = .67."""
    estimate = mean_interval([1.0] * 48 + [0.5] * 2)
    effect = (2 * (0.02 * 0.48 / (0.98 * 0.02) * 50 / 49) + 1) / 3
    number = 50 / (effect * (critical_value(0.95, 49) / critical_value(0.95)) ** 2)
    low, high = scipy.stats.beta.ppf(
        [0.025, 0.975], [0.98 * number, 0.98 * number + 1], [0.02 * number + 1, 0.02 * number]
    )
    assert low < wilson_interval(0.98, number).low
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-12)


def test_answers_with_most_of_the_claims_make_fewer_effective_clusters() -> None:
    """Weights 4 1 1 1 1: (8)^2 / 20 = 3.2 clusters."""
    assert effective_number(np.array([4.0, 1, 1, 1, 1])) == pytest.approx(3.2)
    assert effective_number(np.ones(7)) == pytest.approx(7)
    assert effective_number(np.zeros(3)) == 0


def test_uneven_answers_have_wider_micro_intervals() -> None:
    rng = np.random.default_rng(2)
    share = rng.beta(2, 1, 40)
    even = np.full(40, 30)
    uneven = np.where(np.arange(40) < 4, 210, 10)
    wide, narrow = (
        ratio_interval(
            (share * claims).tolist(), claims.tolist(), resampling=Resampling(resamples=4000)
        )
        for claims in (uneven, even)
    )
    assert wide.width is not None
    assert narrow.width is not None
    assert wide.width > 1.5 * narrow.width


def test_two_arms_that_differ_on_few_items_are_bounded_on_both_sides() -> None:
    """One of 40 differences is 1, none is -1: below 0 there is still room for an unseen one."""
    estimate = difference_interval([0.0] * 39 + [1.0])
    assert estimate.low is not None
    assert estimate.high is not None
    assert -0.1 < estimate.low < -0.05
    assert 0.1 < estimate.high < 0.16


def test_wilson_equals_scipy() -> None:
    theirs = scipy.stats.binomtest(47, 50).proportion_ci(0.9, method="wilson")
    assert wilson_interval(47 / 50, 50, level=0.9) == pytest.approx(
        (theirs.low, theirs.high), abs=1e-12
    )


def test_the_ratio_is_micro_and_leaves_samples_without_claims_out() -> None:
    estimate = ratio_interval([3, 1, 0, 4], [4, 1, 0, 10])
    assert estimate.value == pytest.approx(8 / 15)
    assert (estimate.n, estimate.clusters) == (3, 3)


def test_claims_of_one_sample_are_clustered() -> None:
    rng = np.random.default_rng(0)
    level = np.repeat(rng.beta(2, 1, 60), 8)
    claims = [float(x) for x in rng.random(480) < level]
    keys = [i // 8 for i in range(480)]
    clustered = mean_interval(claims, clusters=keys)
    naive = mean_interval(claims)
    assert clustered.width is not None
    assert naive.width is not None
    assert clustered.value == naive.value
    assert clustered.width > 1.3 * naive.width


def test_the_same_seed_gives_the_same_interval() -> None:
    values = list(np.random.default_rng(1).random(30))
    assert mean_interval(values, resampling=Resampling(seed=7)) == mean_interval(
        values, resampling=Resampling(seed=7)
    )
    assert mean_interval(values, resampling=Resampling(seed=7)) != mean_interval(
        values, resampling=Resampling(seed=8)
    )


@pytest.mark.parametrize(
    ("a", "b"), [(0.02, 30.5), (1, 200), (29, 2), (3.7, 0.001), (4000.5, 17.2), (90_000, 3)]
)
@pytest.mark.parametrize("probability", [0.025, 0.5, 0.975])
def test_beta_quantiles_equal_scipy(probability: float, a: float, b: float) -> None:
    assert beta_quantile(probability, a, b) == pytest.approx(
        scipy.stats.beta.ppf(probability, a, b), abs=1e-12
    )


@pytest.mark.parametrize(("hits", "n"), [(0, 12), (1, 30), (29, 30), (12, 12), (7, 20)])
def test_clopper_pearson_equals_scipy(hits: int, n: int) -> None:
    theirs = scipy.stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert clopper_pearson_interval(hits / n, n) == pytest.approx(
        (theirs.low, theirs.high), abs=1e-12
    )


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 50, 200, 201, 5000])
@pytest.mark.parametrize("probability", [0.025, 0.6, 0.9, 0.975, 0.9995])
def test_student_quantiles_equal_scipy(degrees: int, probability: float) -> None:
    assert student_quantile(probability, degrees) == pytest.approx(
        scipy.stats.t.ppf(probability, degrees), rel=1e-8
    )


@pytest.mark.parametrize("degrees", [1, 2, 3, 8, 29, 30, 200, 1001])
@pytest.mark.parametrize("value", [-7.5, -1.0, 0.0, 0.3, 2.0, 12.0])
def test_students_t_equals_scipy(degrees: int, value: float) -> None:
    assert student_cdf(value, degrees) == pytest.approx(
        scipy.stats.t.cdf(value, degrees), abs=1e-10
    )


def test_the_distribution_of_student_is_a_probability_however_far_out() -> None:
    for degrees in range(1, 120):
        below = [student_cdf(value / 10, degrees) for value in range(-4000, 4001, 50)]
        assert min(below) >= 0
        assert max(below) <= 1
        assert below == pytest.approx([1 - above for above in reversed(below)], abs=1e-12)


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="finite"):
        mean_interval([0.5, float("nan")])
    with pytest.raises(UsageError, match="one key per observation"):
        mean_interval([0.5, 0.6], clusters=["a"])
    with pytest.raises(UsageError, match="level"):
        mean_interval([0.5, 0.6], resampling=Resampling(level=95))
    with pytest.raises(UsageError, match="resamples"):
        mean_interval([0.5, 0.6], resampling=Resampling(resamples=-1))


def test_a_statistic_that_is_mostly_undefined_has_no_interval() -> None:
    """Of two clusters only one has a denominator: half of the draws of both are undefined or
    constant."""
    rows = np.array([[1.0, 1.0], [0.0, 0.0]])
    undefined = [lambda sums: sums[:, 0] * 0 + np.nan]
    (estimate,) = bootstrap_sums(ClusterSums(rows, 2), undefined, Resampling(), because="why")
    assert (estimate.value, estimate.low, estimate.because) == (None, None, "why")


def test_without_resamples_there_is_a_value_and_no_interval() -> None:
    estimate = mean_interval([0.1, 0.2, 0.4], resampling=NO_INTERVAL)
    assert (estimate.low, estimate.because) == (None, "no interval was requested")
    assert estimate.value == pytest.approx(0.7 / 3)


def test_the_levels_of_bca_are_0_or_1_from_the_pole_on() -> None:
    """At acceleration .5 the pole is at z = 2; below it, at z = -2, the level is that of -2 / (1 +
    .5 * 2) = -1."""
    low, high = _bca_levels(0.0, 0.5, 2.0)
    assert low == pytest.approx(0.15865525393145707)
    assert high == 1.0
    assert _bca_levels(0.0, 0.5, 3.0)[1] == 1.0
    assert _bca_levels(0.0, -0.5, 2.0)[0] == 0.0
