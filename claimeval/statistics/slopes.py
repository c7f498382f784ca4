"""A share along a number, such as the rank of a document, as a straight line."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from claimeval.statistics.bootstrap import (
    Floats,
    Integers,
    IntervalEstimate,
    cluster_codes,
    np,
    without_interval,
)
from claimeval.statistics.quantiles import critical_value

SHORTEST = 3
"""Clusters from which a line has an interval."""
TOO_FEW = "too few ranks or samples"


def straight_fall(
    places: Sequence[float],
    hits: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    level: float = 0.95,
) -> IntervalEstimate:
    """Return how much a share of hits falls as the place goes up by 1, by least squares.

    The interval leaves out one cluster at a time: the jackknife (CR3), because the items of a
    cluster are alike, and other sandwich estimates are too narrow for few clusters (Bell and
    McCaffrey 2002). It alone would only know the misses that the items happen to show, and covers
    32% of twelve items of which .97 are hits. So a hit and a miss are added at the first and at the
    last place, as Agresti and Caffo (2000, The American Statistician 54:280) do for the difference
    of two proportions, each a cluster of its own; the value is that of the items alone.

    Args:
        places: The place of each item.
        hits: 1 or 0 for each item.
        clusters: The cluster of each item.
        level: The confidence level.
    """
    x = np.asarray(places, dtype=np.float64)
    y = np.asarray(hits, dtype=np.float64)
    codes = cluster_codes(clusters, len(x))
    count = int(codes.max(initial=-1)) + 1
    nothing = without_interval(None, len(x), count, level, TOO_FEW)
    if count < SHORTEST:
        return nothing
    slope, left = _slopes(x, y, codes)
    # Without one cluster, all items may have one place, and such items have no slope.
    if not (math.isfinite(slope) and np.isfinite(left).all()):
        return nothing
    added = np.array([x.min(), x.min(), x.max(), x.max()])
    more, left = _slopes(
        np.concatenate([x, added]),
        np.concatenate([y, [0.0, 1.0, 0.0, 1.0]]),
        np.concatenate([codes, count + np.arange(len(added))]),
    )
    freedom = len(left) - 1
    error = math.sqrt(float(((left - more) ** 2).sum()) * freedom / len(left))
    reach = error * critical_value(level, freedom)
    return IntervalEstimate(
        -slope,
        min(-more - reach, -slope),
        max(-more + reach, -slope),
        len(x),
        "jackknife",
        error,
        count,
        level,
    )


def _slopes(x: Floats, y: Floats, codes: Integers) -> tuple[float, Floats]:
    """Return the slope of all items, and that without each cluster; nan if all places are equal."""
    powers = (np.ones(len(x)), x, y, x * x, x * y)
    sums = np.column_stack([np.bincount(codes, power) for power in powers])
    total = sums.sum(axis=0)
    n, of_x, of_y, of_xx, of_xy = np.vstack([total, total - sums]).T
    spread = n * of_xx - of_x * of_x
    found = (n * of_xy - of_x * of_y) / np.where(spread > 1e-9, spread, np.nan)
    return float(found[0]), found[1:]
