"""Executors that answer from the reply cache. Each missing reply is requested once over all tasks and processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Hashable
from types import TracebackType
from typing import Self

from claimeval.execution import Executor
from claimeval.store.locks import LOCK_FILE, KeyLocks
from claimeval.store.replies import completion
from claimeval.store.store import Store
from claimeval.types.requests import Completion, Failure, Outcome, Request

POLL = 0.05
"""Seconds between two lookups of a reply that another process has requested."""


class CachedExecutor:
    """Executor that returns stored replies and passes every other request on once."""

    def __init__(self, store: Store, fallback: Executor, on_stored: Callable[[], None] = lambda: None) -> None:
        """`on_stored` is called for each answer that is nobody's new reply."""
        self._store = store
        self._fallback = fallback
        self._on_stored = on_stored
        self._pending: dict[str, asyncio.Future[Outcome]] = {}
        self._locks = KeyLocks(store.folder / LOCK_FILE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._locks.close()

    async def ask(self, request: Request) -> Outcome:
        """Return the stored reply or, if there is none, the fallback's outcome."""
        key = request.key
        outcome: Outcome
        if (value := self._store.get(key)) is not None:
            outcome = completion(value)
        else:
            outcome = await self._ask_once(key, request)
        if isinstance(outcome, Completion) and outcome.cached:
            self._on_stored()
        return outcome

    async def _ask_once(self, key: str, request: Request) -> Outcome:
        await asyncio.sleep(0)  # the code below may need its task; see `concurrently.start_soon`
        if (pending := self._pending.get(key)) is not None:
            outcome = await asyncio.shield(pending)
            return outcome if isinstance(outcome, Failure) else outcome.model_copy(update={"cached": True})
        future = self._pending[key] = asyncio.get_running_loop().create_future()
        try:
            outcome = await self._ask_locked(key, request)
            future.set_result(outcome)
        except BaseException:
            future.cancel()
            raise
        finally:
            del self._pending[key]
        return outcome

    async def _ask_locked(self, key: str, request: Request) -> Outcome:
        """Ask the fallback under the key's lock. While another process has the lock, wait for its reply."""
        while not self._locks.acquire(key):
            await asyncio.sleep(POLL)
            if (value := self._store.get(key)) is not None:
                return completion(value)
        try:
            if (value := self._store.get(key)) is not None:
                return completion(value)
            outcome = await self._fallback.ask(request)
        finally:
            self._locks.release(key)
        lost = isinstance(outcome, Failure) and outcome.reason in ("provider_error", "timeout") and not outcome.refused
        return (await self._last_look(key) if lost else None) or outcome

    async def _last_look(self, key: str) -> Completion | None:
        """Return the reply that another run gets to the same question now; None if none is asking, or all fail."""
        while True:
            await asyncio.sleep(2 * POLL)
            if (value := self._store.get(key)) is not None:
                return completion(value)
            if self._locks.acquire(key):
                self._locks.release(key)
                return None


class FurtherAttempts:
    """Executor that makes further attempts only for the reasons that the run asks for, once a question and run.

    A further attempt follows stored replies that gave nothing. One that an earlier run made is answered from the store.
    """

    def __init__(self, store: Store, fallback: Executor, reasons: Collection[str]) -> None:
        self._store = store
        self._fallback = fallback
        self._reasons = reasons
        self._allowed: dict[Hashable, str] = {}
        """By question, the key of the further attempt that this run makes."""

    async def ask(self, request: Request) -> Outcome:
        """Return the fallback's outcome; for a further attempt that may not be made, the stored reply or a failure."""
        if request.again is None or self._may_ask(request):
            return await self._fallback.ask(request)
        if (value := self._store.get(request.key)) is not None:
            return completion(value)
        return Failure(reason="not_in_cache", message="no further attempt was asked for")

    def _may_ask(self, request: Request) -> bool:
        if request.again not in self._reasons or self._store.get(request.key) is not None:
            return False
        question = (request.judge.name, request.messages, request.replicate)
        return self._allowed.setdefault(question, request.key) == request.key


class OfflineExecutor:
    """Executor that makes no calls."""

    async def ask(self, request: Request) -> Outcome:
        """Return a failure: the reply is not in the reply cache."""
        return Failure(reason="not_in_cache", message=f"no stored reply from {request.judge.name} to this question")
