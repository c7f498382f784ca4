"""Rogan-Gladen and its guard."""

from __future__ import annotations

import numpy as np
import pytest

from claimeval.statistics import Rate, rogan_gladen
from claimeval.statistics.correction import rogan_gladen_rate
from claimeval.types.errors import UsageError


def test_the_worked_case_of_lee_et_al() -> None:
    """The README of the paper's code (2511.21140): p .4 of 1000, q0 .7, q1 .9, 200 labels of each
    kind."""
    estimate = rogan_gladen_rate(Rate(0.4, 1000), Rate(0.7, 200), Rate(0.9, 200))
    assert estimate.value == pytest.approx(1 / 6)
    assert (estimate.low, estimate.high) == pytest.approx((0.0564, 0.2627), abs=5e-5)


def test_a_judge_no_better_than_chance_is_refused() -> None:
    """At q0 + q1 = 1.3 with 50 labels of each kind an unguarded interval can have negative
    width."""
    chance = rogan_gladen_rate(Rate(0.4, 1000), Rate(0.5, 200), Rate(0.5, 200))
    assert chance.value is None
    weak = rogan_gladen_rate(Rate(0.4, 1000), Rate(0.55, 30), Rate(0.6, 30))
    assert weak.value is None
    assert weak.because is not None
    assert "cannot tell the judge from chance" in weak.because


def test_rates_beyond_the_judges_errors_end_at_0_and_1() -> None:
    estimate = rogan_gladen_rate(Rate(0.05, 500), Rate(0.8, 200), Rate(0.9, 200))
    assert (estimate.value, estimate.low) == (0.0, 0.0)
    mirrored = rogan_gladen_rate(Rate(0.95, 500), Rate(0.9, 200), Rate(0.8, 200))
    assert (mirrored.value, mirrored.high) == (1.0, 1.0)
    assert mirrored.low == pytest.approx(1 - (estimate.high or 0.0))


def test_an_interval_beyond_an_end_is_that_end() -> None:
    """At 99.9% z is 3.29. With 2 human noes, q0 = 3/4 and its noise 3/64; theta is 0.

    So the shift is -2 z^2 3/64 = -1.01 and the reach z sqrt(3/64) / .75 = .95: the upper end would
    be -.06.
    """
    never = Rate(0.0, 10_000)
    few = Rate(1.0, 2)
    many = Rate(1.0, 1000)
    none = rogan_gladen_rate(never, few, many, level=0.999)
    assert (none.value, none.low, none.high) == (0.0, 0.0, 0.0)
    every = rogan_gladen_rate(Rate(1.0, 10_000), many, few, level=0.999)
    assert (every.value, every.low, every.high) == (1.0, 1.0, 1.0)


def test_the_labels_may_come_from_another_population() -> None:
    """Calibration items are half yes, the items in question 90% yes; the judge errs alike on
    both."""
    rng = np.random.default_rng(0)
    truth = np.concatenate([rng.random(600) < 0.5, rng.random(4000) < 0.9])
    judge = np.where(truth, rng.random(4600) < 0.9, rng.random(4600) < 0.2)
    human = [bool(label) if i < 600 else None for i, label in enumerate(truth)]
    result = rogan_gladen(judge.tolist(), human)
    assert result.corrected.low is not None
    assert result.corrected.high is not None
    assert result.corrected.low < 0.9 < result.corrected.high
    assert result.judge.value == pytest.approx(judge.mean())
    assert (result.labeled, result.unlabeled, result.method) == (600, 4000, "rogan-gladen")


def test_clusters_count_as_fewer_items() -> None:
    rng = np.random.default_rng(1)
    truth = np.repeat(rng.random(300) < 0.7, 5)
    judge = np.where(
        truth, np.repeat(rng.random(300) < 0.9, 5), np.repeat(rng.random(300) < 0.2, 5)
    )
    human = [bool(label) if i < 750 else None for i, label in enumerate(truth)]
    apart = rogan_gladen(judge.tolist(), human)
    together = rogan_gladen(judge.tolist(), human, clusters=[i // 5 for i in range(1500)])
    assert apart.corrected.value == together.corrected.value
    assert together.corrected.width is not None
    assert apart.corrected.width is not None
    assert together.corrected.width > 1.9 * apart.corrected.width


def test_labels_of_one_kind_are_not_enough() -> None:
    result = rogan_gladen([True, False, True], [True, True, None])
    assert result.corrected.because == "needs labels of both kinds"
    assert rogan_gladen([True, False], [True, False]).corrected.because == "needs unlabeled items"


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="same items"):
        rogan_gladen([True], [])
    with pytest.raises(UsageError, match="one key per observation"):
        rogan_gladen([True], [None], clusters=[])
