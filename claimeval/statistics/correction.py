"""Correction of a judge's mean by human labels.

The function depends on how the labeled items were drawn:

- with equal probabilities from the items of the mean: `prediction_powered` (PPI++)
- the same for a weighted mean, or with known unequal probabilities: `weighted_correction`
- from other data, to which only the judge's error rates apply: `rogan_gladen`
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from claimeval.statistics.bootstrap import (
    STANDARD,
    Floats,
    Integers,
    IntervalEstimate,
    Mask,
    Resampling,
    cluster_codes,
    cluster_sums,
    clustered_error,
    effective_number,
    np,
    without_interval,
)
from claimeval.statistics.formatting import decimal
from claimeval.statistics.intervals import mean_interval, ratio_interval, wilson_interval
from claimeval.statistics.quantiles import check_level, critical_value
from claimeval.types.errors import UsageError

ROUNDING = 1e-12
"""Distance to 0 and 1 that is a rounding error."""


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
    method: Literal["ppi++", "weighted ppi++", "rogan-gladen"]
    """The method of the correction."""
    ppi_lambda: float | None = None
    """Weight of the judge from 0 to 1: PPI++'s lambda."""
    effective: float | None = None
    """Number of labels with equal weights that would say as much: fewer than `labeled`, if their
    weights differ or several are of one cluster."""
    labels_needed: int | None = None
    """Number of additional labels that would halve the corrected interval; `None` if labeling all
    items would not."""


def share_estimate(
    value: float,
    error: float,
    spread: float,
    *,
    n: int,
    clusters: float,
    freedom: int,
    level: float,
) -> IntervalEstimate:
    """Return the estimate of a proportion from its standard error, with Wilson's interval on the
    effective number.

    The effective number of observations is v(1 - v) / spread^2, with Student's critical value for
    `freedom` degrees of freedom; at 0 and 1 it is the number of clusters. Beyond them, the interval
    reaches as far as Student's t too.

    Args:
        value: The proportion; clipped to [0, 1].
        error: Its standard error.
        spread: The error, possibly widened.
        n: Number of observations.
        clusters: Number of clusters; may be an effective number.
        freedom: The degrees of freedom.
        level: The confidence level.
    """
    share = min(1.0, max(0.0, value))
    # 0.1 + 0.7 + 0.2 is 0.9999999999999999, whose effective number would be near infinity.
    share = round(share) if min(share, 1 - share) < ROUNDING else share
    reach = critical_value(level, freedom) * spread
    if share in (0.0, 1.0) or spread == 0:
        low, high = wilson_interval(share, clusters, level=level)
        low, high = max(0.0, min(low, value - reach)), min(1.0, max(high, value + reach))
    else:
        widening = critical_value(level, freedom) / critical_value(level)
        low, high = wilson_interval(
            share,
            share * (1 - share) / (spread * widening) ** 2,
            level=level,
        )
    return IntervalEstimate(share, low, high, n, "wilson", error, round(clusters), level)


class _ItemArrays(NamedTuple):
    """The items in arrays; `human` is NaN without a label."""

    judge: Floats
    human: Floats
    clusters: Integers
    has_label: Mask
    shares: bool
    """Whether all values are in [0, 1]."""


def _arrays(
    judge: Sequence[float],
    human: Sequence[float | None],
    clusters: Sequence[Hashable] | None,
) -> _ItemArrays:
    if len(judge) != len(human):
        raise UsageError(
            f"judge and human must describe the same items: {len(judge)} and {len(human)} values"
        )
    has_label = np.array([label is not None for label in human], dtype=bool)
    scores = np.asarray(judge, dtype=np.float64)
    labels = np.array([math.nan if label is None else label for label in human], dtype=np.float64)
    if not (np.isfinite(scores).all() and np.isfinite(labels[has_label]).all()):
        raise UsageError("values must be finite; leave items that the judge did not assess out")
    codes = np.arange(len(judge)) if clusters is None else cluster_codes(clusters, len(judge))
    inside = all(
        bool(((values >= 0) & (values <= 1)).all()) for values in (scores, labels[has_label])
    )
    return _ItemArrays(scores, labels, codes, has_label, inside)


def prediction_powered(
    judge: Sequence[float],
    human: Sequence[float | None],
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> CorrectedEstimate:
    """Estimate the mean of human labels of all items from a judge's values of all and human labels
    of a random sample.

    PPI++. With n labeled items (labels Y, judge F) and N unlabeled ones (judge G)::

        theta  = lambda mean(G) + mean(Y - lambda F)
        lambda = cov(Y, F) / ((1 + n/N) var(F and G)), clipped to [0, 1]

    Lambda 0 uses the human labels alone. Undefined with fewer than two labeled clusters; use at
    least 30.

    Proportions in [0, 1] get Wilson's interval on the effective number of labels, widened by the
    variance of one more labeled cluster on which the judge errs, because a judge that agrees with
    every label is still not perfect. Other values get Student's t.

    Sources: PPI 2301.09633, PPI++ 2311.01453. Value and lambda equal
    `ppi_py.ppi_mean_pointestimate`; its variances divide by n and these by n - 1.

    Args:
        judge: The judge's value of each item.
        human: The human label of each item; `None` for no label.
        clusters: One key per item, such as the answer of a claim. Clusters may be labeled in part.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The corrected mean, the judge's and the human mean, and the number of labels that would
        halve the interval.

    Raises:
        UsageError: If the arguments differ in length or a value is not finite.
    """
    check_level(resampling.level)
    items = _arrays(judge, human, clusters)
    labeled = np.flatnonzero(items.has_label)
    unlabeled = np.flatnonzero(~items.has_label)
    n = len(labeled)
    open_ = len(unlabeled)
    labels = items.human[labeled]
    scores = items.judge[labeled]
    # ddof as in ppi_py, whose lambda is to be the same number.
    covariance = float(np.cov(labels, scores, ddof=0)[0, 1]) if n else 0.0
    variance = float(items.judge.var(ddof=1)) if len(judge) > 1 else 0.0
    useful = n > 1 and open_ > 0 and variance > 0
    ppi_lambda = min(1.0, max(0.0, covariance / ((1 + n / open_) * variance))) if useful else 0.0
    explained = max(0.0, covariance) ** 2 / variance if useful else 0.0
    corrected = _estimate(items, labeled, unlabeled, ppi_lambda, resampling.level)
    known = corrected.value is not None
    return CorrectedEstimate(
        corrected=corrected,
        judge=mean_interval(items.judge.tolist(), clusters=clusters, resampling=resampling),
        human=_estimate(items, labeled, unlabeled, 0.0, resampling.level),
        labeled=n,
        unlabeled=open_,
        method="ppi++",
        ppi_lambda=ppi_lambda if known else None,
        effective=(
            effective_number(np.bincount(items.clusters[labeled]).astype(np.float64)) if n else 0.0
        ),
        labels_needed=(
            _labels_needed(n, len(judge), float(labels.var(ddof=1)), explained) if known else None
        ),
    )


def _estimate(
    items: _ItemArrays,
    labeled: Integers,
    unlabeled: Integers,
    ppi_lambda: float,
    level: float,
) -> IntervalEstimate:
    """Return theta with its interval."""
    clusters = len(np.unique(items.clusters[labeled]))
    if clusters < 2:
        reason = "fewer than two labeled clusters" if len(items.judge) else "no items"
        return without_interval(None, len(labeled), 0, level, reason)
    rectified = items.human[labeled] - ppi_lambda * items.judge[labeled]
    open_ = ppi_lambda * items.judge[unlabeled]
    value = float(rectified.mean()) + (float(open_.mean()) if len(open_) else 0.0)
    residuals = np.zeros(len(items.judge))
    residuals[labeled] = _residuals(rectified, items.clusters[labeled])
    residuals[unlabeled] = _residuals(open_, items.clusters[unlabeled])
    # A judge that agrees with all 30 labels has residuals of 0, and would have an interval of 0.
    unseen = 1.0 if float(np.ptp(rectified)) == 0 else ppi_lambda
    return _with_ends(items, value, residuals, unseen / clusters, len(labeled), clusters, level)


def _with_ends(
    items: _ItemArrays,
    value: float,
    residuals: Floats,
    unseen: float,
    n: int,
    clusters: float,
    level: float,
    *,
    is_weighted: bool = False,
) -> IntervalEstimate:
    """Return the estimate from the residual of each item; `unseen` is what one more error of the
    judge would change.

    Values that are no shares get Student's t. With weights (`is_weighted`), the degrees of freedom
    are those of the effective number of clusters by weight, G, and by their part of the variance,
    V: G^(1/3) V^(2/3) - 1. If answers have 1 to 30 claims, most of the variance is that of the few
    short answers whose claims were labeled, and G alone covers 88%. V alone (Satterthwaite 1946)
    is itself estimated from few of them and gives intervals of several times the width; the powers
    are those at which the worst of seven simulated shapes covers 93%.
    """
    contributions: Floats = np.bincount(items.clusters, residuals).astype(np.float64) ** 2
    error = math.sqrt(float(contributions.sum()))
    number = clusters
    if is_weighted and error > 0:
        by_variance = min(clusters, effective_number(contributions))
        number = clusters ** (1 / 3) * by_variance ** (2 / 3)
    freedom = max(1, int(number + 1e-9) - 1)
    if items.shares:
        spread = math.hypot(error, unseen) if error > 0 else 0.0
        return share_estimate(
            value,
            error,
            spread,
            n=n,
            clusters=clusters,
            freedom=freedom,
            level=level,
        )
    reach = critical_value(level, freedom) * error
    return IntervalEstimate(
        value,
        value - reach,
        value + reach,
        n,
        "t",
        error,
        round(clusters),
        level,
    )


def _residuals(values: Floats, clusters: Integers) -> Floats:
    """Return the contribution of each value to the error of the mean, with the factor G/(G-1)."""
    if not len(values):
        return values
    count = len(np.unique(clusters))
    contributions: Floats = (
        (values - values.mean()) / len(values) * math.sqrt(count / max(1, count - 1))
    )
    return contributions


def _labels_needed(labels: int, items: int, variance: float, explained: float) -> int | None:
    """Return the number of additional labels for a quarter of the variance; None if labels of all
    items are too few.

    The variance with m labels of T items is (var(Y) - cov^2/var(F) (T - m)/T) / m at the best
    lambda, so the number of labels with a variance v is (var(Y) - cov^2/var(F)) / (v -
    cov^2/var(F)/T).
    """
    goal = max(0.0, variance - explained * (items - labels) / items) / labels / 4
    if goal <= 0 or max(0.0, variance) / items > goal:
        return None
    return max(0, math.ceil((variance - explained) / (goal - explained / items) - labels - 0.01))


def weighted_correction(
    judge: Sequence[float],
    human: Sequence[float | None],
    *,
    weights: Sequence[float] | None = None,
    probabilities: Sequence[float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> CorrectedEstimate:
    """Estimate the weighted mean of human labels of all items from labels that were drawn with
    known probabilities.

    With weights w of all items, and w / pi of the labeled ones (labels Y, judge F)::

        theta  = mean(Y) - lambda (mean of F over labeled items - mean of F over all)

    where lambda, from 0 to 1, makes the squares of the clusters' contributions smallest. The mean
    over samples of the shares of their claims has the weights 1 / (claims of the sample). The error
    is that of independent clusters, whose number is Kish's effective number by weight; that of a
    cluster which carries much of the weight is widened by 1 / (1 - weight). Proportions get
    Wilson's interval as in `prediction_powered`, whose method this is in the form of a regression
    estimator (Deville & Sarndal 1992; PPI++ 2311.01453).

    Args:
        judge: F, the judge's value of each item.
        human: Y, the human label of each item; `None` for no label.
        weights: w, above 0; `None` for equal weights.
        probabilities: pi, the inclusion probability of each item (`sampling.Draw.probabilities`);
            `None` if all are equal.
        clusters: One key per item; by default every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples of the judge's mean.

    Returns:
        The corrected mean, the judge's weighted mean and the human one.

    Raises:
        UsageError: If the arguments differ in length, a value is not finite, a weight is not above
            0, or a probability is not in (0, 1].
    """
    level = resampling.level
    check_level(level)
    items = _arrays(judge, human, clusters)
    _check_design(weights, probabilities, len(judge))
    size = len(judge)
    labeled = items.has_label
    of_all = np.ones(size) if weights is None else np.asarray(weights, dtype=np.float64)
    of_all = of_all / of_all.sum() if size else of_all
    of_labeled = np.where(
        labeled,
        of_all if probabilities is None else of_all / np.asarray(probabilities),
        0.0,
    )
    total = float(of_labeled.sum())
    n = int(labeled.sum())
    groups = len(np.unique(items.clusters[labeled]))
    by_cluster: Floats = np.bincount(items.clusters, of_labeled).astype(np.float64)

    def estimate(ppi_lambda: float | None) -> tuple[IntervalEstimate, float]:
        """Return theta, and lambda; None for the best one."""
        part = of_labeled / total
        labels = np.where(labeled, items.human, 0.0)
        by_people = float(part @ labels)
        by_judge = float(part @ items.judge)
        mean = float(of_all @ items.judge)
        people = part * (labels - by_people)
        shift = part * (items.judge - by_judge) - of_all * (items.judge - mean)
        if ppi_lambda is None:
            first = np.bincount(items.clusters, people)
            second = np.bincount(items.clusters, shift)
            squares = float((second**2).sum())
            # Below 1e-15 the judge's values are constant but for rounding, and their weight would
            # be noise.
            ppi_lambda = (
                min(1.0, max(0.0, float((first * second).sum()) / squares))
                if squares > 1e-15
                else 0.0
            )
        effective = effective_number(by_cluster)
        # A cluster that has most of the weight pulls the mean to itself, so that its residual is
        # small; half is a limit, as the factor would be infinite for a single cluster.
        factor = math.sqrt(max(effective - 1, 1.0) / effective) / np.maximum(
            1 - by_cluster[items.clusters] / total, 0.5
        )
        rectified = (labels - ppi_lambda * items.judge)[labeled]
        unseen = (1.0 if float(np.ptp(rectified)) == 0 else ppi_lambda) / effective
        value = by_people - ppi_lambda * (by_judge - mean)
        residuals = (people - ppi_lambda * shift) * factor
        ends = _with_ends(items, value, residuals, unseen, n, effective, level, is_weighted=True)
        return ends, ppi_lambda

    undefined = without_interval(
        None, n, 0, level, "fewer than two labeled clusters" if size else "no items"
    )
    corrected, ppi_lambda = estimate(None) if groups > 1 else (undefined, None)
    scaled = size * of_all
    return CorrectedEstimate(
        corrected=corrected,
        judge=ratio_interval(
            (scaled * items.judge).tolist(),
            scaled.tolist(),
            clusters=clusters,
            resampling=resampling,
        ),
        human=estimate(0.0)[0] if groups > 1 else undefined,
        labeled=n,
        unlabeled=size - n,
        method="weighted ppi++",
        ppi_lambda=ppi_lambda,
        effective=effective_number(by_cluster) if n else 0.0,
    )


def _check_design(
    weights: Sequence[float] | None,
    probabilities: Sequence[float] | None,
    size: int,
) -> None:
    """Raise UsageError unless each of `size` items has a usable weight and inclusion
    probability."""
    for name, values in (("weights", weights), ("probabilities", probabilities)):
        if values is not None and len(values) != size:
            raise UsageError(
                f"{name} must describe the same items: {len(values)} and {size} values"
            )
    if any(not 0 < weight < math.inf for weight in weights or ()):
        raise UsageError("weights must be above 0 and finite")
    if any(not 0 < probability <= 1 for probability in probabilities or ()):
        raise UsageError(
            "inclusion probabilities must lie in (0, 1]: keep those that the draw returned"
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
    """Estimate the yes-rate of human labels on the unlabeled items from the judge's error rates on
    the labeled ones.

    The labeled items may come from another population with another prevalence, if the judge's error
    rates are the same. If they are a random sample of the same items, `prediction_powered` gives
    narrower intervals.

    Clustered items count as their effective number, n over the design effect. Undefined if the
    judge is no better than chance (see `rogan_gladen_rate`).

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
    items = _arrays(judge, human, clusters)
    keys = items.clusters
    labeled = items.has_label

    def rate(chosen: Mask, label: float) -> Rate | None:
        """Return how often the judge gives the label to these items."""
        return effective_rate(items.judge[chosen] == label, keys[chosen].tolist())

    yes = rate(~labeled, 1.0)
    specificity = rate(items.human == 0, 0.0)
    sensitivity = rate(items.human == 1, 1.0)
    if yes is None or specificity is None or sensitivity is None:
        missing = "unlabeled items" if yes is None else "labels of both kinds"
        corrected = without_interval(None, len(judge), 0, resampling.level, f"needs {missing}")
    else:
        corrected = rogan_gladen_rate(yes, specificity, sensitivity, level=resampling.level)
    return CorrectedEstimate(
        corrected=corrected,
        judge=mean_interval(items.judge.tolist(), clusters=clusters, resampling=resampling),
        human=mean_interval(
            items.human[labeled].tolist(),
            clusters=keys[labeled].tolist(),
            resampling=resampling,
        ),
        labeled=int(labeled.sum()),
        unlabeled=int((~labeled).sum()),
        method="rogan-gladen",
    )


def rogan_gladen_rate(
    yes: Rate,
    specificity: Rate,
    sensitivity: Rate,
    *,
    level: float = 0.95,
) -> IntervalEstimate:
    """Return theta = (p + q0 - 1) / (q0 + q1 - 1), clipped to [0, 1], with its adjusted interval.

    Source: Lee et al. 2511.21140. Undefined unless q0 + q1 - 1, the judge's edge over chance, and
    the lower end of its interval are above 0. Otherwise the formula divides by noise, and the
    interval could have a negative width.

    Args:
        yes: The judge's yes-rate p.
        specificity: q0, its rate of no on human no.
        sensitivity: q1, its rate of yes on human yes.
        level: The confidence level.
    """
    z = critical_value(level)
    # Agresti and Coull's additions: z^2 observations for the rate, one of each kind for the others.
    p = (yes.n * yes.share + z * z / 2) / (yes.n + z * z)
    n = yes.n + z * z
    q0 = (specificity.n * specificity.share + 1) / (specificity.n + 2)
    m0 = specificity.n + 2
    q1 = (sensitivity.n * sensitivity.share + 1) / (sensitivity.n + 2)
    m1 = sensitivity.n + 2
    observations = round(yes.n + specificity.n + sensitivity.n)
    edge = specificity.share + sensitivity.share - 1
    noise0 = q0 * (1 - q0) / m0
    noise1 = q1 * (1 - q1) / m1
    lowest = q0 + q1 - 1 - z * math.sqrt(noise0 + noise1)
    # A judge at chance has an edge of 0: the quotient is then noise of any size and either sign.
    if edge <= 0 or lowest <= 0:
        reason = (
            "the labels cannot tell the judge from chance: sensitivity"
            f" {decimal(sensitivity.share, 2)} + specificity {decimal(specificity.share, 2)} - 1 ="
            f" {decimal(edge, 2)}, lower end {decimal(lowest, 2)}"
        )
        return without_interval(None, observations, 0, level, reason)
    theta = min(1.0, max(0.0, (p + q0 - 1) / (q0 + q1 - 1)))
    shift = 2 * z * z * (theta * noise1 - (1 - theta) * noise0)
    variance = p * (1 - p) / n + (1 - theta) ** 2 * noise0 + theta**2 * noise1
    error = math.sqrt(variance) / (q0 + q1 - 1)
    value = min(1.0, max(0.0, (yes.share + specificity.share - 1) / edge))
    low, high = theta + shift - z * error, theta + shift + z * error
    return IntervalEstimate(
        value,
        min(1.0, max(0.0, low)),
        min(1.0, max(0.0, high)),
        observations,
        "normal",
        error,
        observations,
        level,
    )


def effective_rate(hits: Mask, clusters: Sequence[Hashable]) -> Rate | None:
    """Return the proportion of hits with the number of independent items that say as much: n over
    the design effect; the number of clusters, if all items are hits or none is. None without
    items."""
    if not len(hits):
        return None
    share = float(hits.mean())
    rows = cluster_sums(np.column_stack([hits, np.ones(len(hits))]).astype(np.float64), clusters)
    if len(rows) < 2 or share in (0, 1):
        return Rate(share, len(rows))
    error = clustered_error(rows[:, 0] - share * rows[:, 1], len(hits))
    # Relative to n - 1, so that independent items have a design effect of 1.
    effect = error**2 * (len(hits) - 1) / (share * (1 - share))
    return Rate(share, len(hits) / max(effect, 1.0))
