"""Agreement between raters: raw agreement, Cohen's kappa, Krippendorff's alpha and Gwet's AC1, with
intervals.

Every coefficient is a function of sums over items, so its interval resamples items, or whole
clusters of items (claims of one answer). If all labels are equal, the coefficients are undefined
(`None`), and only raw agreement is informative. Kappa and alpha have no interval if a rater gives
fewer than five items a rarer label than the most frequent one: resampling would turn 29 equal
labels of 30 into a certain 0. If one label covers 80 to 95% of the items, as `supported` often
does, kappa and alpha are low at high raw agreement, but AC1 is not. So report all three.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

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
    Statistic,
    bootstrap_sums,
    cluster_sums,
    keys_of,
    np,
    quotient,
)
from claimeval.statistics.intervals import mean_interval, ratio_interval
from claimeval.types.errors import UsageError, unknown_name

Labels = Sequence[Hashable | None]
Weighting = Literal["unweighted", "linear", "quadratic"]
Scale = Literal["nominal", "ordinal", "interval"]
_ONE_LABEL = "both raters use only one label"


MANY_RARE = 7
"""Items of the rarer labels that the interval of alpha and of a difference of two kappas needs.
With five it covers 84 to 86% of 50 items; kappa covers 94 to 100% with `MIN_CLUSTERS`."""


def label_scale(
    used: Sequence[Hashable], labels: Sequence[Hashable] | None
) -> tuple[Hashable, ...]:
    """Return the labels in scale order: `labels`, or those in use, sorted (by text if types are
    mixed).

    Raises UsageError if a label in use is not in `labels`.
    """
    distinct = {label for label in used if label is not None}
    if labels is not None:
        off_scale = distinct - set(labels)
        if off_scale:
            raise UsageError(
                f"labels off the scale: {sorted(map(repr, off_scale))}; the scale is"
                f" {list(labels)!r}"
            )
        return tuple(labels)
    ordered: Any = distinct
    try:
        return tuple(sorted(ordered))
    except TypeError:
        # Labels of two kinds, as True and "unsure", have no order; any fixed one will do.
        return tuple(sorted(distinct, key=repr))


def _count_labels(
    ratings: Sequence[Labels], labels: Sequence[Hashable] | None = None
) -> tuple[Floats, tuple[Hashable, ...]]:
    """Return a table, in which `table[i, c]` raters gave item i the label `scale[c]`, and the
    scale."""
    all_labels = list(itertools.chain.from_iterable(ratings))
    scale = label_scale(all_labels, labels)
    items = np.repeat(np.arange(len(ratings)), [len(item) for item in ratings])
    codes = label_codes(all_labels, scale)
    cells = (items * len(scale) + codes)[codes >= 0]
    table = np.bincount(cells, minlength=len(ratings) * len(scale)).reshape(
        len(ratings), len(scale)
    )
    return table.astype(np.float64), scale


def label_codes(labels: Sequence[Hashable | None], scale: Sequence[Hashable]) -> Integers:
    """Return the position of each label on the scale; -1 for `None`."""
    position: dict[Hashable | None, int] = {label: index for index, label in enumerate(scale)}
    return np.fromiter((position.get(label, -1) for label in labels), np.int64, len(labels))


def raw_agreement(
    a: Labels,
    b: Labels,
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> IntervalEstimate:
    """Return the proportion of items to which both raters give the same label.

    Args:
        a: The labels of one rater; `None` for no label.
        b: The labels of the other rater for the same items.
        clusters: One key per item; by default every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The proportion over the items that both labeled.

    Raises:
        UsageError: If the raters have different numbers of labels.
    """
    _check_pair(a, b)
    rated = np.array(
        [x is not None and y is not None for x, y in zip(a, b, strict=True)], dtype=bool
    )
    return mean_interval(
        [float(x == y) for x, y, both in zip(a, b, rated, strict=True) if both],
        clusters=keys_of(clusters, rated),
        resampling=resampling,
    )


def cohen_kappa(
    a: Labels,
    b: Labels,
    *,
    weights: Weighting = "unweighted",
    labels: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    counts: Sequence[int] | None = None,
    resampling: Resampling = STANDARD,
) -> IntervalEstimate:
    """Return Cohen's kappa of two raters: 1 - sum(w * observed) / sum(w * expected), w the
    disagreement of two labels.

    Equals `sklearn.metrics.cohen_kappa_score`. Undefined if both raters use one and the same label.

    Args:
        a: The labels of one rater; `None` for no label.
        b: The labels of the other rater for the same items.
        weights: `unweighted` counts every disagreement as 1, `linear` |i - j| and `quadratic` (i -
            j)^2 steps on the scale.
        labels: The scale; by default the labels in use, sorted.
        clusters: One key per item; by default every item is a cluster.
        counts: Number of items with the labels of each row; 1 by default. Cannot be combined with
            `clusters`.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        Kappa over the items that both labeled.

    Raises:
        UsageError: If the arguments differ in length, a label is off the scale, or the weighting is
            unknown.
    """
    _check_pair(a, b)
    scale = label_scale([*a, *b], labels)
    size = len(scale)
    tables, rated = _label_pairs(a, b, scale)
    cells = tables.reshape(len(a), size, size)
    shares = (cells.sum(axis=1) + cells.sum(axis=2)) / 2
    # Steps on the scale, not differences of values: grades 1, 2, 5 are one apart each, as in
    # scikit-learn.
    steps = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    disagreement = {"unweighted": np.minimum(steps, 1), "linear": steps, "quadratic": steps**2}
    if weights not in disagreement:
        raise unknown_name("weighting", weights, disagreement)
    cost = disagreement[weights]
    coefficient = partial(_kappa, cost=cost)
    return _estimate(
        tables,
        rated,
        coefficient,
        _ONE_LABEL,
        clusters,
        counts,
        resampling,
        shares=shares,
    )


def kappa_difference(
    human: Labels,
    before: Labels,
    after: Labels,
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> IntervalEstimate:
    """Return the difference of two raters' Cohen's kappa with human labels, over the same items.

    Args:
        human: The human label of each item; `None` for no label.
        before: The labels of the rater whose kappa is subtracted.
        after: The labels of the other rater.
        clusters: One key per item; by default every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The difference over the items that all three labeled, with its symmetric interval.
    """
    _check_pair(human, before)
    _check_pair(human, after)
    scale = label_scale([*human, *before, *after], None)
    cost = 1 - np.eye(len(scale))
    (first, rated), (second, also) = (
        _label_pairs(human, rater, scale) for rater in (before, after)
    )
    # An item that one of the three did not label is in neither kappa.
    used = rated & also
    keys = keys_of(clusters, used)
    width = len(scale) ** 2
    (estimate,) = bootstrap_sums(
        ClusterSums(cluster_sums(np.hstack([first, second])[used], keys), int(used.sum())),
        [lambda sums: _kappa(sums[:, width:], cost) - _kappa(sums[:, :width], cost)],
        resampling,
        because=_ONE_LABEL if used.any() else "no item has labels of all",
        symmetric=True,
        no_interval_because=_rare_because(
            _shares([human, before, after], scale)[used],
            np.ones(int(used.sum()), np.int64),
            keys,
            MANY_RARE,
        ),
    )
    return estimate


def _shares(raters: Sequence[Labels], scale: Sequence[Hashable]) -> Floats:
    """Return for each item the share of these raters that give it each label."""
    codes = np.array([label_codes(labels, scale) for labels in raters])
    columns = [(codes == label).mean(axis=0) for label in range(len(scale))]
    return np.column_stack(columns).astype(np.float64)


def kappa_by_part(a: Labels, b: Labels, parts: Sequence[Hashable]) -> list[float | None]:
    """Return Cohen's kappa of two raters within each part of the items, in order of first
    appearance."""
    _check_pair(a, b)
    scale = label_scale([*a, *b], None)
    kappas = _kappa(cluster_sums(_label_pairs(a, b, scale)[0], parts), 1 - np.eye(len(scale)))
    return [float(kappa) if np.isfinite(kappa) else None for kappa in kappas]


def _label_pairs(a: Labels, b: Labels, scale: Sequence[Hashable]) -> tuple[Floats, Mask]:
    """Return a flat table for each item, with a 1 at its pair of labels, and which items have both
    labels."""
    first = label_codes(a, scale)
    second = label_codes(b, scale)
    rated = (first >= 0) & (second >= 0)
    tables = np.zeros((len(a), len(scale) ** 2))
    tables[np.flatnonzero(rated), first[rated] * len(scale) + second[rated]] = 1
    return tables, rated


def _kappa(sums: Floats, cost: Floats) -> Floats:
    observed = sums.reshape(-1, *cost.shape)
    expected = observed.sum(axis=2)[:, :, None] * observed.sum(axis=1)[:, None, :]
    total = observed.sum(axis=(1, 2))
    return 1 - quotient(
        (observed * cost).sum(axis=(1, 2)) * total, (expected * cost).sum(axis=(1, 2))
    )


def gwet_ac1(
    ratings: Sequence[Labels],
    *,
    labels: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    counts: Sequence[int] | None = None,
    resampling: Resampling = STANDARD,
) -> IntervalEstimate:
    """Return Gwet's AC1: chance agreement is sum(p (1 - p)) / (q - 1) over the q labels of the
    scale.

    With missing labels: agreement over items with two or more labels, shares of labels averaged
    over items with one or more. Source: Gwet 2008, "Computing inter-rater reliability ... in the
    presence of high agreement".

    Args:
        ratings: `ratings[i][j]` is rater j's label of item i, or `None`.
        labels: The scale; by default the labels in use. With a single one AC1 is undefined.
        clusters: One key per item; by default every item is a cluster.
        counts: Number of items with the labels of each row; 1 by default. Cannot be combined with
            `clusters`.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        AC1; undefined if no item has two labels.

    Raises:
        UsageError: If a label is off the scale, or `counts` does not fit.
    """

    table, _ = _count_labels(ratings, labels)
    raters = table.sum(axis=1)
    pairs = raters * (raters - 1)
    agreeing = (table * (table - 1)).sum(axis=1) / np.maximum(pairs, 1)
    rows = np.column_stack(
        [agreeing, pairs > 0, table / np.maximum(raters, 1)[:, None], raters > 0]
    )

    def coefficient(sums: Floats) -> Floats:
        """Return AC1 of each row of sums."""
        agreement = quotient(sums[:, 0], sums[:, 1])
        shares = quotient(sums[:, 2:-1], sums[:, -1:])
        chance = quotient((shares * (1 - shares)).sum(axis=1), (1 - shares).sum(axis=1))
        return quotient(agreement - chance, 1 - chance)

    reason = "only one label is used" if (pairs > 0).any() else "no item has two labels"
    found = _estimate(
        rows,
        raters > 0,
        coefficient,
        reason,
        clusters,
        counts,
        resampling,
        rated=pairs > 0,
    )
    if found.value is None or found.low is None or found.high is None:
        return found
    times = np.ones(len(rows), dtype=np.int64) if counts is None else np.asarray(counts)
    agreement = ratio_interval(
        np.repeat(agreeing, times).tolist(),
        np.repeat((pairs > 0).astype(np.float64), times).tolist(),
        clusters=clusters,
        resampling=resampling,
    )
    ends = _around_agreement(found.value, agreement)
    return replace(found, low=min(found.low, ends.low), high=max(found.high, ends.high))


def _around_agreement(value: float, agreement: IntervalEstimate) -> Interval:
    """Return the interval of AC1 that follows from that of the raw agreement if the chance
    agreement is as it was found.

    With few items apart, resamples of AC1 vary too little, as those of a mean do.
    """
    if agreement.value is None or agreement.low is None or agreement.high is None:
        return Interval(value, value)
    apart = 1 - agreement.value
    if apart < 1e-12:
        # (1 - agreement) / (1 - chance) is 0 / (1 - chance): the chance is not known from it
        return Interval(value, value)
    by_chance = (1 - value) / apart
    return Interval(1 - by_chance * (1 - agreement.low), 1 - by_chance * (1 - agreement.high))


def krippendorff_alpha(
    ratings: Sequence[Labels],
    *,
    scale: Scale = "nominal",
    labels: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    counts: Sequence[int] | None = None,
    resampling: Resampling = STANDARD,
) -> IntervalEstimate:
    """Return Krippendorff's alpha for any number of raters and missing labels.

    Equals the PyPI package krippendorff. Source: Krippendorff 2011, "Computing alpha-reliability".

    Args:
        ratings: `ratings[i][j]` is rater j's label of item i, or `None`; items with fewer than two
            labels do not count.
        scale: `ordinal` uses the order of `labels`; `interval` needs numbers.
        labels: The scale; by default the labels in use, sorted.
        clusters: One key per item; by default every item is a cluster.
        counts: Number of items with the labels of each row; 1 by default. Cannot be combined with
            `clusters`.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        Alpha; undefined if only one label is used or no item has two labels.

    Raises:
        UsageError: If the scale is unknown or does not fit the labels, or `counts` does not fit.
    """
    table, values = _count_labels(ratings, labels)
    size = len(values)
    raters = table.sum(axis=1)
    rated = raters >= 2
    pairs = table[:, :, None] * table[:, None, :] - np.eye(size) * table[:, None, :]
    coincidences = (pairs / np.maximum(raters - 1, 1)[:, None, None]).reshape(
        len(table), size * size
    )
    if scale not in ("nominal", "ordinal", "interval"):
        raise unknown_name("scale", scale, ["nominal", "ordinal", "interval"])
    if scale == "interval" and not all(isinstance(value, int | float) for value in values):
        raise UsageError(
            f"alpha on an interval scale needs numbers as labels, given {list(values)!r}"
        )

    def distances(totals: Floats) -> Floats:
        """Return the distances between labels for each row of label totals."""
        if scale == "nominal":
            return 1 - np.eye(size)[None]
        if scale == "interval":
            numbers = np.array(values, dtype=np.float64)
            squares: Floats = (np.subtract.outer(numbers, numbers) ** 2)[None]
            return squares
        reached = np.cumsum(totals, axis=1) - totals / 2
        between: Floats = (reached[:, :, None] - reached[:, None, :]) ** 2
        return between

    def alpha(sums: Floats) -> Floats:
        """Return alpha of each table of coincidences."""
        observed = sums.reshape(-1, size, size)
        totals = observed.sum(axis=2)
        expected = totals[:, :, None] * totals[:, None, :] - np.eye(size) * totals[:, None, :]
        far = distances(totals)
        return 1 - quotient(
            (observed * far).sum(axis=(1, 2)) * (totals.sum(axis=1) - 1),
            (expected * far).sum(axis=(1, 2)),
        )

    reason = "no item has two labels" if not rated.any() else "only one label is used"
    shares = table / np.maximum(raters, 1)[:, None]
    return _estimate(
        coincidences,
        rated,
        alpha,
        reason,
        clusters,
        counts,
        resampling,
        shares=shares,
        least=MANY_RARE,
    )


def _estimate(
    rows: Floats,
    used: Mask,
    statistic: Statistic,
    because: str,
    clusters: Sequence[Hashable] | None,
    counts: Sequence[int] | None,
    resampling: Resampling,
    *,
    rated: Mask | None = None,
    shares: Floats | None = None,
    least: int = MIN_CLUSTERS,
) -> IntervalEstimate:
    """Return the statistic of the rows in use, n being the number of those with enough labels,
    `rated`.

    `shares[i, c]` is the share of raters who give item i label c: if given, fewer than `least`
    items of the rarer labels are a reason for no interval.
    """
    if counts is not None and clusters is not None:
        raise UsageError(
            "items with counts cannot be clustered; give one item per line with its cluster instead"
        )
    if counts is not None and len(counts) != len(rows):
        raise UsageError(
            f"counts must hold one number per item: {len(counts)} numbers, {len(rows)} items"
        )
    times = np.ones(len(rows), np.int64) if counts is None else np.array(counts, dtype=np.int64)
    keys = keys_of(clusters, used)
    (estimate,) = bootstrap_sums(
        ClusterSums(
            cluster_sums(rows[used], keys),
            int(times[used if rated is None else rated].sum()),
            None if counts is None else times[used],
        ),
        [statistic],
        resampling,
        because=because if used.any() else "no item has two labels",
        no_interval_because=(
            None if shares is None else _rare_because(shares[used], times[used], keys, least)
        ),
    )
    return estimate


def _rare_because(
    shares: Floats,
    times: Integers,
    clusters: Sequence[Hashable] | None,
    least: int,
) -> str | None:
    """Return the reason if the items of all labels but the most frequent one are too few, or in too
    few clusters."""
    if not len(shares):
        return None
    others = 1 - shares[:, [int((times @ shares).argmax())]]
    items = float(times @ others[:, 0])
    if clusters is not None:
        items = min(items, int((cluster_sums(others, clusters) > 1e-9).sum()))
    if items >= least - 1e-9:
        return None
    return (
        f"an interval needs {least} items of the rarer labels, a rater gives {items:.3g} on average"
    )


def _check_pair(a: Labels, b: Labels) -> None:
    if len(a) != len(b):
        raise UsageError(
            f"two raters must label the same items in the same order: {len(a)} and {len(b)} labels"
        )
