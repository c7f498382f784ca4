"""Batches outside a run: list, check, collect, wait for and cancel them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from claimeval.execution.batch import OPEN, Batch
from claimeval.execution.batch.lifecycle import BatchLifecycle
from claimeval.execution.batch.polling import BatchPoller
from claimeval.execution.batch.results import Received
from claimeval.execution.batch.state import BatchState
from claimeval.store.locks import LOCK_FILE, KeyLocks
from claimeval.store.store import Store
from claimeval.types.errors import UsageError
from claimeval.types.progress import Progress

TIMEOUT = 60.0
"""Seconds that a provider has to answer."""


class CollectedBatches(NamedTuple):
    """Results of the batches that ended."""

    received: Received
    open: list[Batch]
    """The batches that have not ended."""


@asynccontextmanager
async def open_batch_admin(store: Store, prices: str | Path | None = None) -> AsyncIterator[BatchAdmin]:
    """Open the batches of a store and the connections to their providers for the duration of the block."""
    locks = KeyLocks(store.folder / LOCK_FILE)
    try:
        with BatchState(store.folder) as state:
            async with BatchLifecycle(state, store, locks, TIMEOUT, prices) as lifecycle:
                yield BatchAdmin(state, locks, lifecycle)
    finally:
        locks.close()


class BatchAdmin:
    """The batches of one store."""

    def __init__(self, state: BatchState, locks: KeyLocks, lifecycle: BatchLifecycle) -> None:
        self._state = state
        self._locks = locks
        self._lifecycle = lifecycle

    def batches(self, *, closed: bool) -> list[Batch]:
        """Return the open batches, and with `closed` all others too, oldest first."""
        return self._state.batches() if closed else self._state.batches(*OPEN)

    def select(self, prefixes: Sequence[str]) -> list[Batch]:
        """Return the open batches with these name prefixes, or all open batches if there are no prefixes.

        Raises UsageError if a prefix matches no batch or several.
        """
        batches = self.batches(closed=False)
        return [self._select_one(prefix, batches) for prefix in prefixes] if prefixes else batches

    def _select_one(self, prefix: str, batches: list[Batch]) -> Batch:
        matches = [batch for batch in batches if batch.name.startswith(prefix)]
        if len(matches) != 1:
            names = ", ".join(batch.name[:8] for batch in matches or batches) or "none"
            problem = f"{prefix!r} matches several open batches" if matches else f"No open batch {prefix!r}"
            raise UsageError(f"{problem}. Open batches: {names}. `claimeval batch list` shows them")
        return matches[0]

    async def status(self, prefixes: Sequence[str]) -> list[Batch]:
        """Return the selected batches with their providers' current status."""
        return [await self._lifecycle.refresh(batch.name) for batch in self.select(prefixes)]

    async def collect(self, prefixes: Sequence[str]) -> CollectedBatches:
        """Read the results of the selected batches that have ended."""
        received = Received()
        open_batches = []
        for batch in self.select(prefixes):
            if batch.state == "submitted":
                step = await self._lifecycle.advance(batch.name)
                received.add(step.received or Received())
                batch = step.batch
            if batch.open:
                open_batches.append(batch)
        return CollectedBatches(received, open_batches)

    async def wait(self, progress: Progress) -> Received:
        """Wait for the open batches to end and return the counts of their results.

        If most batches ended long ago, the remaining ones are not waited for.
        """
        received = Received()
        poller = BatchPoller(self._state, self._lifecycle, self._locks, progress, received.add)
        await poller.poll((batch.name for batch in self.batches(closed=False)), "batches", detach=False)
        return received

    async def cancel(self, batches: Sequence[Batch]) -> list[Batch]:
        """Ask the providers to stop these batches, and drop batches that no provider has."""
        for batch in batches:
            await self._lifecycle.cancel(batch)
        return [await self._lifecycle.refresh(batch.name) for batch in batches]

    async def forget(self, batches: Sequence[Batch]) -> list[Batch]:
        """Drop these batches without asking their providers."""
        for batch in batches:
            await self._lifecycle.forget(batch)
        return [self._state[batch.name] for batch in batches]
