"""The mean from labels drawn with known unequal probabilities (active statistical inference)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from claimeval.statistics.clusters import cluster_sums, clustered_error
from claimeval.statistics.correction import CorrectedEstimate, mean_estimate, share_estimate
from claimeval.statistics.estimate import IntervalEstimate
from claimeval.statistics.intervals import mean_interval
from claimeval.statistics.quantiles import check_level
from claimeval.types.errors import UsageError


def active_estimate(
    judge: Sequence[float],
    human: Sequence[float | None],
    probabilities: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> CorrectedEstimate:
    """The mean of what people would say: mean of F + (Y - F) / pi over labelled items, F elsewhere.

    `judge[i]` is F, `human[i]` is Y or `None`, `probabilities[i]` is pi, the probability with which item i
    was chosen (`sampling.Draw.probabilities`). `human` of the result is the same with F = 0. The error treats
    items as drawn independently, which is slightly cautious for draws of fixed size. Source: Zrnic & Candes
    2024, 2403.03208.
    """
    import numpy as np

    check_level(level)
    if not len(judge) == len(human) == len(probabilities):
        raise UsageError(
            f"judge, human and probabilities must describe the same items: {len(judge)}, {len(human)} and "
            f"{len(probabilities)} values"
        )
    if any(not 0 < probability <= 1 for probability in probabilities):
        raise UsageError("inclusion probabilities must lie in (0, 1]: keep those that the draw returned")
    scores, weights = np.asarray(judge, dtype=np.float64), 1 / np.asarray(probabilities, dtype=np.float64)
    known = np.array([label is not None for label in human], dtype=bool)
    labels = np.array([0.0 if label is None else label for label in human], dtype=np.float64)
    shares = all(bool(((v >= 0) & (v <= 1)).all()) for v in (scores, labels[known]))
    count = int(known.sum())

    def estimate(helper: np.ndarray[tuple[int], np.dtype[np.float64]]) -> IntervalEstimate:
        if count < 2:
            reason = "fewer than two labels"
            return IntervalEstimate(None, None, None, len(judge), "none", level=level, undefined_because=reason)
        increments = helper + np.where(known, weights * (labels - helper), 0.0)
        value = float(increments.mean())
        residuals = cluster_sums((increments - value)[:, None], clusters)[:, 0]
        if len(residuals) < 2:
            reason = "one cluster has no spread to measure"
            return IntervalEstimate(value, None, None, len(judge), "none", None, 1, level, reason)
        error = clustered_error(residuals, len(judge))
        if not shares:
            return mean_estimate(value, error, n=len(judge), clusters=count, freedom=count - 1, level=level)
        return share_estimate(value, error, error, n=len(judge), clusters=count, freedom=count - 1, level=level)

    return CorrectedEstimate(
        corrected=estimate(scores),
        judge=mean_interval(scores.tolist(), clusters=clusters, level=level, resamples=resamples, seed=seed),
        human=estimate(np.zeros_like(scores)),
        labelled=count,
        unlabelled=len(judge) - count,
        method="active",
    )
