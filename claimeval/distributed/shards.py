"""Shards of a run: running the job for some of its items, and writing their results as a part.

A process with one shard calls `run_shard`. An engine for several machines sends a `Recipe` and the
items, calls `score_shard` on the other machine, and writes the result with `write_part`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from claimeval.distributed.attempts import Attempts, AttemptsFile, WatchedJob, WatchedMeasure
from claimeval.distributed.parts import Part, PartIndex, PartWriter
from claimeval.evaluation.job import Job, Reiterable
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.measure import MeasureJob
from claimeval.evaluation.summary import SummaryBuilder
from claimeval.execution import DONE, ComputedJob, ItemJob, RunStatus
from claimeval.execution.runner import run_job
from claimeval.providers.prices import Price
from claimeval.runs import lines
from claimeval.runs.lines import WrittenResult
from claimeval.types.options import RunOptions, Shard
from claimeval.types.progress import Progress
from claimeval.types.records import SampleResult


@dataclass(frozen=True)
class Recipe:
    """The job of a run with its settings. Can be pickled; prompts are included as text, not as
    paths."""

    job: Job[Any] | ComputedJob[SampleResult]
    manifest: Manifest
    """The manifest of the whole run."""
    options: RunOptions = RunOptions()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the progress, which belongs to this process."""
        return {**vars(self), "options": replace(self.options, progress=None)}


class ShardResult(NamedTuple):
    """The serialized results of a shard, and the prices of its judges."""

    written: Sequence[WrittenResult]
    prices: Mapping[str, Price | None]


def cut(items: int, shard: Shard) -> range:
    """Return the positions of the items of a shard; shards are consecutive, and their sizes differ
    by one at most."""
    return range(items * (shard.number - 1) // shard.count, items * shard.number // shard.count)


async def run_shard(
    recipe: Recipe, part: Part, items: Iterable[Any], positions: range, progress: Progress, run: str
) -> tuple[PartIndex | None, SummaryBuilder, RunStatus]:
    """Run the job for the items of a shard, and write its part if it is complete.

    Args:
        recipe: The job and its settings.
        part: The part to write.
        items: The items of this shard, which may be iterated several times.
        positions: Their positions among all items of the run.
        progress: Updated with every item and call.
        run: The name of the budget, the same for all shards.

    Returns:
        The index of the part, or None if it stopped early; the tallies; and the status of the
        shard.
    """
    while True:
        with PartWriter(part) as writer, AttemptsFile(part.attempts_file) as attempts:
            watch = None if recipe.options.batch else attempts
            tallies, status = await _run(
                recipe,
                items,
                writer.add,
                progress,
                run=run,
                attempts=watch,
            )
            if not status.complete:
                return None, tallies, status
            if not status.again:
                index = writer.finish(recipe.manifest, positions, tallies.prices, status)
                attempts.forget()
                return index, tallies, status
        progress.begin_again()


async def score_shard(
    recipe: Recipe, items: Iterable[Any], attempts: Attempts | None = None
) -> tuple[ShardResult, RunStatus]:
    """Run the job for the items of a shard, and return the content of its part and its status."""
    written: list[WrittenResult] = []
    tallies, status = await _run(
        recipe,
        items,
        lambda result: written.append(lines.write(result)),
        Progress(),
        attempts=attempts,
    )
    return ShardResult(written, tallies.prices), status


def write_part(
    recipe: Recipe,
    part: Part,
    positions: range,
    result: ShardResult,
    status: RunStatus = DONE,
) -> PartIndex:
    """Write the part of a shard that another machine has scored.

    Args:
        recipe: The job and its settings.
        part: The part to write.
        positions: The positions of its items among all items of the run.
        result: The result of `score_shard`.
        status: How the shard ended, with the lessons about the judges' servers.
    """
    with PartWriter(part) as writer:
        for written in result.written:
            writer.write(written)
        return writer.finish(recipe.manifest, positions, result.prices, status)


async def _run(
    recipe: Recipe,
    items: Iterable[Any],
    sink: Callable[[SampleResult], None],
    progress: Progress,
    *,
    run: str = "",
    attempts: Attempts | None = None,
) -> tuple[SummaryBuilder, RunStatus]:
    """Run the job for the items with `run_job`, and return the tallies of their results."""
    tallies = SummaryBuilder(recipe.manifest, recipe.options.prices)

    def take(result: SampleResult) -> None:
        tallies.add(result)
        sink(result)

    job: ItemJob[Any, SampleResult] | ComputedJob[SampleResult] = recipe.job
    if attempts and isinstance(recipe.job, MeasureJob):
        job = WatchedMeasure(recipe.job, attempts)
    elif attempts and not isinstance(recipe.job, ComputedJob):
        job = WatchedJob(recipe.job, attempts)
        items = Reiterable(partial(enumerate, items))
    return tallies, await run_job(job, items, take, recipe.options, progress, run=run)
