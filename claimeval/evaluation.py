"""Carries a plan out over samples: opens the store and the judges, runs the workers, adds up what comes out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import NamedTuple

from claimeval.calls import Completion, Outcome, Request
from claimeval.execution import Executor
from claimeval.execution.cached import Cached, Replay
from claimeval.execution.interrupts import Interrupt
from claimeval.execution.online import Limits, Online
from claimeval.execution.progress import Progress
from claimeval.execution.replies import pack
from claimeval.pipeline import Plan, evaluate, in_order
from claimeval.records import Sample, SampleResult
from claimeval.run import Summary, Tallies
from claimeval.store import Store

SYNC_EVERY = 1.0
"""Seconds between two flushes of the store to the disk."""


class Outline(NamedTuple):
    """How a run ended."""

    summary: Summary
    """`complete` is False when the run stopped before the last sample."""
    interrupted: bool
    """By Ctrl-C."""
    stopped: dict[str, str]
    """The judges that could not be asked any more, and why."""


async def carry_out(
    samples: Iterator[Sample],
    plan: Plan,
    *,
    notes: tuple[str, ...],
    cache: Path,
    limits: Limits,
    progress: Progress,
    offline: bool,
    on_result: Callable[[SampleResult], None],
) -> Outline:
    """Evaluates every sample; `on_result` gets the results one by one, in the order of the samples.

    Stops early, with what is finished so far, on Ctrl-C and when no judge or no extractor is left.
    """
    tallies = Tallies(plan.metrics, notes)
    async with AsyncExitStack() as stack:
        store = stack.enter_context(Store(cache))
        online: Online | None = None
        if not offline:

            def keep(request: Request, completion: Completion) -> None:
                store.put(request.key, pack(request, completion))

            online = await stack.enter_async_context(Online((*plan.judges, plan.extractor), keep, limits, progress))
            syncing = asyncio.create_task(_sync(store))
            stack.callback(syncing.cancel)
        executor = _Counted(stack.enter_context(Cached(store, online or Replay())), progress)

        async def work(sample: Sample) -> SampleResult:
            return await evaluate(sample, plan, executor)

        interrupt = Interrupt(online)
        complete = True
        with interrupt.listening():
            try:
                async with aclosing(in_order(samples, work, limits.concurrency * len(plan.judges))) as results:
                    async for result in results:
                        if online and _hopeless(online.stopped, plan):
                            complete = False
                            break
                        tallies.add(result)
                        on_result(result)
                        progress.sample_done()
            except asyncio.CancelledError:
                if not interrupt.requested:
                    raise
                complete = False
        return Outline(tallies.summary(complete=complete), interrupt.requested, online.stopped if online else {})


def _hopeless(stopped: dict[str, str], plan: Plan) -> bool:
    return plan.extractor.name in stopped or all(judge.name in stopped for judge in plan.judges)


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


async def _sync(store: Store) -> None:
    while True:
        await asyncio.sleep(SYNC_EVERY)
        await asyncio.to_thread(store.sync)
