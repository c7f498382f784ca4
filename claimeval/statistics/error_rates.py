"""Rogan-Gladen: a judge's yes-rate corrected by its error rates on human-labelled items from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from claimeval.statistics.clusters import cluster_sums, clustered_error
from claimeval.statistics.correction import CorrectedEstimate
from claimeval.statistics.estimate import IntervalEstimate
from claimeval.statistics.formatting import decimal
from claimeval.statistics.intervals import mean_interval
from claimeval.statistics.quantiles import critical_value
from claimeval.types.errors import UsageError


class Rate(NamedTuple):
    """A share of `n` independent items; `n` is an effective number where items are clustered."""

    share: float
    n: float


def rogan_gladen(
    judge: Sequence[bool],
    human: Sequence[bool | None],
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> CorrectedEstimate:
    """The yes-rate people would give the unlabelled items, from the judge's error rates on the labelled ones.

    `judge[i]` and `human[i]` belong to item i; `human[i]` is `None` for the items in question, and the
    labelled items may come from another population with other prevalence, as long as the judge errs alike on
    it. Where they are a random sample of the same items, `prediction_powered` is the narrower of the two.

    Clustered items count as their effective number, n over the design effect. Undefined (`rogan_gladen_rate`
    says why) where the judge cannot be told from chance.
    """
    if len(judge) != len(human):
        raise UsageError(f"judge and human must describe the same items: {len(judge)} and {len(human)} values")
    keys = list(range(len(judge))) if clusters is None else list(clusters)
    if len(keys) != len(judge):
        raise UsageError(f"clusters must hold one key per item: {len(keys)} keys, {len(judge)} items")

    def rate(wanted: bool | None, answer: bool) -> Rate | None:
        chosen = [i for i, label in enumerate(human) if label == wanted]
        return _rate([judge[i] == answer for i in chosen], [keys[i] for i in chosen])

    labelled = [i for i, label in enumerate(human) if label is not None]
    yes, specificity, sensitivity = rate(None, True), rate(False, False), rate(True, True)
    if yes is None or specificity is None or sensitivity is None:
        missing = "unlabelled items" if yes is None else "labels of both kinds"
        corrected = IntervalEstimate(
            None, None, None, len(judge), "none", level=level, undefined_because=f"needs {missing}"
        )
    else:
        corrected = rogan_gladen_rate(yes, specificity, sensitivity, level=level)
    return CorrectedEstimate(
        corrected=corrected,
        judge=mean_interval(
            [float(answer) for answer in judge], clusters=clusters, level=level, resamples=resamples, seed=seed
        ),
        human=mean_interval(
            [float(bool(human[i])) for i in labelled],
            clusters=[keys[i] for i in labelled],
            level=level,
            resamples=resamples,
            seed=seed,
        ),
        labelled=len(labelled),
        unlabelled=len(judge) - len(labelled),
        method="rogan-gladen",
    )


def rogan_gladen_rate(yes: Rate, specificity: Rate, sensitivity: Rate, *, level: float = 0.95) -> IntervalEstimate:
    """theta = (p + q0 - 1) / (q0 + q1 - 1), clipped to [0, 1], with the adjusted interval of Lee et al. 2511.21140.

    `yes` is the judge's yes-rate p, `specificity` q0 its rate of no on human no, `sensitivity` q1 of yes on
    human yes. Undefined where q0 + q1 - 1, the judge's edge over chance, or the lower end of its interval is
    not above 0: there the formula divides by noise, and an unguarded interval can have negative width.
    """
    z = critical_value(level)
    p = (yes.n * yes.share + z * z / 2) / (yes.n + z * z)
    n = yes.n + z * z
    q0, m0 = (specificity.n * specificity.share + 1) / (specificity.n + 2), specificity.n + 2
    q1, m1 = (sensitivity.n * sensitivity.share + 1) / (sensitivity.n + 2), sensitivity.n + 2
    observations = round(yes.n + specificity.n + sensitivity.n)
    edge = specificity.share + sensitivity.share - 1
    noise0, noise1 = q0 * (1 - q0) / m0, q1 * (1 - q1) / m1
    lowest = q0 + q1 - 1 - z * math.sqrt(noise0 + noise1)
    if edge <= 0 or lowest <= 0:
        reason = (
            f"the labels cannot tell the judge from chance: sensitivity {decimal(sensitivity.share, 2)} + specificity "
            f"{decimal(specificity.share, 2)} - 1 = {decimal(edge, 2)}, lower end {decimal(lowest, 2)}"
        )
        return IntervalEstimate(None, None, None, observations, "none", level=level, undefined_because=reason)
    theta = min(1.0, max(0.0, (p + q0 - 1) / (q0 + q1 - 1)))
    shift = 2 * z * z * (theta * noise1 - (1 - theta) * noise0)
    variance = p * (1 - p) / n + (1 - theta) ** 2 * noise0 + theta**2 * noise1
    error = math.sqrt(variance) / (q0 + q1 - 1)
    value = min(1.0, max(0.0, (yes.share + specificity.share - 1) / edge))
    low, high = theta + shift - z * error, theta + shift + z * error
    return IntervalEstimate(
        value, min(1.0, max(0.0, low)), min(1.0, max(0.0, high)), observations, "normal", error, observations, level
    )


def _rate(hits: Sequence[bool], clusters: Sequence[Hashable]) -> Rate | None:
    """The share of hits and its effective number of items; `None` without items."""
    import numpy as np

    if not hits:
        return None
    share = sum(hits) / len(hits)
    rows = cluster_sums(np.column_stack([np.array(hits, dtype=np.float64), np.ones(len(hits))]), clusters)
    if len(rows) < 2 or share in (0, 1):
        return Rate(share, len(rows))
    error = clustered_error(rows[:, 0] - share * rows[:, 1], len(hits))
    effect = error**2 * (len(hits) - 1) / (share * (1 - share))
    return Rate(share, len(hits) / max(effect, 1.0))
