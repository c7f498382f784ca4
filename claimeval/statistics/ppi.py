"""PPI++ and stratified PPI++: a judge on all items, people on a random sample of them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from claimeval.statistics.clusters import cluster_codes
from claimeval.statistics.correction import CorrectedEstimate, mean_estimate, share_estimate
from claimeval.statistics.estimate import IntervalEstimate
from claimeval.statistics.intervals import mean_interval
from claimeval.statistics.quantiles import check_level
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Positions = NDArray[np.intp]


class _Stratum(NamedTuple):
    labelled: Positions
    unlabelled: Positions
    weight: float
    judge_weight: float
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
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> CorrectedEstimate:
    """The mean of what people would say, from a judge on all items and people on a random sample of them.

    `judge[i]` and `human[i]` belong to item i; `human[i]` is `None` where nobody labelled it. With n labelled
    items (labels Y, judge F) and N unlabelled ones (judge G)::

        theta  = lambda mean(G) + mean(Y - lambda F)
        lambda = cov(Y, F) / ((1 + n/N) var(F and G)), clipped to [0, 1]

    and with `strata` (those of the draw: the judge's label, the topic) the theta of each, weighted by its
    share of all items. Lambda 0 is people alone. The standard error is that of sums over `clusters`, which
    may hold labelled and unlabelled items (claims of one answer). It counts the spread between strata: their
    shares are those of a sample, too, where StratPPI takes them as known. Undefined where a stratum has fewer
    than two labelled clusters; keep 15.

    Shares in [0, 1] get Wilson's interval on the effective number of labels, widened by the variance of one
    more labelled cluster on which the judge errs: a judge that happened to agree with every label is not
    perfect. Other values get Student's t. `resamples` and `seed` are those of the judge's own interval.

    Sources: PPI 2301.09633, PPI++ 2311.01453, StratPPI 2406.04291. Value and lambda equal
    `ppi_py.ppi_mean_pointestimate`; its variances divide by n where these divide by n - 1.
    """
    import numpy as np

    check_level(level)
    if len(judge) != len(human):
        raise UsageError(f"judge and human must describe the same items: {len(judge)} and {len(human)} values")
    labelled = np.array([label is not None for label in human], dtype=bool)
    items = _LabeledItems(
        np.asarray(judge, dtype=np.float64),
        np.array([math.nan if label is None else label for label in human], dtype=np.float64),
        np.arange(len(judge)) if clusters is None else cluster_codes(clusters, len(judge)),
    )
    if not (np.isfinite(items.judge).all() and np.isfinite(items.human[labelled]).all()):
        raise UsageError("values must be finite; leave items that the judge did not assess out")
    groups = np.zeros(len(judge), np.intp) if strata is None else cluster_codes(strata, len(judge))
    parts = [_stratum(items, labelled, groups == group) for group in np.unique(groups)]
    judged = mean_interval(items.judge.tolist(), clusters=clusters, level=level, resamples=resamples, seed=seed)
    count = int(labelled.sum())
    corrected = _estimate(items, parts, level)
    weight = None if corrected.value is None else sum(part.weight * part.judge_weight for part in parts)
    return CorrectedEstimate(
        corrected=corrected,
        judge=judged,
        human=_estimate(items, [part._replace(judge_weight=0.0) for part in parts], level),
        labelled=count,
        unlabelled=len(judge) - count,
        method="ppi++" if strata is None else "stratified ppi++",
        judge_weight=weight,
        labels_to_halve=None if corrected.value is None else _labels_to_halve(parts),
    )


def _stratum(items: _LabeledItems, labelled: NDArray[np.bool_], members: NDArray[np.bool_]) -> _Stratum:
    import numpy as np

    known, open_ = np.flatnonzero(labelled & members), np.flatnonzero(~labelled & members)
    n, rest = len(known), len(open_)
    weight = (n + rest) / len(labelled)
    if n < 2:
        return _Stratum(known, open_, weight, 0.0, 0.0, 0.0)
    labels, scores = items.human[known], items.judge[known]
    covariance = float(((labels - labels.mean()) * (scores - scores.mean())).mean())
    variance = float(items.judge[members].var(ddof=1))
    useful = rest > 0 and variance > 0
    judge_weight = min(1.0, max(0.0, covariance / ((1 + n / rest) * variance))) if useful else 0.0
    explained = max(0.0, covariance) ** 2 / variance if useful else 0.0
    return _Stratum(known, open_, weight, judge_weight, float(labels.var(ddof=1)), explained)


def _estimate(items: _LabeledItems, parts: Sequence[_Stratum], level: float) -> IntervalEstimate:
    """Theta with its interval, for the judge weights in `parts`."""
    import numpy as np

    total = len(items.judge)
    groups = [len(np.unique(items.clusters[part.labelled])) for part in parts]
    if not parts or min(groups) < 2:
        reason = "no items" if not parts else "fewer than two labelled clusters in a stratum"
        return IntervalEstimate(None, None, None, total, "none", level=level, undefined_because=reason)
    rectified = [items.human[part.labelled] - part.judge_weight * items.judge[part.labelled] for part in parts]
    judged = [part.judge_weight * items.judge[part.unlabelled] for part in parts]
    means = [float(r.mean()) + (float(j.mean()) if len(j) else 0.0) for r, j in zip(rectified, judged, strict=True)]
    value = sum(part.weight * mean for part, mean in zip(parts, means, strict=True))
    residuals, surprise = np.zeros(total), 0.0
    between = math.sqrt(sum(groups) / (sum(groups) - 1)) / total
    for part, known, open_, mean, count in zip(parts, rectified, judged, means, groups, strict=True):
        share = between * (mean - value)
        residuals[part.labelled] = part.weight * _residuals(known, items.clusters[part.labelled]) + share
        residuals[part.unlabelled] = part.weight * _residuals(open_, items.clusters[part.unlabelled]) + share
        unseen = 1.0 if float(np.ptp(known)) == 0 else part.judge_weight
        surprise += (part.weight * unseen / count) ** 2
    error = math.sqrt(float((np.bincount(items.clusters, residuals) ** 2).sum()))
    labels = items.human[np.concatenate([part.labelled for part in parts])]
    freedom = sum(groups) - len(parts)
    if all(values.min() >= 0 and values.max() <= 1 for values in (items.judge, labels)):
        spread = math.sqrt(error**2 + surprise) if error > 0 else 0.0
        return share_estimate(value, error, spread, n=total, clusters=sum(groups), freedom=freedom, level=level)
    return mean_estimate(value, error, n=total, clusters=sum(groups), freedom=freedom, level=level)


def _residuals(values: Floats, clusters: Positions) -> Floats:
    """What each value adds to the error of the mean of `values`, with the factor G/(G-1)."""
    import numpy as np

    if not len(values):
        return values
    count = len(np.unique(clusters))
    contributions: Floats = (values - values.mean()) / len(values) * math.sqrt(count / max(1, count - 1))
    return contributions


def _labels_to_halve(parts: Sequence[_Stratum]) -> int | None:
    """How many more labels, in the present proportions, make the variance a quarter; found by bisection.

    The variance of a stratum with T items and m labels is (var(Y) - cov^2/var(F) (T - m)/T) / m at the best
    lambda.
    """

    def variance(factor: float) -> float:
        total = 0.0
        for part in parts:
            size = len(part.labelled) + len(part.unlabelled)
            labels = min(size, factor * len(part.labelled))
            unexplained = part.label_variance - part.explained * (size - labels) / size
            total += part.weight**2 * max(0.0, unexplained) / labels
        return total

    low = 1.0
    high = max((len(part.labelled) + len(part.unlabelled)) / len(part.labelled) for part in parts)
    goal = variance(1.0) / 4
    if goal == 0 or variance(high) > goal:
        return None
    labelled = sum(len(part.labelled) for part in parts)
    while (high - low) * labelled > 0.01:
        middle = (low + high) / 2
        low, high = (middle, high) if variance(middle) > goal else (low, middle)
    return math.ceil((high - 1) * labelled - 0.01)
