"""Scores that are not of claims (lexical, perplexity, reward, ratings of whole answers), beside those of a run.

`scores/KIND.jsonl` has a line a sample and `scores/KIND.json` what they add up to, so that one table shows both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from claimeval.metrics.scoring import MetricSummary, MetricTally, SampleScores
from claimeval.runs.directory import RESULTS, attached, cluster_field, load_manifest, load_summary, read_results
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import DataError, UsageError
from claimeval.types.records import Record

FOLDER = "scores"


class ScoresSummary(Record):
    """All metrics of one kind over a run."""

    kind: str
    """`lexical`, `perplexity`, `reward`, `answers`, ..."""
    settings: dict[str, str]
    """What decided the numbers: normalization, model, ..."""
    metrics: dict[str, MetricSummary]
    cluster: str | None = None
    """The field by which samples belong together in intervals; None for their question."""


class ScoresTally:
    """Adds up the scores of one kind as they come."""

    def __init__(self) -> None:
        self._tallies: dict[str, MetricTally] = {}

    def add(self, row: SampleScores) -> None:
        """Counts one sample in."""
        for score in row.scores:
            tally = self._tallies.setdefault(score.metric, MetricTally(unit=score.unit))
            tally.add(score, cluster=row.cluster_key)

    def summary(self, kind: str, settings: Mapping[str, str], cluster: str | None = None) -> ScoresSummary:
        """What the samples so far come to."""
        metrics = {metric: tally.summary() for metric, tally in self._tallies.items()}
        return ScoresSummary(kind=kind, settings=dict(settings), metrics=metrics, cluster=cluster)


def write(
    folder: Path,
    kind: str,
    rows: Iterable[SampleScores],
    settings: Mapping[str, str],
    cluster: str | None = None,
) -> ScoresSummary:
    """Writes the rows of one kind as they come, then what they add up to; replaces an earlier writing of that kind.

    `cluster` is the field by which the rows say that they belong together.
    """
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    path = folder / FOLDER / f"{kind}.jsonl"
    part = path.with_name(path.name + ".part")
    sums = ScoresTally()
    with part.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(row.model_dump_json(exclude_defaults=True) + "\n")
            sums.add(row)
    part.replace(path)
    summary = sums.summary(kind, settings, cluster)
    path.with_suffix(".json").write_text(json.dumps(summary.model_dump(), indent=1) + "\n", encoding="utf-8")
    return summary


def read(folder: Path) -> Iterator[ScoresSummary]:
    """The summaries of all kinds that a run directory holds, by name of kind."""
    for path in sorted((folder / FOLDER).glob("*.json")):
        try:
            yield ScoresSummary.model_validate_json(path.read_bytes())
        except ValidationError as error:
            raise DataError(f"{path} is not a summary of scores: {error.errors()[0]['msg']}") from error
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
    return any((folder / FOLDER).glob("*.json"))


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
    inside = attached(folder).get(kind)
    if inside is None and (folder / RESULTS).exists() and not (folder / FOLDER / f"{kind}.jsonl").exists():
        inside = folder
    if inside:
        field = load_manifest(inside).cluster
        for result in read_results(inside):
            cluster = cluster_of(result.sample, field)
            yield SampleScores(id=result.sample.id, scores=result.scores, details=result.details, cluster=cluster)
        return
    with (folder / FOLDER / f"{kind}.jsonl").open("rb") as file:
        for line in file:
            yield SampleScores.model_validate_json(line)
