"""Executors that answer from the reply cache. Each missing reply is requested once over all tasks
and processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Hashable, Mapping
from dataclasses import replace
from typing import Any, Self

from claimeval.execution import Executor
from claimeval.store.store import LOCK_FILE, KeyLocks, Store, completion
from claimeval.types.requests import Completion, Failure, Outcome, Request

POLL = 0.05
"""Seconds between two lookups of a reply that another process has requested."""


class CachedExecutor(Executor):
    """Executor that returns stored replies and passes every other request on once."""

    def __init__(
        self,
        store: Store,
        fallback: Executor,
        on_stored: Callable[[Request, Completion], None] = lambda *_: None,
        on_answer: Callable[[Request], None] | None = None,
    ) -> None:
        """`on_stored` is called for each answer that is not a new reply, `on_answer` for every
        one."""
        self._store = store
        self._fallback = fallback
        self._on_stored = on_stored
        self._on_answer = on_answer
        self._pending: dict[str, asyncio.Future[Outcome]] = {}
        self._locks = KeyLocks(store.folder / LOCK_FILE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._locks.close()

    async def ask(self, request: Request) -> Outcome:
        """Return the stored reply or, if there is none, the fallback's outcome."""
        key = request.key
        outcome: Outcome
        if (value := self._store.get(key)) is not None:
            outcome = completion(value)
        else:
            outcome = await self._ask_once(key, request)
        if isinstance(outcome, Completion):
            self.note(request, outcome)
        return outcome

    def note(self, request: Request, completion: Completion) -> None:
        """Tell those who count answers that a request has one."""
        if completion.cached:
            self._on_stored(request, completion)
        if self._on_answer:
            self._on_answer(request)

    async def _ask_once(self, key: str, request: Request) -> Outcome:
        if (pending := self._pending.get(key)) is not None:
            # Cancelling one sample must not cancel the question that another one waits for.
            outcome = await asyncio.shield(pending)
            return outcome if isinstance(outcome, Failure) else replace(outcome, cached=True)
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
        """Ask the fallback under the key's lock. While another process has the lock, wait for its
        reply."""
        # Two processes over the same data would pay for each question twice.
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
        failed = (
            isinstance(outcome, Failure)
            and outcome.reason in ("provider_error", "timeout")
            and not (outcome.refused or outcome.another_form)
        )
        return (await self._last_look(key) if failed else None) or outcome

    async def _last_look(self, key: str) -> Completion | None:
        """Return the reply that another run gets to the same request; None if no run is asking, or
        all fail."""
        while True:
            # Another process may have got the reply between our failure and its own write.
            await asyncio.sleep(2 * POLL)
            if (value := self._store.get(key)) is not None:
                return completion(value)
            if self._locks.acquire(key):
                self._locks.release(key)
                return None


class ComputingExecutor(Executor):
    """Executor that computes the answers of engines immediately and passes other requests on. It
    stores nothing."""

    def __init__(
        self,
        engines: Mapping[str, Callable[[Request], Outcome]],
        others: Executor,
    ) -> None:
        """`engines` is by judge name."""
        self._engines = engines
        self._others = others

    async def ask(self, request: Request) -> Outcome:
        """Return the computed answer, or the outcome of the other executor."""
        if (engine := self._engines.get(request.judge.name)) is None:
            return await self._others.ask(request)
        return engine(request)


class OfflineExecutor(Executor):
    """Executor that makes no calls."""

    async def ask(self, request: Request) -> Outcome:
        """Return a failure: the reply is not in the reply cache."""
        return Failure(
            reason="not_in_cache",
            message=f"no stored reply from {request.judge.name} to this question",
        )


class StoredExecutor(OfflineExecutor):
    """Executor that answers only from the reply cache."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def ask(self, request: Request) -> Outcome:
        """Return the stored reply; without one a failure."""
        value = self._store.get(request.key)
        return await super().ask(request) if value is None else completion(value)


class FurtherAttempts(Executor):
    """Executor that re-asks only for the reasons in the options, once per request and run.

    A further attempt follows stored replies that cannot be read. Attempts of earlier runs are
    answered from the reply cache.
    """

    def __init__(self, stored: Executor, fallback: Executor, reasons: Collection[str]) -> None:
        self._stored = stored
        self._fallback = fallback
        self._reasons = reasons
        self._allowed: dict[Hashable, str] = {}
        """By question, the key of the further attempt that this run makes."""

    def ask(self, request: Request) -> Coroutine[Any, Any, Outcome]:
        """Return the fallback's outcome; for a further attempt that may not be made, the stored
        reply or a failure."""
        return self._fallback.ask(request) if request.again is None else self._ask_again(request)

    async def _ask_again(self, request: Request) -> Outcome:
        outcome = await self._stored.ask(request)
        if isinstance(outcome, Completion):
            return outcome
        # Two attempts that follow each other are one question: the second is not made in the same
        # run.
        question = (request.judge.name, request.messages, request.replicate)
        if (
            request.again in self._reasons
            and self._allowed.setdefault(question, request.key) == request.key
        ):
            return await self._fallback.ask(request)
        return Failure(reason="not_in_cache", message="no further attempt was asked for")
