"""Several judges together: Dawid-Skene, and the weight of a judge of known accuracy."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from claimeval.statistics.agreement import label_codes, label_scale
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    from claimeval.statistics.bootstrap import Floats


class Vote(NamedTuple):
    """One label of one judge for one item; a judge may vote more than once."""

    item: Hashable
    judge: Hashable
    label: Hashable


@dataclass(frozen=True, slots=True)
class DawidSkene:
    """The true labels and the error rates of the judges, estimated together."""

    items: tuple[Hashable, ...]
    """The items, in order of first vote."""
    judges: tuple[Hashable, ...]
    """The judges, in order of first vote."""
    labels: tuple[Hashable, ...]
    """The labels, in scale order."""
    posteriors: tuple[tuple[float, ...], ...]
    """`posteriors[i][l]`: probability that item i truly has label l. Too sure where judges share errors."""
    prevalence: tuple[float, ...]
    """`prevalence[l]`: share of items that truly have label l."""
    confusion: tuple[tuple[tuple[float, ...], ...], ...]
    """`confusion[j][l][k]`: probability that judge j gives label k to an item that truly has label l."""
    iterations: int
    """Steps of the algorithm."""
    converged: bool
    """Whether the posteriors stood still before the steps ran out."""


def dawid_skene(
    votes: Iterable[Vote | tuple[Hashable, Hashable, Hashable]],
    *,
    labels: Sequence[Hashable] | None = None,
    counts: Mapping[Any, int] | None = None,
    smoothing: float = 0.01,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
) -> DawidSkene:
    """Estimate true labels from votes of judges with different error rates; a label `None` is no vote.

    Expectation maximization starts from the vote shares, which also decides which label is which. Judges are assumed to
    err independently given the truth. Language models share errors, so the posteriors are too sure: weigh the judges of
    a panel with it, do not report its certainty.

    Source: Dawid & Skene 1979, "Maximum likelihood estimation of observer error-rates using the EM
    algorithm".

    Args:
        votes: One label of one judge for one item each.
        labels: The scale; by default the labels in use, sorted.
        counts: How many items got the votes of this one (1 by default), so that millions of items with few patterns of
            votes need little memory.
        smoothing: Pseudo-votes that keep a rate from being exactly 0.
        tolerance: The change of the posteriors at which the estimate has converged.
        max_iterations: The largest number of steps.

    Returns:
        Posteriors, prevalence and the confusion of every judge.

    Raises:
        UsageError: If there are no votes, or a label is off the scale.
    """
    import numpy as np

    voted_items, voters, given = _columns(votes)
    scale = label_scale(given, labels)
    items = {item: index for index, item in enumerate(dict.fromkeys(voted_items))}
    judges = {judge: index for index, judge in enumerate(dict.fromkeys(voters))}
    size, width = len(scale), len(judges) * len(scale)
    rows = np.fromiter(map(items.__getitem__, voted_items), np.intp, len(given))
    columns = np.fromiter(map(judges.__getitem__, voters), np.intp, len(given)) * size + label_codes(given, scale)
    votes_of = np.bincount(rows * width + columns, minlength=len(items) * width).reshape(len(items), width)
    table = votes_of.astype(np.float64)
    times = np.ones(len(items)) if counts is None else np.array([counts[item] for item in items], dtype=np.float64)
    posteriors = table.reshape(len(items), len(judges), size).sum(axis=1)
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    change, steps = math.inf, 0
    while change >= tolerance and steps < max_iterations:
        prevalence, rates = _rates(table, posteriors, times, len(judges), smoothing)
        log_joint = table @ np.log(rates).reshape(width, size) + np.log(np.maximum(prevalence, 1e-300))
        joint = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
        updated = joint / joint.sum(axis=1, keepdims=True)
        change = float(np.abs(updated - posteriors).max())
        posteriors, steps = updated, steps + 1
    prevalence, rates = _rates(table, posteriors, times, len(judges), smoothing)
    return DawidSkene(
        items=tuple(items),
        judges=tuple(judges),
        labels=scale,
        posteriors=tuple(map(tuple, posteriors.tolist())),
        prevalence=tuple(prevalence.tolist()),
        confusion=tuple(tuple(map(tuple, matrix.T.tolist())) for matrix in rates),
        iterations=steps,
        converged=change < tolerance,
    )


def vote_weight(correct: int, judged: int, *, labels: int = 2) -> float:
    """Return the weight of a judge's vote from its hits on human labels: log(p (K - 1) / (1 - p)), K labels.

    The accuracy p is drawn towards one half, (correct + 1) / (judged + 2). A judge at chance weighs 0; the label of a
    worse one counts against itself. Source: the optimal weighted majority of Nitzan & Paroush 1982.
    """
    if not 0 <= correct <= judged or labels < 2:
        raise UsageError(f"a weight needs 0 <= correct <= judged and 2 labels or more: {correct}, {judged}, {labels}")
    accuracy = (correct + 1) / (judged + 2)
    return math.log(accuracy * (labels - 1) / (1 - accuracy))


def _columns(
    votes: Iterable[Vote | tuple[Hashable, Hashable, Hashable]],
) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...], tuple[Hashable, ...]]:
    columns = tuple(zip(*(vote for vote in votes if vote[2] is not None), strict=True))
    if len(columns) != 3:
        raise UsageError("Dawid-Skene needs votes as (item, judge, label); none were given")
    return columns[0], columns[1], columns[2]


def _rates(table: Floats, posteriors: Floats, times: Floats, judges: int, smoothing: float) -> tuple[Floats, Floats]:
    """Return prevalence, and `rates[j, k, l]`: how often judge j gives label k to items that truly have label l."""
    weighted = posteriors * times[:, None]
    votes = (table.T @ weighted).reshape(judges, -1, posteriors.shape[1]) + smoothing
    rates: Floats = votes / votes.sum(axis=1, keepdims=True)
    prevalence: Floats = weighted.sum(axis=0) / times.sum()
    return prevalence, rates
