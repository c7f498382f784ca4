"""Variances between and within groups."""

from __future__ import annotations

import pytest

from claimeval.statistics import variance_components
from claimeval.types.errors import UsageError


def test_variance_components_worked_by_hand() -> None:
    """Groups 1 2 | 3 4 | 5: within .5 (sum 1 over 2), mean 3, between mean square 9 / 2, size (5 -
    9/5) / 2 = 1.6."""
    components = variance_components([[1, 2], [3, 4], [5]])
    assert components.within == pytest.approx(0.5)
    assert components.size == pytest.approx(1.6)
    assert components.between == pytest.approx((4.5 - 0.5) / 1.6)
    assert components.within_share == pytest.approx(0.5 / 3.0)


def test_counts_say_how_many_groups_are_alike() -> None:
    short = variance_components([[1, 2], [3, 4], [], [5]], [3, 2, 9, 4])
    assert short == variance_components([[1, 2]] * 3 + [[3, 4]] * 2 + [[5]] * 4)
    with pytest.raises(UsageError, match="one number per group"):
        variance_components([[1, 2]], [1, 2])


def test_between_variance_is_never_negative() -> None:
    components = variance_components([[0, 1], [0, 1], [0, 1]])
    assert (components.between, components.within_share) == (0.0, 1.0)


def test_undefined_components_say_why() -> None:
    assert (
        variance_components([[1, 2]]).because == "needs two groups, and two values in one of them"
    )
    assert variance_components([[1], [2]]).within is None
    assert variance_components([[1, 1], [1, 1]]).within_share is None
