"""Runs over the same samples, aligned by sample id: pairs with their flipped claims, and series of two or more."""

from __future__ import annotations

import heapq
import itertools
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from claimeval.evaluation.manifest import Manifest
from claimeval.metrics.flips import Flip, FlipTally
from claimeval.metrics.rows import Metric
from claimeval.metrics.scoring import MetricSummary
from claimeval.runs import directory
from claimeval.runs.directory import RESULTS, cluster_field, from_line, load_manifest, load_summary, read_results
from claimeval.runs.overview import Gathering, MetricComparison, Overview, PairedRuns, data_name, open_to_doubt
from claimeval.statistics import holm, paired_difference
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import DataError, UsageError, unknown_name
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record, SampleResult

SHOWN = 20


class SamplePair(NamedTuple):
    """One sample in both runs."""

    a: SampleResult
    b: SampleResult


class Other:
    """A run whose results are looked up by sample id; of the results only their places in the file are held."""

    def __init__(self, folder: Path) -> None:
        self.manifest = load_manifest(folder)
        gathering = Gathering(self.manifest)
        self._path = folder / RESULTS
        self._places: dict[str, int] = {}
        place = 0
        for result, length in zip(read_results(folder), _lengths(self._path), strict=True):
            self._places[result.sample.id] = place
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


def _lengths(path: Path) -> Iterator[int]:
    """The lengths of a file's lines in bytes."""
    with path.open("rb") as file:
        yield from map(len, file)


class Compared(NamedTuple):
    """Two runs and what they differ by."""

    a: Overview
    b: Overview
    comparison: PairedRuns


def compare(
    a: Path, b: Path, each: Callable[[SamplePair, int], None] | None = None, *, cluster: str | None = None
) -> Compared:
    """Compare two run directories.

    Args:
        a: The first run.
        b: The second run.
        each: Called with every shared sample and its number of flipped claims.
        cluster: Field by which intervals and tests draw samples together. Default: the field of the first run.

    Returns:
        The comparison of every shared metric.

    Raises:
        DataError: If one directory holds no finished run.
        UsageError: If the runs share no metric or no sample.
    """
    other, manifest = Other(b), load_manifest(a)
    gathering, comparing = Gathering(manifest), Comparing(manifest, other.manifest, cluster_field(a, cluster))

    def counted() -> Iterator[SampleResult]:
        for result in read_results(a):
            gathering.add(result)
            yield result

    for pair in other.pairs(counted()):
        flipped = comparing.add(pair)
        if each:
            each(pair, flipped)
    facts = gathering.facts(a)
    return Compared(facts, other.facts, comparing.comparison(facts, other.facts))


class Comparing:
    """Takes the shared samples of two runs one by one."""

    def __init__(self, a: Manifest, b: Manifest, cluster: str | None) -> None:
        self._a, self._b, self._cluster = a, b, cluster
        self._clusters = array("q")
        self.metrics = shared_metrics(a, b)
        derived = (name for name in a.derived if name in b.derived)
        names = (*(metric.name for metric in self.metrics), *derived, *shared_units(a, b))
        self._values: dict[str, list[tuple[float | None, float | None]]] = {name: [] for name in names}
        self._other_texts = self._other_claims = 0
        self._tally = flip_tally(a, b)
        self._flips: list[Flip] = []

    def add(self, pair: SamplePair) -> int:
        """Counts one sample in and says how many of its claims flipped."""
        self._clusters.append(cluster_of(pair.a.sample, self._cluster))
        for name, values in self._values.items():
            values.append((pair.a.score(name).value, pair.b.score(name).value))
        self._other_texts += _texts(pair.a) != _texts(pair.b)
        self._other_claims += _claims(pair.a) != _claims(pair.b)
        found = self._tally.add(pair.a, pair.b)
        self._flips += found[: SHOWN - len(self._flips)]
        return len(found)

    def comparison(self, a: Overview, b: Overview) -> PairedRuns:
        """What the pairs come to. UsageError where the runs share no sample."""
        shared = len(self._clusters)
        if not shared:
            raise UsageError(f"the runs {a.name} and {b.name} have no sample id in common")
        metrics = [pair_up(name, values, self._clusters) for name, values in self._values.items()]
        tested = [i for i, metric in enumerate(metrics) if metric.p is not None]
        adjusted = dict(zip(tested, holm([metrics[i].p or 0.0 for i in tested]), strict=True))
        return PairedRuns(
            a=a.name,
            b=b.name,
            shared=shared,
            clusters=len(set(self._clusters)),
            cluster=self._cluster,
            only_a=a.summary.samples - shared,
            only_b=b.summary.samples - shared,
            other_texts=self._other_texts,
            other_claims=self._other_claims,
            settings=tuple(changed_settings(self._a, self._b)),
            abstained=tuple(self._abstained(a, b)),
            metrics=tuple(m.model_copy(update={"p_adjusted": adjusted.get(i)}) for i, m in enumerate(metrics)),
            **self._tally.counts()._asdict(),
            flips=tuple(self._flips),
        )

    def _abstained(self, a: Overview, b: Overview) -> Iterator[str]:
        for name, facts in (("A", a), ("B", b)):
            shared = {metric: found for metric, found in facts.summary.metrics.items() if metric in self._values}
            if said := open_to_doubt(shared):
                yield f"{name}: {said}. The difference says little."


def shared_metrics(a: Manifest, b: Manifest) -> tuple[Metric, ...]:
    """The metrics over claims that two runs share, by name and by what they compare.

    UsageError if they share no metric at all.
    """
    metrics = tuple(metric for metric in a.metrics if _row(metric) in {_row(other) for other in b.metrics})
    if not metrics and not shared_units(a, b):
        names = [", ".join(manifest.names) for manifest in (a, b)]
        raise UsageError(f"the runs have no metric in common: one has {names[0]}, the other {names[1]}")
    return metrics


def shared_units(a: Manifest, b: Manifest) -> tuple[str, ...]:
    """The metrics that are not over claims and have the same unit in both runs."""
    return tuple(name for name, unit in a.units.items() if b.units.get(name) == unit)


def flip_tally(a: Manifest, b: Manifest) -> FlipTally:
    """Counts flips between two runs, over the claims and evidence that metrics of both score."""
    graded = a.panel.scale.ordered and a.panel.scale == b.panel.scale
    return FlipTally({(metric.claims_of, metric.against) for metric in shared_metrics(a, b)}, graded=graded)


def pair_up(name: str, values: list[tuple[float | None, float | None]], clusters: Sequence[int]) -> MetricComparison:
    """One metric from its values in both runs, sample by sample, and what each sample belongs to."""
    both = [(x, y) for x, y in values if x is not None and y is not None]
    paired = paired_difference([y for _, y in values], [x for x, _ in values], clusters=clusters)
    return MetricComparison(
        metric=name,
        n=len(both),
        clusters=paired.clusters,
        a=sum(x for x, _ in both) / len(both) if both else None,
        b=sum(y for _, y in both) / len(both) if both else None,
        difference=Estimate.of(paired),
        p=paired.p,
        p_adjusted=None,
        higher=sum(y > x for x, y in both),
        lower=sum(y < x for x, y in both),
        dropped=paired.dropped,
    )


def _row(metric: Metric) -> tuple[str, str, str]:
    return metric.name, metric.claims_of, metric.against


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
        return {
            "data": data_name(manifest) or "given in Python",
            "judges": ", ".join(judge.name for judge in manifest.judges),
            "extractor": manifest.extractor.name if manifest.extractor else "none",
            **_prompts_told(manifest),
            "metrics": ", ".join(manifest.names),
            "documents": "one by one" if manifest.panel.per_document else "together",
        }

    before, after = told(a), told(b)
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            yield f"{name}: {before.get(name, 'none')} → {after.get(name, 'none')}"
    same_names = before["judges"] == after["judges"] and before["extractor"] == after["extractor"]
    if same_names and (a.judges, a.extractor) != (b.judges, b.extractor):
        yield "judges: same names, other settings"


MOVED = 5
"""Samples that moved most, named for each step."""


class Point(MetricSummary):
    """The metric in one run."""

    run: str


class Moved(Record):
    """A sample whose value changed."""

    sample: str
    before: float
    after: float


class Change(Record):
    """From one run to the next, over the samples that have a value in both."""

    dropped: int
    """Samples of both runs that lack a value in one."""
    only_before: int
    only_after: int
    difference: Estimate
    """Mean of after minus before."""
    p: float | None
    """Of the sign-flip test over pairs."""
    p_adjusted: float | None = None
    """By Holm over all steps and metrics that were tested together."""
    higher: int
    lower: int
    moved: tuple[Moved, ...]
    """Those that moved most, the greatest first."""


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


class _Key(NamedTuple):
    """A metric: the same name from another source is another one."""

    source: str
    name: str


CLAIMS = "claims"
"""The source of metrics of claims."""


class _LoadedRun(NamedTuple):
    name: str
    folder: Path
    manifest: Manifest | None
    """None for a folder with nothing but scores that are not of claims."""
    points: Mapping[_Key, Point]
    values: Mapping[_Key, Mapping[str, float | None]]
    """Metric to sample to value."""
    clusters: Mapping[str, int]
    """What each sample belongs to."""


def track(runs: Sequence[str | Path], metrics: Sequence[str] = (), *, cluster: str | None = None) -> Series:
    """Lays the runs side by side in the order given, the oldest first; side scores are metrics too.

    Folders that hold side scores alone, as `claimeval retrieval` writes them, are runs as well. Metrics are joined by
    source and name. Tests draw whole questions, or samples with the same value of the field `cluster`, by default what
    the first run's intervals did. Without `metrics` all that every run has. UsageError where a run lacks one, where a
    name means different things in two runs, and for fewer than two runs.
    """
    folders = [Path(run) for run in runs]
    if len(folders) < 2:
        raise UsageError(f"a track needs two runs or more, the oldest first; given {len(folders)}")
    names = _names(folders)
    field = directory.clustering(folders[0], cluster)
    for folder in filter(directory.stand_alone, folders[1:]):
        directory.clustering(folder, cluster)
    read = [_read(folder, name, field) for folder, name in zip(folders, names, strict=True)]
    shared = [key for key in read[0].points if all(key in run.points for run in read)]
    chosen = [key for metric in metrics for key in _called(metric, shared, read)] if metrics else shared
    if not chosen:
        raise UsageError(f"the runs {', '.join(names)} have no metric in common")
    _check_meaning(read, chosen)
    steps = list(itertools.pairwise(read))
    changes = {metric: [_change(a, b, metric) for a, b in steps] for metric in chosen}
    tested = [change.p for found in changes.values() for change in found if change.p is not None]
    adjusted = iter(holm(tested))
    of_claims = [key.name for key in changes if key.source == CLAIMS]
    labels = directory.joint_names([key for key in changes if key.source != CLAIMS], of_claims)
    return Series(
        tracks=tuple(
            MetricSeries(
                metric=labels.get(key, key.name),
                source=key.source,
                points=tuple(run.points[key] for run in read),
                changes=tuple(
                    change if change.p is None else change.model_copy(update={"p_adjusted": next(adjusted)})
                    for change in found
                ),
            )
            for key, found in changes.items()
        ),
        settings=tuple(
            (
                *(changed_settings(a.manifest, b.manifest) if a.manifest and b.manifest else ()),
                *directory.changed_settings(a.folder, b.folder),
            )
            for a, b in steps
        ),
    )


def _called(metric: str, shared: Sequence[_Key], runs: Sequence[_LoadedRun]) -> list[_Key]:
    """The metrics of that name, of whatever source; UsageError if no source has it in every run."""
    found = [key for key in shared if metric in (key.name, f"{key.source}/{key.name}")]
    if found:
        return found
    sources = {run.name: sorted(key.source for key in run.points if key.name == metric) for run in runs}
    if all(sources.values()):
        said = "; ".join(f"{run}: {', '.join(of)}" for run, of in sources.items())
        raise UsageError(f"{metric} comes from different sources in these runs ({said}), so it is not one metric")
    raise unknown_name("metric that all these runs have:", metric, list(dict.fromkeys(key.name for key in shared)))


def _names(folders: Sequence[Path]) -> list[str]:
    """The last parts of the paths where these differ, else the paths."""
    names = [folder.name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]


def _read(folder: Path, name: str, cluster: str | None) -> _LoadedRun:
    points: dict[_Key, Point] = {}
    values: dict[_Key, dict[str, float | None]] = {}
    clusters: dict[str, int] = {}
    manifest = load_manifest(folder) if (folder / RESULTS).exists() or not directory.stand_alone(folder) else None
    if manifest:
        found = load_summary(folder).metrics
        source = CLAIMS if manifest.metrics else manifest.job
        points = {_Key(source, metric): _point(name, summary) for metric, summary in found.items()}
        values = {key: {} for key in points}
        for result in read_results(folder):
            if result.sample.id in clusters:
                raise DataError(f"{folder}: duplicate sample id {result.sample.id!r}")
            clusters[result.sample.id] = cluster_of(result.sample, cluster)
            for metric, score in result.scores.items():
                values[_Key(source, metric)][result.sample.id] = score.value
    for side in directory.read(folder):
        points |= {_Key(side.kind, metric): _point(name, summary) for metric, summary in side.metrics.items()}
        values |= {_Key(side.kind, metric): {} for metric in side.metrics}
        for row in directory.rows(folder, side.kind):
            clusters.setdefault(row.id, row.cluster)
            for metric, value in row.values.items():
                values[_Key(side.kind, metric)][row.id] = value
    return _LoadedRun(name, folder, manifest, points, values, clusters)


def _point(run: str, found: MetricSummary) -> Point:
    return Point(run=run, **dict(found))


def _check_meaning(runs: Sequence[_LoadedRun], metrics: Sequence[_Key]) -> None:
    manifests = [run.manifest for run in runs if run.manifest]
    for metric in (key.name for key in metrics if key.source == CLAIMS):
        meant = {(m.claims_of, m.against) for manifest in manifests for m in manifest.metrics if m.name == metric}
        if len(meant) > 1:
            ways = " and ".join(f"{of}:{against}" for of, against in sorted(meant))
            raise UsageError(f"{metric} means different things in these runs: {ways}")


def _change(a: _LoadedRun, b: _LoadedRun, metric: _Key) -> Change:
    before, after = a.values[metric], b.values[metric]
    both = [sample for sample in before if sample in after]
    if not both:
        raise UsageError("two neighbouring runs have no sample id in common; give runs of the same test set")
    found = paired_difference(
        [after[sample] for sample in both],
        [before[sample] for sample in both],
        clusters=[a.clusters[sample] for sample in both],
    )
    moved = [
        Moved(sample=sample, before=old, after=new)
        for sample in both
        if (old := before[sample]) is not None and (new := after[sample]) is not None and old != new
    ]
    return Change(
        dropped=found.dropped,
        only_before=len(before) - len(both),
        only_after=len(after) - len(both),
        difference=Estimate.of(found),
        p=found.p,
        higher=sum(one.after > one.before for one in moved),
        lower=sum(one.after < one.before for one in moved),
        moved=tuple(heapq.nlargest(MOVED, moved, key=lambda one: abs(one.after - one.before))),
    )
