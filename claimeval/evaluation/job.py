"""A job says what is asked about an item, and which scores are read off; `run_job` carries any job over items.

An item is a sample, an earlier result of one, or whatever else the job takes; what comes out is a result an item.
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
    """Which questions are put about an item, to whom, and which scores are read off the replies. Can be pickled."""

    @property
    def name(self) -> str:
        """What the manifest calls it: `score`, `rate`, `grade`, ..."""
        ...

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Those whose verdicts count."""
        ...

    @property
    def manifest(self) -> Manifest:
        """Everything about the job that decides numbers: metrics, prompts, judges, panel, settings."""
        ...


class Reiterable(Generic[T]):
    """An iterable that can be iterated more than once; each pass reads the items from the start.

    With `hold`, the items of the first complete pass are kept, and later passes read nothing.
    """

    identity: Callable[[], str] | None = None
    """What makes the items the same, whatever their order, where that is known without reading them as items."""

    def __init__(self, begin: Callable[[], Iterator[T]], *, hold: bool = False) -> None:
        self._begin = begin
        self._hold = hold
        self._held: list[T] | None = None

    def __iter__(self) -> Iterator[T]:
        if self._held is not None:
            return iter(self._held)
        return self._read_and_hold() if self._hold else self._begin()

    def count(self) -> int:
        """Return how many items there are."""
        return sum(1 for _ in self)

    def part(self, places: range) -> Reiterable[T]:
        """Return the items at these places, from 0."""
        return Reiterable(lambda: islice(iter(self), places.start, places.stop))

    def _read_and_hold(self) -> Iterator[T]:
        items = []
        for item in self._begin():
            items.append(item)
            yield item
        self._held = items


class JobOutcome(NamedTuple):
    """What a job came to, and how it ended."""

    summary: Summary
    """`complete` is False when the run stopped before the last item."""
    status: RunStatus


def run_identity(record: Manifest, items: Iterable[object]) -> str:
    """Return what makes two commands one run, for which a cap holds: the same questions about the same items.

    Their order does not count.
    """
    if isinstance(items, Reiterable) and items.identity:
        return hashlib.sha256(f"{record.identity} {items.identity()}".encode()).hexdigest()
    total = 0
    for item in items:
        about = item.sample if isinstance(item, SampleResult) else item
        total += int.from_bytes(hashlib.sha256(repr(about).encode("utf-8", "surrogatepass")).digest())
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
    """Carry a job over items; stop early, with what is finished so far, on Ctrl-C, at a cap, or if nobody is left.

    Replies that are under way then are waited for and kept.

    Args:
        job: What is done for each item.
        items: Read once; several times, and the same each time, with a cap or in batches.
        record: The manifest of the run, from which it is summed up.
        options: How judges are asked, and what may be spent.
        progress: Told of every item and call.
        on_result: Gets the results one by one, in the order of the items.
        run: What the caps are for; by default these questions about these items.

    Returns:
        The summary of the results, and how the run ended.
    """
    tallies = SummaryBuilder(record, options.prices)

    def take(result: SampleResult) -> None:
        """Count the result and pass it on."""
        tallies.add(result)
        on_result(result)

    if run is None:
        run = run_identity(record, items) if options.capped else ""
    status = await run_items(job, items, options=options, progress=progress, on_result=take, run=run)
    return JobOutcome(tallies.summary(complete=status.complete, stopped=status.reason), status)
