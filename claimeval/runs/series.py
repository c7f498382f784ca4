"""Comparison of a series of runs over the same samples, oldest first: steps, differences to a
baseline, and trend."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from claimeval.metrics.scoring import MetricSummary
from claimeval.runs.compare import adjusted, differences, source_of
from claimeval.runs.directory import (
    RunResults,
    attached,
    cluster_field,
    load_manifest,
    load_summary,
)
from claimeval.runs.overview import MetricComparison, PairedRuns
from claimeval.runs.pairing import Asked, JoinedClusters, PairedBy, PairKeys, equal_questions
from claimeval.statistics.formatting import (
    digits_of,
    p_value,
    signed,
    signed_estimate,
    signed_interval,
)
from claimeval.statistics.intervals import UNBOUNDED, difference_and_test
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.estimates import Estimate
from claimeval.types.paths import expanded
from claimeval.types.records import Record, ScoredSample


class RunPoint(MetricSummary):
    """The metric in one run."""

    run: str


class RunStep(MetricComparison):
    """A metric from one run (a) to the next (b), over the samples that have a value in both."""

    only_before: int
    """Samples of the earlier run only."""
    only_after: int


class Trend(Record):
    """Trend of a metric over the runs: the mean slope of the samples' values."""

    slope: Estimate
    """The change per run; `n` counts the samples with a value in two or more runs."""
    p: float | None
    """Two-sided test of the slopes, the one of the interval."""
    p_adjusted: float | None = None
    """`p` after Holm's correction over the metrics."""
    rising: int
    falling: int

    @property
    def in_words(self) -> str:
        """The slope with its interval and test, and the numbers of rising and falling samples."""
        if self.slope.value is None:
            return f"no trend: {self.slope.because or 'no sample has a value in two runs'}"
        ends = f" ({signed_interval(self.slope.reported)})" if self.slope.reported else ""
        test = (
            f"p (Holm) {p_value(self.p_adjusted)}, {self.rising} samples rise, {self.falling} fall,"
            f" n {self.slope.n}"
        )
        slope = signed(self.slope.value, digits_of(self.slope.reported))
        return f"trend: {slope} per run{ends}, {test}"


class MetricSeries(Record):
    """One metric over all runs; `changes[i]` leads from `points[i]` to `points[i + 1]`."""

    metric: str
    """Its name; `JOB/NAME`, as in `measure/f1`, if another source has a metric of that name."""
    source: str
    """`claims` for metrics over claims, else the job of the scores: `lexical`, `retrieval`, ..."""
    points: tuple[RunPoint, ...]
    changes: tuple[RunStep, ...]
    """The steps; p-values are adjusted over all steps and metrics."""
    against: tuple[MetricComparison | None, ...]
    """Comparison of each run (b) with the baseline (a), None for the baseline; p-values are
    adjusted over metrics."""
    trend: Trend


class Series(Record):
    """Comparison of a series of runs."""

    runs: tuple[str, ...]
    baseline: int
    """The position of the run that the others are compared with."""
    tracks: tuple[MetricSeries, ...]
    """The series of each metric."""
    settings: tuple[tuple[str, ...], ...]
    """Changed settings (judges, prompts, data) in each step."""

    @property
    def last(self) -> int:
        """The position of the last run that is not the baseline."""
        return len(self.runs) - (2 if self.baseline == len(self.runs) - 1 else 1)

    def against_in_words(self, metric: MetricSeries) -> str:
        """Return the difference of the last run to the baseline with its interval, test and counts,
        in words."""
        comparison = metric.against[self.last]
        who = f"{self.runs[self.last]} against {self.runs[self.baseline]}"
        if comparison is None or comparison.difference.value is None:
            return f"{who}: no sample has a value in both"
        difference = signed_estimate(comparison.difference.value, comparison.difference.reported)
        counts = f"{comparison.increased} up, {comparison.decreased} down, n {comparison.n}"
        return f"{who}: {difference}, p (Holm) {p_value(comparison.p_adjusted)}, {counts}"

    @property
    def marks(self) -> dict[int, str]:
        """Names of the settings that changed with a run (`judges`, `data`, `assess prompt`), by its
        position."""
        names = [[setting.partition(":")[0] for setting in step] for step in self.settings]
        return {
            position: ", ".join(dict.fromkeys(step))
            for position, step in enumerate(names, 1)
            if step
        }

    def __repr__(self) -> str:
        from claimeval.runs.views import plain, series

        return plain.text(series.view(self))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from claimeval.runs.views import notebook, series

        return notebook.page(series.view(self))


FLAT = 1e-12
"""Absolute value up to which a slope is a rounding error."""
_Key = tuple[str, str]
"""Source and name of a metric."""


def track(
    runs: Sequence[str | Path],
    metrics: Sequence[str] = (),
    *,
    baseline: int = 0,
    cluster: str | None = None,
    names: Sequence[str] = (),
) -> Series:
    """Compare each run with the previous one and with a baseline, including the metrics of attached
    runs.

    Args:
        runs: Two or more run directories, oldest first. Metrics are joined by source and name.
        metrics: Names of metrics. Default: all that every run has.
        baseline: The position of the run that the others are compared with.
        cluster: Field whose equal values are one cluster in tests. Default: that of each pair's
            first run.
        names: Names of the runs. Default: the names of their directories, or their paths if names
            repeat.

    Raises:
        UsageError: There are fewer than two runs, a run lacks one of the metrics, or two have no
            sample in common.
    """
    folders = [expanded(run) for run in runs]
    if len(folders) < 2:
        raise UsageError(f"a series needs two runs or more, oldest first; given {len(folders)}")
    names = names or [folder.name for folder in folders]
    if len(set(names)) < len(names):
        names = list(map(str, folders))
    points = [_points(folder, name) for folder, name in zip(folders, names, strict=True)]
    pairs = [differences(a, b, cluster=cluster) for a, b in itertools.pairwise(folders)]
    steps = [_by_key(pair) for pair in pairs]
    chosen = _chosen(metrics, steps, points)
    changes = _changes(chosen, steps)
    values = _SampleValues(folders, cluster, pairs)
    against = values.against_baseline({key: of[0].metric for key, of in changes.items()}, baseline)
    trends = adjusted([values.trend(key) for key in chosen])
    tracks = [
        MetricSeries(
            metric=changes[key][0].metric,
            source=key[0],
            points=tuple(of_run[key] for of_run in points),
            changes=changes[key],
            against=against[key],
            trend=trend,
        )
        for key, trend in zip(chosen, trends, strict=True)
    ]
    return Series(
        runs=tuple(names),
        baseline=baseline,
        tracks=tuple(tracks),
        settings=tuple(pair.settings for pair in pairs),
    )


def _by_key(pair: PairedRuns) -> dict[_Key, RunStep]:
    """Return the differences of two runs by the metric."""
    steps: dict[_Key, RunStep] = {}
    for metric in pair.metrics:
        key = (metric.source, metric.metric.removeprefix(f"{metric.source}/"))
        steps[key] = RunStep(**dict(metric), only_before=pair.only_a, only_after=pair.only_b)
    return steps


def _chosen(
    metrics: Sequence[str],
    steps: Sequence[Mapping[_Key, RunStep]],
    runs: Sequence[Mapping[_Key, RunPoint]],
) -> list[_Key]:
    """Return the metrics with these names, else all that every run has.

    Raises UsageError if there are none.
    """
    shared = [key for key in steps[0] if all(key in step for step in steps)]
    if not shared:
        names = ", ".join(next(iter(run.values())).run for run in runs)
        raise UsageError(f"the runs {names} have no metric in common")
    if not metrics:
        return shared
    named = itertools.chain.from_iterable(_keys(metric, shared, runs) for metric in metrics)
    return list(dict.fromkeys(named))


def _changes(
    chosen: Sequence[_Key], steps: Sequence[Mapping[_Key, RunStep]]
) -> dict[_Key, tuple[RunStep, ...]]:
    """Return the steps of each metric; their p-values are adjusted over all of them."""
    of_metrics = [[step[key] for step in steps] for key in chosen]
    tested = iter(adjusted(list(itertools.chain.from_iterable(of_metrics))))
    return {key: tuple(itertools.islice(tested, len(steps))) for key in chosen}


class _SampleValues:
    """Values of every sample in every run."""

    def __init__(
        self, folders: Sequence[Path], cluster: str | None, pairs: Sequence[PairedRuns]
    ) -> None:
        """`pairs` are the comparisons of neighbouring runs."""
        # A sample has one key in all runs: where one pair was matched by questions because its ids
        # are row numbers, ids say nothing in the other runs either.
        by_question = any(pair.paired_by == "question" for pair in pairs)
        by: PairedBy = "question" if by_question else "id"
        self._runs = len(folders)
        self._field = cluster_field(folders[0], cluster)
        self._source = source_of(load_manifest(folders[0]))
        self._clusters: dict[str, int] = {}
        self._numbers: dict[tuple[int, int], int] = {}
        """The number of each cluster of each run: conversation 1 of a run is another one than that
        of the next, where ids say nothing."""
        self._by = by
        self._joined = JoinedClusters()
        self._ids: dict[str, str] = {}
        """The id of each sample in the first run that has it."""
        self._values: dict[_Key, dict[str, dict[int, float | None]]] = {}
        """By metric, sample and position of the run; None for an undefined value."""
        self._units: dict[_Key, str] = {}
        first = Asked.of(folders[0]) if by_question else None
        for run, folder in enumerate(folders):
            # Equal questions have the numbers of those that they are paired with in the first run.
            numbers: Mapping[str, int] = {}
            if first and run:
                numbers = equal_questions(first, Asked.of(folder)).b
            for job, inner in {self._source: folder, **attached(folder)}.items():
                key_of = PairKeys(by, numbers)
                for result in RunResults.of(inner).scored():
                    self._add(job, run, key_of(result), result)

    def against_baseline(
        self, names: Mapping[_Key, str], baseline: int
    ) -> dict[_Key, tuple[MetricComparison | None, ...]]:
        """Return the comparison of each run with the baseline, by metric; None for the baseline.

        `names` are those of the metrics in the comparisons.
        """
        compared: dict[_Key, tuple[MetricComparison | None, ...]] = dict.fromkeys(names, ())
        for run in range(self._runs):
            of_run: Sequence[MetricComparison | None] = [None] * len(names)
            if run != baseline:
                of_run = adjusted(
                    [self.against(key, name, baseline, run) for key, name in names.items()]
                )
            for key, comparison in zip(names, of_run, strict=True):
                compared[key] += (comparison,)
        return compared

    def _add(self, source: str, run: int, sample: str, result: ScoredSample) -> None:
        if source == self._source or sample not in self._clusters:
            cluster = cluster_of(result.sample, self._field)
            if self._by == "question":
                cluster = self._numbers.setdefault((run, cluster), len(self._numbers))
            self._joined.join(self._clusters.setdefault(sample, cluster), cluster)
            self._ids.setdefault(sample, result.id)
        for name, score in result.scores.items():
            self._values.setdefault((source, name), {}).setdefault(sample, {})[run] = score.value
            self._units[source, name] = score.unit

    def against(self, key: _Key, name: str, baseline: int, run: int) -> MetricComparison:
        """Return the comparison of a metric in one run with the baseline, over the samples that
        both runs have.

        Args:
            key: The source and the name of the metric.
            name: The name of the metric in the comparison.
            baseline: The position of the baseline among the runs, from 0.
            run: The position of the run among the runs, from 0.
        """
        both = {
            i: by_run
            for i, by_run in self._values.get(key, {}).items()
            if {baseline, run} <= set(by_run)
        }
        values = [(by_run[baseline], by_run[run]) for by_run in both.values()]
        return MetricComparison.of(
            name,
            key[0],
            [self._ids[i] for i in both],
            values,
            [self._joined.root(self._clusters[i]) for i in both],
            self._units.get(key),
        )

    def trend(self, key: _Key) -> Trend:
        """Return the trend of a metric over the runs."""
        defined = {
            i: {run: value for run, value in by_run.items() if value is not None}
            for i, by_run in self._values.get(key, {}).items()
        }
        # A sample that a run in between lacks has a slope all the same, by the runs that have it.
        values = {i: by_run for i, by_run in defined.items() if len(by_run) > 1}
        weights = {runs: _weights(runs) for runs in {tuple(by_run) for by_run in values.values()}}
        slopes = [
            sum(
                weight * value
                for weight, value in zip(weights[tuple(by_run)], by_run.values(), strict=True)
            )
            for by_run in values.values()
        ]
        steepest = max(
            (sum(weight for weight in of_runs if weight > 0) for of_runs in weights.values()),
            default=1.0,
        )
        # A share between 0 and 1 has no steeper line than one from all 0 to all 1, which keeps its
        # interval from going beyond.
        support = (-steepest, steepest) if self._units.get(key) == "share" else UNBOUNDED
        clusters = [self._joined.root(self._clusters[i]) for i in values]
        tested = difference_and_test(slopes, clusters=clusters, support=support)
        return Trend(
            slope=Estimate.of(tested.mean),
            p=tested.p,
            rising=sum(slope > FLAT for slope in slopes),
            falling=sum(slope < -FLAT for slope in slopes),
        )


def _weights(x: Sequence[int]) -> list[float]:
    """Return the weights of the values at these positions in the slope of the least-squares line
    through them."""
    mean = sum(x) / len(x)
    spread = sum((position - mean) ** 2 for position in x)
    return [(position - mean) / spread for position in x]


def _points(folder: Path, name: str) -> dict[_Key, RunPoint]:
    """Return the summaries of all metrics of a run and of its attached runs."""
    sources = {source_of(load_manifest(folder)): folder, **attached(folder)}
    points = {}
    for source, inner in sources.items():
        for metric, summary in load_summary(inner).metrics.items():
            points[source, metric] = RunPoint(run=name, **dict(summary))
    return points


def _keys(
    metric: str, shared: Sequence[_Key], runs: Sequence[Mapping[_Key, RunPoint]]
) -> list[_Key]:
    """Return the metrics with this name, from any source. Raises UsageError if no source has it in
    every run."""
    if matching := [
        (source, name) for source, name in shared if metric in (name, f"{source}/{name}")
    ]:
        return matching
    sources = [sorted(source for source, name in run if name == metric) for run in runs]
    if all(of == sources[0] for of in sources) and sources[0]:
        raise UsageError(f"{metric} means different things in these runs: it compares other texts")
    if all(sources):
        names = [next(iter(run.values())).run for run in runs]
        offered = "; ".join(
            f"{run}: {', '.join(of)}" for run, of in zip(names, sources, strict=True)
        )
        raise UsageError(
            f"{metric} comes from different sources in these runs ({offered}), so it is not one"
            " metric"
        )
    raise unknown_name(
        "metric that all these runs have:", metric, list(dict.fromkeys(name for _, name in shared))
    )
