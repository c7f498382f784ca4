"""The reply cache, the pace and the budget of this process, opened together behind one executor."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from contextvars import ContextVar
from typing import Self

from claimeval.execution import Executor
from claimeval.execution.budget import LEDGER_FILE, Budget, Ledger, check_caps
from claimeval.execution.cached import CachedExecutor, ComputingExecutor, OfflineExecutor, StoredExecutor
from claimeval.execution.learning import LearningExecutor
from claimeval.execution.online import OnlineExecutor
from claimeval.execution.warm import WarmingExecutor
from claimeval.providers import provider
from claimeval.store.lessons import Lessons
from claimeval.store.store import Store, cache_folder, pack
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Completion, Judge, Learned, Outcome, Request

SYNC_EVERY = 1.0
"""Seconds between two flushes of the reply cache to disk, and between two updates of the progress at most."""


class Asker:
    """Answers requests from the reply cache, and sends the others once, at the pace and within the budget.

    The reply cache is open for the duration of the block.
    """

    def __init__(
        self,
        judges: Iterable[Judge],
        options: RunOptions,
        progress: Progress,
        budget: str = "",
        *,
        urgent: bool = False,
    ) -> None:
        """Prepare to ask.

        Args:
            judges: The judges.
            options: The reply cache, limits and settings of calls.
            progress: Counts calls and cost.
            budget: Identity of the run for its limits, which also count the calls of earlier processes.
            urgent: Whether no request waits for another one that warms the provider's prompt cache.
        """
        self._urgent = urgent
        self._judges = tuple(judges)
        self._options = options
        self._progress = progress
        self._run = budget
        self._stack = AsyncExitStack()
        self.lessons: Lessons
        self.store: Store
        self.budget: Budget
        self.ledger: Ledger | None = None
        self.cached: CachedExecutor
        """Answers from the reply cache, else sends the request."""
        self.online: OnlineExecutor | None = None
        """None if nothing may be sent."""

    async def __aenter__(self) -> Self:
        options, progress = self._options, self._progress
        check_caps(self._judges, options)
        folder = cache_folder(options.cache)
        async with AsyncExitStack() as stack:
            self.store = store = stack.enter_context(Store(folder))
            self.lessons = Lessons(folder)

            def keep(request: Request, completion: Completion) -> None:
                """Store the reply."""
                store.put(request.key, pack(request, completion))

            self.budget = Budget(self._judges, prices=options.prices)
            if not options.offline:
                if options.capped:
                    row = Ledger(folder / LEDGER_FILE, self._run, options.max_calls, options.max_cost)
                    self.ledger = stack.enter_context(row)
                    self.budget = Budget(self._judges, self.ledger, options.prices)
                online = OnlineExecutor(self._judges, keep, options, progress, self.budget)
                self.online = await stack.enter_async_context(online)
                syncing = asyncio.create_task(_sync(store, progress))
                stack.callback(syncing.cancel)
            in_batches = options.batch and self.online is not None

            def stored(request: Request, completion: Completion) -> None:
                """Count an answer from the reply cache."""
                self.budget.settle_stored(request, completion)
                if not in_batches:
                    progress.answered_from_cache()

            fallback: Executor = self.online or OfflineExecutor()
            if self.online and not (options.batch or self._urgent):
                fallback = WarmingExecutor(self.online)
            self.cached = stack.enter_context(CachedExecutor(store, fallback, stored))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def learning(self, executor: Executor | None = None) -> Executor:
        """Return an executor that adapts requests to judges' servers and passes them on, by default to `cached`."""
        learning = LearningExecutor(executor or self.cached, self.store, self.lessons)
        computed = {judge.name: provider(judge.model).computes(judge) for judge in self._judges}
        engines = {name: engine for name, engine in computed.items() if engine}
        return ComputingExecutor(engines, learning) if engines else learning

    @property
    def stored(self) -> Executor:
        """Return an executor that answers only from the reply cache."""
        return self.learning(StoredExecutor(self.store))


OPEN: ContextVar[Asker | None] = ContextVar("open", default=None)
"""An asker that several runs share, in a process that runs shards; None to open one for each run."""


class Elsewhere(Executor):
    """An executor whose requests another process sends, which has the reply cache, the pace and the budget."""

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
"""Where the judges that cost money are asked, in a process that an engine such as Ray started; None to ask here."""


class ExecutorByJudge(Executor):
    """Executor that passes each request to the executor of its judge."""

    def __init__(self, executors: Mapping[str, Executor], others: Executor) -> None:
        """`executors` is by judge name; `others` is for all other judges."""
        self._executors = executors
        self._others = others

    async def ask(self, request: Request) -> Outcome:
        """Return the outcome of the judge's executor."""
        return await self._executors.get(request.judge.name, self._others).ask(request)


async def _sync(store: Store, progress: Progress) -> None:
    while True:
        await asyncio.sleep(SYNC_EVERY)
        await asyncio.to_thread(store.sync)
        progress.notify()
