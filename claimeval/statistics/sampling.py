"""Random draws of items to label, with their inclusion probabilities, which estimates from the
labels need.

Use `prediction_powered` with even draws, and `weighted_correction` with any draw. A draw can grow:
the items that are `taken` stay, and the rest is drawn from what is left.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

from claimeval.types.errors import UsageError


@dataclass(frozen=True, slots=True)
class Draw:
    """The items to label, and how likely each was to be among them."""

    chosen: tuple[int, ...]
    """Positions of the chosen items, ascending."""
    probabilities: tuple[float, ...]
    """Inclusion probability of every item, in (0, 1]. They add up to the number of chosen items."""


def draw_even(
    ranks: Sequence[float],
    count: int,
    *,
    seed: int,
    taken: Collection[int] = (),
) -> Draw:
    """Draw items evenly along their ranks, each with the same probability.

    Items are put in the order of their ranks, at random where ranks are equal; from a random start,
    every step of equal length marks an item. The draw has about as many items of each rank as there
    are among all, so it varies less than a draw without ranks (equal ranks give that one).

    Args:
        ranks: One per item, such as the share of judges that support a claim.
        count: The number of items, those that are `taken` included.
        seed: The seed of the draw.
        taken: Positions of the items of an earlier draw with equal probabilities, which stay.

    Raises:
        UsageError: If `count` is not from 1, or the number of taken items, to the number of items.
    """
    _check_count(len(ranks), count, len(taken))
    chosen = {
        *taken,
        *_evenly([i for i in range(len(ranks)) if i not in taken], ranks, count - len(taken), seed),
    }
    # Growing a draw by even steps leaves every item the same chance, that of the draw as a whole.
    return Draw(tuple(sorted(chosen)), (count / len(ranks),) * len(ranks))


def draw_stratified(
    strata: Sequence[Hashable],
    count: int,
    *,
    seed: int,
    at_least: int = 15,
    taken: Collection[int] = (),
) -> Draw:
    """Draw items in proportion to the sizes of their strata, with a minimum per stratum.

    Within a stratum, every item has the same probability.

    Args:
        strata: The stratum of each item, such as the judge's label or the topic.
        count: The number of items to draw, those that are `taken` included.
        seed: The seed of the draw.
        at_least: The minimum per stratum, or all of its items if it has fewer. 15 is a rule of
            thumb for the error estimate of a stratum; a higher minimum leaves fewer items for large
            strata.
        taken: Positions of the items of an earlier draw of this kind, which stay. A stratum that
            has more of them than its number keeps them all, and the draw is larger by these.

    Raises:
        UsageError: If `count` is not from 1, or the number of taken items, to the number of items.
    """
    _check_count(len(strata), count, len(taken))
    members: dict[Hashable, list[int]] = {}
    for i, stratum in enumerate(strata):
        members.setdefault(stratum, []).append(i)
    shares = allocate([len(inside) for inside in members.values()], count, at_least)
    chosen = set(taken)
    probabilities = [0.0] * len(strata)
    for number, (inside, share) in enumerate(zip(members.values(), shares, strict=True)):
        left = [i for i in inside if i not in taken]
        kept = len(inside) - len(left)
        # Another seed for each stratum: with one, strata of equal size would mark the same places.
        chosen |= set(_evenly(left, [0.0] * len(strata), max(0, share - kept), seed + number))
        for i in inside:
            # A stratum that an earlier draw filled beyond its share keeps those labels, which are
            # paid for.
            probabilities[i] = max(share, kept) / len(inside)
    return Draw(tuple(sorted(chosen)), tuple(probabilities))


def allocate(sizes: Sequence[int], count: int, at_least: int) -> list[int]:
    """Distribute `count` over strata in proportion to their sizes, with at least `at_least` each if
    possible.

    By largest remainders; no stratum gets more than its size, and `count` must not exceed the sum
    of the sizes.
    """
    floors = [min(size, at_least) for size in sizes]
    if sum(floors) > count:
        # Ten labels for five strata with a minimum of 15 are two for each, and not all for the
        # first.
        floors = [min(size, count // len(sizes)) for size in sizes]
    shares = list(floors)
    total = sum(sizes)
    quotas = [count * size / total if total else 0.0 for size in sizes]
    waiting = [
        (share - quota, index)
        for index, (share, quota) in enumerate(zip(shares, quotas, strict=True))
    ]
    waiting = [(behind, index) for behind, index in waiting if shares[index] < sizes[index]]
    heapq.heapify(waiting)
    for _ in range(count - sum(shares)):
        _, index = heapq.heappop(waiting)
        shares[index] += 1
        if shares[index] < sizes[index]:
            heapq.heappush(waiting, (shares[index] - quotas[index], index))
    return shares


def _evenly(items: Sequence[int], ranks: Sequence[float], count: int, seed: int) -> list[int]:
    """Return `count` of the items, evenly along their ranks."""
    import numpy as np

    if not count:
        return []
    # With the seed alone, a draw that grows would continue the random numbers of the first one.
    rng = np.random.default_rng([seed, len(items)])
    shuffled = rng.permutation(np.asarray(items))
    ordered = shuffled[np.argsort(np.asarray(ranks)[shuffled], kind="stable")]
    marks = (rng.random() + np.arange(count)) * (len(items) / count)
    return [int(item) for item in ordered[np.minimum(marks.astype(np.intp), len(items) - 1)]]


def _check_count(items: int, count: int, taken: int) -> None:
    if not max(1, taken) <= count <= items:
        raise UsageError(
            f"cannot draw {count} of {items} items; give a number from {max(1, taken)} to {items}"
        )
