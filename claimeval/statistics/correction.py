"""Correction of a judge's mean by human labels.

The function depends on how the labeled items were drawn:

- uniformly or by stratum from the items of the mean: `prediction_powered` (PPI++)
- with known unequal probabilities: `active_estimate`
- from other data, to which only the judge's error rates apply: `rogan_gladen`
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from claimeval.statistics.bootstrap import (
    STANDARD,
    IntervalEstimate,
    Resampling,
    cluster_codes,
    cluster_sums,
    clustered_error,
    without_interval,
)
from claimeval.statistics.formatting import decimal
from claimeval.statistics.intervals import constant_interval, mean_interval, wilson_interval
from claimeval.statistics.quantiles import check_level, critical_value
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from claimeval.statistics.bootstrap import Floats

    Positions = NDArray[np.intp]
else:
    from claimeval.statistics.bootstrap import np


@dataclass(frozen=True, slots=True)
class CorrectedEstimate:
    """A corrected mean, with the judge's mean and that of the human labels."""

    corrected: IntervalEstimate
    """The judge's mean corrected by the human labels."""
    judge: IntervalEstimate
    """The judge's uncorrected mean over all items. Its interval ignores the judge's errors."""
    human: IntervalEstimate
    """The mean by the human labels alone."""
    labeled: int
    """Number of items with a human label."""
    unlabeled: int
    """Number of items with only the judge's value."""
    method: Literal["ppi++", "stratified ppi++", "active", "rogan-gladen"]
    """The method of the correction."""
    ppi_lambda: float | None = None
    """Weight of the judge from 0 to 1: PPI++'s lambda, averaged over strata."""
    labels_needed: int | None = None
    """Number of additional labels that would halve the corrected interval; `None` if labeling all items would not."""


def share_estimate(
    value: float, error: float, spread: float, *, n: int, clusters: int, freedom: int, level: float
) -> IntervalEstimate:
    """Return the estimate of a proportion from its standard error, with Wilson's interval on the effective number.

    The effective number of observations is v(1 - v) / spread^2, with Student's critical value for `freedom` degrees of
    freedom. At or beyond 0 and 1, the interval is the wider of the rule of three for `clusters` and Student's t.

    Args:
        value: The proportion; clipped to [0, 1].
        error: Its standard error.
        spread: The error, possibly widened.
        n: Number of observations.
        clusters: Number of clusters.
        freedom: The degrees of freedom.
        level: The confidence level.
    """
    share = min(1.0, max(0.0, value))
    if share in (0.0, 1.0) or spread == 0:
        low, high = constant_interval(share, clusters, (0.0, 1.0), level)
        reach = critical_value(level, freedom) * spread
        low, high = max(0.0, min(low, value - reach)), min(1.0, max(high, value + reach))
        return IntervalEstimate(share, low, high, n, "rule_of_three", error, clusters, level)
    widening = critical_value(level, freedom) / critical_value(level)
    interval = wilson_interval(share, share * (1 - share) / (spread * widening) ** 2, level=level)
    return IntervalEstimate(share, *interval, n, "wilson", error, clusters, level)


def _mean_estimate(
    value: float, error: float, *, n: int, clusters: int, freedom: int, level: float
) -> IntervalEstimate:
    """Return the estimate of a mean from its standard error: Student's t interval."""
    reach = critical_value(level, freedom) * error
    return IntervalEstimate(value, value - reach, value + reach, n, "t", error, clusters, level)


class _Stratum(NamedTuple):
    labeled: Positions
    unlabeled: Positions
    weight: float
    ppi_lambda: float
    label_variance: float
    explained: float


class _LabeledItems(NamedTuple):
    judge: Floats
    human: Floats
    clusters: Positions


def prediction_powered(
    judge: Sequence[float],
    human: Sequence[float | None],
    *,
    strata: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> CorrectedEstimate:
    """Estimate the mean of human labels of all items from a judge's values of all and human labels of a random sample.

    PPI++, and stratified PPI++ with `strata`. With n labeled items (labels Y, judge F) and N unlabeled ones (judge G)::

        theta  = lambda mean(G) + mean(Y - lambda F)
        lambda = cov(Y, F) / ((1 + n/N) var(F and G)), clipped to [0, 1]

    With strata, the result is the mean of their thetas, weighted by their shares of all items. Lambda 0 uses the human
    labels alone. The standard error includes the variance between strata, because their shares are those of a sample;
    StratPPI treats them as known. Undefined if a stratum has fewer than two labeled clusters; use at least 15.

    Proportions in [0, 1] get Wilson's interval on the effective number of labels, widened by the variance of one more
    labeled cluster on which the judge errs, because a judge that agrees with every label is still not perfect. Other
    values get Student's t.

    Sources: PPI 2301.09633, PPI++ 2311.01453, StratPPI 2406.04291. Value and lambda equal
    `ppi_py.ppi_mean_pointestimate`; its variances divide by n and these by n - 1.

    Args:
        judge: The judge's value of each item.
        human: The human label of each item; `None` for no label.
        strata: The stratum of each item in the draw, such as the judge's label or the topic.
        clusters: One key per item, such as the answer of a claim. Clusters may be labeled in part.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The corrected mean, the judge's and the human mean, and the number of labels that would halve the interval.

    Raises:
        UsageError: If the arguments differ in length or a value is not finite.
    """
    check_level(resampling.level)
    if len(judge) != len(human):
        raise UsageError(f"judge and human must describe the same items: {len(judge)} and {len(human)} values")
    labeled = np.array([label is not None for label in human], dtype=bool)
    items = _LabeledItems(
        np.asarray(judge, dtype=np.float64),
        np.array([math.nan if label is None else label for label in human], dtype=np.float64),
        np.arange(len(judge)) if clusters is None else cluster_codes(clusters, len(judge)),
    )
    if not (np.isfinite(items.judge).all() and np.isfinite(items.human[labeled]).all()):
        raise UsageError("values must be finite; leave items that the judge did not assess out")
    groups = np.zeros(len(judge), np.intp) if strata is None else cluster_codes(strata, len(judge))
    parts = [_stratum(items, labeled, groups == group) for group in np.unique(groups)]
    judged = mean_interval(items.judge.tolist(), clusters=clusters, resampling=resampling)
    count = int(labeled.sum())
    corrected = _estimate(items, parts, resampling.level)
    weight = None if corrected.value is None else sum(part.weight * part.ppi_lambda for part in parts)
    return CorrectedEstimate(
        corrected=corrected,
        judge=judged,
        human=_estimate(items, [part._replace(ppi_lambda=0.0) for part in parts], resampling.level),
        labeled=count,
        unlabeled=len(judge) - count,
        method="ppi++" if strata is None else "stratified ppi++",
        ppi_lambda=weight,
        labels_needed=None if corrected.value is None else _labels_needed(parts),
    )


def _stratum(items: _LabeledItems, has_label: NDArray[np.bool_], members: NDArray[np.bool_]) -> _Stratum:
    labeled, unlabeled = np.flatnonzero(has_label & members), np.flatnonzero(~has_label & members)
    n, n_unlabeled = len(labeled), len(unlabeled)
    weight = (n + n_unlabeled) / len(has_label)
    if n < 2:
        return _Stratum(labeled, unlabeled, weight, 0.0, 0.0, 0.0)
    labels, scores = items.human[labeled], items.judge[labeled]
    covariance = float(((labels - labels.mean()) * (scores - scores.mean())).mean())
    variance = float(items.judge[members].var(ddof=1))
    useful = n_unlabeled > 0 and variance > 0
    ppi_lambda = min(1.0, max(0.0, covariance / ((1 + n / n_unlabeled) * variance))) if useful else 0.0
    explained = max(0.0, covariance) ** 2 / variance if useful else 0.0
    return _Stratum(labeled, unlabeled, weight, ppi_lambda, float(labels.var(ddof=1)), explained)


def _estimate(items: _LabeledItems, parts: Sequence[_Stratum], level: float) -> IntervalEstimate:
    """Return theta with its interval, for the lambdas in `parts`."""
    total = len(items.judge)
    groups = [len(np.unique(items.clusters[part.labeled])) for part in parts]
    if not parts or min(groups) < 2:
        reason = "no items" if not parts else "fewer than two labeled clusters in a stratum"
        return without_interval(None, total, 0, level, reason)
    rectified = [items.human[part.labeled] - part.ppi_lambda * items.judge[part.labeled] for part in parts]
    judged = [part.ppi_lambda * items.judge[part.unlabeled] for part in parts]
    means = [float(r.mean()) + (float(j.mean()) if len(j) else 0.0) for r, j in zip(rectified, judged, strict=True)]
    value = sum(part.weight * mean for part, mean in zip(parts, means, strict=True))
    residuals, surprise = np.zeros(total), 0.0
    between = math.sqrt(sum(groups) / (sum(groups) - 1)) / total
    for part, known, open_, mean, count in zip(parts, rectified, judged, means, groups, strict=True):
        share = between * (mean - value)
        residuals[part.labeled] = part.weight * _residuals(known, items.clusters[part.labeled]) + share
        residuals[part.unlabeled] = part.weight * _residuals(open_, items.clusters[part.unlabeled]) + share
        unseen = 1.0 if float(np.ptp(known)) == 0 else part.ppi_lambda
        surprise += (part.weight * unseen / count) ** 2
    error = math.sqrt(float((np.bincount(items.clusters, residuals) ** 2).sum()))
    labels = items.human[np.concatenate([part.labeled for part in parts])]
    freedom = sum(groups) - len(parts)
    if all(values.min() >= 0 and values.max() <= 1 for values in (items.judge, labels)):
        spread = math.sqrt(error**2 + surprise) if error > 0 else 0.0
        return share_estimate(value, error, spread, n=total, clusters=sum(groups), freedom=freedom, level=level)
    return _mean_estimate(value, error, n=total, clusters=sum(groups), freedom=freedom, level=level)


def _residuals(values: Floats, clusters: Positions) -> Floats:
    """Return the contribution of each value to the error of the mean, with the factor G/(G-1)."""
    if not len(values):
        return values
    count = len(np.unique(clusters))
    contributions: Floats = (values - values.mean()) / len(values) * math.sqrt(count / max(1, count - 1))
    return contributions


def _labels_needed(parts: Sequence[_Stratum]) -> int | None:
    """Return the number of additional labels, in the present proportions, for a quarter of the variance, by bisection.

    The variance of a stratum with T items and m labels is (var(Y) - cov^2/var(F) (T - m)/T) / m at the best
    lambda.
    """

    def variance(factor: float) -> float:
        """Return the variance with `factor` times as many labels."""
        total = 0.0
        for part in parts:
            size = len(part.labeled) + len(part.unlabeled)
            labels = min(size, factor * len(part.labeled))
            unexplained = part.label_variance - part.explained * (size - labels) / size
            total += part.weight**2 * max(0.0, unexplained) / labels
        return total

    low = 1.0
    high = max((len(part.labeled) + len(part.unlabeled)) / len(part.labeled) for part in parts)
    goal = variance(1.0) / 4
    if goal == 0 or variance(high) > goal:
        return None
    labeled = sum(len(part.labeled) for part in parts)
    while (high - low) * labeled > 0.01:
        middle = (low + high) / 2
        low, high = (middle, high) if variance(middle) > goal else (low, middle)
    return math.ceil((high - 1) * labeled - 0.01)


def active_estimate(
    judge: Sequence[float],
    human: Sequence[float | None],
    probabilities: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> CorrectedEstimate:
    """Estimate the mean of human labels of all items from labels drawn with known unequal probabilities.

    The mean of F + (Y - F) / pi over labeled items and of F over the others. `human` in the result is the mean of Y
    weighted by 1 / pi (Hajek). The error treats items as drawn independently, which is slightly cautious for draws of
    fixed size. Source: Zrnic & Candes 2024, 2403.03208 (active statistical inference).

    Intervals of proportions are widened as in `prediction_powered`: by one more labeled cluster, with the root mean
    square of their weights 1 / pi, on which the judge errs. Items of which the judge is sure are rarely drawn, so the
    labels seldom show its errors there.

    Args:
        judge: F, the judge's value of each item.
        human: Y, the human label of each item; `None` for no label.
        probabilities: pi, the inclusion probability of each item (`sampling.Draw.probabilities`).
        clusters: One key per item; by default every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The corrected mean, the judge's and the human mean.

    Raises:
        UsageError: If the arguments differ in length, or a probability is not in (0, 1].
    """
    level = resampling.level
    check_level(level)
    if not len(judge) == len(human) == len(probabilities):
        raise UsageError(
            f"judge, human and probabilities must describe the same items: {len(judge)}, {len(human)} and "
            f"{len(probabilities)} values"
        )
    if any(not 0 < probability <= 1 for probability in probabilities):
        raise UsageError("inclusion probabilities must lie in (0, 1]: keep those that the draw returned")
    scores, weights = np.asarray(judge, dtype=np.float64), 1 / np.asarray(probabilities, dtype=np.float64)
    is_labeled = np.array([label is not None for label in human], dtype=bool)
    labels = np.array([0.0 if label is None else label for label in human], dtype=np.float64)
    shares = all(bool(((v >= 0) & (v <= 1)).all()) for v in (scores, labels[is_labeled]))
    count = int(is_labeled.sum())
    weights = np.where(is_labeled, weights, 0.0)
    by_cluster = cluster_sums(weights[:, None], clusters)[:, 0]
    groups = int(np.count_nonzero(by_cluster))
    further = math.sqrt(float((by_cluster**2).sum()) / max(1, groups))

    def estimate(value: float, residuals: Floats, total: float) -> IntervalEstimate:
        """Return the estimate from the residual of each cluster; `total` is the sum of the weights of the items."""
        if count < 2:
            return without_interval(None, len(judge), 0, level, "fewer than two labels")
        if groups < 2:
            return without_interval(value, len(judge), 1, level, "one cluster has no spread to measure")
        error = clustered_error(residuals, total)
        if not shares:
            return _mean_estimate(value, error, n=len(judge), clusters=groups, freedom=groups - 1, level=level)
        spread = math.hypot(error, further / total)
        return share_estimate(value, error, spread, n=len(judge), clusters=groups, freedom=groups - 1, level=level)

    increments = scores + weights * (labels - scores)
    value = float(increments.mean()) if count else 0.0
    residuals = cluster_sums((increments - value)[:, None], clusters)[:, 0]
    total = float(weights.sum())
    by_people = float((weights * labels).sum()) / total if count else 0.0
    people_residuals = cluster_sums((weights * (labels - by_people))[:, None], clusters)[by_cluster > 0, 0]
    return CorrectedEstimate(
        corrected=estimate(value, residuals, len(judge)),
        judge=mean_interval(scores.tolist(), clusters=clusters, resampling=resampling),
        human=estimate(by_people, people_residuals, total),
        labeled=count,
        unlabeled=len(judge) - count,
        method="active",
    )


class Rate(NamedTuple):
    """A proportion of `n` independent items; `n` is an effective number if items are clustered."""

    share: float
    n: float


def rogan_gladen(
    judge: Sequence[bool],
    human: Sequence[bool | None],
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> CorrectedEstimate:
    """Estimate the yes-rate of human labels on the unlabeled items from the judge's error rates on the labeled ones.

    The labeled items may come from another population with another prevalence, if the judge's error rates are the same.
    If they are a random sample of the same items, `prediction_powered` gives narrower intervals.

    Clustered items count as their effective number, n over the design effect. Undefined if the judge is no better than
    chance (see `rogan_gladen_rate`).

    Args:
        judge: The judge's label of each item.
        human: The human label of each item; `None` for the items whose rate is estimated.
        clusters: One key per item; by default every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The corrected rate, the judge's and the human rate.

    Raises:
        UsageError: If the arguments differ in length.
    """
    if len(judge) != len(human):
        raise UsageError(f"judge and human must describe the same items: {len(judge)} and {len(human)} values")
    keys = list(range(len(judge))) if clusters is None else list(clusters)
    if len(keys) != len(judge):
        raise UsageError(f"clusters must hold one key per item: {len(keys)} keys, {len(judge)} items")

    def rate(human_label: bool | None, judge_label: bool) -> Rate | None:
        """Return how often the judge gives its label to items with this human label."""
        chosen = [i for i, label in enumerate(human) if label == human_label]
        return _rate([judge[i] == judge_label for i in chosen], [keys[i] for i in chosen])

    labeled = [i for i, label in enumerate(human) if label is not None]
    yes, specificity, sensitivity = rate(None, True), rate(False, False), rate(True, True)
    if yes is None or specificity is None or sensitivity is None:
        missing = "unlabeled items" if yes is None else "labels of both kinds"
        corrected = without_interval(None, len(judge), 0, resampling.level, f"needs {missing}")
    else:
        corrected = rogan_gladen_rate(yes, specificity, sensitivity, level=resampling.level)
    return CorrectedEstimate(
        corrected=corrected,
        judge=mean_interval([float(answer) for answer in judge], clusters=clusters, resampling=resampling),
        human=mean_interval(
            [float(bool(human[i])) for i in labeled], clusters=[keys[i] for i in labeled], resampling=resampling
        ),
        labeled=len(labeled),
        unlabeled=len(judge) - len(labeled),
        method="rogan-gladen",
    )


def rogan_gladen_rate(yes: Rate, specificity: Rate, sensitivity: Rate, *, level: float = 0.95) -> IntervalEstimate:
    """Return theta = (p + q0 - 1) / (q0 + q1 - 1), clipped to [0, 1], with its adjusted interval.

    Source: Lee et al. 2511.21140. Undefined unless q0 + q1 - 1, the judge's edge over chance, and the lower end of its
    interval are above 0. Otherwise the formula divides by noise, and the interval could have a negative width.

    Args:
        yes: The judge's yes-rate p.
        specificity: q0, its rate of no on human no.
        sensitivity: q1, its rate of yes on human yes.
        level: The confidence level.
    """
    z = critical_value(level)
    p = (yes.n * yes.share + z * z / 2) / (yes.n + z * z)
    n = yes.n + z * z
    q0, m0 = (specificity.n * specificity.share + 1) / (specificity.n + 2), specificity.n + 2
    q1, m1 = (sensitivity.n * sensitivity.share + 1) / (sensitivity.n + 2), sensitivity.n + 2
    observations = round(yes.n + specificity.n + sensitivity.n)
    edge = specificity.share + sensitivity.share - 1
    noise0, noise1 = q0 * (1 - q0) / m0, q1 * (1 - q1) / m1
    lowest = q0 + q1 - 1 - z * math.sqrt(noise0 + noise1)
    if edge <= 0 or lowest <= 0:
        reason = (
            f"the labels cannot tell the judge from chance: sensitivity {decimal(sensitivity.share, 2)} + specificity "
            f"{decimal(specificity.share, 2)} - 1 = {decimal(edge, 2)}, lower end {decimal(lowest, 2)}"
        )
        return without_interval(None, observations, 0, level, reason)
    theta = min(1.0, max(0.0, (p + q0 - 1) / (q0 + q1 - 1)))
    shift = 2 * z * z * (theta * noise1 - (1 - theta) * noise0)
    variance = p * (1 - p) / n + (1 - theta) ** 2 * noise0 + theta**2 * noise1
    error = math.sqrt(variance) / (q0 + q1 - 1)
    value = min(1.0, max(0.0, (yes.share + specificity.share - 1) / edge))
    low, high = theta + shift - z * error, theta + shift + z * error
    return IntervalEstimate(
        value, min(1.0, max(0.0, low)), min(1.0, max(0.0, high)), observations, "normal", error, observations, level
    )


def _rate(hits: Sequence[bool], clusters: Sequence[Hashable]) -> Rate | None:
    if not hits:
        return None
    share = sum(hits) / len(hits)
    rows = cluster_sums(np.column_stack([np.array(hits, dtype=np.float64), np.ones(len(hits))]), clusters)
    if len(rows) < 2 or share in (0, 1):
        return Rate(share, len(rows))
    error = clustered_error(rows[:, 0] - share * rows[:, 1], len(hits))
    effect = error**2 * (len(hits) - 1) / (share * (1 - share))
    return Rate(share, len(hits) / max(effect, 1.0))
