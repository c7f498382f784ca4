"""The reply cache, the pace and the budget of this process, opened together behind one executor."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from claimeval.execution import Executor
from claimeval.execution.budget import LEDGER_FILE, Budget, Ledger, check_caps
from claimeval.execution.cached import (
    CachedExecutor,
    ComputingExecutor,
    OfflineExecutor,
    StoredExecutor,
)
from claimeval.execution.learning import (
    CutPrompts,
    LearningExecutor,
    SmallModels,
    StoredReplies,
)
from claimeval.execution.online import OnlineExecutor
from claimeval.execution.trials import Trials
from claimeval.execution.warm import WarmingExecutor
from claimeval.providers import provider
from claimeval.store.lessons import Lessons
from claimeval.store.locked import LockedError, until_free, wait_until_free
from claimeval.store.store import Store, cache_folder, named_cache, pack
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Completion, Judge, Learned, Outcome, Request

SYNC_EVERY = 1.0
"""Seconds between two flushes of the reply cache to disk, and between two updates of the progress
at most."""


@dataclass(frozen=True)
class Asker:
    """Answers requests from the reply cache, and sends the others once, at the pace and within the
    budget."""

    judges: tuple[Judge, ...]
    store: Store
    lessons: Lessons
    cut_prompts: CutPrompts
    budget: Budget
    ledger: Ledger | None
    cached: CachedExecutor
    """Answers from the reply cache, else sends the request."""
    online: OnlineExecutor | None
    """None if nothing may be sent."""
    small: SmallModels | None
    """Asks servers for the sizes of their models; None if nothing may be sent."""
    trials: Trials | None
    """Sends refused requests in other forms; None if nothing may be sent, or in batches, of which
    each request of a trial would be one."""

    def learning(self, executor: Executor | None = None) -> Executor:
        """Return an executor that adapts requests to judges' servers and passes them on, by default
        to `cached`."""
        return self._learning(executor or self.cached, self.small, self.trials)

    def _learning(
        self,
        executor: Executor,
        small: SmallModels | None,
        trials: Trials | None = None,
    ) -> Executor:
        learning = self._learning_from(executor, small, trials)
        computed = {judge.name: provider(judge.model).computes(judge) for judge in self.judges}
        engines = {name: engine for name, engine in computed.items() if engine}
        return ComputingExecutor(engines, learning) if engines else learning

    def _learning_from(
        self,
        executor: Executor,
        small: SmallModels | None,
        trials: Trials | None = None,
    ) -> LearningExecutor:
        return LearningExecutor(executor, self.store, self.lessons, self.cut_prompts, small, trials)

    @property
    def stored(self) -> Executor:
        """Return an executor that answers only from the reply cache."""
        return self._learning(StoredExecutor(self.store), None)

    @property
    def replies(self) -> StoredReplies:
        """Return the replies in the reply cache."""
        learning = self._learning_from(OfflineExecutor(), None)
        learned = self.lessons.learned(self.judges)
        return StoredReplies(self.store, learning, learned, self.cached.note)


@asynccontextmanager
async def open_asker(
    judges: Iterable[Judge],
    options: RunOptions,
    progress: Progress,
    run: str = "",
    *,
    urgent: bool = False,
    answered: Callable[[Request], None] | None = None,
) -> AsyncIterator[Asker]:
    """Open the reply cache and the connections to judges for the duration of the block.

    Args:
        judges: The judges.
        options: The reply cache, limits and settings of calls.
        progress: Counts calls and cost.
        run: Identity of the run for its limits, which also count the calls of earlier processes.
        urgent: Whether no request waits for another one that warms the provider's prompt cache.
        answered: Gets each request that has a reply, new or stored.
    """
    judges = tuple(judges)
    check_caps(judges, options)
    async with AsyncExitStack() as stack:
        store = stack.enter_context(_open_store(judges, options, stack))
        folder = store.folder
        ledger = None
        online = None
        if options.capped and not options.offline:
            ledger = Ledger(folder / LEDGER_FILE, run, options.max_calls, options.max_cost)
            stack.enter_context(ledger)
        budget = Budget(judges, ledger, options.prices)
        # Before the ledger closes and after the last call is settled: an exit stack runs backwards.
        stack.callback(budget.close)
        fallback: Executor = OfflineExecutor()
        if not options.offline:

            def keep(request: Request, completion: Completion) -> Awaitable[None] | None:
                """Store the reply. If another process writes to the cache, return what waits for
                it."""
                put = partial(store.put_at_once, request.key, pack(request, completion))
                try:
                    put()
                except LockedError:
                    return asyncio.create_task(_put_when_free(put))
                return None

            online = OnlineExecutor(judges, keep, options, progress, budget)
            fallback = await stack.enter_async_context(online)
            syncing = asyncio.create_task(_sync(store, progress))
            stack.callback(syncing.cancel)
            if not (options.batch or urgent):
                fallback = WarmingExecutor(online)
        in_batches = options.batch and online is not None

        def stored(request: Request, completion: Completion) -> None:
            """Count an answer from the reply cache."""
            budget.settle_stored(request, completion)
            if not in_batches:
                progress.answered_from_cache()

        cached = stack.enter_context(CachedExecutor(store, fallback, stored, answered))
        lessons = Lessons(folder)
        cut = CutPrompts(lessons)
        small = SmallModels(judges, store, lessons) if online else None
        trials = online.trials(lessons, cached) if online else None
        yield Asker(judges, store, lessons, cut, budget, ledger, cached, online, small, trials)


def _open_store(judges: Iterable[Judge], options: RunOptions, stack: AsyncExitStack) -> Store:
    """Open the reply cache. If there is none by default, as in a container without a home, judges
    that ask nothing do without."""
    try:
        return Store(cache_folder(options.cache))
    except UsageError:
        asked = [judge for judge in judges if not provider(judge.model).computes(judge)]
        if asked or named_cache(options.cache):
            raise
        return Store(Path(stack.enter_context(TemporaryDirectory())))


OPEN: ContextVar[Asker | None] = ContextVar("open", default=None)
"""An asker that several runs share, in a process that runs shards; None to open one for each
run."""


class Elsewhere(Executor):
    """An executor whose requests another process sends, which has the reply cache, the pace and the
    budget."""

    stopped: dict[str, str]
    """The judges that have stopped, each with the reason."""
    exhausted: str | None
    """Description of the limit that was reached."""
    lost: str | None
    """Why the other process cannot be reached any more."""
    learned: dict[str, Learned]
    """What was learned about each judge's server, by judge name."""

    @property
    @abstractmethod
    def stored(self) -> Executor:
        """Return an executor that answers only from the reply cache."""

    @abstractmethod
    def stop(self, judge: str, reason: str) -> None:
        """Send nothing more to a judge."""


ELSEWHERE: ContextVar[Elsewhere | None] = ContextVar("elsewhere", default=None)
"""Where the judges that cost money are asked, in a process that an engine such as Ray started; None
to ask here."""


class ExecutorByJudge(Executor):
    """Executor that passes each request to the executor of its judge."""

    def __init__(self, executors: Mapping[str, Executor], others: Executor) -> None:
        """`executors` is by judge name; `others` is for all other judges."""
        self._executors = executors
        self._others = others

    async def ask(self, request: Request) -> Outcome:
        """Return the outcome of the judge's executor."""
        return await self._executors.get(request.judge.name, self._others).ask(request)


async def _put_when_free(put: Callable[[], None]) -> None:
    """Store a paid reply when the cache is free; a run that is cancelled waits for that."""
    try:
        await until_free(put)
    except asyncio.CancelledError:
        wait_until_free(put)
        raise


async def _sync(store: Store, progress: Progress) -> None:
    while True:
        await asyncio.sleep(SYNC_EVERY)
        # A flush of a network disk may take seconds, in which the loop would send nothing.
        await asyncio.to_thread(store.sync)
        progress.notify()
