"""Intervals of the two means every table shows: the macro mean over samples and the micro ratio of sums."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from claimeval.errors import UsageError
from claimeval.statistics.bootstrap import Interval, bca_interval, cluster_sums
from claimeval.statistics.estimate import Estimate
from claimeval.statistics.quantiles import check_level, critical_value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def mean_interval(
    values: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    support: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """The mean of `values` with an interval that resamples clusters.

    One value a sample gives the macro mean; with a cluster key per value (the question that several answers
    share, the sample that several claims come from) whole clusters are drawn. The same as `ratio_interval`
    with every denominator 1.
    """
    return ratio_interval(
        values,
        [1] * len(values),
        clusters=clusters,
        support=support,
        level=level,
        resamples=resamples,
        seed=seed,
    )


def ratio_interval(
    numerators: Sequence[float],
    denominators: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    support: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """The ratio of sums (micro mean) with an interval that resamples clusters; pairs over 0 do not count.

    The interval is BCa (`bootstrap.bca_interval`). Where nothing varies there is nothing to resample: of G
    equal clusters, at most a share b = 1 - (1 - level)^(1/G) of all clusters differs (the rule of three, 3/G,
    in its exact form), and by no more than `support`, the range of a single value, allows. A constant outside
    `support` and fewer than two clusters have no interval; empty input has no value.
    """
    import numpy as np

    check_level(level)
    if len(numerators) != len(denominators):
        raise UsageError(
            f"every numerator needs a denominator: given {len(numerators)} and {len(denominators)}"
        )
    columns = np.array([numerators, denominators], dtype=np.float64).T.reshape(-1, 2)
    if not np.isfinite(columns).all() or bool((columns[:, 1] < 0).any()):
        raise UsageError("values must be finite, denominators not negative; leave undefined values out")
    rows = cluster_sums(columns, clusters)
    rows = rows[rows[:, 1] > 0]
    n = int((columns[:, 1] > 0).sum())
    if n == 0:
        return Estimate(None, None, None, 0, "none", level=level, undefined_because="no values")
    total = rows.sum(axis=0)
    value = float(total[0] / total[1])
    if len(rows) < 2:
        reason = "one cluster has no spread to measure"
        return Estimate(value, None, None, n, "none", None, len(rows), level, reason)
    residuals = rows[:, 0] - value * rows[:, 1]
    error = clustered_error(residuals, float(total[1]))
    if bool((np.abs(residuals) > 1e-12 * np.abs(rows).max()).any()):
        interval = bca_interval(rows, _ratio, level=level, resamples=resamples, seed=seed)
        if interval is not None:
            return Estimate(value, *interval, n, "bca", error, len(rows), level)
    if not support[0] <= value <= support[1]:
        return Estimate(value, None, None, n, "none", error, len(rows), level, "all values are equal")
    other = 1 - (1 - level) ** (1 / len(rows))
    low, high = value + other * (support[0] - value), value + other * (support[1] - value)
    return Estimate(value, low, high, n, "rule_of_three", error, len(rows), level)


def clustered_error(residuals: Floats, total: float) -> float:
    """sqrt(G/(G-1) * sum of squared residuals) / total for G clusters (Miller 2411.00640 has no G/(G-1))."""
    count = len(residuals)
    return math.sqrt(count / (count - 1) * float((residuals**2).sum())) / total


def wilson_interval(share: float, n: float, *, level: float = 0.95) -> Interval:
    """Wilson's score interval of a share of `n` independent observations; `n` may be an effective number."""
    z = critical_value(level)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def _ratio(sums: Floats) -> Floats:
    quotients: Floats = sums[:, 0] / sums[:, 1]
    return quotients
