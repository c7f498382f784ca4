"""The cluster bootstrap of any statistic that is a function of column sums, and its BCa interval.

A mean, a ratio, F1, kappa and Krippendorff's alpha are all functions of sums over clusters: of values, of
counts, of the cells of a table. Each cluster is therefore one row of numbers, a resample is a vector of
counts, and the sums of all resamples are one matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from claimeval.errors import UsageError
from claimeval.statistics.quantiles import check_level, critical_value, normal_cdf, normal_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_CELLS_AT_ONCE = 1 << 21


class Interval(NamedTuple):
    """Two ends, `low <= high`."""

    low: float
    high: float


def resample_sums(rows: Floats, resamples: int, seed: int) -> Floats:
    """Column sums of `resamples` draws of the rows with replacement; shape `(resamples, columns)`.

    Rows that occur often are drawn together, as one multinomial count: the same distribution, much less work.
    """
    import numpy as np

    if resamples < 1:
        raise UsageError(f"resamples must be 1 or more, given {resamples!r}")
    rng = np.random.default_rng(seed)
    size = len(rows)
    distinct, occurrences = np.unique(rows, axis=0, return_counts=True)
    if len(distinct) * 16 <= size:
        return rng.multinomial(size, occurrences / size, size=resamples).astype(np.float64) @ distinct
    step = max(1, _CELLS_AT_ONCE // size)
    sums = np.empty((resamples, rows.shape[1]))
    for start in range(0, resamples, step):
        chunk = min(step, resamples - start)
        drawn = rng.integers(0, size, (chunk, size), dtype=np.int32)
        drawn += np.arange(chunk, dtype=np.int32)[:, None] * np.int32(size)
        counts = np.bincount(drawn.ravel(), minlength=chunk * size).reshape(chunk, size)
        sums[start : start + chunk] = counts.astype(np.float64) @ rows
    return sums


def bca_interval(
    rows: Floats,
    statistic: Callable[[Floats], Floats],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval | None:
    """The BCa interval of `statistic` over resampled rows, or `None` where it is not defined.

    `rows[g]` are the sums of cluster g; `statistic` maps sums of shape `(m, columns)` to m values, undefined
    ones as NaN (they are left out). Not defined: fewer than two rows, a constant statistic, or one that is
    undefined in more than half of the resamples.

    Source: Efron 1987, acceleration by the jackknife; equals `scipy.stats.bootstrap(method="BCa")` on the
    same resamples at the level that Hesterberg's small-sample expansion (2015, arXiv 1411.5279, section 3.3)
    asks for: the normal quantile is replaced by sqrt(G/(G-1)) times Student's with G-1 degrees of freedom.
    """
    import numpy as np

    check_level(level)
    count = len(rows)
    if count < 2:
        return None
    total = rows.sum(axis=0)
    point = float(statistic(total[None, :])[0])
    replicates = statistic(resample_sums(rows, resamples, seed))
    replicates = replicates[np.isfinite(replicates)]
    left_out = statistic(total - rows)
    left_out = left_out[np.isfinite(left_out)]
    if not math.isfinite(point) or len(replicates) <= resamples / 2 or len(left_out) < 2:
        return None
    tolerance = 1e-12 * max(1.0, abs(point))
    if float(np.ptp(replicates)) <= tolerance:
        return None
    below = float(np.mean((replicates < point - tolerance) * 0.5 + (replicates <= point + tolerance) * 0.5))
    if not 0 < below < 1:
        return None
    influence = left_out.mean() - left_out
    spread = float((influence**2).sum())
    acceleration = float((influence**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0
    reach = math.sqrt(count / (count - 1)) * critical_value(level, count - 1)
    low, high = np.quantile(replicates, _bca_levels(normal_quantile(below), acceleration, reach))
    return Interval(float(low), float(high))


def _bca_levels(bias: float, acceleration: float, reach: float) -> list[float]:
    """The two quantile levels; beyond the pole of the correction, an end of all resamples."""
    levels = []
    for z in (bias - reach, bias + reach):
        slack = 1 - acceleration * z
        levels.append(normal_cdf(bias + z / slack) if slack > 0 else float(z > 0))
    return levels
