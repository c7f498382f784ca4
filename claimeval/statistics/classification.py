"""Comparisons of a judge's labels, probabilities and scores with human ones, and a test of
replacing annotators."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from claimeval.statistics.agreement import (
    Weighting,
    cohen_kappa,
    label_codes,
    label_scale,
    raw_agreement,
)
from claimeval.statistics.bootstrap import (
    MIN_CLUSTERS,
    STANDARD,
    ClusterSums,
    Floats,
    Integers,
    Interval,
    IntervalEstimate,
    Mask,
    Resampling,
    bca_interval,
    bootstrap_sums,
    cluster_codes,
    cluster_sums,
    distinct_rows,
    effective_number,
    np,
    resample_counts,
    why_no_interval,
    without_interval,
)
from claimeval.statistics.correction import effective_rate, share_estimate
from claimeval.statistics.intervals import edge_interval, ratio_interval
from claimeval.statistics.quantiles import check_level, critical_value, student_cdf
from claimeval.types.errors import UsageError, unknown_name


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Items with similar predicted probabilities."""

    n: int
    probability: float
    """Mean of the predicted probabilities."""
    share: float
    """Share of items that are true."""
    low: float
    high: float
    """The 95% interval of the share, as that of recall in the balanced accuracy: Wilson's, with the
    exact end next to 0 or 1, on the number of independent items that say as much."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Predicted probabilities compared with the truth."""

    n: int
    bins: tuple[CalibrationBin, ...]
    """The bins that have items, by probability."""
    error: float | None
    """Expected calibration error: mean distance between share and probability over the bins,
    weighted by items."""
    brier: float | None
    """Brier score: the mean squared distance of a probability from 1 or 0."""


def calibration(
    probabilities: Sequence[float | None],
    truths: Sequence[bool | None],
    *,
    clusters: Sequence[Hashable] | None = None,
    bins: int = 10,
) -> Calibration:
    """Compare predicted probabilities with the truth, in bins of equal width.

    The calibration error is that of Guo et al. (2017), the Brier score that of scikit-learn's
    `brier_score_loss`. Both are None if no item has a probability and a truth.

    Args:
        probabilities: The predicted probability that each item is true; None for none.
        truths: Whether each item is true; None if unknown.
        clusters: One key per item, such as its question; by default every item is a cluster.
        bins: The number of bins from 0 to 1; a probability of 1 is in the last.
    """
    if len(probabilities) != len(truths):
        raise UsageError(
            f"give a truth for each probability: {len(probabilities)} and {len(truths)}"
        )
    keys = range(len(truths)) if clusters is None else clusters
    grouped = _by_probability(probabilities, truths, cluster_codes(keys, len(truths)), bins)
    filled = [_calibration_bin(items) for _, items in sorted(grouped.items())]
    if not (n := sum(group.n for group in filled)):
        return Calibration(0, (), None, None)
    error = math.fsum(group.n * abs(group.share - group.probability) for group in filled) / n
    assessed = itertools.chain.from_iterable(grouped.values())
    squares = math.fsum((probability - truth) ** 2 for probability, truth, _ in assessed)
    return Calibration(n, tuple(filled), error, squares / n)


def _by_probability(
    probabilities: Sequence[float | None],
    truths: Sequence[bool | None],
    codes: Integers,
    bins: int,
) -> dict[int, list[tuple[float, bool, int]]]:
    """Return the probability, truth and cluster of the items in each bin."""
    grouped: dict[int, list[tuple[float, bool, int]]] = {}
    for probability, truth, code in zip(probabilities, truths, codes.tolist(), strict=True):
        if probability is not None and truth is not None:
            # A probability of 1 would be alone in a bin beyond the last.
            bin_ = min(int(probability * bins), bins - 1)
            grouped.setdefault(bin_, []).append((probability, truth, code))
    return grouped


def _calibration_bin(items: Sequence[tuple[float, bool, int]]) -> CalibrationBin:
    """Return what items, each with its probability, truth and cluster, say together."""
    probabilities, truths, codes = (np.array(column) for column in zip(*items, strict=True))
    side = _side(truths, np.ones(len(truths), dtype=bool), codes, STANDARD.level)
    assert side, "a bin has items"
    return CalibrationBin(
        len(items), math.fsum(probabilities) / len(items), side.share, side.ends.low, side.ends.high
    )


@dataclass(frozen=True, slots=True)
class BinaryReport:
    """A judge compared with human labels; yes is the positive label. Undefined numbers have a
    reason."""

    accuracy: IntervalEstimate
    """Share of items on which judge and human agree."""
    balanced_accuracy: IntervalEstimate
    """Mean of recall and specificity: accuracy if both labels were equally frequent."""
    precision: IntervalEstimate
    """Share of human yes among the judge's yes."""
    recall: IntervalEstimate
    """Share of the judge's yes among human yes; sensitivity."""
    specificity: IntervalEstimate
    """Share of the judge's no among human no."""
    f1: IntervalEstimate
    """Harmonic mean of precision and recall."""
    kappa: IntervalEstimate
    """Cohen's kappa: agreement beyond chance."""
    auroc: IntervalEstimate | None
    """Chance that a human yes has the higher probability; `None` without probabilities."""
    true_positives: int
    """Yes by both."""
    false_positives: int
    """Yes by the judge, no by the human."""
    false_negatives: int
    """No by the judge, yes by the human."""
    true_negatives: int
    """No by both."""
    unassessed: int
    """Items with a human label but no label of the judge, which no number above includes."""


def binary_report(
    judge: Sequence[bool | None],
    human: Sequence[bool | None],
    *,
    probabilities: Sequence[float | None] | None = None,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> BinaryReport:
    """Compare a judge with human labels of the same items.

    Args:
        judge: The judge's label of each item; `None` counts as unassessed.
        human: The human label of each item; items with `None` do not count.
        probabilities: The judge's probability of yes for each item.
        clusters: One key per item; by default every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        Accuracy, precision, recall and so on, each with its interval, and the counts.

    Raises:
        UsageError: If the arguments differ in length.
    """
    columns_given = [column for column in (probabilities, clusters) if column is not None]
    sizes = {len(judge), len(human), *map(len, columns_given)}
    if len(sizes) > 1:
        raise UsageError(
            "judge, human, probabilities and clusters must describe the same items: lengths"
            f" {sizes}"
        )
    rated = [i for i in range(len(judge)) if judge[i] is not None and human[i] is not None]
    predicted = np.array([bool(judge[i]) for i in rated], dtype=bool)
    truth = np.array([bool(human[i]) for i in rated], dtype=bool)
    keys = None if clusters is None else [clusters[i] for i in rated]

    def share(hits: Mask, of: Mask) -> IntervalEstimate:
        """Return the proportion of `hits` among `of`."""
        return ratio_interval(hits.tolist(), of.tolist(), clusters=keys, resampling=resampling)

    of_probabilities = None
    if probabilities is not None:
        of_probabilities = _auroc_of_labels(human, probabilities, clusters, resampling.level)
    return BinaryReport(
        accuracy=share(predicted == truth, np.ones_like(predicted)),
        balanced_accuracy=_balanced_accuracy(predicted, truth, keys, resampling),
        precision=share(predicted & truth, predicted),
        recall=share(predicted & truth, truth),
        specificity=share(~predicted & ~truth, ~truth),
        f1=_f1(predicted & truth, predicted ^ truth, keys, resampling),
        kappa=cohen_kappa(predicted.tolist(), truth.tolist(), clusters=keys, resampling=resampling),
        auroc=of_probabilities,
        true_positives=int((predicted & truth).sum()),
        false_positives=int((predicted & ~truth).sum()),
        false_negatives=int((~predicted & truth).sum()),
        true_negatives=int((~predicted & ~truth).sum()),
        unassessed=sum(label is not None for label in human) - len(rated),
    )


def _auroc_of_labels(
    human: Sequence[bool | None],
    probabilities: Sequence[float | None],
    clusters: Sequence[Hashable] | None,
    level: float,
) -> IntervalEstimate:
    """Return the area of the items that have a human label and a probability, which a claim that
    the judge abstained on may have too."""
    pairs = enumerate(zip(human, probabilities, strict=True))
    scored = [(i, bool(y), p) for i, (y, p) in pairs if y is not None and p is not None]
    return auroc(
        [outcome for _, outcome, _ in scored],
        [probability for _, _, probability in scored],
        clusters=[i if clusters is None else clusters[i] for i, _, _ in scored],
        level=level,
    )


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of the judge's labels for every human label."""

    labels: tuple[Hashable, ...]
    """The labels, in scale order."""
    counts: tuple[tuple[int, ...], ...]
    """`counts[a][b]`: items with the human label `labels[a]` and the judge's label `labels[b]`."""
    unassessed: tuple[int, ...]
    """Per human label: items without a label of the judge."""


def confusion(
    judge: Sequence[Hashable | None],
    human: Sequence[Hashable | None],
    *,
    labels: Sequence[Hashable] | None = None,
) -> Confusion:
    """Count the judge's labels per human label; items without a human label do not count."""
    if len(judge) != len(human):
        raise UsageError(
            f"judge and human must label the same items: {len(judge)} and {len(human)} labels"
        )
    scale = label_scale([*judge, *human], labels)
    judged = label_codes(judge, scale)
    truth = label_codes(human, scale)
    table = np.zeros((len(scale), len(scale) + 1), dtype=np.int64)
    np.add.at(table, (truth[truth >= 0], judged[truth >= 0]), 1)
    return Confusion(
        scale,
        tuple(tuple(int(n) for n in row[:-1]) for row in table),
        tuple(int(n) for n in table[:, -1]),
    )


def _balanced_accuracy(
    predicted: Mask,
    truth: Mask,
    clusters: Sequence[Hashable] | None,
    resampling: Resampling,
) -> IntervalEstimate:
    """Return the mean of recall and specificity, with an interval by MOVER.

    With recall p in [l1, u1] and specificity q in [l0, u0], and r the correlation of their errors::

        low  = (p + q) / 2 - sqrt((p - l1)^2 + (q - l0)^2 + 2 r (p - l1)(q - l0)) / 2
        high = (p + q) / 2 + sqrt((u1 - p)^2 + (u0 - q)^2 + 2 r (u1 - p)(u0 - q)) / 2

    Source: Zou & Donner 2008 (Statistics in Medicine 27:1693); for independent proportions Newcombe
    1998, method 10. The ends of both proportions are those of `edge_interval` on the effective
    number of items. Resampling would only know the errors that the labels happen to show: ten wrong
    claims, all found, have a specificity of 1 in every resample. The intervals that recall and
    specificity have alone would make this one a quarter wider than its level needs, because both
    are rarely at their worst at once. The correlation is that of the clusters' sums, at least 0; it
    is 0 if every item is a cluster.
    """
    n = len(truth)
    keys = list(range(n)) if clusters is None else list(clusters)
    codes = cluster_codes(keys, n)
    count = int(codes.max(initial=-1)) + 1
    level = resampling.level
    p = _side(predicted == truth, truth, codes, level)
    q = _side(predicted == truth, ~truth, codes, level)
    if p is None or q is None:
        return without_interval(None, n, count, level, "one of the labels never occurs")
    value = (p.share + q.share) / 2
    reason = why_no_interval(resampling.resamples, count)
    if reason:
        return without_interval(value, n, count, level, reason)
    spreads = math.sqrt(float((p.residuals**2).sum()) * float((q.residuals**2).sum()))
    together = float((p.residuals * q.residuals).sum())
    # A negative correlation of few clusters would narrow the interval by chance.
    correlation = max(0.0, together / spreads) if spreads > 0 else 0.0

    def combined(of_recall: float, of_specificity: float) -> float:
        """Return the distance of an end from the value."""
        product = 2 * correlation * of_recall * of_specificity
        return math.sqrt(of_recall**2 + of_specificity**2 + product) / 2

    return IntervalEstimate(
        value,
        value - combined(p.share - p.ends.low, q.share - q.ends.low),
        value + combined(p.ends.high - p.share, q.ends.high - q.share),
        n,
        "mover",
        combined(p.error, q.error),
        count,
        level,
    )


class _Side(NamedTuple):
    """Recall or specificity, with what its interval and its correlation with the other need."""

    share: float
    error: float
    ends: Interval
    residuals: Floats
    """Of each cluster: its hits, minus those expected from the share."""


def _side(hits: Mask, of: Mask, codes: Integers, level: float) -> _Side | None:
    """Return the share of hits among the items `of`; None without items.

    The interval is widened by Student's critical value only if the variance is estimated: that of
    independent yes-or-no items follows from their share, and if all items are hits, or none is,
    each cluster counts as one item.
    """
    used = codes[of]
    rate = effective_rate(hits[of], used.tolist())
    if rate is None:
        return None
    groups = len(np.unique(used))
    # If each item is a cluster, the variance is p (1 - p) and not estimated from the data.
    is_estimated = groups < len(used) and 0 < rate.share < 1
    freedom = max(1, groups - 1) if is_estimated else None
    widening = critical_value(level, freedom) / critical_value(level)
    size = int(codes.max(initial=-1)) + 1
    residuals = np.bincount(used, hits[of] - rate.share, minlength=size).astype(np.float64)
    return _Side(
        rate.share,
        math.sqrt(rate.share * (1 - rate.share) / rate.n),
        edge_interval(rate.share, rate.n / widening**2, level=level),
        residuals,
    )


def _f1(
    hits: Mask,
    errors: Mask,
    clusters: Sequence[Hashable] | None,
    resampling: Resampling,
) -> IntervalEstimate:
    """Return 2 TP / (2 TP + FP + FN) as a ratio of sums, which has the guards of one: resampling
    alone covers 81% if hardly any item is an error."""
    twice = hits.astype(np.float64) * 2
    estimate = ratio_interval(
        twice.tolist(),
        (twice + errors).tolist(),
        clusters=clusters,
        resampling=resampling,
    )
    because = estimate.because
    if estimate.value is None:
        because = "one of the labels never occurs"
    return replace(estimate, n=len(hits), because=because)


def auroc(
    outcomes: Sequence[bool],
    scores: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> IntervalEstimate:
    """Return the probability that an item with a true outcome scores above one with a false
    outcome; ties count half.

    0.5 is a random order. Undefined without both outcomes. The standard error is DeLong's (1988),
    for clustered items Obuchowski's (1997); the interval is Wilson's on the effective number of
    items.

    Args:
        outcomes: The outcome of each item.
        scores: The score of each item.
        clusters: One key per item; by default every item is a cluster.
        level: The confidence level.

    Raises:
        UsageError: If the arguments differ in length.
    """
    check_level(level)
    if len(outcomes) != len(scores):
        raise UsageError(
            f"outcomes and scores must describe the same items: {len(outcomes)} and {len(scores)}"
        )
    truth = np.array(outcomes, dtype=bool)
    values = np.asarray(scores, dtype=np.float64)
    positives = int(truth.sum())
    negatives = int((~truth).sum())
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
    shortfall = np.abs(placements - round(area)) / np.where(truth, positives, negatives)
    spread = _with_unseen(error, area, np.bincount(codes, shortfall).astype(np.float64), smaller)
    return share_estimate(
        area,
        error,
        spread,
        n=len(outcomes),
        clusters=smaller,
        freedom=smaller - 1,
        level=level,
    )


def _with_unseen(error: float, area: float, shortfalls: Floats, clusters: int) -> float:
    """Return the error of an area, widened if few clusters make it.

    If a judge is wrong on whole questions, the area of those that were drawn is near 1 until one of
    them is: 20 questions covered 81%. As in `intervals._reach`, the variance beside that of a
    share of `clusters` is shrunk towards 1 with the weight of one cluster among those that differ.
    """
    whole = area * (1 - area) / clusters
    if whole <= 0 or error <= 0:
        return error
    effect = error**2 / whole
    differing = effective_number(shortfalls)
    shrunk = (differing * effect + 1) / (differing + 1)
    return math.sqrt(whole * max(effect, min(1.0, shrunk)))


RARE_EXTREMES = "items far from all others may decide it, and a sample need not show them"
"""Why Pearson's correlation has no interval."""


def correlation(
    x: Sequence[float],
    y: Sequence[float],
    *,
    kind: Literal["pearson", "spearman"] = "spearman",
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> IntervalEstimate:
    """Return the correlation of two scores of the same items, Spearman's with a BCa interval.

    Undefined if one of them is constant. Values equal `scipy.stats.pearsonr`, `spearmanr`.

    Pearson's has no interval: that of the bootstrap covers 81% of simulated sets of 20 items of
    which 3% are far from the others. A set that happens to have none of them does not show that
    they exist, so no rule on its values can tell when an interval holds. Spearman's holds there.

    Args:
        x: One score of each item.
        y: The other score of each item.
        kind: `spearman` ranks the scores, with midranks for ties. Each resample computes the ranks
            again, and their standard deviation is the standard error; only the acceleration uses
            the ranks of all items.
        clusters: One key per item; by default every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The correlation and its interval, or the reason why there is none.

    Raises:
        UsageError: If the arguments differ in length, a score is not finite, or the kind is
            unknown.
    """
    if len(x) != len(y):
        raise UsageError(f"x and y must describe the same items: {len(x)} and {len(y)} values")
    if kind not in ("pearson", "spearman"):
        raise unknown_name("correlation", kind, ["pearson", "spearman"])
    first = np.asarray(x, dtype=np.float64)
    second = np.asarray(y, dtype=np.float64)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise UsageError("values must be finite; leave undefined pairs out")
    if kind == "spearman":
        first = midranks(first)
        second = midranks(second)
    rows = cluster_sums(_moments(first, second), clusters)
    enough = len(rows) >= MIN_CLUSTERS and resampling.resamples > 0
    (estimate,) = bootstrap_sums(
        ClusterSums(rows, len(x)),
        [_pearson],
        resampling._replace(resamples=0) if enough else resampling,
        because="one of the scores is constant",
    )
    if estimate.value is None or not enough:
        return estimate
    if kind == "pearson":
        return without_interval(estimate.value, len(x), len(rows), resampling.level, RARE_EXTREMES)
    codes = np.arange(len(x)) if clusters is None else cluster_codes(clusters, len(x))
    replicates = np.concatenate(
        [
            _reranked(first, second, drawn[:, codes])
            for drawn in resample_counts(len(rows), resampling.resamples, resampling.seed)
        ]
    )
    distinct, occurrences = distinct_rows(rows)
    left_out = _pearson(rows.sum(axis=0) - distinct)
    interval = bca_interval(
        estimate.value,
        replicates,
        left_out,
        occurrences,
        len(rows),
        resampling.level,
    )
    if interval is None:
        reason = "nothing varies between resamples"
        return without_interval(estimate.value, len(x), len(rows), resampling.level, reason)
    error = float(np.nanstd(replicates, ddof=1))
    return IntervalEstimate(
        estimate.value,
        *interval,
        len(x),
        "bca",
        error,
        len(rows),
        resampling.level,
    )


def midranks(values: Floats) -> Floats:
    """Rank values from 1, with midranks for ties. Equals `scipy.stats.rankdata`."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranks


def _moments(x: Floats, y: Floats) -> Floats:
    if len(x):
        # Scores near 1e9 would lose their digits in sums of squares.
        x = x - x.mean()
        y = y - y.mean()
    return np.column_stack([np.ones(len(x)), x, y, x * x, x * y, y * y])


def _pearson(sums: Floats) -> Floats:
    count, x, y, xx, xy, yy = (sums[:, column] for column in range(6))
    spread_x = count * xx - x * x
    spread_y = count * yy - y * y
    # Moments about the mean cancel to about 1e-16 of their size where all values are equal.
    tiny = 1e-12 * np.maximum(count * np.maximum(xx, yy), 1e-300)
    defined = (spread_x > tiny) & (spread_y > tiny)
    product = np.sqrt(np.where(defined, spread_x * spread_y, 1.0))
    return np.where(defined, np.clip((count * xy - x * y) / product, -1.0, 1.0), np.nan)


def _reranked(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return Spearman's correlation of items that occur `weights[r]` times in resample r."""
    x = _weighted_ranks(x, weights)
    y = _weighted_ranks(y, weights)
    count = weights.sum(axis=1, keepdims=True)
    x = x - (weights * x).sum(axis=1, keepdims=True) / count
    y = y - (weights * y).sum(axis=1, keepdims=True) / count
    product = np.sqrt((weights * x * x).sum(axis=1) * (weights * y * y).sum(axis=1))
    defined = product > 1e-12
    return np.where(
        defined,
        (weights * x * y).sum(axis=1) / np.where(defined, product, 1.0),
        np.nan,
    )


def _weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Return midranks if item i occurs `weights[r, i]` times."""
    order = np.argsort(values, kind="stable")
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    tied = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks: Floats = (np.cumsum(tied, axis=1) - (tied - 1) / 2)[:, inverse]
    return ranks


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Agreement of two raters on the items that both labeled."""

    first: str
    second: str
    raw: IntervalEstimate
    """Share of equal labels."""
    kappa: IntervalEstimate
    """Cohen's kappa."""


def pairwise_agreement(
    raters: Mapping[str, Sequence[Hashable | None]],
    *,
    weights: Weighting = "unweighted",
    labels: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> tuple[PairAgreement, ...]:
    """Return raw agreement and Cohen's kappa of every pair of raters.

    A judge's agreement with people is best compared with the agreement of people with each other,
    so include all of them.

    Args:
        raters: `raters[name][i]` is a label of item i or `None`.
        weights: The weighting of kappa.
        labels: The scale; by default the labels in use, sorted.
        clusters: One key per item; by default every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        One agreement for each pair, in the order of `raters`.

    Raises:
        UsageError: If the arguments differ in length.
    """
    return tuple(
        PairAgreement(
            first,
            second,
            raw_agreement(raters[first], raters[second], clusters=clusters, resampling=resampling),
            cohen_kappa(
                raters[first],
                raters[second],
                weights=weights,
                labels=labels,
                clusters=clusters,
                resampling=resampling,
            ),
        )
        for first, second in itertools.combinations(raters, 2)
    )


@dataclass(frozen=True, slots=True)
class AnnotatorComparison:
    """The judge compared with one annotator, measured by the other annotators."""

    annotator: str
    """The annotator who is left out."""
    items: int
    """Number of items with labels of this annotator, another annotator and the judge."""
    advantage: float
    """Share of items on which the judge is at least as close to the others as this annotator."""
    p: float
    """One-sided p-value that the annotator's lead is smaller than epsilon."""
    rejected: bool
    """Whether the judge wins: rejected by Benjamini-Yekutieli over all annotators."""


@dataclass(frozen=True, slots=True)
class AlternativeAnnotatorTest:
    """Whether the judge may be used instead of an annotator."""

    winning_rate: float | None
    """Share of annotators against whom the judge wins (omega)."""
    advantage: float | None
    """Mean probability that the judge is at least as good as an annotator (rho); use it to compare
    judges."""
    passed: bool | None
    """Whether the winning rate is at least one half."""
    comparisons: tuple[AnnotatorComparison, ...]
    """One per annotator with enough items."""
    skipped: tuple[str, ...]
    """Annotators with too few items."""
    because: str | None = None
    """Why there is no result."""


def alternative_annotator_test(
    judge: Sequence[Hashable | None],
    annotators: Mapping[str, Sequence[Hashable | None]],
    *,
    epsilon: float,
    similarity: Literal["match", "rmse"] = "match",
    false_discovery_rate: float = 0.05,
    least_items: int = 30,
) -> AlternativeAnnotatorTest:
    """Test whether the judge may replace a human annotator: the alt-test of Calderon, Reichart &
    Dror (2501.10970).

    Each annotator in turn is left out. The judge or the annotator wins an item if its label is
    closer to the remaining annotators; both win a tie. A one-sided t-test checks whether the
    annotator's lead is below `epsilon`. Needs two annotators; use 50 to 100 items. The results
    equal those of the authors' published code.

    Args:
        judge: The judge's label of each item, or `None`.
        annotators: `annotators[name][i]` is a label of item i or `None`.
        epsilon: Advantage granted to a human label: 0.2 for experts, 0.15 for skilled annotators,
            0.1 for crowd workers.
        similarity: `match`: mean agreement; `rmse`: negative root mean square error, for numbers.
        false_discovery_rate: The rate of the Benjamini-Yekutieli procedure over the annotators.
        least_items: Annotators with fewer items are skipped.

    Returns:
        The share of annotators against whom the judge wins, and each comparison.

    Raises:
        UsageError: If the arguments differ in length, or labels for `rmse` are not numbers.
    """
    different = [name for name, labels in annotators.items() if len(labels) != len(judge)]
    if different:
        raise UsageError(
            f"annotators must label the same {len(judge)} items as the judge: {different} do not"
        )
    by_item = [
        {name: labels[i] for name, labels in annotators.items() if labels[i] is not None}
        for i in range(len(judge))
    ]
    results = []
    skipped = []
    for name in annotators:
        leads = _leads(name, by_item, judge, similarity)
        # With one item there is no variance for the t-test.
        if len(leads) < max(2, least_items):
            skipped.append(name)
            continue
        # The judge wins an item where the annotator does not lead, so a tie is won by both.
        judge_wins = sum(lead <= 0 for lead in leads)
        results.append((name, len(leads), judge_wins / len(leads), _lead_is_small(leads, epsilon)))
    if not results:
        reason = f"no annotator shares {max(2, least_items)} items with another one and the judge"
        return AlternativeAnnotatorTest(None, None, None, (), tuple(skipped), reason)
    rejected = _benjamini_yekutieli([p for *_, p in results], false_discovery_rate)
    comparisons = tuple(
        AnnotatorComparison(*result, win) for result, win in zip(results, rejected, strict=True)
    )
    winning_rate = sum(rejected) / len(rejected)
    advantage = math.fsum(result.advantage for result in comparisons) / len(comparisons)
    return AlternativeAnnotatorTest(
        winning_rate, advantage, winning_rate >= 0.5, comparisons, tuple(skipped)
    )


def _leads(
    name: str,
    by_item: Sequence[Mapping[str, Hashable]],
    judge: Sequence[Hashable | None],
    similarity: Literal["match", "rmse"],
) -> list[int]:
    """Return the lead of an annotator on each item that the judge and another annotator labeled
    too."""
    return [
        _lead(name, labels, of_judge, similarity)
        for labels, of_judge in zip(by_item, judge, strict=True)
        if name in labels and len(labels) >= 2 and of_judge is not None
    ]


def _lead(
    name: str,
    labels: Mapping[str, Hashable],
    judge: Hashable,
    similarity: Literal["match", "rmse"],
) -> int:
    """Return 1 if an annotator is closer to the others of an item than the judge, -1 if the judge
    is, else 0."""
    others = [label for other, label in labels.items() if other != name]
    of_judge = _closeness(judge, others, similarity)
    of_annotator = _closeness(labels[name], others, similarity)
    return int(of_annotator > of_judge) - int(of_judge > of_annotator)


def _closeness(
    label: Hashable,
    others: Sequence[Hashable],
    similarity: Literal["match", "rmse"],
) -> float:
    if similarity == "match":
        return sum(label == other for other in others) / len(others)
    # A label "4" read from a CSV is a text, whose distance from 4 is not known.
    numbers = [value for value in (label, *others) if isinstance(value, int | float)]
    if len(numbers) <= len(others):
        raise UsageError(f"rmse needs numbers as labels, given {label!r} and {list(others)!r}")
    value, *rest = numbers
    return -math.sqrt(math.fsum((value - other) ** 2 for other in rest) / len(rest))


def _lead_is_small(leads: Sequence[int], epsilon: float) -> float:
    """Return the one-sided p-value of a t-test that the mean lead is below epsilon; 0 or 1 if all
    leads are equal."""
    count = len(leads)
    mean = sum(leads) / count
    variance = math.fsum((lead - mean) ** 2 for lead in leads) / (count - 1)
    if variance == 0:
        return 0.0 if mean < epsilon else 1.0
    return student_cdf((mean - epsilon) / math.sqrt(variance / count), count - 1)


def _benjamini_yekutieli(p_values: Sequence[float], rate: float) -> list[bool]:
    """Return which hypotheses are rejected at a false discovery rate, under any dependence
    (2001)."""
    count = len(p_values)
    # All annotators are compared with the same judge, so that their tests are not independent.
    harmonic = math.fsum(1 / rank for rank in range(1, count + 1))
    ordered = sorted(p_values)
    passing = [p for rank, p in enumerate(ordered, start=1) if p <= rank / count * rate / harmonic]
    return [bool(passing) and p <= passing[-1] for p in p_values]
