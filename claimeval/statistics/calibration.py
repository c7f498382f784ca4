"""Whether a judge's probabilities mean what they say: Brier score, reliability diagram, calibration error."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from claimeval.statistics.bootstrap import estimates_of_sums
from claimeval.statistics.clusters import cluster_sums
from claimeval.statistics.estimate import IntervalEstimate
from claimeval.statistics.intervals import mean_interval
from claimeval.statistics.sparse import wilson_interval
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def brier_score(
    probabilities: Sequence[float],
    outcomes: Sequence[bool],
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> IntervalEstimate:
    """The mean of (p - y)^2: 0 is perfect, 0.25 is what p = 0.5 everywhere scores. Source: Brier 1950."""
    check_probabilities(probabilities, outcomes)
    squares = [(p - bool(y)) ** 2 for p, y in zip(probabilities, outcomes, strict=True)]
    return mean_interval(squares, clusters=clusters, level=level, resamples=resamples, seed=seed)


class Bin(NamedTuple):
    """One point of a reliability diagram."""

    n: int
    """Items in the bin."""
    probability: float
    """Mean probability."""
    share: float
    """Share of true outcomes."""
    low: float
    """Lower end of Wilson's interval of the share."""
    high: float
    """Upper end of it."""


def reliability(
    probabilities: Sequence[float], outcomes: Sequence[bool], *, bins: int = 10, level: float = 0.95
) -> tuple[Bin, ...]:
    """The points of a reliability diagram: bins of equal mass, by ascending probability.

    Equal probabilities share a bin, so there may be fewer than `bins`; the intervals treat items as
    independent.
    """
    import numpy as np

    check_probabilities(probabilities, outcomes)
    values, truth = np.asarray(probabilities, dtype=np.float64), np.array(outcomes, dtype=np.float64)
    numbers = _bin_numbers(values, bins)
    points = []
    for number in np.unique(numbers):
        inside = numbers == number
        count, share = int(inside.sum()), float(truth[inside].mean())
        points.append(Bin(count, float(values[inside].mean()), share, *wilson_interval(share, count, level=level)))
    return tuple(points)


def calibration_error(
    probabilities: Sequence[float],
    outcomes: Sequence[bool],
    *,
    bins: int = 10,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> IntervalEstimate:
    """Expected calibration error: sum over bins of n_b / N |share of true outcomes - mean probability|.

    Bins of equal mass (`reliability`). The value is biased upwards by noise, by about sqrt(bins / N) / 2, and
    its interval never reaches 0: compare it with that of calibrated probabilities, not with 0. Source: Naeini
    et al. 2015; equal mass: Nixon et al. 2019, 1904.01685.
    """
    import numpy as np

    check_probabilities(probabilities, outcomes)
    values, truth = np.asarray(probabilities, dtype=np.float64), np.array(outcomes, dtype=np.float64)
    numbers = _bin_numbers(values, bins)
    gaps = np.zeros((len(values), int(numbers.max(initial=0)) + 2))
    gaps[np.arange(len(values)), numbers] = truth - values
    gaps[:, -1] = 1

    def error(sums: Floats) -> Floats:
        total: Floats = np.abs(sums[:, :-1]).sum(axis=1) / sums[:, -1]
        return total

    (estimate,) = estimates_of_sums(
        cluster_sums(gaps, clusters),
        [error],
        n=len(values),
        undefined_because="no values",
        level=level,
        resamples=resamples,
        seed=seed,
    )
    return estimate


def check_probabilities(probabilities: Sequence[float], outcomes: Sequence[bool]) -> None:
    """Raise UsageError unless there is one outcome per probability and every probability lies in [0, 1]."""
    if len(probabilities) != len(outcomes):
        raise UsageError(
            f"every probability needs its outcome: {len(probabilities)} probabilities, {len(outcomes)} outcomes"
        )
    wrong = [p for p in probabilities if not 0 <= p <= 1]
    if wrong:
        raise UsageError(f"probabilities must lie in [0, 1], given {wrong[:3]!r}")


def _bin_numbers(values: Floats, bins: int) -> NDArray[np.intp]:
    """The bin of each value: equal mass, equal values together."""
    import numpy as np

    if bins < 1:
        raise UsageError(f"bins must be 1 or more, given {bins!r}")
    first = np.searchsorted(np.sort(values), values)
    numbers: NDArray[np.intp] = first * bins // max(1, len(values))
    return numbers
