"""Carries a plan out over samples: opens the store and the judges, runs the workers, adds up what comes out."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, aclosing
from itertools import islice
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from claimeval.calls import Completion, Outcome, Request
from claimeval.execution import Executor, ledger
from claimeval.execution.batch import Batched, Batching, Purse
from claimeval.execution.batch_rounds import as_far_as_it_goes, in_rounds
from claimeval.execution.budget import Budget, check_prices
from claimeval.execution.cached import Cached, Replay
from claimeval.execution.interrupts import Interrupt
from claimeval.execution.ledger import Ledger
from claimeval.execution.limits import Limits
from claimeval.execution.online import Online
from claimeval.execution.progress import Progress
from claimeval.execution.replies import pack
from claimeval.pipeline import Plan, evaluate, in_order
from claimeval.records import Sample, SampleResult
from claimeval.run import Summary, Tallies
from claimeval.store import Store

SYNC_EVERY = 1.0
"""Seconds between two flushes of the store to the disk, and at most between two looks at the progress."""
WINDOW = 4
"""Finished results a worker that may wait behind a slow sample."""

R = TypeVar("R")
T = TypeVar("T")


class Anew(Generic[T]):
    """Items that are read from the beginning whenever they are gone over."""

    def __init__(self, begin: Callable[[], Iterator[T]]) -> None:
        self._begin = begin

    def __iter__(self) -> Iterator[T]:
        return self._begin()


class Outline(NamedTuple):
    """How a run ended."""

    summary: Summary
    """`complete` is False when the run stopped before the last sample."""
    interrupted: bool
    """By Ctrl-C."""
    stopped: dict[str, str]
    """The judges that could not be asked any more, and why."""
    over_budget: str | None
    """The cap that was reached, in words."""
    paused: str | None = None
    """What is under way in batches, in words, when the run did not wait for it."""


def identity(plan: Plan, samples: Iterable[Sample]) -> str:
    """What makes two commands one run, for which a cap holds: the same questions about the same samples."""
    digest = hashlib.sha256()
    for part in (*plan.metrics, *plan.judges, plan.extractor):
        digest.update(part.model_dump_json().encode())
    for prompt in (plan.extract_prompt, plan.assess_prompt):
        digest.update(prompt.digest.encode())
    for sample in samples:
        digest.update(repr(sample).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


async def carry_out(
    samples: Iterable[Sample | SampleResult],
    plan: Plan,
    *,
    notes: tuple[str, ...],
    cache: Path,
    limits: Limits,
    progress: Progress,
    offline: bool,
    on_result: Callable[[SampleResult], None],
    run: str = "",
    batching: Batching | None = None,
) -> Outline:
    """Evaluates every sample; `on_result` gets the results one by one, in the order of the samples.

    An earlier result stands for its sample: what it has is not asked for again.
    Stops early, with what is finished so far, on Ctrl-C, when a cap is reached and when no judge or no extractor is
    left; replies that are under way then are waited for and kept. `run` is the `identity` that the caps are for. With
    `batching` the samples are gone over several times, and must be the same each time.
    """
    tallies = Tallies(plan.metrics, notes, plan.judges, plan.extractor, plan.panel)
    judges = plan.asked
    if limits.max_cost is not None and not offline:
        check_prices(judges)
    async with AsyncExitStack() as stack:
        store = stack.enter_context(Store(cache))

        def keep(request: Request, completion: Completion) -> None:
            store.put(request.key, pack(request, completion))

        online: Online | None = None
        budget, row = Budget(judges), None
        if not offline:
            if limits.capped:
                row = stack.enter_context(Ledger(cache / ledger.FILE, run, limits.max_calls, limits.max_cost))
                budget = Budget(judges, row)
            online = await stack.enter_async_context(Online(judges, keep, limits, progress, budget))
            syncing = asyncio.create_task(_sync(store, progress))
            stack.callback(syncing.cancel)
        cached = stack.enter_context(Cached(store, online or Replay()))
        executor: Executor = _Counted(cached, progress)
        batched: Batched | None = None
        if batching and online:
            batched = Batched(
                batching.judges(judges), batching, store, cached, Purse(budget, row, run), progress, limits.timeout
            )
            executor = await stack.enter_async_context(batched)

        async def work(item: Sample | SampleResult) -> SampleResult:
            if isinstance(item, SampleResult):
                return await evaluate(item.sample, plan, executor, item)
            return await evaluate(item, plan, executor)

        def stopped() -> dict[str, str]:
            return (online.stopped if online else {}) | (batched.stopped if batched else {})

        workers = limits.samples_in_work

        def go_over(first: int, way: Callable[[Sample | SampleResult], Awaitable[R]]) -> AsyncGenerator[R]:
            return in_order(islice(samples, first, None), way, workers, WINDOW * workers)

        if batched:
            every = in_rounds(lambda first: go_over(first, lambda i: as_far_as_it_goes(work(i))), batched.next_round)
        else:
            every = go_over(0, work)
        interrupt = Interrupt(online)
        complete = True
        with interrupt.listening():
            try:
                async with aclosing(every) as results:
                    async for result in results:
                        if online and (budget.exhausted or _hopeless(stopped(), plan)):
                            complete = False
                            await online.drain()
                            break
                        tallies.add(result)
                        on_result(result)
                        progress.sample_done()
                if batched and (batched.paused or budget.exhausted):
                    complete = False
                elif batched and complete:
                    batched.over()
            except asyncio.CancelledError:
                if not interrupt.requested:
                    raise
                complete = False
        return Outline(
            summary=tallies.summary(complete=complete),
            interrupted=interrupt.requested,
            stopped=stopped(),
            over_budget=budget.exhausted,
            paused=batched.paused if batched else None,
        )


def _hopeless(stopped: dict[str, str], plan: Plan) -> bool:
    asked = [judge.name for judge in plan.judges if judge.name not in plan.on_record]
    nobody = bool(asked) and all(name in stopped for name in asked)
    return nobody or (plan.extracts and plan.extractor.name in stopped)


class _Counted:
    """Tells the progress which answers came from the store."""

    def __init__(self, behind: Executor, progress: Progress) -> None:
        self._behind = behind
        self._progress = progress

    async def ask(self, request: Request) -> Outcome:
        outcome = await self._behind.ask(request)
        if isinstance(outcome, Completion) and outcome.cached:
            self._progress.answered_from_cache()
        return outcome


async def _sync(store: Store, progress: Progress) -> None:
    while True:
        await asyncio.sleep(SYNC_EVERY)
        await asyncio.to_thread(store.sync)
        progress.tell()
