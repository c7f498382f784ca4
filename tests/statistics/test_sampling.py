"""Draws of items to label: exact numbers, known probabilities, and growth that keeps what was
drawn."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from claimeval.statistics import draw_even, draw_stratified
from claimeval.types.errors import UsageError


def test_an_even_draw_is_exact_in_number_and_repeatable() -> None:
    draw = draw_even([0.0] * 10, 4, seed=1)
    assert len(set(draw.chosen)) == 4
    assert draw.probabilities == (0.4,) * 10
    assert draw == draw_even([0.0] * 10, 4, seed=1)
    assert {draw_even([0.0] * 10, 4, seed=seed).chosen for seed in range(5)} != {draw.chosen}
    assert draw_even([0.0] * 3, 3, seed=0).chosen == (0, 1, 2)


def test_an_even_draw_has_each_rank_in_proportion() -> None:
    """60 items of rank 0, 30 of .5, 10 of 1: of ten drawn, six, three and one."""
    ranks = [0.0] * 60 + [0.5] * 30 + [1.0] * 10
    for seed in range(20):
        counts = Counter(ranks[i] for i in draw_even(ranks, 10, seed=seed).chosen)
        assert counts == {0.0: 6, 0.5: 3, 1.0: 1}


def test_an_even_draw_grows_without_losing_an_item_and_stays_even() -> None:
    ranks = (np.arange(200) % 4).tolist()
    first = draw_even(ranks, 40, seed=3)
    grown = draw_even(ranks, 100, seed=3, taken=first.chosen)
    assert set(first.chosen) < set(grown.chosen)
    assert (len(grown.chosen), set(grown.probabilities)) == (100, {0.5})
    assert Counter(ranks[i] for i in grown.chosen) == {0: 25, 1: 25, 2: 25, 3: 25}
    assert draw_even(ranks, 40, seed=3, taken=first.chosen).chosen == first.chosen


def test_items_are_included_as_often_as_the_draw_says() -> None:
    """Twelve of thirty, drawn at once and in two steps: each item in .4 of 3,000 draws, with an
    error of .009."""
    ranks = (np.arange(30) // 7).tolist()
    once = np.zeros(30)
    twice = np.zeros(30)
    for seed in range(3000):
        once[list(draw_even(ranks, 12, seed=seed).chosen)] += 1
        first = draw_even(ranks, 5, seed=seed).chosen
        twice[list(draw_even(ranks, 12, seed=seed, taken=first).chosen)] += 1
    for counts in (once, twice):
        assert np.abs(counts / 3000 - 0.4).max() < 0.04


def test_a_stratified_draw_gives_small_strata_their_least_number() -> None:
    strata = ["large"] * 100 + ["small"] * 8
    draw = draw_stratified(strata, 20, seed=1, at_least=5)
    counts = Counter(strata[i] for i in draw.chosen)
    assert counts == {"large": 15, "small": 5}
    assert (draw.probabilities[0], draw.probabilities[-1]) == (0.15, 0.625)


def test_a_stratified_draw_is_proportional_where_strata_are_large() -> None:
    strata = ["a"] * 200 + ["b"] * 100
    draw = draw_stratified(strata, 60, seed=2, at_least=15)
    assert Counter(strata[i] for i in draw.chosen) == {"a": 40, "b": 20}


def test_a_stratified_draw_grows_within_its_strata() -> None:
    strata = ["a"] * 200 + ["b"] * 20
    first = draw_stratified(strata, 30, seed=2)
    grown = draw_stratified(strata, 60, seed=2, taken=first.chosen)
    assert Counter(strata[i] for i in first.chosen) == {"a": 15, "b": 15}
    assert Counter(strata[i] for i in grown.chosen) == {"a": 45, "b": 15}
    assert set(first.chosen) < set(grown.chosen)
    assert (grown.probabilities[0], grown.probabilities[-1]) == (45 / 200, 0.75)


def test_too_small_a_draw_is_spread_evenly() -> None:
    strata = ["a"] * 50 + ["b"] * 50
    assert Counter(strata[i] for i in draw_stratified(strata, 10, seed=2).chosen) == {
        "a": 5,
        "b": 5,
    }


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot draw 5 of 4 items; give a number from 1 to 4"):
        draw_even([0.0] * 4, 5, seed=0)
    with pytest.raises(UsageError, match="give a number from 3 to 4"):
        draw_stratified([0] * 4, 2, seed=0, taken=[0, 1, 2])
    with pytest.raises(UsageError, match="cannot draw 0"):
        draw_even([0.0], 0, seed=0)
