"""Answers from the store first; asks the executor behind it for the rest, once per key over all tasks and processes."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from claimeval.execution import Executor
from claimeval.store.locks import KeyLocks
from claimeval.store.replies import completion
from claimeval.store.store import Store
from claimeval.types.requests import Failure, Outcome, Request

POLL = 0.05
"""Seconds between two looks for a reply that another process is waiting for."""


class CachedExecutor:
    """A request that is stored is not asked again; one that is under way is waited for."""

    def __init__(self, store: Store, behind: Executor) -> None:
        self._store = store
        self._behind = behind
        self._under_way: dict[str, asyncio.Future[Outcome]] = {}
        self._turns = KeyLocks(store.folder / "turns")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._turns.close()

    async def ask(self, request: Request) -> Outcome:
        """The stored reply, or the one that is asked for now."""
        key = request.key
        if (value := self._store.get(key)) is not None:
            return completion(value)
        await asyncio.sleep(0)  # what follows may have to know the task it is in; see `side_by_side.begin`
        if (other := self._under_way.get(key)) is not None:
            outcome = await asyncio.shield(other)
            return outcome if isinstance(outcome, Failure) else outcome.model_copy(update={"cached": True})
        mine = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            outcome = await self._ask_in_turn(key, request)
            mine.set_result(outcome)
        except BaseException:
            mine.cancel()
            raise
        finally:
            del self._under_way[key]
        return outcome

    async def _ask_in_turn(self, key: str, request: Request) -> Outcome:
        """Asks, unless another process is asking the same: then waits for its reply, or for its giving up."""
        while not self._turns.take(key):
            await asyncio.sleep(POLL)
            if (value := self._store.get(key)) is not None:
                return completion(value)
        try:
            if (value := self._store.get(key)) is not None:
                return completion(value)
            return await self._behind.ask(request)
        finally:
            self._turns.give(key)


class OfflineExecutor:
    """Stands behind the store where no call may be made."""

    async def ask(self, request: Request) -> Outcome:
        """Says that the reply is not there."""
        return Failure(reason="not_in_cache", message=f"no stored reply from {request.judge.name} to this question")
