"""The largest of nested contrasts, with p-values worked by counting permutations."""

from __future__ import annotations

import itertools

import pytest

from claimeval.statistics.nested import largest_fall


def test_the_p_value_is_the_share_of_permutations_with_as_large_a_fall() -> None:
    """Eight clusters of one item, three inside of one window and without the value: of the 56
    choices of three of eight, the three that are 0 are one; p = 1 / 56 = 0.018."""
    levels = [1, 1, 1, 0, 0, 0, 0, 0]
    values = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    sums = [sum(values[i] for i in chosen) for chosen in itertools.combinations(range(8), 3)]
    exact = sums.count(0.0) / len(sums)
    fall = largest_fall(levels, values, range(8), [0] * 8, 1, draws=20_000)
    assert fall
    assert fall.window == 0
    assert exact == 1 / 56
    assert fall.p == pytest.approx(exact, abs=0.004)


def test_the_window_of_the_clearest_fall_is_named() -> None:
    levels = [0, 1, 2] * 20
    values = [1.0, 1.0, 0.0] * 20
    fall = largest_fall(levels, values, range(60), [0] * 60, 2)
    assert fall
    assert fall.window == 1
    assert fall.p < 0.01


def test_a_rise_is_no_fall() -> None:
    fall = largest_fall([0, 1] * 20, [0.0, 1.0] * 20, range(40), [0] * 40, 1)
    assert fall
    assert fall.p > 0.9


def test_clusters_of_different_kinds_are_not_exchanged() -> None:
    """Short lists are answered and long ones are not; in each, rank does not matter."""
    levels = [0] * 20 + [1] * 20
    values = [1.0] * 20 + [0.0] * 20
    assert largest_fall(levels, values, range(40), [3] * 20 + [9] * 20, 1) is None


def test_values_that_are_all_equal_have_no_fall() -> None:
    assert largest_fall([0, 1, 0, 1], [1.0] * 4, range(4), [0] * 4, 1) is None
    assert largest_fall([], [], [], [], 1) is None


def test_the_same_seed_gives_the_same_p() -> None:
    arguments = ([0, 1, 0, 1, 1], [1.0, 0.0, 1.0, 1.0, 0.0], range(5), [0] * 5, 1)
    assert largest_fall(*arguments, seed=3) == largest_fall(*arguments, seed=3)
