"""The cluster bootstrap for statistics that are functions of column sums.

Means, ratios, F1, kappa and Krippendorff's alpha are functions of sums over clusters: of values, of
counts, or of the cells of a table. Each cluster is one row of numbers, a resample is a vector of
counts, and one matrix product computes the sums of all resamples.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from claimeval.statistics.quantiles import check_level, critical_value, normal_cdf, normal_quantile
from claimeval.types.errors import UsageError


class LazyModule:
    """A module that is imported on first use, because numpy takes longer to load than most commands
    take to run."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    np = numpy
    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]
    Mask: TypeAlias = NDArray[np.bool_]
    Statistic: TypeAlias = Callable[[Floats], Floats]
else:
    np = LazyModule("numpy")
    Floats = Integers = Mask = Statistic = None

Method = Literal[
    "bca", "symmetric", "wilson", "mover", "rule_of_three", "normal", "t", "jackknife", "none"
]


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A value with its confidence interval. Undefined parts are `None`; `because` is the reason."""

    value: float | None
    """The point estimate."""
    low: float | None
    """Lower end of the interval."""
    high: float | None
    """Upper end of the interval."""
    n: int
    """Number of observations."""
    method: Method
    """Method of the interval; `none` without an interval."""
    standard_error: float | None = None
    """Standard error from the variance between clusters, with the factor G/(G-1) for G clusters."""
    clusters: int = 0
    """Number of independent groups of observations; equals `n` without clustering."""
    level: float = 0.95
    """Confidence level of the interval."""
    because: str | None = None
    """Why the value or the interval is missing."""

    @property
    def width(self) -> float | None:
        """Return `high - low`, or `None` without an interval."""
        return None if self.low is None or self.high is None else self.high - self.low


def cluster_sums(columns: Floats, clusters: Sequence[Hashable] | None) -> Floats:
    """Sum the rows of `columns` by cluster, in order of first appearance. Without `clusters`, each
    row is a cluster."""
    if clusters is None:
        return columns
    codes = cluster_codes(clusters, len(columns))
    sums = np.empty((int(codes.max(initial=-1)) + 1, columns.shape[1]))
    for column, values in enumerate(columns.T):
        sums[:, column] = np.bincount(codes, values, len(sums))
    return sums


def cluster_codes(clusters: Sequence[Hashable], observations: int) -> Integers:
    """Number the keys from 0 in order of first appearance. Raises UsageError unless there is one
    per observation."""
    _check_keys(clusters, observations)
    number: dict[Hashable, int] = {}
    return np.fromiter(
        (number.setdefault(key, len(number)) for key in clusters),
        np.intp,
        observations,
    )


def keys_of(clusters: Sequence[Hashable] | None, used: Mask) -> list[Hashable] | None:
    """Return the keys of the observations in use. Raises UsageError unless there is one key per
    observation."""
    if clusters is None:
        return None
    _check_keys(clusters, len(used))
    return [key for key, is_used in zip(clusters, used, strict=True) if is_used]


def _check_keys(clusters: Sequence[Hashable], observations: int) -> None:
    if len(clusters) != observations:
        raise UsageError(
            f"clusters must hold one key per observation: {len(clusters)} keys, {observations}"
            " given"
        )


def clustered_error(residuals: Floats, total: float) -> float:
    """Return sqrt(G/(G-1) * sum of squared residuals) / total, with one residual for each of G
    clusters.

    For a mean of N values `total` is N and a residual is the sum of a cluster's deviations from the
    mean. Source: Miller 2411.00640, which omits G/(G-1); inspect_ai and statsmodels' cluster-robust
    errors have it.
    """
    count = len(residuals)
    return math.sqrt(count / (count - 1) * float((residuals**2).sum())) / total


def effective_number(weights: Floats) -> float:
    """Return Kish's effective number of clusters, (sum w)^2 / sum w^2; 0 if all weights are 0."""
    total = float(weights.sum())
    return total * total / float((weights**2).sum()) if total > 0 else 0.0


MIN_CLUSTERS = 5
"""Minimum number of clusters for resampling. Intervals of two clusters cover 50%, those of five
91%."""
NOT_REQUESTED = "no interval was requested"
# 1 MB of 8-byte numbers, which is as fast as 16 MB: with these, the copies of three columns took
# 90 MB for 10,000 samples whose values all differ, and 15 MB with 1 MB.
_CELLS_AT_ONCE = 1 << 17


class Interval(NamedTuple):
    """The two ends of an interval, `low <= high`."""

    low: float
    high: float


class Resampling(NamedTuple):
    """Settings of an interval by resampling."""

    level: float = 0.95
    """The confidence level."""
    resamples: int = 2000
    """The number of resamples; 0 for no interval."""
    seed: int = 0
    """The seed of the random generator."""


STANDARD = Resampling()
NO_INTERVAL = Resampling(resamples=0)
"""Only the value, which is much faster."""


class ClusterSums(NamedTuple):
    """The data of a bootstrap: one row of sums per cluster."""

    rows: Floats
    n: int
    """Number of observations."""
    occurrences: Integers | None = None
    """How often each row occurs; once by default."""
    effective: float | None = None
    """The effective number of clusters, if they differ in weight."""


def bootstrap_sums(
    data: ClusterSums,
    statistics: Sequence[Statistic],
    resampling: Resampling,
    *,
    because: str,
    symmetric: bool = False,
    no_interval_because: str | None = None,
) -> tuple[IntervalEstimate, ...]:
    """Return each statistic of the column sums, with its interval over one common set of resamples.

    The interval is BCa or symmetric. The standard error is the jackknife's. Fewer than
    `MIN_CLUSTERS` clusters have no interval.

    Args:
        data: The sums of each cluster.
        statistics: Functions from sums of shape `(m, columns)` to m values, with NaN for undefined
            ones.
        resampling: Level, number and seed of the resamples.
        because: The reason if the value is undefined.
        symmetric: Make the interval symmetric, for differences between interchangeable arms.
        no_interval_because: Why the data allow no interval.

    Raises:
        UsageError: If the level or the number of resamples is out of range.
    """
    rows, n, occurrences, effective = data
    level, resamples, seed = resampling
    check_level(level)
    if resamples < 0:
        raise UsageError(f"resamples must be 0 (no interval) or more, given {resamples!r}")
    distinct, times = distinct_rows(rows) if occurrences is None else (rows, occurrences)
    count = int(times.sum())
    if count == 0:
        return tuple(without_interval(None, n, 0, level, because) for _ in statistics)
    total = rows.sum(axis=0) if occurrences is None else occurrences @ rows
    points = [float(statistic(total[None, :])[0]) for statistic in statistics]
    reason = no_interval_because or why_no_interval(resamples, count)
    drawn = rows[:0] if reason else resample_sums(distinct, times, resamples, seed)
    number = float(count) if effective is None else effective
    sums = _ResampledSums(drawn, total - distinct, times, number, symmetric)
    estimates = []
    for statistic, point in zip(statistics, points, strict=True):
        if not math.isfinite(point):
            estimates.append(without_interval(None, n, count, level, because))
        elif reason:
            estimates.append(without_interval(point, n, count, level, reason))
        else:
            estimates.append(sums.estimate(statistic, point, n, level))
    return tuple(estimates)


class _ResampledSums(NamedTuple):
    """Column sums of the resamples, and of the data without one cluster."""

    drawn: Floats
    """One row for each resample."""
    without_one: Floats
    """One row for each distinct cluster that is left out."""
    occurrences: Integers
    """How many clusters are alike; one number for each row of `without_one`."""
    effective: float
    """The effective number of clusters."""
    symmetric: bool

    def estimate(
        self,
        statistic: Statistic,
        point: float,
        n: int,
        level: float,
    ) -> IntervalEstimate:
        """Return a statistic, of which the data give the value `point`, with its interval."""
        count = int(self.occurrences.sum())
        left_out = statistic(self.without_one)
        # Recall is undefined without the one cluster that has a positive item.
        is_finite = np.isfinite(left_out)
        weights = self.occurrences[is_finite]
        left_out = left_out[is_finite]
        used = int(weights.sum())
        replicates = statistic(self.drawn)
        if used < 2:
            interval = None
        elif self.symmetric:
            interval = _symmetric_interval(point, replicates, self.effective, level)
        else:
            interval = bca_interval(point, replicates, left_out, weights, self.effective, level)
        if interval is None:
            return without_interval(point, n, count, level, "nothing varies between resamples")
        deviations = left_out - np.average(left_out, weights=weights)
        error = math.sqrt((used - 1) / used * float(weights @ deviations**2))
        method: Method = "symmetric" if self.symmetric else "bca"
        return IntervalEstimate(point, *interval, n, method, error, count, level)


def bca_interval(
    point: float,
    replicates: Floats,
    left_out: Floats,
    weights: Integers,
    clusters: float,
    level: float,
) -> Interval | None:
    """Return the BCa interval of a statistic; `None` if nothing varies or over half of the
    replicates are undefined.

    Source: Efron 1987; equals `scipy.stats.bootstrap(method="BCa")` on the same resamples at the
    level of `_reach`.

    Args:
        point: The value of the data.
        replicates: The values of the resamples; undefined ones (NaN) are left out.
        left_out: The values with one cluster left out.
        weights: Number of clusters with each value of `left_out`.
        clusters: The effective number of clusters.
        level: The confidence level.
    """
    if (defined := _defined(replicates, point)) is None:
        return None
    tolerance = 1e-12 * max(1.0, abs(point))
    # Values that equal the point but for rounding count half, else yes-or-no values, of which most
    # resamples equal it, would be called biased.
    below = float(
        np.mean((defined < point - tolerance) * 0.5 + (defined <= point + tolerance) * 0.5)
    )
    if not 0 < below < 1:
        return None
    influence = np.average(left_out, weights=weights) - left_out
    spread = float(weights @ influence**2)
    acceleration = float(weights @ influence**3) / (6 * spread**1.5) if spread > 0 else 0.0
    levels = _bca_levels(normal_quantile(below), acceleration, _reach(clusters, level))
    return Interval(*(float(end) for end in np.quantile(defined, levels)))


def _bca_levels(bias: float, acceleration: float, reach: float) -> list[float]:
    """Return the two quantile levels. Beyond the pole of the correction, the level is 0 or 1."""
    levels = []
    for z in (bias - reach, bias + reach):
        # One outlier among few clusters can make the acceleration so large that this is not above
        # 0.
        slack = 1 - acceleration * z
        levels.append(normal_cdf(bias + z / slack) if slack > 0 else float(z > 0))
    return levels


def _symmetric_interval(
    point: float, replicates: Floats, clusters: float, level: float
) -> Interval | None:
    """Return the value plus and minus a quantile of its replicates' distances (Hall 1988).

    It is used for differences between two arms, whose skewness the sample hardly shows: BCa, which
    corrects for it, loses coverage if most pairs are equal. The arguments, and the cases of `None`,
    are those of `bca_interval`.
    """
    if (defined := _defined(replicates, point)) is None:
        return None
    half = float(np.quantile(np.abs(defined - point), 2 * normal_cdf(_reach(clusters, level)) - 1))
    return Interval(point - half, point + half)


def _defined(replicates: Floats, point: float) -> Floats | None:
    """Return the replicates that are defined; `None` if there are too few or all are equal."""
    defined: Floats = replicates[np.isfinite(replicates)]
    if len(defined) <= len(replicates) / 2 or float(np.ptp(defined)) <= 1e-12 * max(
        1.0, abs(point)
    ):
        return None
    return defined


def _reach(clusters: float, level: float) -> float:
    """Return sqrt(G/(G-1)) times Student's critical value with G-1 degrees of freedom, instead of
    the normal one.

    Hesterberg's expansion of bootstrap intervals for small samples (2015, arXiv 1411.5279):
    resamples vary too little by this factor, and the normal ignores that the spread is estimated. G
    is the effective number of clusters, which is smaller than their number if a few of them have
    most of the claims.
    """
    number = max(2.0, clusters)
    return math.sqrt(number / (number - 1)) * critical_value(level, int(number) - 1)


def resample_sums(distinct: Floats, occurrences: Integers, resamples: int, seed: int) -> Floats:
    """Return column sums of draws with replacement of all rows; shape `(resamples, columns)`.

    If few rows are distinct, their counts are drawn as multinomials, which is much faster for the
    same distribution.

    Args:
        distinct: The distinct rows.
        occurrences: How often each of them occurs.
        resamples: The number of draws.
        seed: The seed of the random generator.
    """
    size = int(occurrences.sum())
    if len(distinct) * 16 <= size:
        rng = np.random.default_rng(seed)
        # 10,000 claims that are supported or not are two rows: two numbers a resample, not 10,000.
        counts = rng.multinomial(size, occurrences / size, size=resamples)
        return counts.astype(np.float64) @ distinct
    rows = np.repeat(distinct, occurrences, axis=0)
    varying = np.flatnonzero(np.ptp(rows, axis=0) > 0)
    # A mean varies in one column and a ratio in two; for these, adding up what is drawn is faster
    # than counting it.
    if len(varying) > 2:
        return np.concatenate([counts @ rows for counts in resample_counts(size, resamples, seed)])
    sums = np.tile(size * rows[0], (resamples, 1))
    for column in varying:
        values = np.ascontiguousarray(rows[:, column])
        sums[:, column] = np.concatenate(
            [values.take(drawn).sum(axis=1) for drawn in _draws(size, resamples, seed)]
        )
    return sums


def resample_counts(size: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield how often each of `size` clusters is drawn in each of `resamples` draws, in chunks
    `(draws, size)`."""
    for drawn in _draws(size, resamples, seed):
        # One bincount of all draws, in which each has its own range of numbers.
        shifted = drawn + np.arange(len(drawn))[:, None] * size
        yield (
            np.bincount(shifted.ravel(), minlength=shifted.size)
            .reshape(shifted.shape)
            .astype(np.float64)
        )


def _draws(size: int, resamples: int, seed: int) -> Iterator[Integers]:
    """Yield the clusters drawn, `size` in each of `resamples` draws, in chunks `(draws, size)`."""
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS_AT_ONCE // size)
    for start in range(0, resamples, step):
        yield rng.integers(0, size, (min(step, resamples - start), size), dtype=np.int64)


def distinct_rows(rows: Floats) -> tuple[Floats, Integers]:
    """Return the distinct rows and how often each occurs.

    A random projection distinguishes the rows, and the result is checked.
    """
    projected = (rows * np.random.default_rng(0).normal(size=rows.shape[1])).sum(axis=1)
    _, first, inverse, counts = np.unique(
        projected, return_index=True, return_inverse=True, return_counts=True
    )
    # np.unique of rows sorts them as texts of bytes, many times slower than one projection.
    if bool((rows[first][inverse] == rows).all()):
        return rows[first], counts
    exact, exact_counts = np.unique(rows, axis=0, return_counts=True)
    return exact, exact_counts


def quotient(numerators: Floats, denominators: Floats) -> Floats:
    """Divide element by element. A quotient over 0 is NaN, which means undefined in a statistic."""
    # Sums of weights that should be 0 are 1e-17 after rounding, and their quotient is noise.
    defined = np.abs(denominators) > 1e-12
    return np.where(defined, numerators / np.where(defined, denominators, 1.0), np.nan)


def why_no_interval(resamples: int, clusters: int) -> str | None:
    """Return why this number of clusters is not resampled; None if it is."""
    if clusters == 1:
        return "one cluster has no spread to measure"
    if not resamples:
        return NOT_REQUESTED
    return (
        f"an interval needs {MIN_CLUSTERS} clusters, here are {clusters}"
        if clusters < MIN_CLUSTERS
        else None
    )


def without_interval(
    value: float | None,
    n: int,
    clusters: int,
    level: float,
    reason: str,
) -> IntervalEstimate:
    """Return an estimate without an interval, and possibly without a value.

    Args:
        value: The value, if there is one.
        n: Number of observations.
        clusters: Number of clusters.
        level: The requested confidence level.
        reason: Why there is no interval.
    """
    return IntervalEstimate(value, None, None, n, "none", None, clusters, level, reason)
