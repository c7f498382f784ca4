"""The planner and the variances it needs."""

from __future__ import annotations

import pytest

from claimeval.statistics import design_effect, detectable_difference, samples_needed, variance_components
from claimeval.types.errors import UsageError


@pytest.mark.parametrize(
    ("deviation", "difference", "samples"),
    [(0.25, 0.05, 197), (0.25, 0.03, 546), (0.40, 0.05, 503), (0.40, 0.03, 1396)],
)
def test_samples_for_a_pilots_deviation(deviation: float, difference: float, samples: int) -> None:
    """(1.95996 + 0.84162)^2 = 7.8489 times (deviation / difference)^2, rounded up."""
    assert samples_needed(difference, deviation) == samples


@pytest.mark.parametrize(("deviation", "smallest"), [(0.25, 0.070), (0.40, 0.112)])
def test_the_difference_that_100_samples_show(deviation: float, smallest: float) -> None:
    assert detectable_difference(100, deviation) == pytest.approx(smallest, abs=0.0005)


def test_repeats_help_only_against_the_judges_noise() -> None:
    """omega .1, sigma .3 in both arms: variance .19 once, .03 with nine repeats; without noise .01 either way."""
    once = samples_needed(0.05, 0.1, noise=(0.3, 0.3))
    nine = samples_needed(0.05, 0.1, noise=(0.3, 0.3), repeats=(9, 9))
    assert (once, nine) == (597, 95)
    assert samples_needed(0.05, 0.1, repeats=(9, 9)) == samples_needed(0.05, 0.1) == 32


def test_clustered_claims_need_more() -> None:
    assert design_effect(8, 0.3) == pytest.approx(3.1)
    assert samples_needed(0.05, 0.25, design_effect=3.1) == 609


def test_planner_refuses_what_has_no_answer() -> None:
    with pytest.raises(UsageError, match="difference of 0"):
        samples_needed(0, 0.25)
    with pytest.raises(UsageError, match="two samples"):
        detectable_difference(1, 0.25)
    with pytest.raises(UsageError, match="power"):
        samples_needed(0.05, 0.25, power=80)
    with pytest.raises(UsageError, match="repeats start at 1"):
        samples_needed(0.05, 0.25, repeats=(0, 1))
    with pytest.raises(UsageError, match="one item or more"):
        design_effect(0, 0.3)


def test_variance_components_worked_by_hand() -> None:
    """Groups 1 2 | 3 4 | 5: within .5 (sum 1 over 2), mean 3, between mean square 9 / 2, size (5 - 9/5) / 2 = 1.6."""
    components = variance_components([[1, 2], [3, 4], [5]])
    assert components.within == pytest.approx(0.5)
    assert components.size == pytest.approx(1.6)
    assert components.between == pytest.approx((4.5 - 0.5) / 1.6)
    assert components.within_share == pytest.approx(0.5 / 3.0)
    assert components.intraclass_correlation == pytest.approx(2.5 / 3.0)
    assert components.within_share_of_mean(2) == pytest.approx(0.25 / 2.75)


def test_counts_say_how_many_groups_are_alike() -> None:
    short = variance_components([[1, 2], [3, 4], [], [5]], [3, 2, 9, 4])
    assert short == variance_components([[1, 2]] * 3 + [[3, 4]] * 2 + [[5]] * 4)
    with pytest.raises(UsageError, match="one number per group"):
        variance_components([[1, 2]], [1, 2])


def test_between_variance_is_never_negative() -> None:
    components = variance_components([[0, 1], [0, 1], [0, 1]])
    assert (components.between, components.within_share) == (0.0, 1.0)


def test_undefined_components_say_why() -> None:
    assert variance_components([[1, 2]]).undefined_because == "needs two groups, and two values in one of them"
    assert variance_components([[1], [2]]).within is None
    assert variance_components([[1, 1], [1, 1]]).within_share is None
