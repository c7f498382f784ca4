"""The runner: opens the reply cache and the judges, and runs a job on many items, with Ctrl-C handled.

The first Ctrl-C waits for the replies in flight, the second one stops without them, and a third one ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from claimeval.execution import DONE, ComputedJob, Executor, ItemJob, RunStatus
from claimeval.execution.asker import ELSEWHERE, OPEN, Asker, ExecutorByJudge
from claimeval.execution.cached import FurtherAttempts
from claimeval.execution.concurrently import map_in_order
from claimeval.execution.learning import JudgeWindows, ReviewingExecutor
from claimeval.execution.pace import MAX_CONCURRENCY
from claimeval.providers import provider
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Completion, Judge, Learned, Request

if TYPE_CHECKING:
    from claimeval.execution.batch.executor import BatchExecutor
    from claimeval.execution.online import OnlineExecutor

TERMINATING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that are treated as Ctrl-C: from a scheduler or container, and from a terminal that is closed."""
UNHANDLED = (signal.SIG_DFL, signal.default_int_handler)
"""Handlers of these signals that the runner replaces; handlers set by a program or by `nohup` are kept."""
GRACE = 8.0
"""Seconds to wait for the replies in flight."""


class Drained(Protocol):
    """Object with calls in flight."""

    async def drain(self, seconds: float | None = None) -> None:
        """Stop sending requests and wait for the replies in flight, at most `seconds`."""


class Interrupt:
    """Handles requests to stop the run."""

    def __init__(self, online: Drained | None) -> None:
        self.requested = False
        self._cancelled = False
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
        handlers = {signal.SIGINT: signal.getsignal(signal.SIGINT)}
        handlers |= {number: handler for number, handler in terminating.items() if handler in UNHANDLED}
        for number in handlers:
            loop.add_signal_handler(number, self._on_signal, task)
        try:
            yield
        finally:
            waiting = signal.pthread_sigmask(signal.SIG_BLOCK, handlers)  # the loop sets the default, which kills
            for number, handler in handlers.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)
            signal.pthread_sigmask(signal.SIG_SETMASK, waiting)
            if self._draining:
                self._draining.cancel()

    def _on_signal(self, task: asyncio.Task[object]) -> None:
        if self._cancelled:
            raise KeyboardInterrupt
        if self.requested or self._online is None:
            self._cancel(task)
        else:
            self._draining = asyncio.create_task(self._drain(self._online, task))
        self.requested = True

    def _cancel(self, task: asyncio.Task[object]) -> None:
        """Cancel the task once: cancelled again while it closes what is open, it would end as if by an error."""
        if not self._cancelled:
            self._cancelled = True
            task.cancel()

    async def _drain(self, online: Drained, task: asyncio.Task[object]) -> None:
        await online.drain(GRACE)
        self._cancel(task)


WINDOW = 4
"""Finished results per worker that may wait for a slow item."""

R = TypeVar("R")
T = TypeVar("T")


def workers_for(options: RunOptions) -> int:
    """Return the number of items in progress: twice the concurrency, so that slow items leave no slot empty."""
    return 2 * (options.concurrency or MAX_CONCURRENCY)


class RunExecutors:
    """All executors of a run behind one: for judges that this process asks, online or in batches, and for judges that
    another process asks. They are open for the duration of the block."""

    def __init__(
        self, judges: Sequence[Judge], options: RunOptions, progress: Progress, run: str, *, urgent: bool = False
    ) -> None:
        """`run` identifies the run for its budget, and `urgent` is as for `run_job`."""
        self._urgent = urgent
        self._judges = tuple(judges)
        self._elsewhere = ELSEWHERE.get()
        self._remote_judges = tuple(judge for judge in judges if self._elsewhere and provider(judge.model).costs)
        self._local_judges = tuple(judge for judge in judges if judge not in self._remote_judges)
        self._options = options
        self._progress = progress
        self._run = run
        self._stack = AsyncExitStack()
        self._asker: Asker | None = None
        self.batched: BatchExecutor | None = None
        """None without batches."""
        self.executor: Executor

    async def __aenter__(self) -> Self:
        options, progress = self._options, self._progress
        async with AsyncExitStack() as stack:
            self._asker = OPEN.get() if self._local_judges else None
            if self._asker is None and (self._local_judges or not self._remote_judges):
                asker = Asker(self._local_judges, options, progress, self._run, urgent=self._urgent)
                self._asker = await stack.enter_async_context(asker)
            if options.batch and self._asker and self.online:
                from claimeval.execution.batch.executor import BatchBudget, BatchExecutor, batch_judges

                asker = self._asker
                budget = BatchBudget(asker.budget, asker.ledger, self._run)
                batched = BatchExecutor(
                    batch_judges(self._judges), options, asker.store, asker.cached, budget, progress
                )
                self.batched = await stack.enter_async_context(batched)
            answered, self._stored = self._executors()
            repeated = FurtherAttempts(self._stored, answered, options.reasons_to_ask_again)
            can_stop = self.online or self._elsewhere
            windows = JudgeWindows(self._window, self._is_stored)
            self.executor = ReviewingExecutor(repeated, self.stop if can_stop else None, windows)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def _executors(self) -> tuple[Executor, Executor]:
        """Return the executor of all judges, and one that answers only from the reply cache."""
        asker, elsewhere = self._asker, self._elsewhere
        if elsewhere is None:
            assert asker, "what is not asked elsewhere is asked here"
            return asker.learning(self.batched), asker.stored
        if asker is None:
            return elsewhere, elsewhere.stored
        names = [judge.name for judge in self._remote_judges]
        return (
            ExecutorByJudge(dict.fromkeys(names, elsewhere), asker.learning()),
            ExecutorByJudge(dict.fromkeys(names, elsewhere.stored), asker.stored),
        )

    @property
    def online(self) -> OnlineExecutor | None:
        """The executor that sends requests from this process; None if it sends none."""
        return self._asker.online if self._asker else None

    def stop(self, judge: str, reason: str) -> None:
        """Send nothing more to a judge."""
        for executor in (self.online, self._elsewhere):
            if executor:
                executor.stop(judge, reason)

    @property
    def stopped(self) -> dict[str, str]:
        """The judges that have stopped, each with the reason."""
        stopped: dict[str, str] = {}
        for executor in (self.online, self.batched, self._elsewhere):
            stopped |= executor.stopped if executor else {}
        return stopped

    @property
    def budget_exhausted(self) -> str | None:
        """Description of the limit that was reached; None if none was."""
        exhausted = self._asker.budget.exhausted if self._asker else None
        return exhausted or (self._elsewhere.exhausted if self._elsewhere else None)

    @property
    def lost(self) -> str | None:
        """Why the process that asks cannot be reached any more; None if it can."""
        return self._elsewhere.lost if self._elsewhere else None

    @property
    def learned(self) -> Mapping[str, Learned]:
        """What was learned about each judge's server, by name."""
        local = self._asker.lessons.learned(self._local_judges) if self._asker else {}
        return {**local, **(self._elsewhere.learned if self._elsewhere else {})}

    def status(self, *, complete: bool, interrupted: bool) -> RunStatus:
        """Return how the run ended."""
        return RunStatus(
            complete=complete,
            interrupted=interrupted,
            stopped=self.stopped,
            budget_exhausted=self.budget_exhausted,
            lost=self.lost,
            pending_batches=self.batched.pending_batches if self.batched else None,
            learned=self.learned,
        )

    def _window(self, judge: Judge) -> int | None:
        """Return the window of a judge that was set or learned."""
        if self._elsewhere and judge in self._remote_judges:
            lesson = self._elsewhere.learned.get(judge.name)
            return judge.context_tokens or (lesson.context_tokens if lesson else None)
        return self._asker.lessons.judge(judge).context_tokens if self._asker else None

    async def _is_stored(self, request: Request) -> bool:
        """Return whether the reply to a request is stored, and its server had read the whole prompt."""
        return isinstance(await self._stored.ask(request), Completion)


async def run_job(
    job: ItemJob[T, R] | ComputedJob[R],
    items: Iterable[T],
    sink: Callable[[R], None],
    options: RunOptions,
    progress: Progress,
    *,
    run: str = "",
    urgent: bool = False,
) -> RunStatus:
    """Run the job on every item and pass each result to `sink`, in the order of the items.

    The run stops early on Ctrl-C, when a limit is reached, or when the job cannot continue without the stopped judges.
    It then waits for pending replies and stores them.

    Args:
        job: The job.
        items: The items. With `options.batch` they are iterated several times and must be the same each time.
        sink: Takes each result: a run directory, a run in memory, or the part of a shard.
        options: Concurrency, limits, cache and batches.
        progress: Counts items, calls and cost.
        run: Identity of the run for its budget.
        urgent: Whether a program waits for the only item: requests are sent at once, and Ctrl-C and similar signals are
            left to the program.

    Returns:
        The status of the run, with the reason if it stopped early.
    """
    if isinstance(job, ComputedJob):
        return _compute(job, items, sink, options, progress)
    assert not (options.batch and isinstance(items, Iterator)), "batches iterate over the items several times"
    async with RunExecutors(job.asked, options, progress, run, urgent=urgent) as executors:
        interrupt = Interrupt(executors.online)
        complete = True
        with contextlib.nullcontext() if urgent else interrupt.listening():
            try:
                async with aclosing(_results(job, items, executors, workers_for(options))) as results:
                    async for result in results:
                        ended = executors.budget_exhausted or executors.lost
                        if ended or ((stopped := executors.stopped) and job.cannot_continue(stopped)):
                            complete = False
                            if executors.online:
                                await executors.online.drain()
                            break
                        sink(result)
                        progress.sample_done()
                batched = executors.batched
                if batched and (batched.pending_batches or executors.budget_exhausted or executors.lost):
                    complete = False
                elif batched and complete:
                    batched.finish()
            except asyncio.CancelledError:
                if not interrupt.requested:
                    raise
                complete = False
        return executors.status(complete=complete, interrupted=interrupt.requested)


def _compute(
    job: ComputedJob[R], items: Iterable[Any], sink: Callable[[R], None], options: RunOptions, progress: Progress
) -> RunStatus:
    """Run a job that asks no judge; Ctrl-C leaves the results so far."""
    try:
        for result in job.compute(items, options, progress):
            sink(result)
            if progress.unit != "texts":
                progress.sample_done()
    except KeyboardInterrupt:
        return RunStatus(complete=False, interrupted=True, stopped={})
    return DONE


def _results(job: ItemJob[T, R], items: Iterable[T], executors: RunExecutors, workers: int) -> AsyncGenerator[R]:
    """Yield the results of the items, in order; with batches in rounds, each of which sends what is asked in it."""
    executor, batched = executors.executor, executors.batched
    if batched is None:
        return map_in_order(items, lambda item: job.evaluate(item, executor), workers, WINDOW * workers)
    from claimeval.execution.batch.executor import run_in_rounds, run_until_blocked

    def from_item(first: int) -> AsyncGenerator[R | None]:
        """Yield the results of the items from one on; None where a result waits for a batch."""
        rest = islice(items, first, None)
        return map_in_order(
            rest, lambda item: run_until_blocked(job.evaluate(item, executor)), workers, WINDOW * workers
        )

    return run_in_rounds(from_item, batched.next_round)
