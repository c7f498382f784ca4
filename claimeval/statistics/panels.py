"""What a panel shows about its judges: shares and entropy of votes, preference for their own family."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from claimeval.errors import UsageError
from claimeval.statistics.bootstrap import estimates_of_sums, quotient
from claimeval.statistics.clusters import cluster_sums
from claimeval.statistics.estimate import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def vote_shares(votes: Sequence[Hashable | None]) -> dict[Hashable, float]:
    """The share of each label among the votes given, most frequent first; abstentions (`None`) do not count."""
    counts = Counter(vote for vote in votes if vote is not None)
    return {label: count / counts.total() for label, count in counts.most_common()}


def vote_entropy(votes: Sequence[Hashable | None]) -> float | None:
    """The entropy of the votes in bits: 0 if all agree, 1 if two labels split evenly; `None` without votes."""
    shares = vote_shares(votes)
    return -sum(share * math.log2(share) for share in shares.values()) + 0.0 if shares else None


def self_preference(
    scores: Mapping[str, Sequence[float | None]],
    generators: Sequence[str],
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """How much each judge family favours answers of its own family, as a difference in differences.

    `scores[f][i]` is the score that the judges of family f give item i, `generators[i]` the family that wrote
    it. For family f, with d the score of f minus the mean of the other judge families on the same item::

        SP_f = mean(d over items that f wrote) - mean(d over items that others wrote)

    What makes f strict or its answers good cancels out; 0 is no preference. Items without a score of f and of
    another family do not count. Undefined without items of both kinds. The interval resamples `clusters`,
    such as questions that all generators answered.
    """
    import numpy as np

    lengths = {len(given) for given in scores.values()} | {len(generators)}
    if len(lengths) > 1:
        raise UsageError(f"scores and generators must describe the same items: lengths {sorted(lengths)}")
    table = np.array([[math.nan if s is None else s for s in given] for given in scores.values()], dtype=np.float64)
    wrote = np.array(generators, dtype=object)
    estimates = {}
    for row, family in enumerate(scores):
        others = np.delete(table, row, axis=0)
        known = np.isfinite(table[row]) & np.isfinite(others).any(axis=0)
        rest = np.nansum(others, axis=0)[known] / np.isfinite(others).sum(axis=0)[known]
        lead, own = table[row][known] - rest, wrote[known] == family
        keys = None if clusters is None else [key for key, used in zip(clusters, known, strict=True) if used]
        (estimates[family],) = estimates_of_sums(
            cluster_sums(np.column_stack([lead * own, own, lead * ~own, ~own]), keys),
            [_difference_of_means],
            n=int(known.sum()),
            undefined_because="needs items of this family and of another, scored by this family and by another",
            level=level,
            resamples=resamples,
            seed=seed,
        )
    return estimates


def _difference_of_means(sums: Floats) -> Floats:
    return quotient(sums[:, 0], sums[:, 1]) - quotient(sums[:, 2], sums[:, 3])
