"""Scores of the runs inside a run directory (measured, rated, graded), beside those of the run itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from pydantic import JsonValue

from claimeval.evaluation.manifest import Manifest, versions
from claimeval.evaluation.summary.run import Tallies
from claimeval.metrics.scoring import MetricSummary, SampleScores
from claimeval.runs.directory import (
    RESULTS,
    RunWriter,
    attached,
    cluster_field,
    load_manifest,
    load_summary,
    read_results,
)
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import UsageError
from claimeval.types.records import Record, SampleResult


class ScoresSummary(Record):
    """All metrics of one kind over a run."""

    kind: str
    """`lexical`, `perplexity`, `reward`, `answers`, ..."""
    settings: dict[str, str]
    """What decided the numbers: normalization, model, ..."""
    metrics: dict[str, MetricSummary]
    cluster: str | None = None
    """The field by which samples belong together in intervals; None for their question."""


def attach(
    folder: Path,
    kind: str,
    results: Iterable[SampleResult],
    units: Mapping[str, str],
    settings: Mapping[str, JsonValue] = MappingProxyType({}),
    cluster: str | None = None,
) -> None:
    """Write scores without a judge as a run inside a run directory; replaces an earlier one of that kind.

    Args:
        folder: The run directory.
        kind: The name of the folder inside it.
        results: The scores of each sample.
        units: The metrics by name, with their unit.
        settings: What decided the numbers.
        cluster: The field by which samples belong together in intervals; None for their question.
    """
    record = Manifest(job="measure", units=dict(units), settings=dict(settings), cluster=cluster, versions=versions())
    tallies = Tallies(record)
    with RunWriter(folder / kind, record, overwrite=True) as writer:
        for result in results:
            writer.add(result)
            tallies.add(result)
        writer.finish(tallies.summary())


def read(folder: Path) -> Iterator[ScoresSummary]:
    """The summaries of all kinds that a run directory holds, by name of kind."""
    for job, inside in attached(folder).items():
        manifest, summary = load_manifest(inside), load_summary(inside)
        settings = {"judges": ", ".join(judge.name for judge in manifest.judges)} if manifest.judges else {}
        settings |= {f"{prompt.step} prompt": f"{prompt.name} {prompt.digest[:12]}" for prompt in manifest.prompts}
        settings |= {name: str(value) for name, value in manifest.settings.items()}
        yield ScoresSummary(kind=job, settings=settings, metrics=summary.metrics, cluster=manifest.cluster)


def stand_alone(folder: Path) -> bool:
    """Whether a folder holds such scores without a run of claims, as a command wrote them that scored a data file."""
    if (folder / RESULTS).exists():
        return not load_manifest(folder).metrics
    return bool(attached(folder))


def sources(folder: Path) -> dict[str, ScoresSummary]:
    """The scores of a folder by kind: those of a run without claims under its job, and those beside a run."""
    found = {side.kind: side for side in read(folder)}
    if (folder / RESULTS).exists() and not (manifest := load_manifest(folder)).metrics:
        settings = {name: str(value) for name, value in manifest.settings.items()}
        metrics = load_summary(folder).metrics
        found[manifest.job] = ScoresSummary(
            kind=manifest.job, settings=settings, metrics=metrics, cluster=manifest.cluster
        )
    return found


def clustering(folder: Path, given: str | None) -> str | None:
    """By which field the samples of a folder belong together: the given one, or its own; None for the question.

    UsageError where scores without samples were made by another field than the given one.
    """
    if not stand_alone(folder):
        return cluster_field(folder, given)
    if (folder / RESULTS).exists():
        return cluster_field(folder, given)
    own = {side.cluster for side in read(folder)}
    if given is not None and own != {given}:
        raise UsageError(
            f"{folder} holds scores without their samples, so they cannot be drawn by {given!r}; give --cluster to the "
            "command that makes the scores"
        )
    return own.pop() if len(own) == 1 else None


def shared(a: Path, b: Path) -> dict[str, list[str]]:
    """The metrics that two folders have, by kind: the same name from another kind of scores is another metric."""
    theirs = {kind: side.metrics for kind, side in sources(b).items()}
    return {kind: [name for name in side.metrics if name in theirs.get(kind, ())] for kind, side in sources(a).items()}


def changed_settings(a: Path, b: Path) -> Iterator[str]:
    """What differs between two runs in how the side scores that both have were made."""
    before = {kind: side.settings for kind, side in sources(a).items()}
    for side in sources(b).values():
        told = before.get(side.kind, side.settings)
        for name in dict.fromkeys([*told, *side.settings]):
            if told.get(name) != side.settings.get(name):
                yield f"{side.kind}, {name}: {told.get(name, 'none')} → {side.settings.get(name, 'none')}"


def rows(folder: Path, kind: str) -> Iterator[SampleScores]:
    """The rows of one kind, in the order of the samples."""
    inside = attached(folder).get(kind, folder)
    field = load_manifest(inside).cluster
    for result in read_results(inside):
        cluster = cluster_of(result.sample, field)
        yield SampleScores(id=result.sample.id, scores=result.scores, details=result.details, cluster=cluster)
