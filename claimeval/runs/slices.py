"""Weak spots of a run: its metrics by value of a field of samples, and whether retrieval or
generation is to blame.

Context recall measures whether retrieval brought what the gold answer needs, faithfulness whether
the answer keeps to what was retrieved. A threshold on both gives four cells:

| | faithful | not faithful |
|---|---|---|
| retrieval brought it | found and grounded | found, answer adds to it |
| retrieval missed it | not found, answer grounded | neither found nor grounded |
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from claimeval.data.rows import dataframe
from claimeval.metrics.derived import loss
from claimeval.metrics.scoring import MetricSummary, bounds_of, ends_in_words, sampled_bounds
from claimeval.statistics import difference_interval, mean_interval
from claimeval.statistics.formatting import decimal, digits_of
from claimeval.statistics.intervals import UNBOUNDED
from claimeval.types import html
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import unknown_name
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record, Sample, SampleResult, Score

if TYPE_CHECKING:
    import pandas


FIELDS = ("answer", "generator", "is_answerable", "question", "reference_author")
"""Fields of a sample to slice by, in addition to `metadata.NAME`."""


ALWAYS = ("generator", "is_answerable", "reference_author")
"""Fields that reports split by, in addition to the metadata."""
MOST = 50
"""Maximum number of values of a field in a report."""
MANY = 20
"""Number of intervals from which on a caution is shown."""


class Slice(Record):
    """One metric over the samples with one value of the field."""

    value: str | None
    """The value of the field, as text; None for samples without it or with an empty text."""
    metric: str
    samples: int
    estimate: Estimate
    """The mean of the metric over these samples, with its 95% interval."""
    contribution: float | None
    """What these samples add to the distance of the run's mean from the best value: from 1, or from
    0 for metrics of faults. None if no sample of the run has a value, and for a metric that is not
    a share."""
    unit: str = "share"
    """The unit of the metric."""


class Slices(Record):
    """The metrics of a run by value of a field: a row for each metric and value, largest slices
    first."""

    field: str
    rows: tuple[Slice, ...]

    # pydantic iterates the fields of a record with their names.
    def __iter__(self) -> Iterator[Slice]:  # type: ignore[override]
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def caution(self) -> str | None:
        """A caution about many intervals; None for few."""
        return chance_of_many([row.estimate for row in self.rows])

    @property
    def by_value(self) -> dict[str, dict[str, Estimate]]:
        """The means by value of the field and metric, as in `summary.json`; samples without the
        field are under ""."""
        means: dict[str, dict[str, Estimate]] = {}
        for row in self.rows:
            means.setdefault(row.value or "", {})[row.metric] = row.estimate
        return means

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with a row for each metric and value; undefined values are NaN."""
        columns = (
            self.field,
            "metric",
            "samples",
            "mean",
            "low",
            "high",
            "ends",
            "n",
            "clusters",
            "contribution",
        )
        rows = []
        for row in self.rows:
            mean = row.estimate
            ends = (mean.value, mean.low, mean.high, mean.ends, mean.n, mean.clusters)
            rows.append((row.value, row.metric, row.samples, *ends, row.contribution))
        return dataframe(columns, rows, ("mean", "low", "high", "contribution"))

    def _repr_html_(self) -> str:
        """Show the table."""
        head = (self.field, "metric", "samples", "mean", "95%", "n", "contribution to the loss")
        rows = (
            (
                "(without)" if row.value is None else row.value,
                row.metric,
                str(row.samples),
                decimal(row.estimate.value, digits_of(row.estimate.reported)),
                ends_in_words(row.estimate),
                str(row.estimate.n),
                decimal(row.contribution),
            )
            for row in self.rows
        )
        notes = [html.element("p", self.caution, class_="caution")] if self.caution else []
        return html.shown(html.table(head, rows), *notes)

    def __repr__(self) -> str:
        from claimeval.runs.views import plain, run

        units = {row.metric: row.unit for row in self.rows}
        return plain.text([run.slices(self.field, self.by_value, units)])

    __str__ = __repr__


class ChangeSlice(Record):
    """One metric in two runs over the samples with one value of the field."""

    value: str | None
    metric: str
    n: int
    """Samples with a value of the metric in both runs."""
    a: float | None
    b: float | None
    """The means of these samples."""
    difference: Estimate
    """b - a, with its 95% interval."""
    contribution: float | None
    """What these samples add to the difference over all samples; None if no sample has a value in
    both runs."""
    unit: str = "share"
    """The unit of the metric."""


class ChangeSlices(Record):
    """The differences of two runs by value of a field: a row for each metric and value, largest
    slices first."""

    field: str
    rows: tuple[ChangeSlice, ...]


class Facet(NamedTuple):
    """A field by which samples can be filtered."""

    field: str
    values: list[str]
    codes: list[int]
    """Index of the value of each sample; -1 for none."""


class SliceTally:
    """Splits metrics by the values of fields, from samples one by one."""

    def __init__(
        self, metrics: Sequence[str], cluster: str | None, fields: Sequence[str] | None = None
    ) -> None:
        """`fields` None: all fields with 2 to 50 values, at least one of them in two samples."""
        self._metrics = tuple(metrics)
        self._cluster = cluster
        self._fields = fields
        self._clusters = array("q")
        self._columns: tuple[dict[str, array[float]], ...] = (
            {name: array("d") for name in metrics},
        )
        self._bounds = {name: (array("d"), array("d")) for name in metrics}
        """The bounds of each score of the first run; NaN if it has none."""
        self._places: dict[str, dict[str | None, array[int]]] = {
            field: {} for field in fields or ()
        }
        self._crowded: set[str] = set()
        self._units: dict[str, str] = {}

    def add(self, sample: Sample, *scores: Mapping[str, Score]) -> None:
        """Add a sample with its scores in each run; all samples have the same number of runs."""
        if len(self._columns) < len(scores):
            self._columns = tuple({name: array("d") for name in self._metrics} for _ in scores)
        place = len(self._clusters)
        self._clusters.append(cluster_of(sample, self._cluster))
        for columns, of_run in zip(self._columns, scores, strict=True):
            for name, values in columns.items():
                value = of_run[name].value
                self._units[name] = of_run[name].unit
                values.append(math.nan if value is None else value)
        for name, (lows, highs) in self._bounds.items():
            low, high = bounds_of(scores[0][name]) or (math.nan, math.nan)
            lows.append(low)
            highs.append(high)
        for field in self._candidates(sample) if self._fields is None else self._fields:
            if field not in self._crowded:
                self._group(field, value_of(sample, field), place)

    def _group(self, field: str, value: str | None, place: int) -> None:
        """Put a sample into the group of its value of a field."""
        groups = self._places.get(field)
        if groups is None:
            # The samples before the first one that has the field are those without it.
            groups = self._places[field] = {None: array("q", range(place))} if place else {}
        groups.setdefault(value, array("q")).append(place)
        # A field of ids has a group a sample: it is dropped at the 51st value, not at the end.
        if self._fields is None and len(groups) > MOST + (None in groups):
            self._crowded.add(field)
            del self._places[field]

    def _candidates(self, sample: Sample) -> list[str]:
        seen = (field for field in self._places if field not in ALWAYS)
        return list(
            dict.fromkeys([*ALWAYS, *seen, *(f"metadata.{name}" for name in sample.metadata)])
        )

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields to split by."""
        if self._fields is not None:
            return tuple(self._fields)
        return tuple(
            field
            for field, groups in self._places.items()
            if len(groups.keys() - {None}) > 1
            and any(len(of) > 1 for value, of in groups.items() if value is not None)
        )

    def slices(self, field: str, doubtful: Collection[str] = ()) -> Slices:
        """Return the metrics of the first run by value of a field; those that are `doubtful` with
        their bounds."""
        rows = []
        for metric, values in self._columns[0].items():
            # A mean grade has no best value from which a slice could be away.
            share = self._units.get(metric) == "share"
            support = (0.0, 1.0) if share else (-math.inf, math.inf)
            total = sum(not math.isnan(value) for value in values) if share else 0
            for value, places in self._groups(field):
                numbers, estimate = self._mean(metric, places, support)
                if metric in doubtful and (bounds := self._sampled_bounds(metric, places, support)):
                    estimate = estimate.within(bounds)
                lost = math.fsum(loss(metric, v) for v in numbers) / total if total else None
                rows.append(
                    Slice(
                        value=value,
                        metric=metric,
                        samples=len(places),
                        estimate=estimate,
                        contribution=lost,
                        unit=self._units.get(metric, "share"),
                    )
                )
        return Slices(field=field, rows=tuple(rows))

    def _mean(
        self, metric: str, places: Iterable[int], support: tuple[float, float]
    ) -> tuple[list[float], Estimate]:
        """Return the values of a metric at these places in the first run, and their mean."""
        values = self._columns[0][metric]
        scored = [i for i in places if not math.isnan(values[i])]
        numbers = [values[i] for i in scored]
        clusters = [self._clusters[i] for i in scored]
        return numbers, Estimate.of(mean_interval(numbers, clusters=clusters, support=support))

    def _sampled_bounds(
        self, metric: str, places: Iterable[int], support: tuple[float, float]
    ) -> tuple[float, float] | None:
        lows, highs = self._bounds[metric]
        bounded = [place for place in places if not math.isnan(lows[place])]
        clusters = [self._clusters[place] for place in bounded]
        return sampled_bounds(
            [lows[i] for i in bounded], [highs[i] for i in bounded], clusters, support
        )

    def changes(self, field: str) -> ChangeSlices:
        """Return the differences between the first and the second run by value of a field."""
        rows = []
        for metric in self._metrics:
            before, after = (columns[metric] for columns in self._columns)
            both = {i for i in range(len(before)) if not math.isnan(after[i] - before[i])}
            for value, places in self._groups(field):
                paired = [i for i in places if i in both]
                rows.append(self._change(metric, value, paired, len(both)))
        return ChangeSlices(field=field, rows=tuple(rows))

    def _change(
        self, metric: str, value: str | None, paired: Sequence[int], total: int
    ) -> ChangeSlice:
        """Return the difference of a metric over the samples of one value.

        Args:
            metric: The name of the metric.
            value: The value of the field.
            paired: The places of its samples that have a value in both runs.
            total: The number of all such samples.
        """
        before, after = (columns[metric] for columns in self._columns)
        differences = [after[i] - before[i] for i in paired]
        interval = difference_interval(
            differences,
            clusters=[self._clusters[i] for i in paired],
            support=(-1.0, 1.0) if self._units.get(metric) == "share" else UNBOUNDED,
        )
        sums = [math.fsum(values[i] for i in paired) for values in (before, after)]
        return ChangeSlice(
            value=value,
            metric=metric,
            n=len(paired),
            a=sums[0] / len(paired) if paired else None,
            b=sums[1] / len(paired) if paired else None,
            difference=Estimate.of(interval),
            contribution=math.fsum(differences) / total if total else None,
            unit=self._units.get(metric, "share"),
        )

    def facets(self) -> list[Facet]:
        """Return the values of each field, and the value of each sample in order."""
        facets = []
        for field in self.fields:
            groups = sorted(
                (value, of) for value, of in self._places[field].items() if value is not None
            )
            codes = [-1] * len(self._clusters)
            for code, (_, places) in enumerate(groups):
                for place in places:
                    codes[place] = code
            facets.append(Facet(field, [value for value, _ in groups], codes))
        return facets

    def _groups(self, field: str) -> list[tuple[str | None, array[int]]]:
        return sorted(self._places[field].items(), key=lambda item: -len(item[1]))


def chance_of_many(estimates: Sequence[Estimate]) -> str | None:
    """Return a caution about the intervals of many slices; None for few."""
    if (count := sum(estimate.low is not None for estimate in estimates)) < MANY:
        return None
    missing = count * 0.05
    return (
        f"{count} intervals: even if all slices were alike, about {missing:.0f} of them would miss"
        " the common value by chance. Rely on the contributions, and confirm a slice on other"
        " data."
    )


def slices(
    results: Iterable[SampleResult],
    field: str,
    metrics: Mapping[str, MetricSummary],
    cluster: str | None = None,
) -> Slices:
    """Return the metrics by value of `generator`, another field, or `metadata.NAME`.

    Args:
        results: The results of a run.
        field: The field.
        metrics: The metrics over all samples, by name. Where these report bounds, slices do too.
        cluster: Field whose equal values are one cluster in intervals.

    Raises:
        UsageError: No sample has the field.
    """
    tally = SliceTally(tuple(metrics), cluster, [field])
    metadata = dict[str, None]()
    has_value = False
    for result in results:
        metadata.update(dict.fromkeys(f"metadata.{key}" for key in result.sample.metadata))
        tally.add(result.sample, {metric: result[metric] for metric in metrics})
        has_value = has_value or value_of(result.sample, field) is not None
    if not has_value and f"metadata.{_name(field)}" not in metadata:
        raise unknown_name("field to slice by:", field, (*FIELDS, *metadata))
    return tally.slices(field, doubtful(metrics))


def doubtful(metrics: Mapping[str, MetricSummary]) -> set[str]:
    """Return the metrics that report bounds in place of an interval."""
    return {name for name, summary in metrics.items() if summary.ends == "bounds"}


def check_field(field: str, samples: Iterable[Sample]) -> None:
    """Raise UsageError if no sample has the field; reading stops at the first sample that has
    it."""
    metadata: dict[str, None] = {}
    for sample in samples:
        if _name(field) in (*FIELDS, *sample.metadata):
            return
        metadata.update(dict.fromkeys(f"metadata.{key}" for key in sample.metadata))
    raise unknown_name("field to slice by:", field, (*FIELDS, *metadata))


def _name(field: str) -> str:
    return field.removeprefix("metadata.")


def value_of(sample: Sample, field: str) -> str | None:
    """Return the value of a field of a sample as text; None if the sample lacks it or the text is
    empty."""
    name = _name(field)
    value = getattr(sample, name) if name in FIELDS else sample.metadata.get(name)
    return None if value in (None, "") else str(value)


Cell = Literal["fine", "ignored", "missed", "made_up"]
CELLS: dict[Cell, str] = {
    "fine": "found and grounded",
    "ignored": "found, answer adds to it",
    "missed": "not found, answer grounded",
    "made_up": "neither found nor grounded",
}
"""Names of the cells in tables."""
ENOUGH = 0.8
"""Default value from which context recall and faithfulness count as high."""
RECALL = "context_recall"
FAITHFULNESS = "faithfulness"
CORRECTNESS = "correctness"


class DiagnosisCounts(Record):
    """Whether retrieval or generation is to blame, over a run."""

    threshold: float
    """The value from which context recall and faithfulness count as high."""
    cells: dict[Cell, int]
    """Samples by cell."""
    contradicting: dict[Cell, int]
    """Samples whose answer contradicts the gold answer, by cell."""
    correctness: bool
    """Whether the run has correctness; without it no answer is known to contradict the gold
    answer."""
    undefined: int
    """Samples without context recall or faithfulness; they are in no cell."""

    @property
    def words(self) -> str:
        """The counts in words."""
        counted = "; ".join(f"{n} {CELLS[cell]}" for cell, n in self.cells.items())
        wrong = sum(self.contradicting.values())
        contradict = "contradicts" if wrong == 1 else "contradict"
        more = f"; {wrong} of these {contradict} the gold answer" if self.correctness else ""
        undefined = f"; {self.undefined} without one of both" if self.undefined else ""
        return (
            f"{counted} (context recall and faithfulness high from"
            f" {self.threshold:g}){more}{undefined}"
        )

    def __repr__(self) -> str:
        from claimeval.runs.views import plain, run

        return plain.text([run.blame(self)])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from claimeval.runs.views import notebook, run

        return notebook.page([run.blame(self)])


class DiagnosisTally:
    """Counts samples by cell."""

    def __init__(self, threshold: float = ENOUGH, *, concludes: bool = True) -> None:
        """`concludes`: whether the verdicts allow a diagnosis, as in `Manifest.concludes`."""
        self._threshold = threshold
        self._concludes = concludes
        self._cells: dict[Cell, int] = dict.fromkeys(get_args(Cell), 0)
        self._contradicting: dict[Cell, int] = dict.fromkeys(get_args(Cell), 0)
        self._undefined = 0
        self._correctness = False

    def add(self, result: SampleResult) -> None:
        """Add a sample."""
        cell = cell_of(result, self._threshold)
        self._correctness |= CORRECTNESS in result.scores
        if cell is None:
            self._undefined += 1
            return
        self._cells[cell] += 1
        self._contradicting[cell] += any(
            one.against == "reference" and one.support == "contradicted" for one in result.whole
        )

    def counts(self) -> DiagnosisCounts | None:
        """Return the counts; None if no sample is in a cell, or a judge only compares words."""
        if not self._concludes or not any(self._cells.values()):
            return None
        return DiagnosisCounts(
            threshold=self._threshold,
            cells=dict(self._cells),
            contradicting=dict(self._contradicting),
            correctness=self._correctness,
            undefined=self._undefined,
        )


def cell_of(result: SampleResult, threshold: float = ENOUGH) -> Cell | None:
    """Return the cell of a sample; None if context recall or faithfulness has no value."""
    recall = _value(result, RECALL)
    faithfulness = _value(result, FAITHFULNESS)
    if recall is None or faithfulness is None:
        return None
    if recall >= threshold:
        return "fine" if faithfulness >= threshold else "ignored"
    return "missed" if faithfulness >= threshold else "made_up"


def _value(result: SampleResult, name: str) -> float | None:
    score = result.scores.get(name)
    return score.value if score else None
