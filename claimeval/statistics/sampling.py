"""Random draws of items to label, with their inclusion probabilities, which estimates from the labels need.

Use `prediction_powered` with uniform and stratified draws, and `active_estimate` with any draw.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from claimeval.types.errors import UsageError


@dataclass(frozen=True, slots=True)
class Draw:
    """The items to label, and how they were chosen."""

    chosen: tuple[int, ...]
    """Positions of the chosen items, ascending."""
    probabilities: tuple[float, ...]
    """Inclusion probability of every item, in (0, 1]. They add up to the number of chosen items."""
    design: Literal["uniform", "stratified", "uncertainty"]
    """How the items were chosen."""


def draw_uniform(items: int, count: int, *, seed: int) -> Draw:
    """Draw `count` of `items` items, each with the same probability."""
    return _systematic([1.0] * items, count, seed, "uniform")


def draw_stratified(strata: Sequence[Hashable], count: int, *, seed: int, at_least: int = 15) -> Draw:
    """Draw items in proportion to the sizes of their strata, with a minimum per stratum.

    Within a stratum, every item has the same probability.

    Args:
        strata: The stratum of each item, such as the judge's label or the topic.
        count: The number of items to draw.
        seed: The seed of the draw.
        at_least: The minimum per stratum, or all of its items if it has fewer. 15 is a rule of thumb for the error
            estimate of a stratum; a higher minimum leaves fewer items for large strata.

    Raises:
        UsageError: If `count` is not from 1 to the number of items.
    """
    sizes: dict[Hashable, int] = {}
    for stratum in strata:
        sizes[stratum] = sizes.get(stratum, 0) + 1
    _check_count(len(strata), count)
    shares = allocate(list(sizes.values()), count, at_least)
    probability = {stratum: share / sizes[stratum] for stratum, share in zip(sizes, shares, strict=True)}
    numbered = {stratum: index for index, stratum in enumerate(sizes)}
    return _systematic(
        [probability[stratum] for stratum in strata], count, seed, "stratified", [numbered[s] for s in strata]
    )


def draw_by_uncertainty(uncertainties: Sequence[float], count: int, *, seed: int, uniform: float = 0.2) -> Draw:
    """Draw items with a higher probability if the judge is less certain.

    Estimate with `active_estimate`. Source: Zrnic & Candes 2024 (active inference, 2403.03208).

    Args:
        uncertainties: One per item, 0 if the judge is sure: the entropy of the votes, or p (1 - p) for a probability p.
        count: The number of items to draw.
        seed: The seed of the draw.
        uniform: The share of the draw, in (0, 1], that ignores uncertainty. It gives every item a chance, which limits
            the error if the judge is certain but wrong.

    Raises:
        UsageError: If an uncertainty is negative or not finite, or `count` or `uniform` is out of range.
    """
    if not 0 < uniform <= 1:
        raise UsageError(f"the uniform share must lie in (0, 1], given {uniform!r}")
    if any(not 0 <= value < math.inf for value in uncertainties):
        raise UsageError("uncertainties must be finite and not negative")
    total = sum(uncertainties)
    size = len(uncertainties)
    return _systematic(
        [uniform / size + (1 - uniform) * (value / total if total > 0 else 1 / size) for value in uncertainties],
        count,
        seed,
        "uncertainty",
    )


def allocate(sizes: Sequence[int], count: int, at_least: int) -> list[int]:
    """Distribute `count` over strata in proportion to their sizes, with at least `at_least` each if possible.

    By largest remainders; no stratum gets more than its size, and `count` must not exceed the sum of the sizes.
    """
    floors = [min(size, at_least) for size in sizes]
    if sum(floors) > count:
        floors = [min(size, count // len(sizes)) for size in sizes]
    shares = list(floors)
    total = sum(sizes)
    quotas = [count * size / total if total else 0.0 for size in sizes]
    waiting = [(share - quota, index) for index, (share, quota) in enumerate(zip(shares, quotas, strict=True))]
    waiting = [(behind, index) for behind, index in waiting if shares[index] < sizes[index]]
    heapq.heapify(waiting)
    for _ in range(count - sum(shares)):
        _, index = heapq.heappop(waiting)
        shares[index] += 1
        if shares[index] < sizes[index]:
            heapq.heappush(waiting, (shares[index] - quotas[index], index))
    return shares


def _systematic(
    weights: Sequence[float],
    count: int,
    seed: int,
    design: Literal["uniform", "stratified", "uncertainty"],
    order: Sequence[int] | None = None,
) -> Draw:
    """Draw exactly `count` items with probabilities proportional to `weights`, none above 1, systematically.

    Items are placed in random order (within `order`, so that every stratum gets its number) on a line, each with the
    length of its probability. From a random start, every step of length 1 marks an item.
    """
    import numpy as np

    _check_count(len(weights), count)
    rng = np.random.default_rng(seed)
    probabilities = _probabilities(weights, count)
    shuffled = rng.permutation(len(weights))
    if order is not None:
        shuffled = shuffled[np.argsort(np.asarray(order)[shuffled], kind="stable")]
    ends = np.cumsum(np.asarray(probabilities)[shuffled])
    marks = rng.random() + np.arange(count)
    drawn = np.minimum(np.searchsorted(ends, marks, side="right"), len(weights) - 1)
    return Draw(tuple(sorted(int(item) for item in shuffled[drawn])), tuple(probabilities), design)


def _probabilities(weights: Sequence[float], count: int) -> list[float]:
    """Return inclusion probabilities proportional to the weights, except that shares above 1 become 1."""
    certain: set[int] = set()
    while True:
        open_weight = sum(weight for index, weight in enumerate(weights) if index not in certain)
        scale = (count - len(certain)) / open_weight if open_weight > 0 else 0.0
        over = {i for i, weight in enumerate(weights) if i not in certain and weight * scale >= 1}
        if not over:
            return [1.0 if i in certain else weight * scale for i, weight in enumerate(weights)]
        certain |= over


def _check_count(items: int, count: int) -> None:
    if not 0 < count <= items:
        raise UsageError(f"cannot draw {count} of {items} items; give a number from 1 to {items}")
