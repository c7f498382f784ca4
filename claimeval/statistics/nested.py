"""Test whether a value falls inside one of several nested windows, such as the middle of a list.

A split at one place sees a fall there and hardly one elsewhere; the largest of several contrasts
sees both, if its p-value takes into account that the largest was chosen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from claimeval.statistics.bootstrap import Floats, Integers, np

DRAWS = 1999
"""Permutations: a p-value of 0.05 is then known to ±0.01."""
FIRST = 199
"""Permutations after which a fall is known to be chance, if `CLEAR` of them have as large a one."""
CLEAR = 0.25
"""For a p-value of 0.15, 199 permutations are this far off in one of 10,000 runs. Most runs have no
fall, and would wait for a tenth of a second for the third digit of its p-value."""
AT_ONCE = 2_000_000
"""Numbers that are held at once."""
IN_CACHE = 1 << 15
"""Numbers that are floats at once: a quarter of a megabyte."""
SAME = 1e-9
"""Difference of two standardized contrasts below which they are equal but for rounding."""


class Fall(NamedTuple):
    """The window inside which the value falls most clearly."""

    window: int
    p: float
    """One-sided p-value of the largest of all contrasts."""


class _Group(NamedTuple):
    """Clusters of one size and kind, whose levels can be exchanged."""

    levels: Integers
    """By cluster and item."""
    residuals: Floats


def largest_fall(
    levels: Sequence[int],
    values: Sequence[float],
    clusters: Sequence[int],
    kinds: Sequence[int],
    windows: int,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Fall | None:
    """Return in which window values are lower than outside it, and whether that may be chance.

    Under the null hypothesis it does not matter for its value where an item stands. So levels are
    permuted among clusters with equally many items of one kind, and within them; each contrast is
    divided by its spread over the permutations, and the largest is compared with the largest of
    each permutation (Westfall and Young 1993).

    Args:
        levels: The number of windows that an item is inside of: window k holds items of a level
            above k, so windows are nested.
        values: The value of each item.
        clusters: The cluster of each item, whose values depend on each other.
        kinds: Clusters of different kinds are not exchanged, as those of lists of other lengths.
        windows: Number of windows.
        draws: Number of permutations, of which `FIRST` are enough for what is clearly chance (as in
            Besag and Clifford 1991).
        seed: Seed of the permutations.

    Returns:
        None if nothing can be exchanged.
    """
    groups = list(_groups(levels, values, clusters, kinds))
    fall = None
    for number in sorted({min(FIRST, draws), draws}):
        fall = _fall_among(groups, windows, number, np.random.default_rng(seed))
        if fall is None or fall.p > CLEAR:
            break
    return fall


def _fall_among(
    groups: Sequence[_Group], windows: int, draws: int, rng: np.random.Generator
) -> Fall | None:
    """Return the largest fall, compared with so many permutations."""
    items = sum(group.levels.size for group in groups)
    step = max(1, AT_ONCE // items) if items else 1
    parts = [_sums(groups, windows)[None]]
    for start in range(0, draws, step):
        parts.append(_drawn(groups, windows, min(step, draws - start), rng))
    sums = np.concatenate(parts)
    spread = sums.std(axis=0)
    varies = spread > SAME
    if not varies.any():
        return None
    falls = (sums.mean(axis=0) - sums)[:, varies] / spread[varies]
    largest = falls.max(axis=1)
    window = int(np.flatnonzero(varies)[falls[0].argmax()])
    return Fall(window, float((largest >= largest[0] - SAME).mean()))


def _groups(
    levels: Sequence[int], values: Sequence[float], clusters: Sequence[int], kinds: Sequence[int]
) -> Iterator[_Group]:
    mean = sum(values) / (len(values) or 1)
    by_cluster: defaultdict[int, list[tuple[int, int, float]]] = defaultdict(list)
    for level, value, cluster, kind in zip(levels, values, clusters, kinds, strict=True):
        by_cluster[cluster].append((kind, level, value - mean))
    alike: defaultdict[tuple[int, ...], list[list[tuple[int, int, float]]]] = defaultdict(list)
    for items in by_cluster.values():
        alike[tuple(sorted(kind for kind, _, _ in items))].append(items)
    for of_kind in alike.values():
        yield _Group(
            np.array([[level for _, level, _ in items] for items in of_kind]),
            np.array([[residual for _, _, residual in items] for items in of_kind]),
        )


def _sums(groups: Sequence[_Group], windows: int) -> Floats:
    """Return the sum of the residuals inside each window."""
    return np.array(
        [sum((group.residuals[group.levels > k]).sum() for group in groups) for k in range(windows)]
    )


def _drawn(groups: Sequence[_Group], windows: int, draws: int, rng: np.random.Generator) -> Floats:
    """Return these sums for permutations of the levels."""
    sums = np.zeros((draws, windows))
    for group in groups:
        count = len(group.levels)
        order = rng.random((draws, count)).argsort(axis=1)
        levels = rng.permuted(group.levels[order], axis=2)
        by_item = levels.reshape(draws, -1)
        residuals = group.residuals.ravel()
        # As floats, all draws would leave the processor's cache: this takes an eighth of the time.
        step = max(1, IN_CACHE // len(residuals))
        for start in range(0, draws, step):
            part = slice(start, start + step)
            for k in range(windows):
                sums[part, k] += (by_item[part] > k).astype(np.float64) @ residuals
    return sums
