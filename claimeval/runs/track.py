"""A metric over runs of the same samples in time: each run's mean, and what changed from one run to the next."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from claimeval.evaluation.manifest import Manifest
from claimeval.metrics.scoring import MetricSummary
from claimeval.runs import scores
from claimeval.runs.compare import changed_settings
from claimeval.runs.directory import RESULTS, load_manifest, load_summary, read_results
from claimeval.statistics import holm, paired_difference
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import DataError, UsageError, unknown_name
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record

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
    """Its name; with its source behind it, as in `f1 (lexical)`, if another source has a metric of that name."""
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


class _Run(NamedTuple):
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
    field = scores.clustering(folders[0], cluster)
    for folder in filter(scores.stand_alone, folders[1:]):
        scores.clustering(folder, cluster)
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
    names_of = [key.name for key in changes]
    return Series(
        tracks=tuple(
            MetricSeries(
                metric=f"{key.name} ({key.source})" if names_of.count(key.name) > 1 else key.name,
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
                *scores.changed_settings(a.folder, b.folder),
            )
            for a, b in steps
        ),
    )


def _called(metric: str, shared: Sequence[_Key], runs: Sequence[_Run]) -> list[_Key]:
    """The metrics of that name, of whatever source; UsageError if no source has it in every run."""
    found = [key for key in shared if key.name == metric]
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


def _read(folder: Path, name: str, cluster: str | None) -> _Run:
    points: dict[_Key, Point] = {}
    values: dict[_Key, dict[str, float | None]] = {}
    clusters: dict[str, int] = {}
    manifest = load_manifest(folder) if (folder / RESULTS).exists() or not scores.stand_alone(folder) else None
    if manifest:
        found = load_summary(folder).metrics
        source = CLAIMS if manifest.metrics else manifest.job
        points = {_Key(source, metric): _point(name, summary) for metric, summary in found.items()}
        values = {key: {} for key in points}
        for result in read_results(folder):
            if result.sample.id in clusters:
                raise DataError(f"{folder}: duplicate sample id {result.sample.id!r}")
            clusters[result.sample.id] = cluster_of(result.sample, cluster)
            for score in result.scores:
                values[_Key(source, score.metric)][result.sample.id] = score.value
    for side in scores.read(folder):
        points |= {_Key(side.kind, metric): _point(name, summary) for metric, summary in side.metrics.items()}
        values |= {_Key(side.kind, metric): {} for metric in side.metrics}
        for row in scores.rows(folder, side.kind):
            clusters.setdefault(row.id, row.cluster_key)
            for metric, value in row.values.items():
                values[_Key(side.kind, metric)][row.id] = value
    return _Run(name, folder, manifest, points, values, clusters)


def _point(run: str, found: MetricSummary) -> Point:
    return Point(run=run, **dict(found))


def _check_meaning(runs: Sequence[_Run], metrics: Sequence[_Key]) -> None:
    manifests = [run.manifest for run in runs if run.manifest]
    for metric in (key.name for key in metrics if key.source == CLAIMS):
        meant = {(m.claims_of, m.against) for manifest in manifests for m in manifest.metrics if m.name == metric}
        if len(meant) > 1:
            ways = " and ".join(f"{of}:{against}" for of, against in sorted(meant))
            raise UsageError(f"{metric} means different things in these runs: {ways}")


def _change(a: _Run, b: _Run, metric: _Key) -> Change:
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
