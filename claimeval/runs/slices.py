"""The metrics of a run per value of a field of its samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from claimeval.data.rows import dataframe
from claimeval.statistics import mean_interval
from claimeval.statistics.formatting import decimal, interval
from claimeval.types import html
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import unknown_name
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record, Sample, SampleResult

if TYPE_CHECKING:
    import pandas

FIELDS = ("answer", "generator", "is_answerable", "question", "reference_author")
"""Fields of a sample whose values can be sliced by, beside `metadata.NAME`."""


class Slice(Record):
    """One metric over the samples with one value of the field."""

    value: str | None
    """The value of the field, as text; None for samples without it or with an empty text."""
    metric: str
    samples: int
    estimate: Estimate
    """The mean of the metric over these samples, with its 95% interval."""
    contribution: float | None
    """What these samples add to one minus the mean of the run; None if no sample of the run has a value."""


class Slices(Record):
    """The metrics of a run per value of a field: a row a metric and value, largest slices first."""

    field: str
    rows: tuple[Slice, ...]

    def __iter__(self) -> Iterator[Slice]:  # type: ignore[override]  # rows are what a table is iterated for
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def by_value(self) -> dict[str, dict[str, Estimate]]:
        """The means by value of the field and metric, as `summary.json` has them; samples without it are under ""."""
        means: dict[str, dict[str, Estimate]] = {}
        for row in self.rows:
            means.setdefault(row.value or "", {})[row.metric] = row.estimate
        return means

    def to_pandas(self) -> pandas.DataFrame:
        """Return a row a metric and value; undefined numbers are NaN."""
        columns = (self.field, "metric", "samples", "mean", "low", "high", "n", "clusters", "contribution")
        rows = []
        for row in self.rows:
            mean = row.estimate
            ends = (mean.value, mean.low, mean.high, mean.n, mean.clusters)
            rows.append((row.value, row.metric, row.samples, *ends, row.contribution))
        return dataframe(columns, rows, ("mean", "low", "high", "contribution"))

    def _repr_html_(self) -> str:
        """A row a value and metric."""
        head = (self.field, "metric", "samples", "mean", "95 %", "n", "contribution to the loss")
        rows = (
            (
                "(without)" if row.value is None else row.value,
                row.metric,
                str(row.samples),
                decimal(row.estimate.value),
                interval(row.estimate.interval),
                str(row.estimate.n),
                decimal(row.contribution),
            )
            for row in self.rows
        )
        return html.shown(html.table(head, rows))


def slices(results: Iterable[SampleResult], field: str, metrics: Sequence[str], cluster: str | None = None) -> Slices:
    """Return the metrics per value of `generator`, another field, or `metadata.NAME`.

    Args:
        results: The results of a run.
        field: The field.
        metrics: Names of the metrics.
        cluster: Field by which intervals draw samples together.

    Returns:
        The metrics of each value.

    Raises:
        UsageError: If no sample has the field.
    """
    name = _name(field)
    groups: dict[str | None, list[tuple[int, list[float | None]]]] = {}
    known: dict[str, None] = {}
    for result in results:
        known.update(dict.fromkeys(f"metadata.{key}" for key in result.sample.metadata))
        values = [result[metric].value for metric in metrics]
        groups.setdefault(value_of(result.sample, field), []).append((cluster_of(result.sample, cluster), values))
    if set(groups) <= {None} and f"metadata.{name}" not in known:
        raise unknown_name("field to slice by:", field, (*FIELDS, *known))
    rows = []
    for number, metric in enumerate(metrics):
        total = sum(values[number] is not None for group in groups.values() for _, values in group)
        for value, group in sorted(groups.items(), key=lambda item: -len(item[1])):
            scored = [(in_cluster, v) for in_cluster, values in group if (v := values[number]) is not None]
            numbers = [v for _, v in scored]
            estimate = Estimate.of(mean_interval(numbers, clusters=[in_cluster for in_cluster, _ in scored]))
            loss = math.fsum(1 - v for v in numbers) / total if total else None
            rows.append(Slice(value=value, metric=metric, samples=len(group), estimate=estimate, contribution=loss))
    return Slices(field=field, rows=tuple(rows))


def check_field(field: str, samples: Iterable[Sample]) -> None:
    """Raise UsageError if no sample has the field; stop at the first one that has it."""
    known: dict[str, None] = {}
    for sample in samples:
        if _name(field) in (*FIELDS, *sample.metadata):
            return
        known.update(dict.fromkeys(f"metadata.{key}" for key in sample.metadata))
    raise unknown_name("field to slice by:", field, (*FIELDS, *known))


def _name(field: str) -> str:
    return field.removeprefix("metadata.")


def value_of(sample: Sample, field: str) -> str | None:
    """Return the value of a field of a sample as text; None if the sample lacks it or the text is empty."""
    name = _name(field)
    value = getattr(sample, name) if name in FIELDS else sample.metadata.get(name)
    return None if value in (None, "") else str(value)
