"""Variance between groups and within them: a judge's noise over replicates, the similarity of claims of one answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from claimeval.types.errors import UsageError


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Variance of group means' true values, and of values within a group. Undefined numbers are `None`."""

    between: float | None
    """Variance between groups, 0 at least."""
    within: float | None
    """Variance within groups: with the repeats of one judge on one item as a group, the judge's noise."""
    groups: int
    """Groups with a value."""
    size: float | None
    """Values a group, averaged so that unequal groups are accounted for."""
    because: str | None = None
    """Why the numbers are missing."""

    @property
    def within_share(self) -> float | None:
        """Return within / (between + within): the judge's share of the variance of a single score."""
        return self.within_share_of_mean(1)

    @property
    def intraclass_correlation(self) -> float | None:
        """Return between / (between + within): 1 if claims of one answer are all alike, 0 if they are unrelated."""
        return None if self.within_share is None else 1 - self.within_share

    def within_share_of_mean(self, repeats: int) -> float | None:
        """Return the same share for the mean of `repeats` replicates: (within / r) / (between + within / r)."""
        if self.between is None or self.within is None or self.between + self.within == 0:
            return None
        return self.within / repeats / (self.between + self.within / repeats)


def variance_components(groups: Sequence[Sequence[float]], counts: Sequence[int] | None = None) -> VarianceComponents:
    """Split the variance of grouped values by one-way random effects (analysis of variance, unequal groups allowed).

    `groups[i]` are the repeated scores of item i, or the claims of answer i; `counts[i]` groups are like it
    (1 by default). Empty groups do not count. Needs two groups and one group of two values. Source: Searle,
    Casella & McCulloch 1992, section 3.6.
    """
    times = [1] * len(groups) if counts is None else list(counts)
    if len(times) != len(groups):
        raise UsageError(f"counts must hold one number per group: {len(times)} numbers, {len(groups)} groups")
    filled = [[float(value) for value in group] for group in groups if len(group)]
    times = [n for n, group in zip(times, groups, strict=True) if len(group)]
    count, total = sum(times), sum(n * len(group) for n, group in zip(times, filled, strict=True))
    if count < 2 or total == count:
        reason = "needs two groups, and two values in one of them"
        return VarianceComponents(None, None, count, None, reason)
    means = [math.fsum(group) / len(group) for group in filled]
    overall = math.fsum(n * math.fsum(group) for n, group in zip(times, filled, strict=True)) / total
    rows = list(zip(times, filled, means, strict=True))
    size = (total - sum(n * len(group) ** 2 for n, group, _ in rows) / total) / (count - 1)
    inside = math.fsum(n * (x - mean) ** 2 for n, group, mean in rows for x in group)
    across = math.fsum(n * len(group) * (mean - overall) ** 2 for n, group, mean in rows)
    within = inside / (total - count)
    between = max(0.0, (across / (count - 1) - within) / size)
    return VarianceComponents(between, within, count, size)
