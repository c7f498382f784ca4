"""What a person can do with batches outside a run: look, collect and cancel."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from claimeval.execution.batch.lifecycle import BatchLifecycle
from claimeval.execution.batch.polling import BatchPoller
from claimeval.execution.batch.records import OPEN, Batch
from claimeval.execution.batch.results import Received
from claimeval.execution.batch.state import BatchState
from claimeval.store.locks import KeyLocks
from claimeval.store.store import Store
from claimeval.types.errors import UsageError
from claimeval.types.progress import Progress

TIMEOUT = 60.0
"""Seconds that a provider may take to answer."""


class Collected(NamedTuple):
    received: Received
    left: list[Batch]
    """Those that are not over."""


@asynccontextmanager
async def open_desk(store: Store, prices: str | Path | None = None) -> AsyncIterator[BatchAdmin]:
    """The batches of a store, and the way to their providers, as long as the block lasts."""
    turns = KeyLocks(store.folder / "turns")
    try:
        with BatchState(store.folder) as state:
            async with BatchLifecycle(state, store, turns, TIMEOUT, prices) as carrier:
                yield BatchAdmin(state, store, turns, carrier)
    finally:
        turns.close()


class BatchAdmin:
    """The batches of one store."""

    def __init__(self, state: BatchState, store: Store, turns: KeyLocks, carrier: BatchLifecycle) -> None:
        self._state = state
        self._store = store
        self._turns = turns
        self._carrier = carrier

    def batches(self, *, over: bool) -> list[Batch]:
        """Those from which replies may come, and with `over` all others, oldest first."""
        return self._state.batches() if over else self._state.batches(*OPEN)

    def named(self, beginnings: Sequence[str]) -> list[Batch]:
        """The open batches whose names begin so; all where nothing is given. UsageError for none or several."""
        batches = self.batches(over=False)
        return [self._named(beginning, batches) for beginning in beginnings] if beginnings else batches

    def _named(self, beginning: str, batches: list[Batch]) -> Batch:
        found = [batch for batch in batches if batch.name.startswith(beginning)]
        if len(found) != 1:
            names = ", ".join(batch.name[:8] for batch in found or batches) or "none"
            what = "stands for several open batches" if found else "is no open batch"
            raise UsageError(f"{beginning!r} {what}: {names}. `claimeval batch list` shows them")
        return found[0]

    async def status(self, beginnings: Sequence[str]) -> list[Batch]:
        """The batches as their providers see them now."""
        return [await self._carrier.ask(batch.name) for batch in self.named(beginnings)]

    async def collect(self, beginnings: Sequence[str]) -> Collected:
        """Reads the results of all batches that are over."""
        received = Received()
        left = []
        for batch in self.named(beginnings):
            if batch.state == "submitted":
                step = await self._carrier.advance(batch.name)
                received.add(step.received or Received())
                batch = step.batch
            if batch.open:
                left.append(batch)
        return Collected(received, left)

    async def wait(self, progress: Progress) -> Received:
        """Waits for the batches that are open, though not for the last ones where others ended long before."""
        received = Received()
        watch = BatchPoller(self._state, self._carrier, self._turns, progress, received.add)
        await watch.see_through((batch.name for batch in self.batches(over=False)), "batches", detach=False)
        return received

    async def cancel(self, batches: Sequence[Batch]) -> list[Batch]:
        """Asks the providers to run no more of them; drops those that no provider has."""
        for batch in batches:
            await self._carrier.cancel(batch)
        return [await self._carrier.ask(batch.name) for batch in batches]

    async def forget(self, batches: Sequence[Batch]) -> list[Batch]:
        """Drops them here, whatever their providers make of them."""
        for batch in batches:
            await self._carrier.forget(batch)
        names = {batch.name for batch in batches}
        return [batch for batch in self.batches(over=True) if batch.name in names]
