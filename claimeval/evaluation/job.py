"""The protocol of jobs, and `run_job`, which runs any job on items.

A job defines the requests and the scores of an item: a sample, an earlier result, or a document. Each item gives one
result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Generic, NamedTuple, Protocol, TypeVar

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary, SummaryBuilder
from claimeval.execution import ItemJob, RunStatus
from claimeval.execution.runner import run_items
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import SampleResult
from claimeval.types.requests import Judge

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Job(ItemJob[T_contra, SampleResult], Protocol[T_contra]):
    """The requests and scores of items. Jobs can be pickled."""

    @property
    def name(self) -> str:
        """The job's name in the manifest: `score`, `rate`, `grade`, ..."""

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The judges whose verdicts count."""

    @property
    def manifest(self) -> Manifest:
        """All settings that affect numbers: metrics, prompts, judges, panel, settings."""


class Reiterable(Generic[T]):
    """An iterable that can be iterated more than once; each pass reads the items from the start.

    With `hold`, the items of the first complete pass are kept, and later passes read nothing.
    """

    identity: Callable[[], str] | None = None
    """Return a text that identifies the items, whatever their order, if that is known without reading them."""

    def __init__(self, begin: Callable[[], Iterator[T]], *, hold: bool = False) -> None:
        self._begin = begin
        self._hold = hold
        self._items: list[T] | None = None

    def __iter__(self) -> Iterator[T]:
        if self._items is not None:
            return iter(self._items)
        return self._read_and_keep() if self._hold else self._begin()

    def count(self) -> int:
        """Return the number of items."""
        return sum(1 for _ in self)

    def part(self, indices: range) -> Reiterable[T]:
        """Return the items at these indices, from 0."""
        return Reiterable(lambda: islice(iter(self), indices.start, indices.stop))

    def _read_and_keep(self) -> Iterator[T]:
        items = []
        for item in self._begin():
            items.append(item)
            yield item
        self._items = items


class JobOutcome(NamedTuple):
    """The summary of a run, and how it ended."""

    summary: Summary
    """`complete` is False if the run stopped before the last item."""
    status: RunStatus


def run_identity(record: Manifest, items: Iterable[object]) -> str:
    """Return a digest of the questions and items of a run, whatever the order of the items.

    Commands with the same digest are one run, for which a budget applies.
    """
    if isinstance(items, Reiterable) and items.identity:
        return hashlib.sha256(f"{record.identity} {items.identity()}".encode()).hexdigest()
    total = 0
    for item in items:
        subject = item.sample if isinstance(item, SampleResult) else item
        total += int.from_bytes(hashlib.sha256(repr(subject).encode("utf-8", "surrogatepass")).digest())
    return hashlib.sha256(f"{record.identity} {total}".encode()).hexdigest()


async def run_job(
    job: Job[T],
    items: Iterable[T],
    record: Manifest,
    *,
    options: RunOptions,
    progress: Progress,
    on_result: Callable[[SampleResult], None],
    run: str | None = None,
) -> JobOutcome:
    """Run a job on items. It stops early on Ctrl-C, at a budget, or if no judge is left.

    When it stops, it waits for pending replies and stores them.

    Args:
        job: The job.
        items: Read once; with a budget or in batches several times, with the same items each time.
        record: The manifest of the run.
        options: How judges are asked, and the budget.
        progress: Counts items and calls.
        on_result: Called with each result, in the order of the items.
        run: Identity of the run for its budget. Default: `run_identity`.

    Returns:
        The summary of the finished results, and how the run ended.
    """
    tallies = SummaryBuilder(record, options.prices)

    def take(result: SampleResult) -> None:
        """Add the result to the summary and pass it on."""
        tallies.add(result)
        on_result(result)

    if run is None:
        run = run_identity(record, items) if options.capped else ""
    status = await run_items(job, items, options=options, progress=progress, on_result=take, run=run)
    return JobOutcome(tallies.summary(complete=status.complete, stopped=status.reason), status)
