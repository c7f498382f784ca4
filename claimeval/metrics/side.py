"""Scores that are not read off claims: a value a sample, and their summary."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from pydantic import Field, JsonValue

from claimeval.metrics.scoring import Shown, abstentions, shown
from claimeval.statistics import mean_interval
from claimeval.types.clusters import cluster_of, own_cluster
from claimeval.types.records import Record, Sample


class SideRow(Record):
    """The scores of one sample by metric; None where undefined, with the reason."""

    id: str
    scores: dict[str, float | None]
    undefined: dict[str, str] = Field(default_factory=dict)
    bounds: dict[str, tuple[float, float]] = Field(default_factory=dict)
    """Between which values an undefined score lies, where that is known."""
    details: dict[str, JsonValue] = Field(default_factory=dict)
    """What the scores were made from, as the scores and ranks of single texts."""
    cluster: int | None = None
    """Rows with the same number belong together in intervals and tests; None belongs to no other."""


class SideMetric(Record):
    """One metric over all samples."""

    mean: float | None
    ci: tuple[float, float] | None
    """95 % interval of the mean; whole questions are resampled, or what `--cluster` names."""
    n: int
    clusters: int
    """Questions (or what `--cluster` names) that the `n` values are about."""
    missing: dict[str, int]
    """Samples without a value, by reason."""
    unit: str
    """`share` for a value in [0, 1]; otherwise what is counted."""
    bounds: tuple[float, float] | None = None
    """The mean if every undefined score with known bounds were at its least, and at its greatest; None without such."""
    shown: Shown
    """Which of `ci` and `bounds` tables print: the bounds where judges abstained on over a tenth of the samples."""

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of what is shown beside the mean."""
        return self.bounds if self.shown == "bounds" else self.ci


class SideSummary(Record):
    """All metrics of one kind over a run."""

    kind: str
    """`lexical`, `perplexity`, `reward`, `answers`, ..."""
    settings: dict[str, str]
    """What decided the numbers: normalisation, model, ..."""
    metrics: dict[str, SideMetric]
    cluster: str | None = None
    """The field by which samples belong together in intervals; None for their question."""


class Sums:
    """Adds up the rows of one kind as they come."""

    def __init__(self, units: Mapping[str, str]) -> None:
        self._units = units
        self._values: dict[str, array[float]] = {metric: array("d") for metric in units}
        self._clusters: dict[str, array[int]] = {metric: array("q") for metric in units}
        self._missing: dict[str, Counter[str]] = {metric: Counter() for metric in units}
        self._ends: dict[str, list[tuple[float, float]]] = {metric: [] for metric in units}

    def add(self, row: SideRow) -> None:
        """Counts one sample in."""
        cluster = cluster_of_row(row)
        for metric, value in row.scores.items():
            if value is not None:
                self._values[metric].append(value)
                self._clusters[metric].append(cluster)
                continue
            self._missing[metric][row.undefined[metric]] += 1
            if metric in row.bounds:
                self._ends[metric].append(row.bounds[metric])

    def summary(self, kind: str, settings: Mapping[str, str], cluster: str | None = None) -> SideSummary:
        """What the rows so far come to."""
        metrics = {metric: self._metric(metric) for metric in self._units}
        return SideSummary(kind=kind, settings=dict(settings), metrics=metrics, cluster=cluster)

    def _metric(self, name: str) -> SideMetric:
        values, unit, ends = self._values[name], self._units[name], self._ends[name]
        support = (0.0, 1.0) if unit == "share" else (-math.inf, math.inf)
        estimate = mean_interval(values, clusters=self._clusters[name], support=support)
        low, high = estimate.low, estimate.high
        ci = None if low is None or high is None or math.isinf(high - low) else (low, high)
        total, n = math.fsum(values), len(values) + len(ends)
        bounds = None
        if ends:
            bounds = (total + math.fsum(low for low, _ in ends)) / n, (total + math.fsum(high for _, high in ends)) / n
        missing = dict(sorted(self._missing[name].items()))
        return SideMetric(
            mean=estimate.value,
            ci=ci,
            n=len(values),
            clusters=estimate.clusters,
            missing=missing,
            unit=unit,
            bounds=bounds,
            shown=shown(abstentions(missing), n, bounds),
        )


def clustered(rows: Iterable[SideRow], samples: Iterable[Sample], field: str | None) -> Iterator[SideRow]:
    """The rows with what their samples belong to, which come in the same order."""
    for row, sample in zip(rows, samples, strict=True):
        yield row.model_copy(update={"cluster": cluster_of(sample, field)})


def cluster_of_row(row: SideRow) -> int:
    """What the row belongs to."""
    return own_cluster(row.id) if row.cluster is None else row.cluster
