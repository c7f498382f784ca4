"""Statistics of panels: vote entropy, self-preference, variance components, and weights of
votes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from claimeval.statistics.bootstrap import (
    STANDARD,
    ClusterSums,
    Floats,
    IntervalEstimate,
    Resampling,
    bootstrap_sums,
    cluster_sums,
    keys_of,
    np,
    quotient,
)
from claimeval.types.errors import UsageError


def vote_entropy(votes: Sequence[Hashable | None]) -> float | None:
    """Return the entropy of the votes in bits: 0 if all agree, 1 if two labels split evenly; `None`
    without votes.

    Abstentions (`None`) do not count.
    """
    counts = Counter(vote for vote in votes if vote is not None)
    shares = [count / counts.total() for _, count in counts.most_common()]
    return -sum(share * math.log2(share) for share in shares) + 0.0 if shares else None


def self_preference(
    scores: Mapping[str, Sequence[float | None]],
    generators: Sequence[str],
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> dict[str, IntervalEstimate]:
    """Return how much each judge family favors answers of its own family, as a difference in
    differences.

    For family f, with d the score of f minus the mean of the other judge families on the same
    item::

        SP_f = mean(d over items that f wrote) - mean(d over items that others wrote)

    The strictness of a judge and the quality of a generator cancel out; 0 is no preference. With
    only two families of judges and generators, both get the same number, and only a third family
    can show which of them is biased.

    Args:
        scores: `scores[f][i]` is the score that the judges of family f give item i. Items need
            scores of f and of another family to count.
        generators: The family that wrote each item.
        clusters: One key per item, such as the question that all generators answered; by default
            every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        The preference of each judge family.

    Raises:
        UsageError: If the arguments differ in length.
    """
    lengths = {len(judge_scores) for judge_scores in scores.values()} | {len(generators)}
    if len(lengths) > 1:
        raise UsageError(
            f"scores and generators must describe the same items: lengths {sorted(lengths)}"
        )
    table = np.array(
        [[math.nan if score is None else score for score in row] for row in scores.values()],
        np.float64,
    )
    estimates = {}
    for number, family in enumerate(scores):
        others = np.delete(table, number, axis=0)
        counts = np.isfinite(others).sum(axis=0)
        lead = table[number] - np.where(
            counts > 0,
            np.nansum(others, axis=0) / np.maximum(counts, 1),
            np.nan,
        )
        defined = np.isfinite(lead)
        lead = lead[defined]
        own = np.array([generator == family for generator in generators], dtype=bool)[defined]
        rows = np.column_stack([lead * own, own, lead * ~own, ~own])
        (estimates[family],) = bootstrap_sums(
            ClusterSums(cluster_sums(rows, keys_of(clusters, defined)), len(lead)),
            [lambda sums: quotient(sums[:, 0], sums[:, 1]) - quotient(sums[:, 2], sums[:, 3])],
            resampling,
            because="needs scored items of this family and of another",
            symmetric=True,
        )
    return estimates


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Variance between the true means of groups, and within groups. Undefined numbers are
    `None`."""

    between: float | None
    """Variance between groups, at least 0."""
    within: float | None
    """Variance within groups. If a group has the replicates of one judge on one item, this is the
    judge's noise."""
    groups: int
    """Number of groups with a value."""
    size: float | None
    """Average number of values in a group, adjusted for unequal groups."""
    because: str | None = None
    """Why the numbers are missing."""

    @property
    def within_share(self) -> float | None:
        """Return within / (between + within): the judge's share of the variance of a single
        score."""
        if self.between is None or self.within is None or self.between + self.within == 0:
            return None
        return self.within / (self.between + self.within)


def variance_components(
    groups: Sequence[Sequence[float]], counts: Sequence[int] | None = None
) -> VarianceComponents:
    """Split the variance of grouped values by one-way random effects (analysis of variance, unequal
    groups allowed).

    `groups[i]` are the repeated scores of item i, or the claims of answer i. `counts[i]` is the
    number of such groups (1 by default). Empty groups do not count. Needs two groups and one group
    of two values. Source: Searle, Casella & McCulloch 1992, section 3.6.
    """
    times = [1] * len(groups) if counts is None else list(counts)
    if len(times) != len(groups):
        raise UsageError(
            f"counts must hold one number per group: {len(times)} numbers, {len(groups)} groups"
        )
    filled = [
        _GroupedValues(n, list(map(float, group)))
        for n, group in zip(times, groups, strict=True)
        if len(group)
    ]
    count = sum(group.times for group in filled)
    total = sum(group.times * group.size for group in filled)
    if count < 2 or total == count:
        reason = "needs two groups, and two values in one of them"
        return VarianceComponents(None, None, count, None, reason)
    overall = math.fsum(group.times * math.fsum(group.values) for group in filled) / total
    size = (total - sum(group.times * group.size**2 for group in filled) / total) / (count - 1)
    inside = math.fsum(group.times * group.squares for group in filled)
    across = math.fsum(group.times * group.size * (group.mean - overall) ** 2 for group in filled)
    within = inside / (total - count)
    # The estimate of a variance may be negative, where the means differ less than chance would.
    between = max(0.0, (across / (count - 1) - within) / size)
    return VarianceComponents(between, within, count, size)


class _GroupedValues(NamedTuple):
    """Values that belong together, and how many such groups there are."""

    times: int
    values: Sequence[float]

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.values)

    @property
    def mean(self) -> float:
        """Mean of the values."""
        return math.fsum(self.values) / len(self.values)

    @property
    def squares(self) -> float:
        """Sum of the squared deviations from the mean."""
        mean = self.mean
        return math.fsum((value - mean) ** 2 for value in self.values)


class EffectiveVotes(NamedTuple):
    """How many independent votes the judges of a panel are worth."""

    votes: float
    """Between 1, where all err on the same items, and the number of judges."""
    judges: int
    correlation: float
    """Mean correlation of the errors of two judges, over the pairs in which both err and both are
    right at least once."""
    items: int
    """Number of items on which two judges or more can be compared with people."""
    interval: tuple[float, float] | None = None
    """The interval of `votes`; None if there are too few clusters."""


def effective_votes(
    errors: Sequence[Sequence[bool | None]],
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> EffectiveVotes | None:
    """Return how many independent votes a panel is worth: k / (1 + (k - 1) r) for k judges whose
    errors have the mean correlation r.

    Judges that err on the same items add little to each other. A negative mean correlation counts
    as 0. Source: Kish's design effect, applied to the errors of voters.

    >>> effective_votes([[True, False, False, True], [True, False, False, False]]).votes
    1.267949192431123

    Args:
        errors: For each judge, whether it errs on each item; None where it has no label, or the
            item has none from people.
        clusters: One key per item, such as its question; by default every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        None if there are fewer than two judges, or no two of them err and are right on shared
        items, so that no correlation is defined.

    Raises:
        UsageError: If the judges or the clusters differ in length.
    """
    columns = [_outcomes(first, second) for first, second in combinations(errors, 2)]
    if not columns:
        return None
    rows = np.hstack(columns)
    used = np.asarray(rows[:, ::4].any(axis=1), dtype=bool)
    (correlation,) = bootstrap_sums(
        ClusterSums(cluster_sums(rows[used], keys_of(clusters, used)), int(used.sum())),
        [_mean_phi],
        resampling,
        because="needs two judges that err and are right on shared items",
    )
    if correlation.value is None:
        return None
    judges = len(errors)
    interval = None
    if correlation.low is not None and correlation.high is not None:
        interval = _votes(judges, correlation.high), _votes(judges, correlation.low)
    mean = max(0.0, correlation.value)
    return EffectiveVotes(_votes(judges, mean), judges, mean, correlation.n, interval)


def _outcomes(first: Sequence[bool | None], second: Sequence[bool | None]) -> Floats:
    """Return for each item whether both can be compared, whether each of them errs, and both."""
    rows = list[tuple[bool, bool, bool, bool]]()
    for a, b in zip(first, second, strict=True):
        if a is None or b is None:
            rows.append((False, False, False, False))
        else:
            rows.append((True, a, b, a and b))
    return np.array(rows, np.float64).reshape(-1, 4)


def _votes(judges: int, correlation: float) -> float:
    return judges / (1 + (judges - 1) * max(0.0, correlation))


def _mean_phi(sums: Floats) -> Floats:
    """Return the mean correlation of yes-or-no values over the pairs in which both vary; NaN if
    there is none. Each pair has four columns: items, first, second, both."""
    count, first, second, both = (sums[:, i::4] for i in range(4))
    spread = first * (count - first) * second * (count - second)
    varies = spread > 0
    phi = (count * both - first * second) / np.sqrt(np.where(varies, spread, 1.0))
    return quotient(np.where(varies, phi, 0.0).sum(axis=1), varies.sum(axis=1))


def vote_weight(correct: int, judged: int, *, labels: int = 2) -> float:
    """Return the weight of a judge's vote from its accuracy on human labels: log(p (K - 1) / (1 -
    p)) for K labels.

    The accuracy p is shrunk towards one half: (correct + 1) / (judged + 2). A judge at chance has
    weight 0, a worse one a negative weight, which panels refuse. Source: the optimal weighted
    majority of Nitzan & Paroush 1982.
    """
    if not 0 <= correct <= judged or labels < 2:
        raise UsageError(
            f"a weight needs 0 <= correct <= judged and 2 labels or more: {correct}, {judged},"
            f" {labels}"
        )
    accuracy = (correct + 1) / (judged + 2)
    return math.log(accuracy * (labels - 1) / (1 - accuracy))
