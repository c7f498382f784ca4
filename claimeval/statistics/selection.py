"""Choosing the best of several raters by human labels: splits into parts, cross-validated kappa,
and power.

The best of ten equal candidates looks 6.6 points better on the 100 labels that it was chosen by. So
one half of the labels chooses the candidate, and the other half measures its gain.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from claimeval.statistics.agreement import Labels, kappa_by_part
from claimeval.statistics.quantiles import normal_cdf
from claimeval.types.errors import UsageError

FOLDS = 5
"""Number of parts of the labels over which kappa is averaged."""
CHANGED = 0.12
"""Share of labels that `power` assumes an equal candidate changes, for better or worse."""
ACCURACY = 0.8
"""Share of labels of people that the baseline equals, as `power` assumes."""
MOST_LABELS = 20_000
"""Maximum number of labels that `labels_for_power` returns."""


def stratified_parts(
    strata: Sequence[Hashable],
    clusters: Sequence[Hashable],
    parts: int,
) -> list[int]:
    """Divide items into parts with nearly equal shares of every stratum, keeping clusters whole.

    Args:
        strata: The stratum of each item, such as its label.
        clusters: The cluster of each item, such as its question.
        parts: Number of parts.

    Returns:
        The part of each item, from 0.
    """
    members: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    for stratum, cluster in zip(strata, clusters, strict=True):
        members[cluster][stratum] += 1
    order = list(members)
    random.Random(0).shuffle(order)
    # Large clusters first: the last, small ones even out what is left.
    order.sort(key=lambda cluster: -members[cluster].total())
    totals = Counter(strata)
    counts: list[Counter[Hashable]] = [Counter() for _ in range(parts)]
    part_of: dict[Hashable, int] = {}
    for cluster in order:
        weight = [
            sum(n * part[s] / totals[s] for s, n in members[cluster].items()) for part in counts
        ]
        part = min(range(parts), key=lambda i: (weight[i], counts[i].total()))
        part_of[cluster] = part
        counts[part].update(members[cluster])
    return [part_of[cluster] for cluster in clusters]


class CrossValidatedKappa(NamedTuple):
    """Mean and standard error of Cohen's kappa over folds; None if too few folds have a kappa."""

    mean: float | None
    standard_error: float | None


def cross_validated_kappa(
    human: Labels, candidate: Labels, folds: Sequence[int]
) -> CrossValidatedKappa:
    """Return Cohen's kappa of a candidate with human labels, averaged over the folds of
    `stratified_parts`.

    An item without a label of the candidate (`None`) counts as a disagreement, so that abstaining
    is no advantage.
    """
    # Left out, a candidate that answers only easy claims would have the best kappa.
    labels = ["no label" if label is None else label for label in candidate]
    kappas = [kappa for kappa in kappa_by_part(human, labels, folds) if kappa is not None]
    if not kappas:
        return CrossValidatedKappa(None, None)
    mean = math.fsum(kappas) / len(kappas)
    if len(kappas) < 2:
        return CrossValidatedKappa(mean, None)
    variance = math.fsum((kappa - mean) ** 2 for kappa in kappas) / (len(kappas) - 1)
    return CrossValidatedKappa(mean, math.sqrt(variance / len(kappas)))


def first_within_error(kappas: Mapping[str, CrossValidatedKappa]) -> str:
    """Return the first candidate whose kappa is within one standard error of the best (Breiman et
    al. 1984).

    Candidates are in order of preference, simplest first. Raises UsageError if none has a kappa.
    """
    means = {name: kappa.mean for name, kappa in kappas.items() if kappa.mean is not None}
    if not means:
        raise UsageError(
            "no candidate has a kappa: people gave all claims one label, or no reply could be read"
        )
    best = max(means, key=means.__getitem__)
    # The simplest prompt that is as good as the best within noise, as the best of ten is lucky.
    threshold = means[best] - (kappas[best].standard_error or 0.0)
    return next(name for name, mean in means.items() if mean >= threshold)


def power(labels: int, gain: float, candidates: int = 10) -> float:
    """Return the probability of detecting a true gain: the right candidate is chosen, and its gain
    is significant.

    One half of the labels chooses, the other is tested (exact McNemar, two-sided p < 0.05). One of
    the `candidates` is better by `gain` than the baseline, whose accuracy is `ACCURACY`. Each also
    changes `CHANGED` of the labels, as often for better as for worse. Items are independent.

    Args:
        labels: The number of labels in both halves.
        gain: The true gain in accuracy, above 0.

    Returns:
        A probability, from 0 to 1.
    """
    gain = min(gain, 1 - ACCURACY)
    half = labels // 2
    if half < 1 or gain <= 0:
        return 0.0
    differ = CHANGED + gain
    better = (CHANGED / 2 + gain) / differ
    seen = math.fsum(
        math.exp(_log_binomial(half, n, differ)) * _seen(n, better)
        for n in range(half + 1)
        # Below e^-25, 1e-11, a term changes no digit that is shown.
        if _log_binomial(half, n, differ) > -25
    )
    spread = math.sqrt(CHANGED / half)
    half_spread = math.sqrt((differ - gain**2) / half)
    steps = [i / 20 for i in range(-100, 101)]
    weights = [math.exp(-z * z / 2) for z in steps]
    right = [normal_cdf((gain + half_spread * z) / spread) ** (candidates - 1) for z in steps]
    chosen = math.fsum(w * p for w, p in zip(weights, right, strict=True)) / math.fsum(weights)
    return seen * chosen


def labels_for_power(gain: float, candidates: int = 10) -> int | None:
    """Return the number of labels, in steps of 20, for a `power` of 80%; None above
    `MOST_LABELS`."""
    low, high = 0, 20
    while power(high, gain, candidates) < 0.8:
        low, high = high, high * 2
        if high > MOST_LABELS:
            return None
    steps = range(low + 20, high + 1, 20)
    return steps[bisect_left(steps, 0.8, key=lambda labels: power(labels, gain, candidates))]


def _log_binomial(n: int, k: int, p: float) -> float:
    """Return the logarithm of the binomial probability of k of n."""
    if not 0 < p < 1:
        return 0.0 if k == n * p else -math.inf
    choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return choose + k * math.log(p) + (n - k) * math.log(1 - p)


def _seen(differing: int, better: float) -> float:
    """Return the probability that McNemar's test of `differing` items is significant in favor of
    the better rater."""
    tail = 0.0
    worse = -1
    for k in range(differing // 2 + 1):
        tail += math.exp(_log_binomial(differing, k, 0.5))
        # McNemar's level: the same 0.05 as in the comparison that `power` plans.
        if 2 * tail >= 0.05:
            break
        worse = k
    return math.fsum(math.exp(_log_binomial(differing, k, 1 - better)) for k in range(worse + 1))
