"""Intervals of means, ratios and paired differences, and tests of two arms: sign-flip permutation,
McNemar, Holm.

If almost all clusters have the same value (all claims supported, or two arms that agree),
resampling varies too little. With a few failures, the bootstrap covers 85 to 90% instead of 95%;
with none, it has no width. The interval then follows from the number of clusters that may differ
unseen, and how far they can differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, NamedTuple

from claimeval.statistics.bootstrap import (
    MIN_CLUSTERS,
    STANDARD,
    ClusterSums,
    Floats,
    Integers,
    Interval,
    IntervalEstimate,
    Method,
    Resampling,
    bootstrap_sums,
    cluster_sums,
    clustered_error,
    effective_number,
    np,
    without_interval,
)
from claimeval.statistics.quantiles import beta_quantile, check_level, critical_value
from claimeval.types.errors import UsageError

FEW_CLUSTERS = 10
"""Clusters below which a mean gets Student's t joined with Wilson's interval: resampling knows only
what was drawn."""
ENOUGH_CLUSTERS = 20
"""Clusters from which on it gets the bootstrap's interval alone. In between, the interval goes over
from one to the other: with values near both ends of the scale, the bootstrap of ten covers 90%,
and an interval of ten that is a quarter as wide as that of nine says nothing true of either."""
P_STEPS = 10
"""Halvings of the range of levels in which an interval begins to have 0: p to a thousandth."""
_COINS_AT_ONCE = 1 << 15
"""Sampled signs that are floats at the same time: a quarter of a megabyte."""
UNBOUNDED = (math.inf, -math.inf)
"""The `support` of differences with unknown range."""
UNSEEN = "hardly any values differ, and how far others may lie is not known"
"""Reason for no interval if nearly all values are equal and `support` is unbounded."""


def wilson_interval(share: float, n: float, *, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a proportion of `n` observations; `n` may be an effective
    number."""
    z = critical_value(level)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Interval(max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half)))


def clopper_pearson_interval(share: float, n: float, *, level: float = 0.95) -> Interval:
    """Return the exact interval of a proportion of `n` independent observations (Clopper & Pearson
    1934).

    It is never too narrow. `n` may be an effective number. Equals
    `statsmodels.stats.proportion.proportion_confint(method="beta")`.
    """
    check_level(level)
    hits = share * n
    tail = (1 - level) / 2
    return Interval(
        beta_quantile(tail, hits, n - hits + 1) if share > 0 else 0.0,
        beta_quantile(1 - tail, hits + 1, n - hits) if share < 1 else 1.0,
    )


def edge_interval(share: float, n: float, *, level: float = 0.95) -> Interval:
    """Return Wilson's interval of a proportion, with the exact end on the side of the nearer edge.

    Wilson's interval of 9 hits among 10 ends at .982 and excludes the likely truth .99, while its
    other end reaches far enough; Brown, Cai & DasGupta (2001, section 4.1.1) replace the same end.
    The exact end is Clopper and Pearson's. A single item, of which Wilson's interval excludes .8
    after a miss, has Jeffreys' interval. `n` may be an effective number.
    """
    # Wilson's interval of one miss among one ends at .793.
    if n < 2:
        hits = share * n
        tail = (1 - level) / 2
        low = beta_quantile(tail, hits + 0.5, n - hits + 0.5) if share > 0 else 0.0
        high = beta_quantile(1 - tail, hits + 0.5, n - hits + 0.5) if share < 1 else 1.0
        return Interval(min(share, low), max(share, high))
    low, high = wilson_interval(share, n, level=level)
    exact = clopper_pearson_interval(share, n, level=level)
    if share >= 0.5:
        high = max(high, exact.high)
    if share <= 0.5:
        low = min(low, exact.low)
    return Interval(low, high)


def _common_value(rows: Floats, limit: int) -> float | None:
    """Return the value of more than half of the clusters, if effectively fewer than `limit` differ;
    else `None`.

    `rows[g]` are numerator and denominator of cluster g. The effective number weights clusters by
    how far they differ: one large difference among nine tiny ones counts as one.
    """
    values = rows[:, 0] / rows[:, 1]
    # A value that more than half of the clusters share is their median.
    middle = float(np.sort(values)[len(values) // 2])
    excess = np.abs(rows[:, 0] - middle * rows[:, 1])
    differing = np.abs(values - middle) > 1e-12
    seldom = int(differing.sum()) < len(values) / 2 and effective_number(excess[differing]) < limit
    return middle if seldom else None


def _sparse_interval(
    rows: Floats,
    common: float,
    support: tuple[float, float],
    level: float,
) -> Interval:
    """Return the interval of a mean if few clusters differ from the common value.

    The distances above and below the common value are two proportions of the range that `support`
    allows. Each gets the union of Wilson's and Clopper and Pearson's intervals on its effective
    number of clusters, because Wilson's alone excludes a proportion of .995 after one failure in
    30. The two are combined like the proportions of a difference in Newcombe (1998, method 10).
    """
    excess = rows[:, 0] - common * rows[:, 1]
    value = common + float(excess.sum() / rows[:, 1].sum())
    more = _reach(np.maximum(excess, 0.0), rows[:, 1], support[1] - common, level)
    less = _reach(np.maximum(-excess, 0.0), rows[:, 1], common - support[0], level)
    return Interval(
        value - math.hypot(more.low, less.high), value + math.hypot(more.high, less.low)
    )


def _reach(excess: Floats, weights: Floats, limit: float, level: float) -> Interval:
    """Return how far below and above its estimate a mean excess in [0, `limit`] may be.

    The number of effective clusters is their effective number by weight, divided by the design
    effect: the variance between clusters relative to that of a proportion. It is estimated from few
    clusters, so it is shrunk towards 1, its largest value, with the weight of one cluster.
    """
    if limit <= 0:
        return Interval(0.0, 0.0)
    count = max(2.0, effective_number(weights))
    total = float(weights.sum())
    share = float(excess.sum()) / (limit * total)
    differing = effective_number(excess)
    variance = clustered_error(excess / limit - share * weights, total) ** 2
    effect = min(1.0, count * variance / (share * (1 - share))) if 0 < share < 1 else 1.0
    effect = (differing * effect + 1) / (differing + 1)
    widening = (critical_value(level, int(count) - 1) / critical_value(level)) ** 2
    number = count / (effect * widening)
    wilson = wilson_interval(share, number, level=level)
    exact = clopper_pearson_interval(share, number, level=level)
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

    With one value per sample, this is the macro mean. The interval is that of `ratio_interval` with
    denominators of 1.

    Args:
        values: One value per observation; leave undefined ones out. Without values the mean is
            undefined.
        clusters: One key per value (the question that several answers share, the sample that
            several claims come from). Whole clusters are drawn; by default every value is a
            cluster.
        support: The range of a single value.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The mean and its interval, or the reason why there is none.

    Raises:
        UsageError: If a value is not finite, or `clusters` does not have one key per value.
    """
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
    """Return the ratio of sums (micro mean) with an interval that resamples clusters; pairs over 0
    do not count.

    The method of the interval depends on the data:

    - `bca` (`bootstrap.bca_interval`) by default, and for varying values outside `support`;
    - `wilson` if effectively fewer than ten clusters (and fewer than half) differ from the common
      value, or `rule_of_three` if none does. Resampling varies too little then, so the interval
      follows from `support`. It is undefined if `support` is unbounded, or if constant values are
      outside it;
    - `t` with fewer than `FEW_CLUSTERS` clusters, which are too few to be resampled: the union of
      Student's t interval and Wilson's for this number of clusters, within `support`. From here to
      `ENOUGH_CLUSTERS`, `bca` lies between this interval and the bootstrap's.

    Fewer than two clusters have no interval. Empty input has no value.

    Args:
        numerators: One per observation.
        denominators: One per numerator, not negative.
        clusters: One key per observation; by default every one is a cluster.
        support: The range of a single ratio.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The ratio and its interval, or the reason why there is none.

    Raises:
        UsageError: If the arguments differ in length, a value is not finite or a denominator is
            negative.
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

    Like `mean_interval`, but symmetric about the mean (Hall 1988). If effectively fewer than three
    clusters differ from the common difference, usually 0, Wilson's intervals of either side are
    combined. Fewer than `bootstrap.MIN_CLUSTERS` clusters get Student's t. All are limited to
    `support`.

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
    columns = _columns(differences, np.ones(len(differences)))
    return _estimate(columns, clusters, support, True, resampling)


def _columns(
    numerators: Sequence[float] | Floats, denominators: Sequence[float] | Floats
) -> Floats:
    if len(numerators) != len(denominators):
        raise UsageError(
            f"every numerator needs a denominator: given {len(numerators)} and {len(denominators)}"
        )
    columns = np.array([numerators, denominators], dtype=np.float64).T.reshape(-1, 2)
    if not np.isfinite(columns).all() or bool((columns[:, 1] < 0).any()):
        raise UsageError(
            "values must be finite, denominators not negative; leave undefined values out"
        )
    return columns


def _estimate(
    columns: Floats,
    clusters: Sequence[Hashable] | None,
    support: tuple[float, float],
    symmetric: bool,
    resampling: Resampling,
) -> IntervalEstimate:
    level = resampling.level
    check_level(level)
    rows = cluster_sums(columns, clusters)
    rows = rows[rows[:, 1] > 0]
    n = int((columns[:, 1] > 0).sum())
    if n == 0:
        return without_interval(None, 0, 0, level, "no values")
    total = rows.sum(axis=0)
    value = float(total[0] / total[1])
    error = (
        clustered_error(rows[:, 0] - value * rows[:, 1], float(total[1])) if len(rows) > 1 else None
    )
    values = rows[:, 0] / rows[:, 1]
    bounded = bool((values >= support[0]).all() and (values <= support[1]).all())
    common = _common_value(rows, 3 if symmetric else 10) if bounded and len(rows) > 1 else None
    varies = float(np.ptp(values)) > 1e-12
    if (
        varies
        and len(rows) < (MIN_CLUSTERS if symmetric else FEW_CLUSTERS)
        and resampling.resamples > 0
    ):
        # Values of one cluster do not vary, so that there are two or more here.
        assert error is not None, "values that vary are several"
        scale = support if bounded else (-math.inf, math.inf)
        interval = _few_interval(
            value,
            error,
            effective_number(rows[:, 1]),
            scale,
            symmetric,
            level,
        )
        return IntervalEstimate(value, *interval, n, "t", error, len(rows), level)
    if common is None:
        scale = support if bounded else (-math.inf, math.inf)
        estimate = _resampled(rows, n, value, error, scale, symmetric, resampling)
        return replace(estimate, standard_error=error)
    if varies:
        method: Method = "wilson"
        interval = _within(_sparse_interval(rows, common, support, level), support)
    else:
        method = "rule_of_three"
        interval = _unseen_interval(common, len(rows), support, level)
    if math.isinf(interval.high - interval.low):
        return replace(without_interval(value, n, len(rows), level, UNSEEN), standard_error=error)
    return IntervalEstimate(value, *interval, n, method, error, len(rows), level)


def _unseen_interval(
    common: float,
    clusters: int,
    support: tuple[float, float],
    level: float,
) -> Interval:
    """Return the interval of a mean if all clusters have the same value: of 60 claims that are all
    supported, up to 4.9% may be otherwise at a level of 0.95.

    The share p of other clusters that would still be missed with probability 1 - level is that of
    (1 - p)^n = 1 - level, which "3 / n" approximates.
    """
    other = 1 - (1 - level) ** (1 / clusters)
    return Interval(*(common + other * (end - common) for end in support))


def _resampled(
    rows: Floats,
    n: int,
    value: float,
    error: float | None,
    scale: tuple[float, float],
    symmetric: bool,
    resampling: Resampling,
) -> IntervalEstimate:
    """Return the estimate with the interval of resampled clusters; below `ENOUGH_CLUSTERS`, its
    ends are between these and those of few clusters.

    Args:
        rows: Numerator and denominator of each cluster.
        n: Number of values.
        value: The ratio of the sums.
        error: Its standard error; None for one cluster.
        scale: The smallest and the largest value that it can have.
        symmetric: Whether the values are differences, around 0.
        resampling: Level, number and seed of the resamples.
    """
    clusters = effective_number(rows[:, 1])
    sums = ClusterSums(rows, n, effective=clusters)
    (estimate,) = bootstrap_sums(
        sums, [_ratio], resampling, because="no values", symmetric=symmetric
    )
    if estimate.low is None or estimate.high is None:
        return estimate
    ends = Interval(estimate.low, estimate.high)
    # Differences lie around 0, in the middle of their scale, where the bootstrap of ten holds.
    if error is not None and not symmetric and len(rows) < ENOUGH_CLUSTERS:
        few = _few_interval(value, error, clusters, scale, symmetric, resampling.level)
        ends = _between(few, ends, len(rows))
    return replace(estimate, **_within(ends, scale)._asdict())


def _few_interval(
    value: float,
    error: float,
    clusters: float,
    support: tuple[float, float],
    symmetric: bool,
    level: float,
) -> Interval:
    """Return the interval of a mean over fewer clusters than can be resampled; `clusters` is their
    effective number.

    Student's t alone covers 55 to 70% if values are near both ends of the scale but the few drawn
    are at one end. Wilson's interval includes the rest of the scale. Differences do not need it.
    """
    # Five weights of 0.2 have an effective number of 4.999999999999999.
    half = critical_value(level, max(1, int(clusters + 1e-9) - 1)) * error
    low, high = value - half, value + half
    start = support[0]
    width = support[1] - support[0]
    if not symmetric and math.isfinite(width):
        wilson = wilson_interval((value - start) / width, clusters, level=level)
        low, high = min(low, start + wilson.low * width), max(high, start + wilson.high * width)
    return _within(Interval(low, high), support)


def _between(few: Interval, many: Interval, clusters: int) -> Interval:
    """Return the interval of `FEW_CLUSTERS` to `ENOUGH_CLUSTERS` clusters: never narrower than the
    bootstrap's, and the less wider the more clusters there are."""
    span = ENOUGH_CLUSTERS - FEW_CLUSTERS + 1
    weight = (ENOUGH_CLUSTERS - clusters) / span
    low = weight * few.low + (1 - weight) * many.low
    high = weight * few.high + (1 - weight) * many.high
    return Interval(min(low, many.low), max(high, many.high))


def _within(interval: Interval, support: tuple[float, float]) -> Interval:
    """Return the part of an interval that is inside `support`."""
    return Interval(max(support[0], interval.low), min(support[1], interval.high))


def _ratio(sums: Floats) -> Floats:
    quotients: Floats = sums[:, 0] / sums[:, 1]
    return quotients


Tested = Literal["exact", "sampled", "interval", "none"]


@dataclass(frozen=True, slots=True)
class PairedComparison(IntervalEstimate):
    """The mean difference `a - b` over the `n` items that have a value in both arms, with its
    interval and a test."""

    p: float | None = None
    """Two-sided p-value: the larger of that of the sign-flip permutation test and that at which
    the interval has 0 at its end. It is below `1 - level` only if the interval has no 0."""
    dropped: int = 0
    """Pairs left out because one arm has no value."""
    test: Tested = "none"
    """Whether the test counted all sign patterns or sampled them, or `p` is that of the
    interval."""


def paired_difference(
    a: Sequence[float | None],
    b: Sequence[float | None],
    *,
    clusters: Sequence[Hashable] | None = None,
    shares: bool | None = None,
    resampling: Resampling = STANDARD,
    flips: int = 10_000,
) -> PairedComparison:
    """Return the mean of `a - b` over items that both arms scored, with interval and test.

    Interval and p-value are those of one test, which finds a difference only if both
    `difference_interval` and `sign_flip_test`, which flips the signs of whole clusters, find it. So
    an interval that has no 0 although signs may be chance is extended to 0, and p is that of the
    interval where only the interval has a 0. Intervals of shares exist even if the arms differ on
    few items or none.

    Args:
        a: One value per item; pairs in which one value is `None` are left out and counted.
        b: The value of the other arm for the same item.
        clusters: One key per item; by default every item is a cluster.
        shares: Whether values are always in [0, 1]. Default: whether all of these are.
        resampling: Level of confidence, number and seed of the resamples.
        flips: Maximum number of sign patterns to count or sample.

    Returns:
        The mean difference, its interval and the p-value of the test.

    Raises:
        UsageError: If the arguments differ in length.
    """
    if len(a) != len(b):
        raise UsageError(
            f"a and b must hold the same items in the same order: {len(a)} and {len(b)} values"
        )
    keys = range(len(a)) if clusters is None else clusters
    if len(keys) != len(a):
        raise UsageError(f"clusters must hold one key per item: {len(keys)} keys, {len(a)} items")
    pairs = [
        (x, y, key) for x, y, key in zip(a, b, keys, strict=True) if x is not None and y is not None
    ]
    if shares is None:
        shares = all(0 <= x <= 1 and 0 <= y <= 1 for x, y, _ in pairs)
    tested = difference_and_test(
        [x - y for x, y, _ in pairs],
        clusters=None if clusters is None else [key for _, _, key in pairs],
        support=(-1.0, 1.0) if shares else UNBOUNDED,
        resampling=resampling,
        flips=flips,
    )
    dropped = len(a) - len(pairs)
    return PairedComparison(**asdict(tested.mean), p=tested.p, dropped=dropped, test=tested.test)


class DifferenceTest(NamedTuple):
    """The mean of differences with its interval, and the p-value of the same test."""

    mean: IntervalEstimate
    p: float | None
    test: Tested


def difference_and_test(
    differences: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    support: tuple[float, float] = (-1.0, 1.0),
    resampling: Resampling = STANDARD,
    flips: int = 10_000,
) -> DifferenceTest:
    """Return the mean of differences with interval and p-value of one test, as in
    `paired_difference`; the arguments are those of `difference_interval` and `sign_flip_test`."""

    def at(level: float) -> IntervalEstimate:
        return difference_interval(
            differences,
            clusters=clusters,
            support=support,
            resampling=resampling._replace(level=level),
        )

    mean = at(resampling.level)
    p, kind = _of_signs(differences, clusters, flips, resampling.seed)
    if p is None or mean.low is None or mean.high is None:
        return DifferenceTest(mean, p, kind)
    chance = 1 - resampling.level
    beyond = mean.low > 0 or mean.high < 0
    if beyond and p >= chance:
        # Four samples that all rise by the same have p = .125, whatever they rise by.
        mean = replace(mean, low=min(mean.low, 0.0), high=max(mean.high, 0.0))
    elif not beyond and p < chance:
        # Eleven samples that rise by .5 and one that falls have p = .006; but a twelfth of all
        # may fall by 1.
        p = max(chance, _p_of_interval(at, resampling.level))
        kind = "interval"
    return DifferenceTest(mean, p, kind)


def _of_signs(
    differences: Sequence[float],
    clusters: Sequence[Hashable] | None,
    flips: int,
    seed: int,
) -> tuple[float | None, Tested]:
    found = sign_flip_test(differences, clusters=clusters, flips=flips, seed=seed)
    return found.p, found.kind


def _p_of_interval(at: Callable[[float], IntervalEstimate], level: float) -> float:
    """Return one minus the level at which an interval begins to have 0; `at` returns the interval
    of a level, and at `level` it has 0."""
    without = 0.0
    with_zero = level
    for _ in range(P_STEPS):
        middle = (without + with_zero) / 2
        found = at(middle)
        if found.low is None or found.high is None or found.low <= 0 <= found.high:
            with_zero = middle
        else:
            without = middle
    return 1 - with_zero


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

    Equals `scipy.stats.permutation_test(..., permutation_type="samples")` with the mean as the
    statistic.

    Args:
        differences: One per pair.
        clusters: One key per pair; by default every pair is a cluster.
        flips: Maximum number of sign patterns of the non-zero cluster sums that are all counted,
            and the number that are sampled if there are more. If all sums have the same size, as
            with yes/no labels, the test is McNemar's and always exact.
        seed: The seed of sampled patterns.

    Returns:
        The p-value and whether it is exact; `None` without differences.
    """
    if not len(differences):
        return SignFlipTest(None, "none")
    sums = cluster_sums(np.asarray(differences, dtype=np.float64)[:, None], clusters)[:, 0]
    # Flipping the sign of a 0 changes nothing, and each would double the patterns to count.
    sums = sums[np.abs(sums) > 1e-12 * max(1.0, float(np.abs(sums).max()))]
    if not len(sums):
        return SignFlipTest(1.0, "exact")
    sizes, counts = np.unique(np.abs(sums), return_counts=True)
    # If all differences have one size, only the number of signs matters: a binomial test.
    if len(sizes) == 1:
        positive = int((sums > 0).sum())
        return SignFlipTest(mcnemar_exact(positive, len(sums) - positive), "exact")
    # Sums in another order differ in the last digit, and a pattern equal to the data is extreme,
    # also where differences cancel out and the last digit is all that is left.
    observed = abs(float(sums.sum())) - 1e-12 * float(np.abs(sums).sum())
    if 2 ** len(sums) <= flips:
        patterns = np.array([0.0])
        for size in np.abs(sums):
            patterns = np.concatenate([patterns - size, patterns + size])
        return SignFlipTest(float(np.mean(np.abs(patterns) >= observed)), "exact")
    rng = np.random.default_rng(seed)
    extreme = 0
    step = max(1, (1 << 21) // len(sizes))
    for start in range(0, flips, step):
        totals = _flipped_sums(rng, sizes, counts, min(step, flips - start))
        extreme += int((np.abs(totals) >= observed).sum())
    # The data are one of the patterns, so that a sampled p is never 0 (Phipson & Smyth 2010).
    return SignFlipTest((extreme + 1) / (flips + 1), "sampled")


def _flipped_sums(rng: np.random.Generator, sizes: Floats, counts: Integers, flips: int) -> Floats:
    """Draw signs for `counts[i]` differences of `sizes[i]` each; return the sum of every pattern,
    shape `(flips,)`."""
    single = counts == 1
    # Most sizes occur once, and fair coins are drawn several times as fast as binomials.
    coins = rng.integers(0, 2, (flips, int(single.sum())), dtype=np.int8)
    positive = rng.binomial(counts[~single], 0.5, size=(flips, int((~single).sum())))
    sums: Floats = 2 * (positive @ sizes[~single]) - counts @ sizes
    # All coins as floats would leave the processor's cache, which takes five times as long; single
    # rows of thousands are cut up among threads, which takes ten times as long.
    step = max(2, _COINS_AT_ONCE // max(1, coins.shape[1]))
    for start in range(0, flips, step):
        part = slice(start, start + step)
        sums[part] += 2 * (coins[part].astype(np.float64) @ sizes[single])
    return sums


def mcnemar_exact(b: int, c: int) -> float:
    """Return the exact two-sided McNemar p-value from the two counts of discordant pairs; 1 if
    there are none.

    Equals `scipy.stats.binomtest(b, b + c).pvalue`.
    """
    if b < 0 or c < 0:
        raise UsageError(f"counts of discordant pairs cannot be negative, given b={b!r}, c={c!r}")
    n = b + c
    fewer = min(b, c)
    # With equal counts, or one apart, twice the tail is more than 1.
    if 2 * fewer >= n - 1:
        return 1.0
    log_all = n * math.log(2)
    # The binomials of 1,100 pairs are beyond a float, their logarithms are not.
    log_choose = [
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(fewer + 1)
    ]
    return min(1.0, 2 * math.fsum(math.exp(term - log_all) for term in log_choose))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values in the order given: max over j <= i of min(1, (m - j + 1)
    p_(j)), p sorted."""
    if any(not 0 <= p <= 1 for p in p_values):
        raise UsageError(
            f"p-values must lie in [0, 1], given {[p for p in p_values if not 0 <= p <= 1][:3]!r}"
        )
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
