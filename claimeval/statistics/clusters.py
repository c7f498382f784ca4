"""Observations that belong together: one row of sums per cluster, and the error of a mean over clusters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def cluster_sums(columns: Floats, clusters: Sequence[Hashable] | None) -> Floats:
    """One row per cluster: the sums of the rows of `columns` that share a key, in order of first appearance.

    Without `clusters` every row is its own cluster.
    """
    import numpy as np

    if clusters is None:
        return columns
    codes = cluster_codes(clusters, len(columns))
    sums = np.empty((int(codes.max(initial=-1)) + 1, columns.shape[1]))
    for column, values in enumerate(columns.T):
        sums[:, column] = np.bincount(codes, values, len(sums))
    return sums


def cluster_codes(clusters: Sequence[Hashable], observations: int) -> NDArray[np.intp]:
    """The keys numbered from 0 in order of first appearance; UsageError unless there is one per observation."""
    import numpy as np

    if len(clusters) != observations:
        raise UsageError(f"clusters must hold one key per observation: {len(clusters)} keys, {observations} given")
    number: dict[Hashable, int] = {}
    return np.fromiter((number.setdefault(key, len(number)) for key in clusters), np.intp, observations)


def keys_of(clusters: Sequence[Hashable] | None, used: NDArray[np.bool_]) -> list[Hashable] | None:
    """The keys of the observations in use; UsageError unless there is one key per observation."""
    if clusters is None:
        return None
    if len(clusters) != len(used):
        raise UsageError(f"clusters must hold one key per observation: {len(clusters)} keys, {len(used)} given")
    return [key for key, kept in zip(clusters, used, strict=True) if kept]


def clustered_error(residuals: Floats, total: float) -> float:
    """sqrt(G/(G-1) * sum of squared residuals) / total, one residual for each of G clusters.

    For a mean of N values `total` is N and a residual is the sum of a cluster's deviations from the mean.
    Source: Miller 2411.00640, which omits G/(G-1); inspect_ai and statsmodels' cluster-robust errors have it.
    """
    count = len(residuals)
    return math.sqrt(count / (count - 1) * float((residuals**2).sum())) / total


def effective_number(weights: Floats) -> float:
    """Kish's number of equally heavy clusters that vary like these: (sum w)^2 / sum w^2; 0 without weight."""
    total = float(weights.sum())
    return total * total / float((weights**2).sum()) if total > 0 else 0.0
