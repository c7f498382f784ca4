"""Draws of what to label."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from claimeval.statistics import draw_by_uncertainty, draw_stratified, draw_uniform
from claimeval.types.errors import UsageError


def test_a_uniform_draw_is_exact_in_number_and_repeatable() -> None:
    draw = draw_uniform(10, 4, seed=1)
    assert len(set(draw.chosen)) == 4
    assert draw.probabilities == pytest.approx([0.4] * 10)
    assert draw == draw_uniform(10, 4, seed=1)
    assert draw_uniform(3, 3, seed=0).chosen == (0, 1, 2)


def test_a_stratified_draw_gives_small_strata_their_least_number() -> None:
    strata = ["a"] * 90 + ["b"] * 10
    draw = draw_stratified(strata, 20, seed=1, at_least=5)
    assert Counter(strata[item] for item in draw.chosen) == {"a": 15, "b": 5}
    assert draw.probabilities[0] == pytest.approx(15 / 90)
    assert draw.probabilities[99] == pytest.approx(5 / 10)


def test_a_stratified_draw_is_proportional_where_strata_are_large() -> None:
    strata = ["a"] * 60 + ["b"] * 40
    draw = draw_stratified(strata, 50, seed=2, at_least=15)
    assert Counter(strata[item] for item in draw.chosen) == {"a": 30, "b": 20}


def test_too_small_a_draw_is_spread_evenly() -> None:
    strata = ["a"] * 90 + ["b"] * 10
    draw = draw_stratified(strata, 10, seed=2)
    assert Counter(strata[item] for item in draw.chosen) == {"a": 5, "b": 5}


def test_items_are_included_as_often_as_the_draw_says() -> None:
    uncertainties = np.random.default_rng(0).random(30).tolist()
    times = np.zeros(30)
    for seed in range(1500):
        draw = draw_by_uncertainty(uncertainties, 8, seed=seed)
        assert len(set(draw.chosen)) == 8
        times[list(draw.chosen)] += 1
    assert sum(draw.probabilities) == pytest.approx(8)
    assert times / 1500 == pytest.approx(draw.probabilities, abs=0.055)


def test_no_probability_exceeds_1_and_none_is_0() -> None:
    draw = draw_by_uncertainty([100.0] + [0.0] * 9, 5, seed=0)
    assert draw.probabilities[0] == 1.0
    assert draw.probabilities[1:] == pytest.approx([4 / 9] * 9)
    assert 0 in draw.chosen


def test_a_judge_without_doubts_is_sampled_uniformly() -> None:
    assert draw_by_uncertainty([0.0] * 4, 2, seed=0).probabilities == pytest.approx([0.5] * 4)


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="cannot draw 5 of 4"):
        draw_uniform(4, 5, seed=0)
    with pytest.raises(UsageError, match="uniform share"):
        draw_by_uncertainty([0.1], 1, seed=0, uniform=0)
    with pytest.raises(UsageError, match="not negative"):
        draw_by_uncertainty([-0.1], 1, seed=0)
