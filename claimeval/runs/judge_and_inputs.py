"""How much of a difference comes from the judging and how much from the inputs, where both changed.

Samples with the same inputs differ by the judging alone, so that their mean difference is its part
of the whole. A group of samples whose inputs changed adds what it differs more than these, by its
share of the samples. The parts add up to the difference:

    d = d_0 + sum over groups g of n_g / n (d_g - d_0)

This is the difference in differences of Card & Krueger 1994, with the samples of the same inputs
as the group that was not treated. Exchanging one thing alone, as `causes` does, cannot tell the two
apart where documents changed: the judge of run a never read those of run b.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np

from claimeval.metrics.rows import Metric
from claimeval.runs.inputs import Facts, Kind
from claimeval.statistics import holm
from claimeval.statistics.bootstrap import Floats, cluster_sums, clustered_error
from claimeval.statistics.intervals import sign_flip_test
from claimeval.statistics.quantiles import student_cdf
from claimeval.types.records import ASKED, CONTEXTS_AND_HISTORY, HISTORY, Part

GROUP = 6
"""Smallest number of samples that are compared with others."""
READ: dict[Part, tuple[Kind, ...]] = {
    ASKED: (),
    HISTORY: (),
    "answer": ("answer",),
    "reference": ("gold",),
    "reference_contexts": ("gold",),
    "contexts": ("documents", "order"),
    CONTEXTS_AND_HISTORY: ("documents", "order"),
}
"""What of a sample counts as changed for a metric that reads a part; the question always does."""
SURELY = 2.58
"""Standard errors within which a value is in 99 of 100 cases."""
FIRST: tuple[Kind, ...] = ("question", "history", "documents", "gold", "answer", "order")
"""Of several changes of a sample, the first one is its group: answers follow documents."""


class InputsPart(NamedTuple):
    """What samples with other inputs of one kind add to a difference."""

    kind: Kind
    samples: list[int]
    value: float
    p: float
    """Adjusted over all parts of the difference."""


class JudgeAndInputs(NamedTuple):
    """The parts of a difference between runs of which both the judging and inputs changed."""

    same: int
    """Number of samples with the same inputs."""
    judging: float
    p: float
    """Adjusted over all parts of the difference."""
    errors: tuple[float, float]
    """Standard errors of the part of the judging, and of all inputs together."""
    inputs: tuple[InputsPart, ...]
    """The largest part first."""

    def beyond(self, chance: float) -> list[InputsPart]:
        """Return the parts of inputs that are beyond chance."""
        return [part for part in self.inputs if part.p < chance]

    def is_small(self, part: Literal["judging", "inputs"], limit: float) -> bool:
        """Return whether a part is surely (99%) smaller than a limit, and so may be denied."""
        value = self.judging
        error = self.errors[0]
        if part == "inputs":
            value = math.fsum(one.value for one in self.inputs)
            error = self.errors[1]
        return abs(value) + SURELY * error < limit


def kinds_read(metric: Metric | None) -> Sequence[Kind]:
    """Return what of a sample a metric reads; everything if that is not known."""
    if metric is None or not {metric.claims_of, metric.against} <= READ.keys():
        return FIRST
    read = {"question", "history", *READ[metric.claims_of], *READ[metric.against]}
    return [kind for kind in FIRST if kind in read]


def split(
    differences: Mapping[int, float],
    facts: Sequence[Facts],
    clusters: Sequence[int],
    read: Sequence[Kind],
) -> JudgeAndInputs | None:
    """Split the mean of differences; None if too few samples have the same inputs, or all have.

    Args:
        differences: By number of the sample, of those with a value in both runs.
        facts: What differs in the inputs of each sample.
        clusters: The cluster of each sample.
        read: The inputs that the metric reads.
    """
    groups: dict[Kind | None, list[int]] = {}
    for i in differences:
        kind = next((kind for kind in read if kind in facts[i].kinds), None)
        groups.setdefault(kind, []).append(i)
    same = groups.pop(None, [])
    if len(same) < GROUP or not groups:
        return None
    values = [differences[i] for i in same]
    unchanged, moves = _influences(differences, same)
    chances = [sign_flip_test(values, clusters=[clusters[i] for i in same]).p or 0.0]
    parts: list[InputsPart] = []
    for kind, samples in groups.items():
        assert kind is not None
        mean = math.fsum(differences[i] for i in samples) / len(samples)
        value = len(samples) / len(differences) * (mean - unchanged)
        parts.append(
            InputsPart(
                kind=kind,
                samples=samples,
                value=value,
                p=1.0,
            )
        )
        chances.append(
            _difference_p(
                differences,
                samples,
                same,
                clusters,
            )
        )
    of_judging, *of_inputs = holm(chances)
    tested = [part._replace(p=p) for part, p in zip(parts, of_inputs, strict=True)]
    tested.sort(key=lambda part: -abs(part.value))
    changed = [*chain.from_iterable(groups.values())]
    share = len(changed) / len(differences)
    _, moved = _influences(differences, changed)
    of_same = [clusters[i] for i in same]
    of_changed = [clusters[i] for i in changed]
    influences = np.concatenate([share * moved, -share * moves])
    return JudgeAndInputs(
        same=len(same),
        judging=unchanged,
        p=of_judging,
        errors=(
            _error(moves, of_same),
            _error(influences, [*of_changed, *of_same]),
        ),
        inputs=tuple(tested),
    )


def _difference_p(
    differences: Mapping[int, float],
    samples: Sequence[int],
    others: Sequence[int],
    clusters: Sequence[int],
) -> float:
    """Return the p-value of the difference of the means of two groups of samples: Student's t with
    the error of clusters, which may have samples in both, and the degrees of freedom of the group
    with fewer of them."""
    if len(samples) < GROUP:
        return 1.0
    sides = [_influences(differences, of) for of in (samples, others)]
    (mean, added), (other, taken) = sides
    keys = [clusters[i] for i in (*samples, *others)]
    error = _error(np.concatenate([added, -taken]), keys)
    freedom = min(len({clusters[i] for i in of}) for of in (samples, others)) - 1
    if freedom < 1:
        return 1.0
    if not error:
        return float(mean == other)
    return 2 * (1 - student_cdf(abs(mean - other) / error, freedom))


def _influences(differences: Mapping[int, float], samples: Sequence[int]) -> tuple[float, Floats]:
    """Return the mean of samples, and how far each moves it."""
    values = np.array([differences[i] for i in samples])
    mean = float(values.mean())
    return mean, (values - mean) / len(values)


def _error(influences: Floats, clusters: Sequence[int]) -> float:
    """Return the standard error of a sum of influences; clusters move whole."""
    sums = cluster_sums(influences[:, None], clusters)[:, 0]
    return clustered_error(sums, 1.0) if len(sums) > 1 else math.inf
