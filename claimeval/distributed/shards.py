"""A shard of a run: the job is done for some of its items, and what they add up to is kept beside their results.

A process that has one shard to do calls `run_shard`. An engine that spreads shards over machines sends a `Recipe` and
the items, calls `score_shard` there with an executor of its own, and writes what comes back with `write_part`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from claimeval.distributed.attempts import Attempts, AttemptsFile, WatchedJob, WatchedMeasure
from claimeval.distributed.parts import DONE, Part, PartIndex, PartTallies, PartWriter
from claimeval.evaluation.job import Job, Reiterable
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.measure import MeasureJob, measure_samples
from claimeval.execution import Executor, ItemJob, RunStatus
from claimeval.execution.concurrently import map_in_order
from claimeval.execution.runner import WINDOW, run_items, workers_for
from claimeval.runs import lines
from claimeval.runs.lines import WrittenResult
from claimeval.runs.revote import Revote
from claimeval.types.options import RunOptions, Shard
from claimeval.types.progress import Progress
from claimeval.types.records import SampleResult
from claimeval.types.requests import Learned


@dataclass(frozen=True)
class Recipe:
    """What is done for each item of a run. Can be pickled; prompts travel as their text, not as paths."""

    job: Job[Any] | MeasureJob
    manifest: Manifest
    """The manifest of the whole run."""
    options: RunOptions = RunOptions()
    recounts: bool = False
    """Whether only the votes of a source are counted again, and nobody is asked."""

    def __getstate__(self) -> dict[str, Any]:
        """A copy for elsewhere shows no progress here."""
        return {**vars(self), "options": replace(self.options, progress=None)}


class ShardResult(NamedTuple):
    """The results of a shard, as they are written and added up."""

    results: bytes
    """Lines of `results.jsonl`."""
    replies: bytes
    """Lines of `replies.jsonl`."""
    samples: int
    has_calls: bool
    """Whether a judge was asked anything."""
    tallies: Mapping[str, Any]


def cut(items: int, shard: Shard) -> range:
    """Return the numbers of the items of a shard; shards are consecutive, and differ by one item at most."""
    return range(items * (shard.number - 1) // shard.count, items * shard.number // shard.count)


async def run_shard(
    recipe: Recipe, part: Part, items: Iterable[Any], positions: range, progress: Progress, run: str
) -> tuple[PartIndex | None, PartTallies, RunStatus]:
    """Do the job for the items of a shard, and put its part in place if it came to its end.

    Args:
        recipe: What is done.
        part: Where the results are written.
        items: The items of this shard; with batches they are iterated several times.
        positions: Their numbers among all items of the run.
        progress: Told of every item and call.
        run: What the caps are for, the same for all shards.

    Returns:
        The index of the part, None if it stopped early; what the samples add up to; and how the shard ended.
    """
    with PartWriter(part) as writer, AttemptsFile(part.attempts_file) as attempts:
        watch = None if recipe.recounts or recipe.options.batch else attempts
        tallies, status = await evaluate(recipe, items, writer.add, progress=progress, run=run, attempts=watch)
        index = None
        if status.complete:
            index = writer.finish(recipe.manifest, positions, tallies.state(), status.learned)
            attempts.forget()
    return index, tallies, status


async def score_shard(
    recipe: Recipe, items: Iterable[Any], *, executor: Executor | None = None, attempts: Attempts | None = None
) -> tuple[ShardResult, RunStatus]:
    """Do the job for the items of a shard, and return what a part is made of, and how it ended.

    Args:
        recipe: What is done.
        items: The items of this shard.
        executor: Answers the questions of the job; None asks as the options say.
        attempts: What is known of items that ended their process, and is told of those in work.
    """
    written: list[WrittenResult] = []
    tallies, status = await evaluate(
        recipe,
        items,
        lambda result: written.append(lines.write(result)),
        progress=Progress(),
        executor=executor,
        attempts=attempts,
    )
    result = ShardResult(
        results=b"".join(each.line for each in written),
        replies=b"".join(each.replies for each in written),
        samples=len(written),
        has_calls=any(each.asked for each in written),
        tallies=tallies.state(),
    )
    return result, status


def write_part(
    recipe: Recipe, part: Part, positions: range, result: ShardResult, learned: Mapping[str, Learned] | None = None
) -> PartIndex:
    """Put the part of a shard in place that was scored elsewhere.

    Args:
        recipe: What was done.
        part: Where it is written.
        positions: The numbers of its items among all items of the run.
        result: What `score_shard` returned.
        learned: What was learned of the judges' servers.
    """
    with PartWriter(part) as writer:
        writer.add_lines(result.results, result.replies, result.samples, has_calls=result.has_calls)
        return writer.finish(recipe.manifest, positions, result.tallies, learned or {})


async def evaluate(
    recipe: Recipe,
    items: Iterable[Any],
    on_result: Callable[[SampleResult], None],
    *,
    progress: Progress,
    run: str = "",
    executor: Executor | None = None,
    attempts: Attempts | None = None,
) -> tuple[PartTallies, RunStatus]:
    """Do the job for the items, and add their results up.

    Args:
        recipe: What is done.
        items: The items.
        on_result: Gets each result, in the order of the items.
        progress: Told of every item.
        run: What the caps are for.
        executor: Answers the questions of the job; None opens the reply cache and the judges here.
        attempts: Told of the items in work; None where nobody asks.
    """
    tallies = PartTallies(recipe.manifest, recipe.options.prices)

    def take(result: SampleResult) -> None:
        tallies.add(result)
        on_result(result)

    options = recipe.options
    if recipe.recounts:
        for result in map(Revote(recipe.manifest), items):
            take(result)
            progress.sample_done()
        return tallies, DONE
    if isinstance(recipe.job, MeasureJob):
        measuring = WatchedMeasure(recipe.job, attempts) if attempts else recipe.job
        return tallies, measure_samples(measuring, items, options=options, progress=progress, on_result=take)
    job: ItemJob[Any, SampleResult] = recipe.job
    if attempts:
        job, items = WatchedJob.of(recipe.job, attempts), Reiterable(partial(enumerate, items))
    if executor is None:
        return tallies, await run_items(job, items, options=options, progress=progress, on_result=take, run=run)
    workers = workers_for(options)
    async for result in map_in_order(items, lambda item: job.evaluate(item, executor), workers, WINDOW * workers):
        take(result)
        progress.sample_done()
    return tallies, DONE
