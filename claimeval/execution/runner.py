"""The runner: opens the reply cache and the judges, and runs a job on many items, with Ctrl-C handled.

The first Ctrl-C waits for the replies in flight, the second one stops immediately.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

from claimeval.execution import Executor
from claimeval.execution.batch.executor import BatchBudget, BatchExecutor, batch_judges
from claimeval.execution.batch.rounds import run_in_rounds, run_until_blocked
from claimeval.execution.budget import LEDGER_FILE, Budget, Ledger, check_prices
from claimeval.execution.cached import CachedExecutor, FurtherAttempts, OfflineExecutor
from claimeval.execution.concurrently import map_in_order
from claimeval.execution.learning import LearningExecutor
from claimeval.execution.online import OnlineExecutor
from claimeval.execution.pace import MAX_CONCURRENCY
from claimeval.store.lessons import Lessons
from claimeval.store.replies import pack
from claimeval.store.store import Store, cache_folder
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Completion, Judge, Learned, Request

TERMINATING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that are treated as Ctrl-C: of a scheduler or a container, and of a terminal that is closed."""
UNHANDLED = (signal.SIG_DFL, signal.default_int_handler)
"""Handlers of these signals that the runner replaces; one that a program has set, or `nohup`, is left alone."""
GRACE = 8.0
"""Seconds to wait for the replies in flight."""


class Interrupt:
    """Whether the user asked to stop the run."""

    def __init__(self, online: OnlineExecutor | None) -> None:
        self.requested = False
        self._online = online
        self._draining: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Cancel the current task on SIGINT, SIGTERM and SIGHUP. Does nothing outside the main thread."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        terminating = {number: signal.getsignal(number) for number in TERMINATING}
        taken = {signal.SIGINT: signal.getsignal(signal.SIGINT)}
        taken |= {number: handler for number, handler in terminating.items() if handler in UNHANDLED}
        for number in taken:
            loop.add_signal_handler(number, self._on_signal, task)
        try:
            yield
        finally:
            for number, handler in taken.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)
            if self._draining:
                self._draining.cancel()

    def _on_signal(self, task: asyncio.Task[object]) -> None:
        if self.requested or self._online is None:
            task.cancel()
        else:
            self._draining = asyncio.create_task(self._drain(self._online, task))
        self.requested = True

    async def _drain(self, online: OnlineExecutor, task: asyncio.Task[object]) -> None:
        await online.drain(GRACE)
        task.cancel()


SYNC_EVERY = 1.0
"""Seconds between two flushes of the store to the disk, and at most between two looks at the progress."""
WINDOW = 4
"""Finished results a worker that may wait behind a slow item."""

R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class ItemJob(Protocol[T_contra, R_co]):
    """A job that asks judges about items, one after another."""

    @property
    def asked(self) -> tuple[Judge, ...]:
        """Everyone to whom a question may go."""
        ...

    def hopeless(self, stopped: Mapping[str, str]) -> bool:
        """Whether nothing can be learned any more without the judges that have stopped."""
        ...

    async def evaluate(self, item: T_contra, executor: Executor) -> R_co:
        """Return the result of one item. What fails is in it as a reason."""
        ...


class RunStatus(NamedTuple):
    """How a run ended."""

    complete: bool
    """False when it stopped before the last item."""
    interrupted: bool
    """By Ctrl-C."""
    stopped: Mapping[str, str]
    """The judges that could not be asked any more, and why."""
    over_budget: str | None = None
    """The cap that was reached, in words."""
    paused: str | None = None
    """What is under way in batches, in words, when the work did not wait for it."""
    learned: Mapping[str, Learned] = MappingProxyType({})
    """What was learned of each judge's server, by name."""

    @property
    def reason(self) -> str | None:
        """Why the run ended early, in words."""
        if self.complete:
            return None
        stopped = "; ".join(f"{judge}: {why}" for judge, why in self.stopped.items())
        return self.over_budget or self.paused or ("interrupted" if self.interrupted else stopped or None)


def workers_for(options: RunOptions) -> int:
    """Return how many items are in work: twice the calls that may be in flight, so that a slow item leaves no slot
    empty."""
    return 2 * (options.concurrency or MAX_CONCURRENCY)


async def run_items(
    job: ItemJob[T, R],
    items: Iterable[T],
    *,
    options: RunOptions,
    progress: Progress,
    on_result: Callable[[R], None],
    run: str = "",
    signals: bool = True,
) -> RunStatus:
    """Run the job on every item and pass each result to `on_result`, in item order.

    Stops early, with the results finished so far, on Ctrl-C, when a cap is reached and when the judges that have
    stopped make the job hopeless; waits for pending replies and keeps them.

    Args:
        job: What is done for each item, and the judges that it asks.
        items: The items. With `options.batch` they are iterated several times and must be the same each time.
        options: Concurrency, caps, cache and batches.
        progress: Counts items, calls and cost.
        on_result: Called with each result.
        run: Name of what the caps apply to.
        signals: Whether Ctrl-C and its like end the run with what is finished; False leaves them to the program.

    Returns:
        The status of the run, with the reason if it stopped early.
    """
    assert not (options.batch and isinstance(items, Iterator)), "items that can be gone over again"
    cache, judges = cache_folder(options.cache), job.asked
    if options.max_cost is not None and not options.offline:
        check_prices(judges, options.prices)
    async with AsyncExitStack() as stack:
        store = stack.enter_context(Store(cache))

        def keep(request: Request, completion: Completion) -> None:
            """Store the reply."""
            store.put(request.key, pack(request, completion))

        online: OnlineExecutor | None = None
        budget, row = Budget(judges, prices=options.prices), None
        if not options.offline:
            if options.capped:
                row = stack.enter_context(Ledger(cache / LEDGER_FILE, run, options.max_calls, options.max_cost))
                budget = Budget(judges, row, options.prices)
            online = await stack.enter_async_context(OnlineExecutor(judges, keep, options, progress, budget))
            syncing = asyncio.create_task(_sync(store, progress))
            stack.callback(syncing.cancel)
        in_batches = options.batch and online is not None
        counted = (lambda: None) if in_batches else progress.answered_from_cache
        cached = stack.enter_context(CachedExecutor(store, online or OfflineExecutor(), counted))
        executor: Executor = cached
        batched: BatchExecutor | None = None
        if options.batch and online:
            batch_budget = BatchBudget(budget, row, run)
            batched = BatchExecutor(batch_judges(judges, options), options, store, cached, batch_budget, progress)
            executor = await stack.enter_async_context(batched)
        lessons = Lessons(cache)
        further = FurtherAttempts(store, executor, options.reasons_to_ask_again)
        executor = LearningExecutor(further, store, lessons, online.stop if online else None)

        def stopped() -> dict[str, str]:
            """Return the reason of each judge that has stopped."""
            return (online.stopped if online else {}) | (batched.stopped if batched else {})

        workers = workers_for(options)

        def map_from(first: int, function: Callable[[T], Coroutine[Any, Any, S]]) -> AsyncGenerator[S]:
            return map_in_order(islice(items, first, None), function, workers, WINDOW * workers)

        async def evaluate(item: T) -> R:
            """Return the result of one item."""
            return await job.evaluate(item, executor)

        if batched:
            every = run_in_rounds(
                lambda first: map_from(first, lambda item: run_until_blocked(evaluate(item))), batched.next_round
            )
        else:
            every = map_from(0, evaluate)
        interrupt = Interrupt(online)
        complete = True
        with interrupt.listening() if signals else contextlib.nullcontext():
            try:
                async with aclosing(every) as results:
                    async for result in results:
                        if online and (budget.exhausted or ((gone := stopped()) and job.hopeless(gone))):
                            complete = False
                            await online.drain()
                            break
                        on_result(result)
                        progress.sample_done()
                if batched and (batched.pending_batches or budget.exhausted):
                    complete = False
                elif batched and complete:
                    batched.finish()
            except asyncio.CancelledError:
                if not interrupt.requested:
                    raise
                complete = False
        return RunStatus(
            complete=complete,
            interrupted=interrupt.requested,
            stopped=stopped(),
            over_budget=budget.exhausted,
            paused=batched.pending_batches if batched else None,
            learned=lessons.learned(judges),
        )


async def _sync(store: Store, progress: Progress) -> None:
    while True:
        await asyncio.sleep(SYNC_EVERY)
        await asyncio.to_thread(store.sync)
        progress.notify()
