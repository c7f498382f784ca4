"""Making a judge's probabilities mean what they say: isotonic regression and Platt scaling, on held-out labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from claimeval.statistics.calibration import brier_score, calibration_error, check_probabilities
from claimeval.statistics.estimate import IntervalEstimate
from claimeval.statistics.splits import in_first_half
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_ENOUGH_FOR_ISOTONIC = 200
_EDGE = 1e-6


@dataclass(frozen=True, slots=True)
class Calibrator:
    """A rising map from a judge's probabilities to shares of true outcomes."""

    method: Literal["isotonic", "platt"]
    """`isotonic`: straight lines between the knots; `platt`: sigma(slope logit(p) + intercept) in two parameters."""
    knots: tuple[float, ...]
    """Isotonic: probabilities, ascending. Platt: slope and intercept."""
    values: tuple[float, ...]
    """Isotonic: the calibrated probability at each knot. Platt: empty."""

    def apply(self, probabilities: Sequence[float]) -> list[float]:
        """The calibrated probabilities; beyond the outermost knots their values hold."""
        import numpy as np

        if self.method == "isotonic":
            calibrated: list[float] = np.interp(probabilities, self.knots, self.values).tolist()
            return calibrated
        slope, intercept = self.knots
        return [1 / (1 + math.exp(-slope * _logit(p) - intercept)) for p in probabilities]


def fit_calibrator(
    probabilities: Sequence[float],
    outcomes: Sequence[bool],
    *,
    method: Literal["isotonic", "platt"] | None = None,
) -> Calibrator:
    """Fit a calibrator; by default isotonic from 200 labels on, Platt's two parameters below.

    Isotonic equals `sklearn.isotonic.IsotonicRegression(out_of_bounds="clip")`. Platt smooths its targets as
    in Platt 1999, (n1 + 1) / (n1 + 2) and 1 / (n0 + 2), so it is defined for perfectly separated labels too.
    """
    check_probabilities(probabilities, outcomes)
    if not probabilities:
        raise UsageError("a calibrator needs probabilities with known outcomes; none were given")
    chosen = method or ("isotonic" if len(probabilities) >= _ENOUGH_FOR_ISOTONIC else "platt")
    return (_isotonic if chosen == "isotonic" else _platt)(probabilities, outcomes)


@dataclass(frozen=True, slots=True)
class HeldOutCalibration:
    """A calibrator fitted on one half of the keys, and what it does on the other half."""

    calibrator: Calibrator
    """Fitted on the first half."""
    brier_before: IntervalEstimate
    """Brier score of the judge's own probabilities on the second half."""
    brier_after: IntervalEstimate
    """Brier score of the calibrated ones on the second half."""
    error_before: IntervalEstimate
    """Expected calibration error of the judge's own probabilities on the second half."""
    error_after: IntervalEstimate
    """Expected calibration error of the calibrated ones on the second half."""
    fitted_on: int
    """Items in the first half."""
    reported_on: int
    """Items in the second half."""


def calibrate_held_out(
    probabilities: Sequence[float],
    outcomes: Sequence[bool],
    keys: Sequence[str],
    *,
    method: Literal["isotonic", "platt"] | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> HeldOutCalibration:
    """Fit on the items whose key falls in the first half (`splits.in_first_half`), report on the others.

    `keys[i]` is what must not be on both sides, usually the question; it is also the cluster of the
    intervals.
    """
    check_probabilities(probabilities, outcomes)
    if len(keys) != len(probabilities):
        raise UsageError(f"keys must hold one key per item: {len(keys)} keys, {len(probabilities)} items")
    first = [i for i, key in enumerate(keys) if in_first_half(key)]
    second = [i for i, key in enumerate(keys) if not in_first_half(key)]
    calibrator = fit_calibrator([probabilities[i] for i in first], [outcomes[i] for i in first], method=method)
    own, truth = [probabilities[i] for i in second], [outcomes[i] for i in second]
    clusters = [keys[i] for i in second]

    def brier(values: Sequence[float]) -> IntervalEstimate:
        return brier_score(values, truth, clusters=clusters, level=level, resamples=resamples, seed=seed)

    def error(values: Sequence[float]) -> IntervalEstimate:
        return calibration_error(values, truth, clusters=clusters, level=level, resamples=resamples, seed=seed)

    calibrated = calibrator.apply(own)
    return HeldOutCalibration(
        calibrator, brier(own), brier(calibrated), error(own), error(calibrated), len(first), len(second)
    )


def _isotonic(probabilities: Sequence[float], outcomes: Sequence[bool]) -> Calibrator:
    import numpy as np
    from scipy.optimize import isotonic_regression

    values, inverse, counts = np.unique(probabilities, return_inverse=True, return_counts=True)
    shares = np.bincount(inverse, np.array(outcomes, dtype=np.float64)) / counts
    fitted = isotonic_regression(shares, weights=counts).x
    return Calibrator("isotonic", tuple(values.tolist()), tuple(fitted.tolist()))


def _platt(probabilities: Sequence[float], outcomes: Sequence[bool]) -> Calibrator:
    """Logistic regression of the smoothed outcomes on logit(p)."""
    import numpy as np
    from scipy.optimize import minimize
    from scipy.special import expit

    positives = sum(map(bool, outcomes))
    high, low = (positives + 1) / (positives + 2), 1 / (len(outcomes) - positives + 2)
    targets = np.where(np.array(outcomes, dtype=bool), high, low)
    design = np.column_stack([[_logit(p) for p in probabilities], np.ones(len(targets))])

    def loss(parameters: Floats) -> tuple[float, Floats]:
        linear = design @ parameters
        value = float((np.logaddexp(0, linear) - targets * linear).sum())
        return value, design.T @ (expit(linear) - targets)

    slope, intercept = minimize(loss, np.array([1.0, 0.0]), jac=True, method="BFGS").x
    return Calibrator("platt", (float(slope), float(intercept)), ())


def _logit(probability: float) -> float:
    inside = min(1 - _EDGE, max(_EDGE, probability))
    return math.log(inside / (1 - inside))
