"""The cluster bootstrap of statistics that are functions of column sums, and their BCa intervals.

A mean, a ratio, F1, kappa and Krippendorff's alpha are all functions of sums over clusters: of values, of
counts, of the cells of a table. Each cluster is one row of numbers, a resample is a vector of counts, and the
sums of all resamples are one matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from claimeval.errors import UsageError
from claimeval.statistics.estimate import Estimate
from claimeval.statistics.quantiles import check_level, critical_value, normal_cdf, normal_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Statistic: TypeAlias = Callable[[Floats], Floats]

_CELLS_AT_ONCE = 1 << 21


class Interval(NamedTuple):
    """Two ends, `low <= high`."""

    low: float
    high: float


def estimates_of_sums(
    rows: Floats,
    statistics: Sequence[Statistic],
    *,
    n: int,
    undefined_because: str,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[Estimate, ...]:
    """Each statistic of the column sums of `rows`, with its BCa interval over one common set of resamples.

    `rows[g]` are the sums of cluster g; a statistic maps sums of shape `(m, columns)` to m values, undefined
    ones as NaN: if the data's own value is undefined the estimate says `undefined_because`. `resamples=0`
    gives values without intervals. The standard error is the jackknife's.
    """
    import numpy as np

    check_level(level)
    if resamples < 0:
        raise UsageError(f"resamples must be 0 (no interval) or more, given {resamples!r}")
    count = len(rows)
    if count == 0:
        return tuple(_bare(None, n, 0, level, undefined_because) for _ in statistics)
    total = rows.sum(axis=0)
    points = [float(statistic(total[None, :])[0]) for statistic in statistics]
    distinct, occurrences = distinct_rows(rows)
    sums = resample_sums(distinct, occurrences, resamples, seed) if resamples and count > 1 else rows[:0]
    estimates = []
    for statistic, point in zip(statistics, points, strict=True):
        if not math.isfinite(point):
            estimates.append(_bare(None, n, count, level, undefined_because))
            continue
        if len(sums) == 0:
            reason = "no interval was asked for" if count > 1 else "one cluster has no spread to measure"
            estimates.append(_bare(point, n, count, level, reason))
            continue
        left_out = statistic(total - distinct)
        kept = np.isfinite(left_out)
        weights, left_out = occurrences[kept], left_out[kept]
        interval = bca_interval(point, statistic(sums), left_out, weights, level)
        if interval is None:
            estimates.append(_bare(point, n, count, level, "nothing varies between resamples"))
        else:
            error = jackknife_error(left_out, weights)
            estimates.append(Estimate(point, *interval, n, "bca", error, count, level))
    return tuple(estimates)


def bca_interval(
    point: float, replicates: Floats, left_out: Floats, weights: NDArray[np.int64], level: float
) -> Interval | None:
    """The BCa interval of a statistic from its resampled values and its values with one cluster left out.

    `weights[i]` clusters give `left_out[i]`. Undefined replicates (NaN) are left out. `None` where nothing
    varies or more than half of the replicates are undefined.

    Source: Efron 1987; equals `scipy.stats.bootstrap(method="BCa")` on the same resamples at the level that
    Hesterberg's small-sample expansion asks for (2015, arXiv 1411.5279): the normal quantile is replaced by
    sqrt(G/(G-1)) times Student's with G-1 degrees of freedom, for G clusters.
    """
    import numpy as np

    defined = replicates[np.isfinite(replicates)]
    count = int(weights.sum())
    if len(defined) <= len(replicates) / 2 or count < 2:
        return None
    tolerance = 1e-12 * max(1.0, abs(point))
    below = float(np.mean((defined < point - tolerance) * 0.5 + (defined <= point + tolerance) * 0.5))
    if float(np.ptp(defined)) <= tolerance or not 0 < below < 1:
        return None
    influence = np.average(left_out, weights=weights) - left_out
    spread = float(weights @ influence**2)
    acceleration = float(weights @ influence**3) / (6 * spread**1.5) if spread > 0 else 0.0
    reach = math.sqrt(count / (count - 1)) * critical_value(level, count - 1)
    low, high = np.quantile(defined, _bca_levels(normal_quantile(below), acceleration, reach))
    return Interval(float(low), float(high))


def resample_sums(distinct: Floats, occurrences: NDArray[np.int64], resamples: int, seed: int) -> Floats:
    """Column sums of `resamples` draws with replacement of all rows; shape `(resamples, columns)`.

    The rows are given as `distinct` ones and how often each occurs. Where few are distinct, their counts are
    drawn as multinomials: the same distribution, much less work.
    """
    import numpy as np

    size = int(occurrences.sum())
    if len(distinct) * 16 <= size:
        rng = np.random.default_rng(seed)
        counts = rng.multinomial(size, occurrences / size, size=resamples)
        return counts.astype(np.float64) @ distinct
    rows = np.repeat(distinct, occurrences, axis=0)
    return np.concatenate([counts @ rows for counts in resample_counts(size, resamples, seed)])


def resample_counts(size: int, resamples: int, seed: int) -> Iterator[Floats]:
    """How often each of `size` clusters is drawn in each of `resamples` draws, in chunks `(draws, size)`."""
    import numpy as np

    rng = np.random.default_rng(seed)
    step = max(1, _CELLS_AT_ONCE // size)
    for start in range(0, resamples, step):
        draws = min(step, resamples - start)
        drawn = rng.integers(0, size, (draws, size), dtype=np.int32)
        drawn += np.arange(draws, dtype=np.int32)[:, None] * np.int32(size)
        yield np.bincount(drawn.ravel(), minlength=draws * size).reshape(draws, size).astype(np.float64)


def distinct_rows(rows: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct rows and how often each occurs. Rows are told apart by a random projection, which is checked."""
    import numpy as np

    projected = rows @ np.random.default_rng(0).normal(size=rows.shape[1])
    _, first, inverse, counts = np.unique(projected, return_index=True, return_inverse=True, return_counts=True)
    if bool((rows[first][inverse] == rows).all()):
        return rows[first], counts
    exact, exact_counts = np.unique(rows, axis=0, return_counts=True)
    return exact, exact_counts


def quotient(numerators: Floats, denominators: Floats) -> Floats:
    """The quotient, element by element; NaN, which a statistic uses for undefined, over 0."""
    import numpy as np

    defined = np.abs(denominators) > 1e-12
    return np.where(defined, numerators / np.where(defined, denominators, 1.0), np.nan)


def _bare(value: float | None, n: int, clusters: int, level: float, reason: str) -> Estimate:
    return Estimate(value, None, None, n, "none", None, clusters, level, reason)


def jackknife_error(left_out: Floats, weights: NDArray[np.int64]) -> float:
    """The jackknife's standard error from the values with one cluster left out, each `weights[i]` times."""
    import numpy as np

    count = int(weights.sum())
    deviations = left_out - np.average(left_out, weights=weights)
    return math.sqrt((count - 1) / count * float(weights @ deviations**2))


def _bca_levels(bias: float, acceleration: float, reach: float) -> list[float]:
    """The two quantile levels; beyond the pole of the correction, an end of all resamples."""
    levels = []
    for z in (bias - reach, bias + reach):
        slack = 1 - acceleration * z
        levels.append(normal_cdf(bias + z / slack) if slack > 0 else float(z > 0))
    return levels
