"""The runner: opens the reply cache and the judges, and runs a job on many items, with Ctrl-C
handled.

The first Ctrl-C waits for the replies in flight, the second one stops without them, and a third one
ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from claimeval.execution import DONE, ComputedJob, Executor, ItemJob, RunStatus
from claimeval.execution.asker import ELSEWHERE, OPEN, Asker, Elsewhere, ExecutorByJudge, open_asker
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

TERMINATING = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals that are treated as Ctrl-C: from a scheduler or container, and from a terminal that is
closed."""
UNHANDLED = (signal.SIG_DFL, signal.default_int_handler)
"""Handlers of these signals that the runner replaces; handlers set by a program or by `nohup` are
kept."""
IN_PROGRESS = 24
"""Maximum number of items in progress in a run that stops when its gates are decided."""
GRACE = 8.0
"""Seconds to wait for the replies in flight."""


class Interrupt:
    """Handles requests to stop the run."""

    def __init__(self, drain: Callable[[float], Awaitable[None]] | None) -> None:
        """`drain` stops sending requests and waits for the replies in flight, at most some
        seconds."""
        self.requested = False
        self._cancelled = False
        self._drain = drain
        self._draining: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Cancel the current task on SIGINT, SIGTERM and SIGHUP. Does nothing outside the main
        thread."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        # asyncio sets signal handlers in the main thread only, and raises in others.
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *TERMINATING)}
        handlers = {
            n: handler
            for n, handler in handlers.items()
            if n == signal.SIGINT or handler in UNHANDLED
        }
        for number in handlers:
            loop.add_signal_handler(number, self._on_signal, task)
        try:
            yield
        finally:
            waiting = signal.pthread_sigmask(
                signal.SIG_BLOCK, handlers
            )  # the loop sets the default, which kills
            for number, handler in handlers.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)
            signal.pthread_sigmask(signal.SIG_SETMASK, waiting)
            if self._draining:
                self._draining.cancel()

    def _on_signal(self, task: asyncio.Task[object]) -> None:
        if self._cancelled:
            raise KeyboardInterrupt
        if self.requested or self._drain is None:
            self._cancel(task)
        else:
            self._draining = asyncio.create_task(self._drain_and_cancel(self._drain, task))
        self.requested = True

    def _cancel(self, task: asyncio.Task[object]) -> None:
        """Cancel the task once: cancelled again while it closes what is open, it would end as if by
        an error."""
        if not self._cancelled:
            self._cancelled = True
            task.cancel()

    async def _drain_and_cancel(
        self,
        drain: Callable[[float], Awaitable[None]],
        task: asyncio.Task[object],
    ) -> None:
        await drain(GRACE)
        self._cancel(task)


R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True)
class RunExecutors:
    """What answers the requests of a run: judges that this process asks, online or in batches, and
    judges that another process asks."""

    asker: Asker | None
    batched: BatchExecutor | None
    """None without batches."""
    elsewhere: Elsewhere | None
    remote: tuple[Judge, ...]
    """The judges that another process asks."""

    @property
    def online(self) -> OnlineExecutor | None:
        """The executor that sends requests from this process; None if it sends none."""
        return self.asker.online if self.asker else None

    def executor(self, options: RunOptions) -> Executor:
        """Return the executor of all judges, which asks again for the reasons in the options."""
        asker = self.asker
        elsewhere = self.elsewhere
        sending = [each for each in (self.online, elsewhere) if each]
        if asker:
            answered = asker.learning(self.batched)
            stored = asker.stored
        else:
            assert elsewhere, "what is not asked here is asked elsewhere"
            answered = elsewhere
            stored = elsewhere.stored
        if elsewhere and asker:
            names = [judge.name for judge in self.remote]
            answered = ExecutorByJudge(dict.fromkeys(names, elsewhere), answered)
            stored = ExecutorByJudge(dict.fromkeys(names, elsewhere.stored), stored)

        def window(judge: Judge) -> int | None:
            """Return the window of a judge that was set or learned."""
            if elsewhere and judge in self.remote:
                # Workers of an engine do not read the lessons beside the cache, which is on another
                # machine.
                lesson = elsewhere.learned.get(judge.name)
                return judge.context_tokens or (lesson.context_tokens if lesson else None)
            return asker.lessons.judge(judge).context_tokens if asker else None

        async def is_stored(request: Request) -> bool:
            """Return whether the reply to a request is stored, and its server had read the whole
            prompt."""
            return isinstance(await stored.ask(request), Completion)

        def stop(judge: str, reason: str) -> None:
            """Send nothing more to a judge."""
            for executor in sending:
                executor.stop(judge, reason)

        repeated = FurtherAttempts(stored, answered, options.reasons_to_ask_again)
        replies = asker.replies if asker and not elsewhere else None
        return ReviewingExecutor(
            repeated, stop if sending else None, JudgeWindows(window, is_stored), replies
        )

    def status(self) -> RunStatus:
        """Return why the run must end, if it must."""
        asker = self.asker
        elsewhere = self.elsewhere
        stopped = dict[str, str]()
        for executor in (self.online, self.batched, elsewhere):
            stopped |= executor.stopped if executor else {}
        exhausted = asker.budget.exhausted if asker else None
        return RunStatus(
            complete=True,
            interrupted=False,
            stopped=stopped,
            budget_exhausted=exhausted or (elsewhere.exhausted if elsewhere else None),
            lost=elsewhere.lost if elsewhere else None,
            pending_batches=self.batched.pending_batches if self.batched else None,
        )

    def rests_on_cut_prompts(self) -> bool:
        """Return whether replies were accepted that a window, learned later, shows useless."""
        return self.asker is not None and self.asker.cut_prompts.take_accepted_before() > 0

    @property
    def windows(self) -> dict[str, int]:
        """The learned context windows, by judge name."""
        return {
            name: learned.context_tokens
            for name, learned in self.learned.items()
            if learned.context_tokens
        }

    @property
    def learned(self) -> dict[str, Learned]:
        """What was learned about each judge's server, by name."""
        here = self.asker
        elsewhere = self.elsewhere
        return (here.lessons.learned(here.judges) if here else {}) | (
            elsewhere.learned if elsewhere else {}
        )


def _batches(
    asker: Asker,
    judges: Sequence[Judge],
    options: RunOptions,
    progress: Progress,
    run: str,
) -> BatchExecutor:
    # Imported here: a run without batches does not load what reads and writes their files.
    from claimeval.execution.batch.executor import BatchBudget, BatchExecutor, batch_judges

    budget = BatchBudget(asker.budget, asker.ledger, run)
    return BatchExecutor(batch_judges(judges), options, asker.store, asker.cached, budget, progress)


@contextlib.asynccontextmanager
async def open_executors(
    judges: Sequence[Judge],
    options: RunOptions,
    progress: Progress,
    run: str,
    *,
    urgent: bool = False,
    answered: Callable[[Request], None] | None = None,
) -> AsyncIterator[RunExecutors]:
    """Open what answers requests for the duration of the block.

    Args:
        judges: All judges that are asked.
        options: The options of the run.
        progress: Gets the counts of calls.
        run: Identifies the run for its budget.
        urgent: As for `run_job`.
        answered: As for `run_job`.
    """
    elsewhere = ELSEWHERE.get()
    remote = tuple(judge for judge in judges if elsewhere and provider(judge.model).costs)
    local = [judge for judge in judges if judge not in remote]
    async with AsyncExitStack() as stack:
        asker = OPEN.get() if local else None
        batched = None
        if asker is None and (local or not remote):
            asker = await stack.enter_async_context(
                open_asker(local, options, progress, run, urgent=urgent, answered=answered)
            )
        if options.batch and asker and asker.online:
            batched = _batches(asker, judges, options, progress, run)
            await stack.enter_async_context(batched)
        yield RunExecutors(asker, batched, elsewhere, remote)


def _cannot_continue(now: RunStatus, job: ItemJob[T, R]) -> bool:
    """Return whether a run ends with what it has: it may spend no more, its cache is gone, or the
    judges that are left are not enough."""
    stopped = bool(now.stopped) and job.cannot_continue(now.stopped)
    return bool(now.budget_exhausted or now.lost or stopped)


def _waits_for_batches(executors: RunExecutors) -> bool:
    """Return whether results are missing, because their batches are not there yet or were not
    sent."""
    now = executors.status()
    return bool(executors.batched and (now.pending_batches or now.budget_exhausted or now.lost))


async def run_job(
    job: ItemJob[T, R] | ComputedJob[R],
    items: Iterable[T],
    sink: Callable[[R], None],
    options: RunOptions,
    progress: Progress,
    *,
    run: str = "",
    urgent: bool = False,
    decided: Callable[[], str | None] | None = None,
    answered: Callable[[Request], None] | None = None,
) -> RunStatus:
    """Run the job on every item and pass each result to `sink`, in the order of the items.

    The run stops early on Ctrl-C, when a limit is reached, or when the job cannot continue without
    the stopped judges. It then waits for pending replies and stores them.

    Args:
        job: The job.
        items: The items. With `options.batch` they are iterated several times and must be the same
            each time.
        sink: Takes each result: a run directory, a run in memory, or the part of a shard.
        options: Concurrency, limits, cache and batches.
        progress: Counts items, calls and cost.
        run: Identity of the run for its budget.
        urgent: Whether a program waits for the only item: requests are sent at once, and Ctrl-C and
            similar signals are left to the program.
        decided: Asked after each result: why the run can end, or None. Replies that are then in
            flight are kept.
        answered: Gets each request in the form that a model of this process's judges answered, also
            earlier.

    Returns:
        The status of the run, with the reason if it stopped early.
    """
    # Ranking and lexical metrics ask nobody, and need neither a cache nor an event loop.
    if isinstance(job, ComputedJob):
        return _compute(job, items, sink, options, progress)
    assert not (options.batch and isinstance(items, Iterator)), (
        "batches iterate over the items several times"
    )
    async with open_executors(
        job.asked,
        options,
        progress,
        run,
        urgent=urgent,
        answered=answered,
    ) as executors:
        online = executors.online
        batched = executors.batched
        windows = executors.windows
        complete = True
        # more than slots, so that slow items leave none empty
        workers = 2 * (options.concurrency or MAX_CONCURRENCY)
        interrupt = Interrupt(online.drain if online else None)
        if decided:
            # What is in progress when the run is decided is paid for nothing.
            workers = min(workers, IN_PROGRESS)
        enough = None
        executor = executors.executor(options)
        with contextlib.nullcontext() if urgent else interrupt.listening():
            try:
                async with aclosing(_results(job, items, executor, batched, workers)) as results:
                    async for result in results:
                        if _cannot_continue(executors.status(), job):
                            complete = False
                            break
                        sink(result)
                        progress.sample_done()
                        if decided and (enough := decided()):
                            complete = False
                            break
                    if online and not complete:
                        # before the results are closed, which would cancel what is in flight
                        await online.drain()
                complete = complete and not _waits_for_batches(executors)
                if batched and complete:
                    batched.finish()
            except asyncio.CancelledError:
                if not interrupt.requested:
                    raise
                complete = False
        return executors.status()._replace(
            complete=complete,
            decided=enough,
            interrupted=interrupt.requested,
            again=complete and executors.rests_on_cut_prompts(),
            learned=executors.learned,
            windows=windows,
        )


def _compute(
    job: ComputedJob[R],
    items: Iterable[Any],
    sink: Callable[[R], None],
    options: RunOptions,
    progress: Progress,
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


def _results(
    job: ItemJob[T, R],
    items: Iterable[T],
    executor: Executor,
    batched: BatchExecutor | None,
    workers: int,
) -> AsyncGenerator[R]:
    """Yield the results of the items, in order; with batches in rounds, each of which sends what is
    asked in it."""
    if batched is None:
        return map_in_order(items, lambda item: job.evaluate(item, executor), workers)
    from claimeval.execution.batch.executor import run_in_rounds, run_until_blocked

    def from_item(first: int) -> AsyncGenerator[R | None]:
        """Yield the results of the items from one on; None where a result waits for a batch."""
        rest = islice(items, first, None)
        return map_in_order(
            rest,
            lambda item: run_until_blocked(job.evaluate(item, executor)),
            workers,
        )

    return run_in_rounds(from_item, batched.next_round)
