"""Runs over the same samples, aligned by sample id: pairs with their flipped claims, and series of two or more."""

from __future__ import annotations

import heapq
import itertools
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from claimeval.evaluation.manifest import Manifest
from claimeval.metrics.flips import Flip, FlipTally, claim_pairs, counted_differently
from claimeval.metrics.rows import Metric
from claimeval.metrics.scoring import MetricSummary
from claimeval.runs.directory import (
    attached,
    cluster_field,
    from_line,
    joint_names,
    load_manifest,
    load_summary,
    read_results,
    result_lines,
    results_file,
)
from claimeval.runs.overview import (
    DiscordantCounts,
    Gathering,
    MetricComparison,
    Moved,
    Overview,
    PairedRuns,
    data_name,
    open_to_doubt,
)
from claimeval.runs.slices import check_field, value_of
from claimeval.statistics import holm, mcnemar_exact, paired_difference
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import DataError, UsageError, unknown_name
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record, SampleResult, Score

SHOWN = 20
"""Flipped claims that are kept."""
MOVED = 5
"""Samples that moved most, named for each metric."""
CLAIMS = "claims"
"""The source of metrics of claims."""
Pairs = list[tuple[float | None, float | None]]
"""The values of samples in two runs."""


class _Tested(Protocol):
    """What has a p-value."""

    @property
    def p(self) -> float | None:
        """Return the p-value; None where nothing was tested."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """Return a copy with other fields."""


M = TypeVar("M", bound=_Tested)


class SamplePair(NamedTuple):
    """One sample in both runs."""

    a: SampleResult
    b: SampleResult


class Other:
    """A run whose results are looked up by sample id; of the results only their places in the file are held."""

    def __init__(self, folder: Path) -> None:
        self.manifest = load_manifest(folder)
        gathering = Gathering(self.manifest)
        self._path = results_file(folder)
        self._places: dict[str, int] = {}
        place = 0
        for result, length in zip(read_results(folder), map(len, result_lines(folder)), strict=True):
            if self._places.setdefault(result.sample.id, place) != place:
                raise DataError(f"{folder}: duplicate sample id {result.sample.id!r}")
            place += length
            gathering.add(result)
        self.facts: Overview = gathering.facts(folder)

    def pairs(self, results: Iterator[SampleResult]) -> Iterator[SamplePair]:
        """The results that this run has too, each with its counterpart."""
        with self._path.open("rb") as file:
            for result in results:
                if (place := self._places.get(result.sample.id)) is not None:
                    file.seek(place)
                    yield SamplePair(result, from_line(file.readline()))


class Compared(NamedTuple):
    """Two runs and what they differ by."""

    a: Overview
    b: Overview
    comparison: PairedRuns


def compare(
    a: Path,
    b: Path,
    each: Callable[[SamplePair, list[Flip]], None] | None = None,
    *,
    cluster: str | None = None,
    by: str | None = None,
) -> Compared:
    """Compare two run directories.

    Args:
        a: The first run.
        b: The second run.
        each: Called with every shared sample and its flipped claims.
        cluster: Field by which intervals and tests draw samples together. Default: the field of the first run.
        by: Field whose values are compared each by itself too, as in `metadata.topic`.

    Returns:
        The comparison of every shared metric.

    Raises:
        DataError: If one directory holds no finished run.
        UsageError: If the runs share no metric or no sample.
    """
    if by:
        check_field(by, (result.sample for result in read_results(a)))
    other, manifest = Other(b), load_manifest(a)
    gathering, comparing = Gathering(manifest), Comparing(manifest, other.manifest, cluster_field(a, cluster), by)

    def counted() -> Iterator[SampleResult]:
        """Yield the results of the first run, and count them."""
        for result in read_results(a):
            gathering.add(result)
            yield result

    for pair in other.pairs(counted()):
        flipped = comparing.add(pair)
        if each:
            each(pair, flipped)
    facts = gathering.facts(a)
    paired = comparing.comparison(facts, other.facts, _attached(a, b, cluster))
    return Compared(facts, other.facts, paired)


class PairedValues:
    """The values of metrics in two runs, sample by sample."""

    def __init__(self, source: str, metrics: Iterable[str], cluster: str | None) -> None:
        self._source, self._cluster = source, cluster
        self.ids: list[str] = []
        self.clusters = array("q")
        self.values: dict[str, Pairs] = {name: [] for name in metrics}

    def add(self, a: SampleResult, b: Mapping[str, Score]) -> None:
        """Add a sample of the first run, with its scores in the second."""
        self.ids.append(a.sample.id)
        self.clusters.append(cluster_of(a.sample, self._cluster))
        for name, values in self.values.items():
            values.append((a.scores[name].value, b[name].value))

    def compared(self, chosen: Sequence[int] | None = None) -> list[MetricComparison]:
        """Return a comparison for each metric over all samples, or over those at some places."""
        places = range(len(self.ids)) if chosen is None else chosen
        ids, clusters = [self.ids[i] for i in places], [self.clusters[i] for i in places]
        return [self._metric(name, ids, [values[i] for i in places], clusters) for name, values in self.values.items()]

    def _metric(self, name: str, ids: Sequence[str], values: Pairs, clusters: Sequence[int]) -> MetricComparison:
        both = [(x, y, sample) for sample, (x, y) in zip(ids, values, strict=True) if x is not None and y is not None]
        paired = paired_difference([y for _, y in values], [x for x, _ in values], clusters=clusters)
        moved = heapq.nlargest(MOVED, ((abs(y - x), sample, x, y) for x, y, sample in both if x != y))
        return MetricComparison(
            metric=name,
            source=self._source,
            n=len(both),
            clusters=paired.clusters,
            a=sum(x for x, _, _ in both) / len(both) if both else None,
            b=sum(y for _, y, _ in both) / len(both) if both else None,
            difference=Estimate.of(paired),
            p=paired.p,
            higher=sum(y > x for x, y, _ in both),
            lower=sum(y < x for x, y, _ in both),
            dropped=paired.dropped,
            moved=tuple(Moved(sample=sample, before=x, after=y) for _, sample, x, y in moved),
        )


class Comparing:
    """Takes the shared samples of two runs one by one."""

    def __init__(self, a: Manifest, b: Manifest, cluster: str | None, by: str | None = None) -> None:
        self._a, self._b, self._cluster, self._by = a, b, cluster, by
        self._slices: dict[str, list[int]] = {}
        self.metrics = shared_metrics(a, b)
        derived = (name for name in a.derived if name in b.derived)
        names = (*(metric.name for metric in self.metrics), *derived, *shared_others(a, b))
        self._paired = PairedValues(_source(a), names, cluster)
        self._discordant: Counter[tuple[str, bool]] = Counter()
        self._other_texts = self._other_claims = 0
        graded = a.panel.scale.ordered and a.panel.scale == b.panel.scale
        self._tally = FlipTally({(metric.claims_of, metric.against) for metric in self.metrics}, graded=graded)
        self._flips: list[Flip] = []

    def add(self, pair: SamplePair) -> list[Flip]:
        """Count one sample in and return its flipped claims."""
        if self._by:
            value = value_of(pair.a.sample, self._by) or ""
            self._slices.setdefault(value, []).append(len(self._paired.ids))
        self._paired.add(pair.a, pair.b.scores)
        self._other_texts += _texts(pair.a) != _texts(pair.b)
        self._other_claims += _claims(pair.a) != _claims(pair.b)
        found = self._tally.add(pair.a, pair.b)
        self._flips += found[: SHOWN - len(self._flips)]
        for claim, before, after in claim_pairs(pair.a, pair.b):
            for metric in self.metrics:
                if (claim.of, before.evidence.part) == (metric.claims_of, metric.against) and counted_differently(
                    before, after, graded=False
                ):
                    self._discordant[metric.name, before.support == "supported"] += 1
        return found

    def comparison(self, a: Overview, b: Overview, attached: Attached) -> PairedRuns:
        """Return what the pairs come to, with the metrics of attached runs.

        Raises:
            UsageError: The runs share no sample.
        """
        shared = len(self._paired.ids)
        if not shared:
            raise UsageError(f"the runs {a.name} and {b.name} have no sample id in common")
        of_claims = {metric.name for metric in self.metrics}
        metrics = [
            metric.model_copy(update={"supported_in_one_only": self._in_one_only(metric.metric)})
            if metric.metric in of_claims
            else metric
            for metric in self._paired.compared()
        ]
        names = joint_names([(metric.source, metric.metric) for metric in attached.metrics], self._paired.values)
        metrics += [m.model_copy(update={"metric": names[m.source, m.metric]}) for m in attached.metrics]
        if not metrics:
            told = [", ".join(manifest.names) for manifest in (self._a, self._b)]
            raise UsageError(f"the runs have no metric in common: one has {told[0]}, the other {told[1]}")
        return PairedRuns(
            a=a.name,
            b=b.name,
            shared=shared,
            clusters=len(set(self._paired.clusters)),
            cluster=self._cluster,
            only_a=a.summary.samples - shared,
            only_b=b.summary.samples - shared,
            other_texts=self._other_texts,
            other_claims=self._other_claims,
            settings=(*changed_settings(self._a, self._b), *attached.settings),
            abstained=tuple(self._abstained(a, b)),
            metrics=tuple(adjusted(metrics)),
            by=self._by_value(),
            **self._tally.counts()._asdict(),
            flips=tuple(self._flips),
        )

    def _by_value(self) -> dict[str, tuple[MetricComparison, ...]]:
        slices = sorted(self._slices.items(), key=lambda item: -len(item[1]))
        compared = {value: self._paired.compared(places) for value, places in slices}
        tested = iter(adjusted([metric for metrics in compared.values() for metric in metrics]))
        return {value: tuple(itertools.islice(tested, len(metrics))) for value, metrics in compared.items()}

    def _in_one_only(self, metric: str) -> DiscordantCounts:
        a, b = self._discordant[metric, True], self._discordant[metric, False]
        return DiscordantCounts(only_a=a, only_b=b, p=mcnemar_exact(a, b))

    def _abstained(self, a: Overview, b: Overview) -> Iterator[str]:
        for name, facts in (("A", a), ("B", b)):
            shared = {metric: found for metric, found in facts.summary.metrics.items() if metric in self._paired.values}
            if said := open_to_doubt(shared):
                yield f"{name}: {said}. The difference says little."


def _source(manifest: Manifest) -> str:
    """Return whose scores the metrics of a run are."""
    return CLAIMS if manifest.of_claims else manifest.job


def shared_metrics(a: Manifest, b: Manifest) -> tuple[Metric, ...]:
    """Return the metrics over claims that two runs share, by name and by what they compare."""
    theirs = {(other.name, other.claims_of, other.against) for other in b.rows}
    return tuple(metric for metric in a.rows if (metric.name, metric.claims_of, metric.against) in theirs)


def shared_others(a: Manifest, b: Manifest) -> tuple[str, ...]:
    """The metrics that are not over claims and that two runs of one job share."""
    return tuple(name for name in a.others if name in b.others and a.job == b.job)


def adjusted(compared: Sequence[M]) -> list[M]:
    """Return the comparisons with p after Holm's correction over all of them."""
    by_holm = iter(holm([one.p for one in compared if one.p is not None]))
    return [one if one.p is None else one.model_copy(update={"p_adjusted": next(by_holm)}) for one in compared]


class Attached(NamedTuple):
    """What the runs of other jobs inside two run directories differ by."""

    metrics: tuple[MetricComparison, ...] = ()
    settings: tuple[str, ...] = ()


def _attached(a: Path, b: Path, cluster: str | None) -> Attached:
    """Compare the metrics that attached runs of the same name have in both run directories."""
    metrics: list[MetricComparison] = []
    settings: list[str] = []
    theirs = attached(b)
    for job, inside in attached(a).items():
        if job not in theirs:
            continue
        before, after = load_manifest(inside), load_manifest(theirs[job])
        settings += [f"{job}, {line}" for line in changed_settings(before, after)]
        rows = {result.sample.id: result.scores for result in read_results(theirs[job])}
        paired = PairedValues(job, shared_others(before, after), cluster or before.cluster)
        for result in read_results(inside):
            if result.sample.id in rows:
                paired.add(result, rows[result.sample.id])
        metrics += paired.compared() if paired.ids else ()
    return Attached(tuple(metrics), tuple(settings))


def _texts(result: SampleResult) -> tuple[object, ...]:
    sample = result.sample
    contexts = tuple((document.id, document.text) for document in sample.contexts or ())
    return sample.question, sample.answer, contexts, sample.reference_answers, sample.evidence


def _claims(result: SampleResult) -> list[tuple[str, str]]:
    return [(claim.id, claim.text) for claim in result.claims]


def _prompts_told(manifest: Manifest) -> dict[str, str]:
    """The prompts of a run by step; who was asked with which, where that differs from judge to judge."""
    told: dict[str, list[str]] = {}
    for prompt in manifest.prompts:
        asked = [judge for judge, prompts in manifest.asked_with.items() if prompt.id in prompts]
        some = f" to {', '.join(asked)}" if asked and len(asked) < len(manifest.judges) else ""
        told.setdefault(f"{prompt.step} prompt", []).append(f"{prompt.name} ({prompt.id}){some}")
    return {step: ", ".join(prompts) for step, prompts in told.items()}


def changed_settings(a: Manifest, b: Manifest) -> Iterator[str]:
    """What differs between two manifests."""

    def told(manifest: Manifest) -> dict[str, str]:
        """Return what a reader must know of a run."""
        return {
            "data": data_name(manifest) or "given in Python",
            "judges": ", ".join(judge.name for judge in manifest.judges),
            "extractor": manifest.extractor.name if manifest.extractor else "none",
            **_prompts_told(manifest),
            "metrics": ", ".join(manifest.names),
            "documents": "one by one" if manifest.panel.per_document else "together",
            **{name: str(value) for name, value in manifest.settings.items()},
        }

    before, after = told(a), told(b)
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            yield f"{name}: {before.get(name, 'none')} → {after.get(name, 'none')}"
    same_names = before["judges"] == after["judges"] and before["extractor"] == after["extractor"]
    if same_names and (a.judges, a.extractor) != (b.judges, b.extractor):
        yield "judges: same names, other settings"


class Point(MetricSummary):
    """The metric in one run."""

    run: str


class Change(MetricComparison):
    """A metric from one run (a) to the next (b), over the samples that have a value in both."""

    only_before: int
    """Samples that only the earlier run has."""
    only_after: int


class MetricSeries(Record):
    """One metric over all runs; `changes[i]` leads from `points[i]` to `points[i + 1]`."""

    metric: str
    """Its name; `JOB/NAME`, as in `measure/f1`, if another source has a metric of that name."""
    source: str
    """`claims` for what judges said of claims, else the kind of the scores: `lexical`, `retrieval`, ..."""
    points: tuple[Point, ...]
    changes: tuple[Change, ...]


class Series(NamedTuple):
    """All metrics, and what else was changed from each run to the next (judges, prompts, data)."""

    tracks: tuple[MetricSeries, ...]
    settings: tuple[tuple[str, ...], ...]


_Key = tuple[str, str]
"""Source and name of a metric: the same name from another source is another one."""


def track(runs: Sequence[str | Path], metrics: Sequence[str] = (), *, cluster: str | None = None) -> Series:
    """Compare each run with the one before it; the metrics of attached runs are metrics too.

    Args:
        runs: Two or more run directories, the oldest first. Metrics are joined by source and name.
        metrics: Names of metrics. Default: all that every run has.
        cluster: Field by which tests draw samples together. Default: the field of each pair's first run.

    Raises:
        UsageError: There are fewer than two runs, a run lacks one of the metrics, or two have no sample in common.
    """
    folders = [Path(run) for run in runs]
    if len(folders) < 2:
        raise UsageError(f"a track needs two runs or more, the oldest first; given {len(folders)}")
    names = [folder.name for folder in folders]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    points = [_points(folder, name) for folder, name in zip(folders, names, strict=True)]
    pairs = [compare(a, b, cluster=cluster).comparison for a, b in itertools.pairwise(folders)]
    steps = [{(m.source, m.metric.removeprefix(f"{m.source}/")): m for m in pair.metrics} for pair in pairs]
    shared = [key for key in steps[0] if all(key in step for step in steps)]
    if not shared:
        raise UsageError(f"the runs {', '.join(names)} have no metric in common")
    chosen = [key for metric in metrics for key in _called(metric, shared, points)] if metrics else shared
    changes = [
        Change(**dict(step[key]), only_before=pair.only_a, only_after=pair.only_b)
        for key in chosen
        for step, pair in zip(steps, pairs, strict=True)
    ]
    tested = iter(adjusted(changes))
    return Series(
        tracks=tuple(
            MetricSeries(
                metric=steps[0][key].metric,
                source=key[0],
                points=tuple(of_run[key] for of_run in points),
                changes=tuple(itertools.islice(tested, len(steps))),
            )
            for key in chosen
        ),
        settings=tuple(pair.settings for pair in pairs),
    )


def _points(folder: Path, name: str) -> dict[_Key, Point]:
    """Return the summaries of all metrics of a run, and of the runs attached to it."""
    sources = {_source(load_manifest(folder)): folder, **attached(folder)}
    return {
        (source, metric): Point(run=name, **dict(summary))
        for source, inside in sources.items()
        for metric, summary in load_summary(inside).metrics.items()
    }


def _called(metric: str, shared: Sequence[_Key], runs: Sequence[Mapping[_Key, Point]]) -> list[_Key]:
    """Return the metrics of that name, of whatever source; UsageError if no source has it in every run."""
    if found := [(source, name) for source, name in shared if metric in (name, f"{source}/{name}")]:
        return found
    sources = [sorted(source for source, name in run if name == metric) for run in runs]
    if all(of == sources[0] for of in sources) and sources[0]:
        raise UsageError(f"{metric} means different things in these runs: it compares other texts")
    if all(sources):
        names = [next(iter(run.values())).run for run in runs]
        said = "; ".join(f"{run}: {', '.join(of)}" for run, of in zip(names, sources, strict=True))
        raise UsageError(f"{metric} comes from different sources in these runs ({said}), so it is not one metric")
    raise unknown_name("metric that all these runs have:", metric, list(dict.fromkeys(name for _, name in shared)))
