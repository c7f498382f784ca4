"""Comparison of two arms on the same items."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from claimeval.statistics import Resampling, holm, mcnemar_exact, paired_difference, sign_flip_test
from claimeval.types.errors import UsageError


def test_the_exact_test_equals_scipy() -> None:
    a, b = np.random.default_rng(0).random((2, 11))
    theirs = scipy.stats.permutation_test(
        (a - b,), np.mean, permutation_type="samples", n_resamples=10_000
    )
    mine = sign_flip_test(list(a - b))
    assert mine.p == pytest.approx(theirs.pvalue, abs=1e-12)
    assert mine.kind == "exact"


def test_the_sampled_test_is_close_to_the_exact_one() -> None:
    differences = list(np.random.default_rng(1).normal(0.3, 1, 16))
    exact = sign_flip_test(differences, flips=2**16)
    sampled = sign_flip_test(differences, flips=20_000)
    assert (exact.kind, sampled.kind) == ("exact", "sampled")
    assert exact.p == pytest.approx(sampled.p, abs=0.015)


def test_yes_no_labels_give_mcnemar_for_any_number_of_items() -> None:
    a = [1.0] * 15 + [0.0] * 5 + [1.0] * 400
    b = [0.0] * 15 + [1.0] * 5 + [1.0] * 400
    test = sign_flip_test([x - y for x, y in zip(a, b, strict=True)])
    assert test.p == pytest.approx(scipy.stats.binomtest(15, 20).pvalue, abs=1e-12)
    assert test.kind == "exact"


@pytest.mark.parametrize(
    ("b", "c"), [(0, 0), (1, 0), (3, 3), (10, 11), (1, 9), (200, 260), (3000, 3200)]
)
def test_mcnemar_equals_the_binomial_test_of_scipy(b: int, c: int) -> None:
    expected = scipy.stats.binomtest(b, b + c).pvalue if b + c else 1.0
    assert mcnemar_exact(b, c) == pytest.approx(expected, rel=1e-9)


def test_whole_clusters_flip_their_signs() -> None:
    """Clusters sum to 2, 2 and -1: of 8 patterns |sum| >= 3 in +++, ++-, --+ and ---, so p =
    4/8."""
    test = sign_flip_test([1, 1, 2, -1], clusters=["a", "a", "b", "c"])
    assert test.p == 0.5


@pytest.mark.parametrize(("times", "kind"), [(1, "exact"), (5, "sampled")])
def test_differences_that_cancel_out_have_a_p_of_1(times: int, kind: str) -> None:
    """Their sum is 0, as floats 3e-17: every pattern is as far from 0."""
    test = sign_flip_test([-0.5, -0.2, 0.25, 0.25, 0.1, 0.1] * times)
    assert (test.p, test.kind) == (1.0, kind)


def test_pairs_without_a_value_are_dropped_and_counted() -> None:
    result = paired_difference([1.0, None, 0.5, 1.0], [0.5, 1.0, None, 0.75])
    assert (result.value, result.n, result.dropped) == (0.375, 2, 2)


def test_swapping_the_arms_mirrors_the_interval() -> None:
    a, b = np.random.default_rng(4).random((2, 40))
    result = paired_difference(list(a), list(b))
    swapped = paired_difference(list(b), list(a))
    assert result.low is not None
    assert result.high is not None
    assert swapped.value == pytest.approx(-(a - b).mean())
    assert (swapped.low, swapped.high) == pytest.approx((-result.high, -result.low), abs=0.01)
    assert result.standard_error == pytest.approx(scipy.stats.sem(a - b), abs=1e-12)


def test_arms_that_agree_everywhere_get_the_rule_of_three_on_both_sides() -> None:
    result = paired_difference([1.0, 0.0] * 25, [1.0, 0.0] * 25)
    assert (result.value, result.p, result.method) == (0.0, 1.0, "rule_of_three")
    assert result.high == pytest.approx(1 - 0.05 ** (1 / 50))
    assert result.low == pytest.approx(-(1 - 0.05 ** (1 / 50)))
    assert paired_difference([7.0] * 9, [7.0] * 9).low is None


@pytest.mark.parametrize(
    "groups", [[0.9, -0.9, 0.8, 0.9, -0.2], [1, 1, 0.95, 0.9, -1, -1], [1.0] * 30 + [0.0, -1.0]]
)
def test_a_difference_of_shares_lies_between_minus_one_and_one(groups: list[float]) -> None:
    """Five to 32 clusters: a quantile of resamples on either side of the mean can reach further
    than the scale."""
    found = paired_difference([max(d, 0.0) for d in groups], [max(-d, 0.0) for d in groups])
    assert found.low is not None
    assert found.high is not None
    assert -1 <= found.low < found.high <= 1


def test_an_interval_has_a_zero_where_signs_may_be_chance() -> None:
    """Four samples rise by about .5: t(3) ends far above 0, but of 16 patterns of signs 2 are as
    extreme, p = .125."""
    result = paired_difference([0.5, 0.6, 0.5, 0.6], [0.0, 0.0, 0.1, 0.1])
    assert (result.p, result.test) == (0.125, "exact")
    assert result.low == 0.0
    assert result.value == pytest.approx(0.5)


def test_p_is_that_of_the_interval_where_only_the_interval_has_a_zero() -> None:
    """Of twelve samples eleven rise by .5 and one falls by .5: signs have p = 26 / 4096 = .0063,
    but the part of all samples that falls, by up to 1, may be a third."""
    result = paired_difference([0.5] * 11 + [0.0], [0.0] * 11 + [0.5])
    assert result.low is not None
    assert result.low < 0
    assert result.test == "interval"
    assert result.p is not None
    assert 0.05 < result.p < 0.1
    narrower = paired_difference(
        [0.5] * 11 + [0.0],
        [0.0] * 11 + [0.5],
        resampling=Resampling(level=1 - result.p - 0.01),
    )
    assert narrower.low is not None
    assert narrower.low > 0


def test_a_constant_difference_of_unbounded_values_has_no_interval() -> None:
    result = paired_difference([2.5] * 9, [2.25] * 9)
    assert (result.value, result.low, result.because) == (
        0.25,
        None,
        "nothing varies between resamples",
    )


def test_no_shared_items_have_no_difference() -> None:
    result = paired_difference([None, 1.0], [1.0, None])
    assert (result.value, result.p, result.n, result.test) == (None, None, 0, "none")
    assert result.because == "no values"


def test_the_interval_is_close_to_students_t_for_plain_differences() -> None:
    differences = np.random.default_rng(5).normal(0.1, 0.3, 60)
    result = paired_difference(
        list(differences), [0.0] * 60, resampling=Resampling(resamples=20_000)
    )
    expected = scipy.stats.t.interval(0.95, 59, differences.mean(), scipy.stats.sem(differences))
    assert (result.low, result.high) == pytest.approx(expected, rel=0.05)
    assert result.method == "symmetric"


def test_arms_of_different_length_are_refused() -> None:
    with pytest.raises(UsageError, match="same items"):
        paired_difference([1.0], [1.0, 0.0])
    with pytest.raises(UsageError, match="one key per item"):
        paired_difference([1.0], [1.0], clusters=[])


def test_holm_worked_by_hand() -> None:
    """Sorted .01 .02 .03 .04 times 4 3 2 1 is .04 .06 .06 .04; the running maximum keeps .06."""
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
    with pytest.raises(UsageError, match="p-values"):
        holm([1.2])


def test_grades_that_happen_to_be_one_or_less_are_no_shares() -> None:
    """The differences 1, -1, 1 and 1 have the mean 0.5 and the standard error 0.5; t(3) is
    3.1824."""
    arms = [1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0]
    grades = paired_difference(*arms, shares=False)
    shares = paired_difference(*arms)
    assert (grades.low, grades.high) == pytest.approx(
        (0.5 - 0.5 * 3.1824, 0.5 + 0.5 * 3.1824), abs=1e-4
    )
    assert (shares.low, shares.high) == pytest.approx((-1.0, 1.0), abs=1e-4)
