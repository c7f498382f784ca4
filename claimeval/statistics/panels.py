"""What a panel shows about its judges: shares and entropy of votes, preference for their own family."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from claimeval.statistics.bootstrap import IntervalEstimate, cluster_sums, estimates_of_sums, keys_of, quotient
from claimeval.types.errors import UsageError

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
) -> dict[str, IntervalEstimate]:
    """How much each judge family favours answers of its own family, as a difference in differences.

    `scores[f][i]` is the score that the judges of family f give item i, `generators[i]` the family that wrote
    it. For family f, with d the score of f minus the mean of the other judge families on the same item::

        SP_f = mean(d over items that f wrote) - mean(d over items that others wrote)

    A strict judge and a good generator cancel out; 0 is no preference. With two families of judges and of
    generators both get the same number: which of the two is biased takes a third family, or
    `preference_given_human`. Items without a score of f and of another family do not count. The interval
    resamples `clusters`, such as questions that all generators answered.
    """
    import numpy as np

    table = _table(scores, generators)
    estimates = {}
    for row, family in enumerate(scores):
        others = np.delete(table, row, axis=0)
        counts = np.isfinite(others).sum(axis=0)
        lead = table[row] - np.where(counts > 0, np.nansum(others, axis=0) / np.maximum(counts, 1), np.nan)
        own = np.array([generator == family for generator in generators], dtype=bool)
        estimates[family] = _contrast(lead, own, clusters, level, resamples, seed)
    return estimates


def preference_given_human(
    scores: Mapping[str, Sequence[float | None]],
    generators: Sequence[str],
    human: Sequence[Hashable | None],
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, dict[Hashable, IntervalEstimate]]:
    """Per judge family and human label: mean score of its own family's items minus that of the others' items.

    Answers that people label alike should be scored alike, whoever wrote them: 0 is no preference. Arguments
    as for `self_preference`; items without a human label do not count.
    """
    import numpy as np

    table = _table(scores, generators)
    if len(human) != len(generators):
        raise UsageError(f"human must label the same items: {len(human)} labels, {len(generators)} items")
    labels = sorted({label for label in human if label is not None}, key=repr)
    estimates: dict[str, dict[Hashable, IntervalEstimate]] = {}
    for row, family in enumerate(scores):
        own = np.array([generator == family for generator in generators], dtype=bool)
        estimates[family] = {
            label: _contrast(
                np.where([given == label for given in human], table[row], np.nan),
                own,
                clusters,
                level,
                resamples,
                seed,
            )
            for label in labels
        }
    return estimates


def _table(scores: Mapping[str, Sequence[float | None]], generators: Sequence[str]) -> Floats:
    import numpy as np

    lengths = {len(given) for given in scores.values()} | {len(generators)}
    if len(lengths) > 1:
        raise UsageError(f"scores and generators must describe the same items: lengths {sorted(lengths)}")
    rows = [[math.nan if score is None else score for score in given] for given in scores.values()]
    return np.array(rows, dtype=np.float64)


def _contrast(
    values: Floats,
    own: NDArray[np.bool_],
    clusters: Sequence[Hashable] | None,
    level: float,
    resamples: int,
    seed: int,
) -> IntervalEstimate:
    """Mean of the known values over own items minus that over the others."""
    import numpy as np

    known = np.isfinite(values)
    values, own = values[known], own[known]
    keys = keys_of(clusters, known)
    (estimate,) = estimates_of_sums(
        cluster_sums(np.column_stack([values * own, own, values * ~own, ~own]), keys),
        [lambda sums: quotient(sums[:, 0], sums[:, 1]) - quotient(sums[:, 2], sums[:, 3])],
        n=len(values),
        because="needs scored items of this family and of another",
        symmetric=True,
        level=level,
        resamples=resamples,
        seed=seed,
    )
    return estimate
