"""How well numbers order items: AUROC of a judge's probabilities, correlation of scores."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

from claimeval.statistics.bootstrap import (
    MIN_CLUSTERS,
    STANDARD,
    ClusterSums,
    IntervalEstimate,
    Resampling,
    bca_interval,
    bootstrap_sums,
    cluster_codes,
    cluster_sums,
    distinct_rows,
    resample_counts,
    without_interval,
)
from claimeval.statistics.correction import share_estimate
from claimeval.statistics.quantiles import check_level
from claimeval.types.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from claimeval.statistics.bootstrap import Floats


def auroc(
    outcomes: Sequence[bool],
    scores: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> IntervalEstimate:
    """Return the chance that an item with a true outcome scores above one with a false outcome; ties count half.

    0.5 is no order at all. Undefined without both outcomes. The standard error is DeLong's (1988), for
    clustered items Obuchowski's (1997); the interval is Wilson's on the effective number of items.

    Args:
        outcomes: The outcome of each item.
        scores: The score of each item.
        clusters: One key per item; by default every item is a cluster.
        level: The confidence level.

    Raises:
        UsageError: If the arguments differ in length.
    """
    import numpy as np

    check_level(level)
    if len(outcomes) != len(scores):
        raise UsageError(f"outcomes and scores must describe the same items: {len(outcomes)} and {len(scores)}")
    truth = np.array(outcomes, dtype=bool)
    values = np.asarray(scores, dtype=np.float64)
    positives, negatives = int(truth.sum()), int((~truth).sum())
    if positives == 0 or negatives == 0:
        reason = "needs items of both outcomes"
        return without_interval(None, len(outcomes), 0, level, reason)
    ranks = midranks(values)
    placements = np.empty(len(values))
    placements[truth] = (ranks[truth] - midranks(values[truth])) / negatives
    placements[~truth] = 1 - (ranks[~truth] - midranks(values[~truth])) / positives
    area = float(placements[truth].mean())
    codes = np.arange(len(values)) if clusters is None else cluster_codes(clusters, len(values))
    excess = placements - area
    of_positives = np.bincount(codes, excess * truth) / positives
    of_negatives = np.bincount(codes, excess * ~truth) / negatives
    groups = (len(np.unique(codes[truth])), len(np.unique(codes[~truth])), len(of_positives))
    if min(groups) < 2:
        reason = "one cluster has no spread to measure"
        return without_interval(area, len(outcomes), groups[2], level, reason)
    factors = [count / (count - 1) for count in groups]
    variance = (
        factors[0] * float((of_positives**2).sum())
        + factors[1] * float((of_negatives**2).sum())
        + 2 * factors[2] * float((of_positives * of_negatives).sum())
    )
    error = math.sqrt(max(0.0, variance))
    smaller = min(groups[:2])
    return share_estimate(area, error, error, n=len(outcomes), clusters=smaller, freedom=smaller - 1, level=level)


def correlation(
    x: Sequence[float],
    y: Sequence[float],
    *,
    kind: Literal["pearson", "spearman"] = "spearman",
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> IntervalEstimate:
    """Return the correlation of two scores of the same items, with a BCa interval.

    Undefined if one of them is constant. Values equal `scipy.stats.pearsonr`, `spearmanr`.

    Args:
        x: One score of each item.
        y: The other score of each item.
        kind: `spearman` ranks the scores, ties in the middle. The ranks are computed again in every resample, whose
            spread is the standard error; only the acceleration keeps the ranks of all items.
        clusters: One key per item; by default every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The correlation and its interval, or the reason why there is none.

    Raises:
        UsageError: If the arguments differ in length, a score is not finite, or the kind is unknown.
    """
    import numpy as np

    if len(x) != len(y):
        raise UsageError(f"x and y must describe the same items: {len(x)} and {len(y)} values")
    if kind not in ("pearson", "spearman"):
        raise unknown_name("correlation", kind, ["pearson", "spearman"])
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise UsageError("values must be finite; leave undefined pairs out")
    if kind == "spearman":
        first, second = midranks(first), midranks(second)
    rows = cluster_sums(_moments(first, second), clusters)
    (estimate,) = bootstrap_sums(
        ClusterSums(rows, len(x)),
        [_pearson],
        resampling if kind == "pearson" or len(rows) < MIN_CLUSTERS else resampling._replace(resamples=0),
        because="one of the scores is constant",
    )
    if kind == "pearson" or estimate.value is None or resampling.resamples == 0 or len(rows) < MIN_CLUSTERS:
        return estimate
    codes = np.arange(len(x)) if clusters is None else cluster_codes(clusters, len(x))
    replicates = np.concatenate(
        [
            _reranked(first, second, drawn[:, codes])
            for drawn in resample_counts(len(rows), resampling.resamples, resampling.seed)
        ]
    )
    distinct, occurrences = distinct_rows(rows)
    left_out = _pearson(rows.sum(axis=0) - distinct)
    interval = bca_interval(estimate.value, replicates, left_out, occurrences, len(rows), resampling.level)
    if interval is None:
        reason = "nothing varies between resamples"
        return without_interval(estimate.value, len(x), len(rows), resampling.level, reason)
    error = float(np.nanstd(replicates, ddof=1))
    return IntervalEstimate(estimate.value, *interval, len(x), "bca", error, len(rows), resampling.level)


def midranks(values: Floats) -> Floats:
    """Rank values from 1; equal values share the middle of their ranks. Equals `scipy.stats.rankdata`."""
    import numpy as np

    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranks


def _moments(x: Floats, y: Floats) -> Floats:
    import numpy as np

    x, y = x - x.mean() if len(x) else x, y - y.mean() if len(y) else y
    return np.column_stack([np.ones(len(x)), x, y, x * x, x * y, y * y])


def _pearson(sums: Floats) -> Floats:
    import numpy as np

    count, x, y, xx, xy, yy = (sums[:, column] for column in range(6))
    spread_x, spread_y = count * xx - x * x, count * yy - y * y
    tiny = 1e-12 * np.maximum(count * np.maximum(xx, yy), 1e-300)
    defined = (spread_x > tiny) & (spread_y > tiny)
    product = np.sqrt(np.where(defined, spread_x * spread_y, 1.0))
    return np.where(defined, np.clip((count * xy - x * y) / product, -1.0, 1.0), np.nan)


def _reranked(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return Spearman's correlation of items that occur `weights[r]` times in resample r."""
    x, y = _weighted_ranks(x, weights), _weighted_ranks(y, weights)
    count = weights.sum(axis=1, keepdims=True)
    x = x - (weights * x).sum(axis=1, keepdims=True) / count
    y = y - (weights * y).sum(axis=1, keepdims=True) / count
    return _cosine(x, y, weights)


def _cosine(x: Floats, y: Floats, weights: Floats) -> Floats:
    import numpy as np

    product = np.sqrt((weights * x * x).sum(axis=1) * (weights * y * y).sum(axis=1))
    defined = product > 1e-12
    return np.where(defined, (weights * x * y).sum(axis=1) / np.where(defined, product, 1.0), np.nan)


def _weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Return midranks if item i occurs `weights[r, i]` times."""
    import numpy as np

    order = np.argsort(values, kind="stable")
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    together = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks: Floats = (np.cumsum(together, axis=1) - (together - 1) / 2)[:, inverse]
    return ranks
