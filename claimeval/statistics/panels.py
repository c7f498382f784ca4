"""What a panel shows about its judges: the entropy of votes, and preference for answers of the same family."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from claimeval.statistics.bootstrap import (
    ClusterSums,
    IntervalEstimate,
    Resampling,
    bootstrap_sums,
    cluster_sums,
    keys_of,
    quotient,
)
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def vote_entropy(votes: Sequence[Hashable | None]) -> float | None:
    """Return the entropy of the votes in bits: 0 if all agree, 1 if two labels split evenly; `None` without votes.

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
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, IntervalEstimate]:
    """Return how much each judge family favors answers of its family, as a difference in differences.

    For family f, with d the score of f minus the mean of the other judge families on the same item::

        SP_f = mean(d over items that f wrote) - mean(d over items that others wrote)

    A strict judge and a good generator cancel out; 0 is no preference. With two families of judges and of
    generators both get the same number: which of the two is biased takes a third family.

    Args:
        scores: `scores[f][i]` is the score that the judges of family f give item i. Items without a score of f and of
            another family do not count.
        generators: The family that wrote each item.
        clusters: One key per item, such as the question that all generators answered; by default every item is a
        cluster.
        level: The confidence level.
        resamples: The number of resamples; 0 for no interval.
        seed: The seed of the resamples.

    Returns:
        The preference of each judge family.

    Raises:
        UsageError: If the arguments differ in length.
    """
    import numpy as np

    lengths = {len(given) for given in scores.values()} | {len(generators)}
    if len(lengths) > 1:
        raise UsageError(f"scores and generators must describe the same items: lengths {sorted(lengths)}")
    rows = [[math.nan if score is None else score for score in given] for given in scores.values()]
    table = np.array(rows, dtype=np.float64)
    estimates = {}
    for row, family in enumerate(scores):
        others = np.delete(table, row, axis=0)
        counts = np.isfinite(others).sum(axis=0)
        lead = table[row] - np.where(counts > 0, np.nansum(others, axis=0) / np.maximum(counts, 1), np.nan)
        of_family = np.array([generator == family for generator in generators], dtype=bool)
        estimates[family] = _contrast(lead, of_family, clusters, Resampling(level, resamples, seed))
    return estimates


def _contrast(
    values: Floats,
    of_family: NDArray[np.bool_],
    clusters: Sequence[Hashable] | None,
    resampling: Resampling,
) -> IntervalEstimate:
    """Return the mean of the known values over items of the family minus that over the others."""
    import numpy as np

    known = np.isfinite(values)
    values, of_family = values[known], of_family[known]
    keys = keys_of(clusters, known)
    rows = np.column_stack([values * of_family, of_family, values * ~of_family, ~of_family])
    (estimate,) = bootstrap_sums(
        ClusterSums(cluster_sums(rows, keys), len(values)),
        [lambda sums: quotient(sums[:, 0], sums[:, 1]) - quotient(sums[:, 2], sums[:, 3])],
        resampling,
        because="needs scored items of this family and of another",
        symmetric=True,
    )
    return estimate
