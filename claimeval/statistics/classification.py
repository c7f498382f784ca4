"""How well a judge's yes/no labels agree with the human ones."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claimeval.statistics.agreement import cohen_kappa, label_codes, label_scale
from claimeval.statistics.bootstrap import (
    STANDARD,
    ClusterSums,
    IntervalEstimate,
    Resampling,
    bootstrap_sums,
    cluster_sums,
    quotient,
)
from claimeval.statistics.intervals import ratio_interval
from claimeval.statistics.ranking import auroc
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from claimeval.statistics.bootstrap import Floats


@dataclass(frozen=True, slots=True)
class BinaryReport:
    """A judge against human labels, yes being the positive label. Undefined numbers have a reason."""

    accuracy: IntervalEstimate
    """Share of items with the human label."""
    balanced_accuracy: IntervalEstimate
    """Mean of recall and specificity: accuracy if both labels were equally frequent."""
    precision: IntervalEstimate
    """Share of human yes among the judge's yes."""
    recall: IntervalEstimate
    """Share of the human yes that the judge finds; sensitivity."""
    specificity: IntervalEstimate
    """Share of the human no that the judge finds."""
    f1: IntervalEstimate
    """Harmonic mean of precision and recall."""
    kappa: IntervalEstimate
    """Cohen's kappa: agreement beyond chance."""
    auroc: IntervalEstimate | None
    """Chance that a human yes has the higher probability; `None` without probabilities."""
    true_positives: int
    """Yes by both."""
    false_positives: int
    """Yes by the judge, no by the human."""
    false_negatives: int
    """No by the judge, yes by the human."""
    true_negatives: int
    """No by both."""
    unassessed: int
    """Items with a human label and none of the judge: in no number above."""


def binary_report(
    judge: Sequence[bool | None],
    human: Sequence[bool | None],
    *,
    probabilities: Sequence[float | None] | None = None,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = STANDARD,
) -> BinaryReport:
    """Compare a judge with human labels of the same items.

    Args:
        judge: The judge's label of each item; items without one (`None`) are counted as unassessed.
        human: The human label of each item; items without one do not count.
        probabilities: The judge's probability of yes for each item.
        clusters: One key per item; by default every item is a cluster.
        resampling: Level of confidence, number and seed of the resamples.

    Returns:
        Accuracy, precision, recall and the like, each with its interval, and the counts.

    Raises:
        UsageError: If the arguments differ in length.
    """
    import numpy as np

    sizes = {len(judge), len(human), len(judge if probabilities is None else probabilities)}
    sizes.add(len(judge if clusters is None else clusters))
    if len(sizes) > 1:
        raise UsageError(f"judge, human, probabilities and clusters must describe the same items: lengths {sizes}")
    rated = [i for i in range(len(judge)) if judge[i] is not None and human[i] is not None]
    predicted = np.array([bool(judge[i]) for i in rated], dtype=bool)
    truth = np.array([bool(human[i]) for i in rated], dtype=bool)
    keys = None if clusters is None else [clusters[i] for i in rated]
    columns = [predicted & truth, predicted & ~truth, ~predicted & truth, ~predicted & ~truth]
    cells = np.column_stack(columns).astype(np.float64)

    def share(hits: NDArray[np.bool_], of: NDArray[np.bool_]) -> IntervalEstimate:
        """Return the proportion of `hits` among `of`."""
        return ratio_interval(hits.tolist(), of.tolist(), clusters=keys, resampling=resampling)

    balanced, f1 = bootstrap_sums(
        ClusterSums(cluster_sums(cells, keys), len(rated)),
        [_balanced_accuracy, _f1],
        resampling,
        because="one of the labels never occurs",
    )
    kappa = cohen_kappa(predicted.tolist(), truth.tolist(), clusters=keys, resampling=resampling)
    return BinaryReport(
        accuracy=share(predicted == truth, np.ones_like(predicted)),
        balanced_accuracy=balanced,
        precision=share(predicted & truth, predicted),
        recall=share(predicted & truth, truth),
        specificity=share(~predicted & ~truth, ~truth),
        f1=f1,
        kappa=kappa,
        auroc=None if probabilities is None else _auroc(human, probabilities, clusters, resampling.level),
        true_positives=int(cells[:, 0].sum()),
        false_positives=int(cells[:, 1].sum()),
        false_negatives=int(cells[:, 2].sum()),
        true_negatives=int(cells[:, 3].sum()),
        unassessed=sum(label is not None for label in human) - len(rated),
    )


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of the judge's labels for every human label."""

    labels: tuple[Hashable, ...]
    """The labels, in scale order."""
    counts: tuple[tuple[int, ...], ...]
    """`counts[a][b]`: items that people label `labels[a]` and the judge `labels[b]`."""
    unassessed: tuple[int, ...]
    """Per human label: items without a label of the judge."""


def confusion(
    judge: Sequence[Hashable | None],
    human: Sequence[Hashable | None],
    *,
    labels: Sequence[Hashable] | None = None,
) -> Confusion:
    """Count the judge's labels per human label; items without a human label do not count."""
    import numpy as np

    if len(judge) != len(human):
        raise UsageError(f"judge and human must label the same items: {len(judge)} and {len(human)} labels")
    scale = label_scale([*judge, *human], labels)
    given, truth = label_codes(judge, scale), label_codes(human, scale)
    table = np.zeros((len(scale), len(scale) + 1), dtype=np.int64)
    np.add.at(table, (truth[truth >= 0], given[truth >= 0]), 1)
    return Confusion(
        scale, tuple(tuple(int(n) for n in row[:-1]) for row in table), tuple(int(n) for n in table[:, -1])
    )


def _auroc(
    human: Sequence[bool | None],
    probabilities: Sequence[float | None],
    clusters: Sequence[Hashable] | None,
    level: float,
) -> IntervalEstimate:
    pairs = [
        (label, probability, index if clusters is None else clusters[index])
        for index, (label, probability) in enumerate(zip(human, probabilities, strict=True))
        if label is not None and probability is not None
    ]
    return auroc([pair[0] for pair in pairs], [pair[1] for pair in pairs], clusters=[p[2] for p in pairs], level=level)


def _balanced_accuracy(sums: Floats) -> Floats:
    hits, false_alarms, misses, rejections = sums.T
    return (quotient(hits, hits + misses) + quotient(rejections, rejections + false_alarms)) / 2


def _f1(sums: Floats) -> Floats:
    hits, false_alarms, misses, _ = sums.T
    return quotient(2 * hits, 2 * hits + false_alarms + misses)
