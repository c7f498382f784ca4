"""Intervals of what every table shows: the macro mean over samples, the micro ratio of sums, paired differences.

If almost all clusters have one value (all claims supported, or two arms that agree), resampling sees too little: with
a handful of failures the bootstrap covers 85 to 90 % instead of 95 %, and with none it has no width. What bounds the
mean then is how many clusters may differ unseen, and how far they can.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from claimeval.statistics.bootstrap import (
    MIN_CLUSTERS,
    STANDARD,
    ClusterSums,
    Interval,
    IntervalEstimate,
    Resampling,
    bootstrap_sums,
    cluster_sums,
    clustered_error,
    effective_number,
    without_interval,
)
from claimeval.statistics.quantiles import beta_quantile, check_level, critical_value
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    from claimeval.statistics.bootstrap import Floats


def wilson_interval(share: float, n: float, *, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a proportion of `n` observations; `n` may be an effective number."""
    z = critical_value(level)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Interval(max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half)))


def clopper_pearson_interval(share: float, n: float, *, level: float = 0.95) -> Interval:
    """Return the exact interval of a proportion of `n` independent observations (Clopper & Pearson 1934).

    It is never too narrow. `n` may be an effective number. Equals
    `statsmodels.stats.proportion.proportion_confint(method="beta")`.
    """
    check_level(level)
    hits, tail = share * n, (1 - level) / 2
    return Interval(
        beta_quantile(tail, hits, n - hits + 1) if share > 0 else 0.0,
        beta_quantile(1 - tail, hits + 1, n - hits) if share < 1 else 1.0,
    )


def common_value(rows: Floats, limit: int) -> float | None:
    """Return the value of more than half of the clusters, if effectively fewer than `limit` differ; else `None`.

    `rows[g]` are numerator and denominator of cluster g. Clusters that differ count by how far they differ,
    as their effective number: one that is far off among nine that are hardly so is one.
    """
    import numpy as np

    values = rows[:, 0] / rows[:, 1]
    middle = float(np.sort(values)[len(values) // 2])
    excess = np.abs(rows[:, 0] - middle * rows[:, 1])
    differing = np.abs(values - middle) > 1e-12
    seldom = int(differing.sum()) < len(values) / 2 and effective_number(excess[differing]) < limit
    return middle if seldom else None


def constant_interval(value: float, clusters: int, support: tuple[float, float], level: float) -> Interval:
    """Return the rule of three in its exact form.

    With confidence `level` at most a share b = 1 - (1 - level)^(1/clusters) of all clusters has another
    value, and that value lies in `support`.

    Args:
        value: The value of all clusters.
        clusters: Their number.
        support: The range of a single value.
        level: The confidence level.
    """
    other = 1 - (1 - level) ** (1 / clusters)
    return Interval(value + other * (support[0] - value), value + other * (support[1] - value))


def _sparse_interval(rows: Floats, common: float, support: tuple[float, float], level: float) -> Interval:
    """Return the interval of a mean of which few clusters differ from the common value.

    The distances above and below the common value are two proportions of what `support` allows. Each gets what
    Wilson's and Clopper and Pearson's intervals span on its effective number of clusters, since Wilson's alone
    excludes a proportion of .995 after one failure in 30; the two are combined as Newcombe (1998, method 10) combines
    the proportions of a difference.
    """
    import numpy as np

    excess = rows[:, 0] - common * rows[:, 1]
    value = common + float(excess.sum() / rows[:, 1].sum())
    more = _reach(np.maximum(excess, 0.0), rows[:, 1], support[1] - common, level)
    less = _reach(np.maximum(-excess, 0.0), rows[:, 1], common - support[0], level)
    return Interval(value - math.hypot(more.low, less.high), value + math.hypot(more.high, less.low))


def _reach(excess: Floats, weights: Floats, limit: float, level: float) -> Interval:
    """Return how far below and above its estimate a mean excess in [0, `limit`] may lie.

    Effective clusters are their effective number by weight over the design effect, the variance between
    clusters relative to that of a proportion. It rests on few clusters, so it is drawn towards 1, its largest
    value, by the weight of one cluster.
    """
    if limit <= 0:
        return Interval(0.0, 0.0)
    count, total = max(2.0, effective_number(weights)), float(weights.sum())
    share = float(excess.sum()) / (limit * total)
    differing = effective_number(excess)
    variance = clustered_error(excess / limit - share * weights, total) ** 2
    effect = min(1.0, count * variance / (share * (1 - share))) if 0 < share < 1 else 1.0
    effect = (differing * effect + 1) / (differing + 1)
    widening = (critical_value(level, int(count) - 1) / critical_value(level)) ** 2
    number = count / (effect * widening)
    wilson, exact = wilson_interval(share, number, level=level), clopper_pearson_interval(share, number, level=level)
    low, high = min(wilson.low, exact.low), max(wilson.high, exact.high)
    return Interval(limit * (share - low), limit * (high - share))


def mean_interval(
    values: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    support: tuple[float, float] = (0.0, 1.0),
    resampling: Resampling = STANDARD,
) -> IntervalEstimate:
    """Return the mean of `values` with an interval that resamples clusters.

    One value a sample gives the macro mean. The interval is that of `ratio_interval` with every denominator 1.

    Args:
        values: One value per observation; leave undefined ones out. Without values the mean is undefined.
        clusters: One key per value (the question that several answers share, the sample that several claims come from).
            Whole clusters are drawn; by default every value is a cluster.
        support: The range of a single value.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The mean and its interval, or the reason why there is none.

    Raises:
        UsageError: If a value is not finite, or `clusters` does not have one key per value.
    """
    import numpy as np

    columns = _columns(values, np.ones(len(values)))
    return _estimate(columns, clusters, support, False, resampling)


def ratio_interval(
    numerators: Sequence[float],
    denominators: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    support: tuple[float, float] = (0.0, 1.0),
    resampling: Resampling = STANDARD,
) -> IntervalEstimate:
    """Return the ratio of sums (micro mean) with an interval that resamples clusters; pairs over 0 do not count.

    The interval is BCa (`bootstrap.bca_interval`), unless almost every cluster has one value: then few
    resamples differ, and the interval follows from the range of a single value, `support`: `wilson` if
    effectively fewer than ten clusters (and fewer than half) differ from the common value, `rule_of_three`
    if none does. Values outside `support` get BCa or, if constant, no interval. Fewer than
    `bootstrap.MIN_CLUSTERS` clusters say too little of their distribution to be resampled: then the interval is `t`,
    the span of Student's t on the clusters and Wilson's interval of their number, within `support`. Fewer than two
    clusters have no interval, empty input no value.

    Args:
        numerators: One per observation.
        denominators: One per numerator, not negative.
        clusters: One key per observation; by default every one is a cluster.
        support: The range of a single ratio.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The ratio and its interval, or the reason why there is none.

    Raises:
        UsageError: If the arguments differ in length, a value is not finite or a denominator is negative.
    """
    return _estimate(_columns(numerators, denominators), clusters, support, False, resampling)


def difference_interval(
    differences: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    support: tuple[float, float] = (-1.0, 1.0),
    resampling: Resampling = STANDARD,
) -> IntervalEstimate:
    """Return the mean of paired differences with an interval that resamples clusters.

    As `mean_interval`, but symmetric about the mean (`bootstrap.symmetric_interval`). If effectively fewer than three
    clusters differ from the common difference, usually 0, Wilson's intervals of either side are combined. Fewer than
    `bootstrap.MIN_CLUSTERS` clusters get Student's t, within `support`.

    Args:
        differences: One per pair; leave undefined ones out.
        clusters: One key per pair; by default every pair is a cluster.
        support: The range of a single difference.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The mean difference and its interval, or the reason why there is none.

    Raises:
        UsageError: If a value is not finite, or `clusters` does not have one key per pair.
    """
    import numpy as np

    columns = _columns(differences, np.ones(len(differences)))
    return _estimate(columns, clusters, support, True, resampling)


def _columns(numerators: Sequence[float] | Floats, denominators: Sequence[float] | Floats) -> Floats:
    import numpy as np

    if len(numerators) != len(denominators):
        raise UsageError(f"every numerator needs a denominator: given {len(numerators)} and {len(denominators)}")
    columns = np.array([numerators, denominators], dtype=np.float64).T.reshape(-1, 2)
    if not np.isfinite(columns).all() or bool((columns[:, 1] < 0).any()):
        raise UsageError("values must be finite, denominators not negative; leave undefined values out")
    return columns


def _estimate(
    columns: Floats,
    clusters: Sequence[Hashable] | None,
    support: tuple[float, float],
    symmetric: bool,
    resampling: Resampling,
) -> IntervalEstimate:
    import numpy as np

    level = resampling.level
    check_level(level)
    rows = cluster_sums(columns, clusters)
    rows = rows[rows[:, 1] > 0]
    n = int((columns[:, 1] > 0).sum())
    if n == 0:
        return without_interval(None, 0, 0, level, "no values")
    total = rows.sum(axis=0)
    value = float(total[0] / total[1])
    error = clustered_error(rows[:, 0] - value * rows[:, 1], float(total[1])) if len(rows) > 1 else None
    values = rows[:, 0] / rows[:, 1]
    bounded = bool((values >= support[0]).all() and (values <= support[1]).all())
    common = common_value(rows, 3 if symmetric else 10) if bounded and len(rows) > 1 else None
    varies = float(np.ptp(values)) > 1e-12
    if varies and len(rows) < MIN_CLUSTERS and resampling.resamples > 0:
        assert error is not None, "values that vary are several"
        scale = support if bounded else (-math.inf, math.inf)
        interval = _few_interval(value, error, effective_number(rows[:, 1]), scale, symmetric, level)
        return IntervalEstimate(value, *interval, n, "t", error, len(rows), level)
    if common is None:
        (estimate,) = bootstrap_sums(
            ClusterSums(rows, n, effective=effective_number(rows[:, 1])),
            [_ratio],
            resampling,
            because="no values",
            symmetric=symmetric,
        )
        return replace(estimate, standard_error=error)
    if not varies:
        interval = constant_interval(common, len(rows), support, level)
        return IntervalEstimate(value, *interval, n, "rule_of_three", error, len(rows), level)
    interval = _sparse_interval(rows, common, support, level)
    return IntervalEstimate(value, *interval, n, "wilson", error, len(rows), level)


def _few_interval(
    value: float, error: float, clusters: float, support: tuple[float, float], symmetric: bool, level: float
) -> Interval:
    """Return the interval of a mean over fewer clusters than can be resampled; `clusters` is their effective number.

    Student's t alone covers 55 to 70 % if values crowd at both ends of the scale and the few drawn happen to lie
    at one; Wilson's interval knows how much room there is. Differences need no such help.
    """
    half = critical_value(level, max(1, int(clusters + 1e-9) - 1)) * error
    low, high = value - half, value + half
    least, most = support
    if not symmetric and math.isfinite(most - least):
        wilson = wilson_interval((value - least) / (most - least), clusters, level=level)
        low, high = min(low, least + wilson.low * (most - least)), max(high, least + wilson.high * (most - least))
    return Interval(max(least, low), min(most, high))


def _ratio(sums: Floats) -> Floats:
    quotients: Floats = sums[:, 0] / sums[:, 1]
    return quotients
