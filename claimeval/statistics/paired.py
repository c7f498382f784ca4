"""Comparison of two arms on the same items: paired difference, sign-flip permutation, exact McNemar, Holm."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from claimeval.statistics.bootstrap import STANDARD, IntervalEstimate, Resampling, cluster_sums
from claimeval.statistics.intervals import difference_interval
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from claimeval.statistics.bootstrap import Floats


@dataclass(frozen=True, slots=True)
class PairedComparison(IntervalEstimate):
    """The mean difference `a - b` over the `n` items that have a value in both arms, with its interval and a test."""

    p: float | None = None
    """Two-sided p-value of the sign-flip permutation test."""
    dropped: int = 0
    """Pairs left out because one arm has no value."""
    test: Literal["exact", "sampled", "none"] = "none"
    """Whether the test counted every sign pattern or sampled them."""


def paired_difference(
    a: Sequence[float | None],
    b: Sequence[float | None],
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
    flips: int = 10_000,
) -> PairedComparison:
    """Return the mean of `a - b` over items that both arms scored, with interval and test.

    The interval is that of `intervals.difference_interval`, for values in [0, 1] also if the arms differ on few items
    or on none. The p-value flips the signs of whole clusters (`sign_flip_test`).

    Args:
        a: One value per item; pairs in which one value is `None` are left out and counted.
        b: The value of the other arm for the same item.
        clusters: One key per item; by default every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples.
        flips: The largest number of sign patterns to count or sample.

    Returns:
        The mean difference, its interval and the p-value of the test.

    Raises:
        UsageError: If the arguments differ in length.
    """
    if len(a) != len(b):
        raise UsageError(f"a and b must hold the same items in the same order: {len(a)} and {len(b)} values")
    keys = range(len(a)) if clusters is None else clusters
    if len(keys) != len(a):
        raise UsageError(f"clusters must hold one key per item: {len(keys)} keys, {len(a)} items")
    pairs = [(x, y, key) for x, y, key in zip(a, b, keys, strict=True) if x is not None and y is not None]
    differences = [x - y for x, y, _ in pairs]
    kept = None if clusters is None else [key for _, _, key in pairs]
    shares = all(0 <= x <= 1 and 0 <= y <= 1 for x, y, _ in pairs)
    mean = difference_interval(
        differences, clusters=kept, support=(-1.0, 1.0) if shares else (math.inf, -math.inf), resampling=resampling
    )
    test = sign_flip_test(differences, clusters=kept, flips=flips, seed=resampling.seed)
    return PairedComparison(**asdict(mean), p=test.p, dropped=len(a) - len(pairs), test=test.kind)


@dataclass(frozen=True, slots=True)
class SignFlipTest:
    """The result of a sign-flip permutation test."""

    p: float | None
    """Two-sided; 1 if no pair differs, `None` without pairs."""
    kind: Literal["exact", "sampled", "none"]
    """`exact`: every sign pattern was counted; `sampled`: (extreme + 1) / (flips + 1)."""


def sign_flip_test(
    differences: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    flips: int = 10_000,
    seed: int = 0,
) -> SignFlipTest:
    """Test that paired differences are symmetric about 0, by flipping the signs of whole clusters.

    Equals `scipy.stats.permutation_test(..., permutation_type="samples")` with the mean as the statistic.

    Args:
        differences: One per pair.
        clusters: One key per pair; by default every pair is a cluster.
        flips: Exact if at most so many sign patterns of the non-zero cluster sums exist, and for any number of
            clusters if these sums have one common size (yes/no labels: the test is McNemar's). Otherwise so many
            patterns are sampled.
        seed: The seed of sampled patterns.

    Returns:
        The p-value and whether it is exact; `None` without differences.
    """
    import numpy as np

    if not len(differences):
        return SignFlipTest(None, "none")
    sums = cluster_sums(np.asarray(differences, dtype=np.float64)[:, None], clusters)[:, 0]
    sums = sums[np.abs(sums) > 1e-12 * max(1.0, float(np.abs(sums).max()))]
    if not len(sums):
        return SignFlipTest(1.0, "exact")
    sizes, counts = np.unique(np.abs(sums), return_counts=True)
    if len(sizes) == 1:
        positive = int((sums > 0).sum())
        return SignFlipTest(mcnemar_exact(positive, len(sums) - positive), "exact")
    observed = abs(float(sums.sum())) * (1 - 1e-12)
    if 2 ** len(sums) <= flips:
        patterns = np.array([0.0])
        for size in np.abs(sums):
            patterns = np.concatenate([patterns - size, patterns + size])
        return SignFlipTest(float(np.mean(np.abs(patterns) >= observed)), "exact")
    rng = np.random.default_rng(seed)
    extreme = 0
    step = max(1, (1 << 21) // len(sizes))
    for start in range(0, flips, step):
        totals = (2 * _sign_flips(rng, counts, min(step, flips - start)) - counts) @ sizes
        extreme += int((np.abs(totals) >= observed).sum())
    return SignFlipTest((extreme + 1) / (flips + 1), "sampled")


def _sign_flips(rng: np.random.Generator, counts: NDArray[np.int64], flips: int) -> Floats:
    """Draw how many of `counts[i]` signs are positive in each of `flips` patterns; shape `(flips, len(counts))`."""
    import numpy as np

    single = counts == 1
    positive = np.empty((flips, len(counts)))
    positive[:, single] = rng.integers(0, 2, (flips, int(single.sum())), dtype=np.int8)
    positive[:, ~single] = rng.binomial(counts[~single], 0.5, size=(flips, int((~single).sum())))
    return positive


def mcnemar_exact(b: int, c: int) -> float:
    """Return the exact two-sided McNemar p-value from the two counts of discordant pairs; 1 if there are none.

    Equals `scipy.stats.binomtest(b, b + c).pvalue`.
    """
    if b < 0 or c < 0:
        raise UsageError(f"counts of discordant pairs cannot be negative, given b={b!r}, c={c!r}")
    n, fewer = b + c, min(b, c)
    if 2 * fewer >= n - 1:
        return 1.0
    log_all = n * math.log(2)
    log_choose = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(fewer + 1)]
    return min(1.0, 2 * math.fsum(math.exp(term - log_all) for term in log_choose))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values in the order given: max over j <= i of min(1, (m - j + 1) p_(j)), p sorted."""
    if any(not 0 <= p <= 1 for p in p_values):
        raise UsageError(f"p-values must lie in [0, 1], given {[p for p in p_values if not 0 <= p <= 1][:3]!r}")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
