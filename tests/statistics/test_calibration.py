"""Calibration of probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from claimeval.statistics import (
    brier_score,
    calibrate_held_out,
    calibration_error,
    fit_calibrator,
    reliability,
    wilson_interval,
)
from claimeval.types.errors import UsageError


def overconfident(items: int) -> tuple[list[float], list[bool]]:
    """Probabilities p of things that happen with p squared."""
    rng = np.random.default_rng(0)
    probabilities = rng.beta(3, 1, items)
    return probabilities.tolist(), (rng.random(items) < probabilities**2).tolist()


def test_brier_worked_by_hand() -> None:
    assert brier_score([1.0, 0.5, 0.0], [True, True, True]).value == pytest.approx((0 + 0.25 + 1) / 3)


def test_calibration_error_worked_by_hand() -> None:
    """Two bins: .2 .2 with no success, gap .2; .8 .9 with one of two, gap .35; weighted mean .275."""
    estimate = calibration_error([0.2, 0.2, 0.8, 0.9], [False, False, True, False], bins=2)
    assert estimate.value == pytest.approx(0.5 * 0.2 + 0.5 * 0.35)


def test_a_reliability_diagram_has_bins_of_equal_mass() -> None:
    points = reliability([0.1, 0.2, 0.3, 0.4, 0.8, 0.9], [False, False, True, False, True, True], bins=3)
    assert [point.n for point in points] == [2, 2, 2]
    assert [point.probability for point in points] == pytest.approx([0.15, 0.35, 0.85])
    assert [point.share for point in points] == [0, 0.5, 1]
    assert (points[1].low, points[1].high) == wilson_interval(0.5, 2)


def test_equal_probabilities_share_a_bin() -> None:
    assert [point.n for point in reliability([0.9] * 7 + [0.95] * 3, [True] * 10, bins=5)] == [7, 3]


def test_no_probabilities_have_no_error() -> None:
    assert calibration_error([], []).undefined_because == "no values"
    assert reliability([], []) == ()


def test_isotonic_calibration_pools_violators() -> None:
    """.1 no, .4 yes, .6 no, .9 yes: the middle two pool to .5."""
    calibrator = fit_calibrator([0.1, 0.4, 0.6, 0.9], [False, True, False, True], method="isotonic")
    assert calibrator.values == (0.0, 0.5, 0.5, 1.0)
    assert calibrator.apply([0.0, 0.25, 0.5, 0.75, 1.0]) == pytest.approx([0, 0.25, 0.5, 0.75, 1])


def test_platt_is_for_few_labels_and_survives_separation() -> None:
    calibrator = fit_calibrator([0.1, 0.2, 0.8, 0.9], [False, False, True, True])
    assert calibrator.method == "platt"
    low, high = calibrator.apply([0.1, 0.9])
    assert 0 < low < 0.5 < high < 1


def test_platt_solves_its_equations() -> None:
    """At the optimum the residuals of the smoothed targets are orthogonal to 1 and to logit(p)."""
    probabilities, outcomes = overconfident(150)
    calibrated = np.array(fit_calibrator(probabilities, outcomes, method="platt").apply(probabilities))
    yes = sum(outcomes)
    targets = np.where(outcomes, (yes + 1) / (yes + 2), 1 / (150 - yes + 2))
    logits = np.log(np.array(probabilities) / (1 - np.array(probabilities)))
    assert (calibrated - targets).sum() == pytest.approx(0, abs=1e-3)
    assert ((calibrated - targets) * logits).sum() == pytest.approx(0, abs=1e-3)


def test_calibration_is_fitted_on_one_half_of_the_questions_and_reported_on_the_other() -> None:
    probabilities, outcomes = overconfident(900)
    result = calibrate_held_out(probabilities, outcomes, [f"question {i // 3}" for i in range(900)])
    assert result.fitted_on + result.reported_on == 900
    assert result.calibrator.method == "isotonic"
    assert result.error_after.value is not None
    assert result.error_before.value is not None
    assert result.brier_after.value is not None
    assert result.brier_before.value is not None
    assert result.error_after.value < result.error_before.value / 1.5
    assert result.brier_after.value < result.brier_before.value
    assert result.brier_after.clusters == result.reported_on / 3


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match=r"\[0, 1\]"):
        brier_score([1.2], [True])
    with pytest.raises(UsageError, match="its outcome"):
        brier_score([0.2], [])
    with pytest.raises(UsageError, match="bins"):
        reliability([0.2], [True], bins=0)
    with pytest.raises(UsageError, match="none were given"):
        fit_calibrator([], [])
    with pytest.raises(UsageError, match="one key per item"):
        calibrate_held_out([0.2], [True], [])
