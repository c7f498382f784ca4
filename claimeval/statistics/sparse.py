"""Intervals where almost all clusters have one value: all claims supported, or two arms that agree.

Resampling then sees too little: with a handful of failures the bootstrap covers 85 to 90 % instead of 95 %,
and with none it has no width. What bounds the mean is how many clusters may differ unseen, and how far they
can.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from claimeval.statistics.bootstrap import Interval
from claimeval.statistics.clusters import clustered_error, effective_number
from claimeval.statistics.quantiles import beta_quantile, check_level, critical_value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def wilson_interval(share: float, n: float, *, level: float = 0.95) -> Interval:
    """Wilson's score interval of a share of `n` independent observations; `n` may be an effective number."""
    z = critical_value(level)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Interval(max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half)))


def clopper_pearson_interval(share: float, n: float, *, level: float = 0.95) -> Interval:
    """The exact interval of a share of `n` independent observations (Clopper & Pearson 1934), never too narrow.

    `n` may be an effective number. Equals `statsmodels.stats.proportion.proportion_confint(method="beta")`.
    """
    check_level(level)
    hits, tail = share * n, (1 - level) / 2
    return Interval(
        beta_quantile(tail, hits, n - hits + 1) if share > 0 else 0.0,
        beta_quantile(1 - tail, hits + 1, n - hits) if share < 1 else 1.0,
    )


def common_value(rows: Floats, few: int) -> float | None:
    """The value that more than half of the clusters have, while fewer than `few` effectively differ; else `None`.

    `rows[g]` are numerator and denominator of cluster g. Clusters that differ count by how far they differ,
    as their effective number: one that is far off among nine that are hardly so is one.
    """
    import numpy as np

    values = rows[:, 0] / rows[:, 1]
    middle = float(np.sort(values)[len(values) // 2])
    excess = np.abs(rows[:, 0] - middle * rows[:, 1])
    differing = np.abs(values - middle) > 1e-12
    seldom = int(differing.sum()) < len(values) / 2 and effective_number(excess[differing]) < few
    return middle if seldom else None


def constant_interval(value: float, clusters: int, support: tuple[float, float], level: float) -> Interval:
    """The rule of three in its exact form, for `clusters` that all have `value`.

    With confidence `level` at most a share b = 1 - (1 - level)^(1/clusters) of all clusters has another
    value, and that value lies in `support`.
    """
    other = 1 - (1 - level) ** (1 / clusters)
    return Interval(value + other * (support[0] - value), value + other * (support[1] - value))


def sparse_interval(rows: Floats, common: float, support: tuple[float, float], level: float) -> Interval:
    """The interval of a mean of which few clusters differ from the `common` value.

    The distances above and below the common value are two shares of what `support` allows. Each gets what
    Wilson's and Clopper and Pearson's intervals span on its effective number of clusters, since Wilson's alone
    excludes a share of .995 after one failure in 30; the two are combined as Newcombe (1998, method 10) combines
    the shares of a difference.
    """
    import numpy as np

    excess = rows[:, 0] - common * rows[:, 1]
    value = common + float(excess.sum() / rows[:, 1].sum())
    more = _reach(np.maximum(excess, 0.0), rows[:, 1], support[1] - common, level)
    less = _reach(np.maximum(-excess, 0.0), rows[:, 1], common - support[0], level)
    return Interval(value - math.hypot(more.low, less.high), value + math.hypot(more.high, less.low))


def _reach(excess: Floats, weights: Floats, limit: float, level: float) -> Interval:
    """How far below and above its estimate a mean excess in [0, `limit`] may lie.

    Effective clusters are their effective number by weight over the design effect, the variance between
    clusters relative to that of a share. It rests on few clusters, so it is drawn towards 1, its largest
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
