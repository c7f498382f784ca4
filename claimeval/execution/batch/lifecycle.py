"""Carries batches to their providers and brings the results: each step is durable before the next one begins.

A batch bears a name of ours that is written down before the provider hears of it and that the provider keeps with it.
So a process that does not know whether a batch was submitted asks the provider for that name first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

from claimeval.execution import ledger
from claimeval.execution.batch.records import Batch, BatchTarget, Freed, State
from claimeval.execution.batch.results import BatchResultReader, Received
from claimeval.execution.batch.state import BatchState, on_disk
from claimeval.execution.ledger import NANO, Ledger
from claimeval.providers.batches import BatchBackend, BatchStatus, Phase, open_batches
from claimeval.store.locks import KeyLocks
from claimeval.store.store import Store
from claimeval.types.requests import CallError

T = TypeVar("T")

DAY = 86_400.0
"""Seconds that our clock and a provider's may differ when a batch is looked for by its name."""
TRANSFER = 3600.0
"""Seconds that a file may take on its way."""
OVER: Mapping[Phase, State] = {
    "ended": "answered",
    "expired": "answered",
    "refused": "refused",
    "cancelled": "cancelled",
}
LEFT_OUT: Mapping[Phase, CallError] = {
    "ended": CallError("provider_error", "the batch ended and neither result file has the request", possibly_paid=True),
    "expired": CallError("timeout", "the batch expired before the request ran"),
}
"""Why a request has no reply of which neither file has a line; in other phases it is free."""


class BatchProgress(NamedTuple):
    """How far a batch has come."""

    batch: Batch
    received: Received | None = None
    """What its files held, when they were read in this step."""
    queue_full: bool = False
    """The provider did not take it for now."""


class BatchLifecycle:
    """Takes single steps with single batches; it neither waits nor tries again. CallError for what a provider does."""

    def __init__(
        self, state: BatchState, store: Store, turns: KeyLocks, timeout: float, prices: str | Path | None = None
    ) -> None:
        self._state = state
        self._store = store
        self._turns = turns
        self._timeout = timeout
        self._prices = prices
        self._backends: dict[BatchTarget, BatchBackend] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def clear_away(self) -> None:
        """Tidies up after processes that died: drops what they were gathering, which a run gathers again, and closes
        batches whose replies are all in the store."""
        for batch in self._state.batches("gathering", "ready", "submitted"):
            needed = (key for key in self._state.waiting(batch.name) if self._store.get(key) is None)
            if (batch.state == "gathering" or next(needed, None) is None) and self._turns.take(batch.name):
                if self._known(batch.name).state == batch.state:
                    self._close(batch)
                self._turns.give(batch.name)

    def _close(self, batch: Batch) -> None:
        """Ends a batch of which nothing is waited for; what was set aside for replies that came stays spent."""
        if batch.state == "submitted":
            self._state.answered(list(self._state.waiting(batch.name)))
            self._state.end(batch.name, "answered")
        elif batch.open:
            self.give_back(batch, self._state.end(batch.name, "dropped"))

    async def advance(self, name: str) -> BatchProgress:
        """Submits a batch that is ready, looks at one that is submitted, and reads the results of one that is over."""
        async with self._turn(name) as (batch, mine):
            if mine and batch.state == "ready":
                await self._submit(batch)
            elif mine and batch.state == "submitted":
                return await self._look(batch)
        return BatchProgress(self._known(name))

    async def ask(self, name: str) -> Batch:
        """A submitted batch as the provider sees it now; its results are left where they are."""
        batch = self._known(name)
        if batch.state == "submitted" and batch.id:
            self._state.told(name, await self._in_time((await self._backend(batch)).look(batch.id)))
        return self._known(name)

    async def cancel(self, batch: Batch) -> None:
        """Asks the provider to run no more of a batch; drops one that no provider has and no process is busy with."""
        if batch.state == "submitted" and batch.id:
            try:
                await self._in_time((await self._backend(batch)).cancel(batch.id))
            except CallError as error:
                if error.status != 409:  # it is over already
                    raise
            return
        async with self._turn(batch.name) as (batch, mine):
            if mine and batch.open and not await self._adopted(batch):
                self.give_back(batch, self._state.end(batch.name, "dropped"))

    async def forget(self, batch: Batch) -> None:
        """Drops a batch whatever its provider says; what is set aside for its requests stays spent."""
        async with self._turn(batch.name) as (batch, mine):
            if mine and batch.open:
                self._state.end(batch.name, "dropped")

    def give_back(self, batch: Batch, freed: Freed) -> None:
        """Returns to a run's ledger what had been set aside for requests that were not asked."""
        if batch.run:
            with self._ledger(batch.run) as row:
                row.give_back(freed.requests, freed.reserved / NANO)

    def settle(self, run: str, reserved: int, paid: int) -> None:
        """Replaces in a run's ledger what was set aside by what was paid."""
        with self._ledger(run) as row:
            row.settle(reserved / NANO, paid / NANO)

    def _ledger(self, run: str) -> Ledger:
        return Ledger(self._store.folder / ledger.FILE, run, None, None)

    @asynccontextmanager
    async def _turn(self, name: str) -> AsyncIterator[tuple[Batch, bool]]:
        """The batch, and whether it is ours to handle: another process may be at it."""
        mine = self._turns.take(name)
        try:
            yield self._known(name), mine
        finally:
            if mine:
                self._turns.give(name)

    def _known(self, name: str) -> Batch:
        batch = self._state.batch(name)
        assert batch, "batches are never taken out of the state"
        return batch

    async def _backend(self, batch: Batch) -> BatchBackend:
        if batch.group not in self._backends:
            self._backends[batch.group] = await self._stack.enter_async_context(open_batches(batch.judge))
        return self._backends[batch.group]

    async def _in_time(self, call: Awaitable[T], seconds: float | None = None) -> T:
        try:
            async with asyncio.timeout(seconds or self._timeout):
                return await call
        except TimeoutError:
            raise CallError("timeout", "the provider did not answer in time", possibly_paid=True) from None

    async def _submit(self, batch: Batch) -> None:
        backend = await self._backend(batch)
        if await self._adopted(batch):
            return
        if batch.upload is None:
            file = self._state.path(batch.name)
            with on_disk(file):
                upload = await self._in_time(backend.upload(file, batch.name), TRANSFER)
            self._state.uploaded(batch.name, upload)
        else:
            upload = batch.upload
        try:
            standing = await self._in_time(backend.create(upload, batch.name))
        except CallError as error:
            if error.status in (400, 404) and batch.upload:  # the file from an earlier attempt may be gone by now
                self._state.put_back(batch.name)
            raise
        self._state.submitted(batch.name, standing)

    async def _adopted(self, batch: Batch) -> bool:
        """Whether the provider has the batch already; then it is entered as submitted."""
        if batch.upload is None:
            return False
        backend = await self._backend(batch)
        found = await self._in_time(backend.find(batch.name, batch.at - DAY))
        standing = next((standing for standing in found if standing.phase != "refused"), None)
        if standing:
            self._state.submitted(batch.name, standing)
        return standing is not None

    async def _look(self, batch: Batch) -> BatchProgress:
        assert batch.id, "a submitted batch has an id"
        standing = await self._in_time((await self._backend(batch)).look(batch.id))
        self._state.told(batch.name, standing)
        if standing.phase == "under_way":
            return BatchProgress(self._known(batch.name))
        if standing.queue_full and not standing.files:
            self._state.put_back(batch.name)
            return BatchProgress(self._known(batch.name), queue_full=True)
        received = await self._collect(batch, standing)
        return BatchProgress(self._known(batch.name), received)

    async def _collect(self, batch: Batch, standing: BatchStatus) -> Received:
        """Brings the files down and reads them; what they leave out is noted, or free where it did not run."""
        backend = await self._backend(batch)
        reading = BatchResultReader(self._state, self._store, self.settle, batch, self._prices)
        for number, file_id in enumerate(standing.files):
            place = self._state.path(batch.name).with_suffix(f".result{number}")
            with on_disk(place):
                if place.exists() or await self._fetched(backend, file_id, place):
                    await reading.read(place, backend.key)
        reading.finish(LEFT_OUT.get(standing.phase))
        self.give_back(batch, self._state.end(batch.name, OVER[standing.phase]))
        return reading.received

    async def _fetched(self, backend: BatchBackend, file_id: str, place: Path) -> bool:
        """Brings a file down; False where the provider has none, whatever it said before."""
        try:
            await self._in_time(backend.fetch(file_id, place), TRANSFER)
        except CallError as error:
            if error.status == 404:
                return False
            raise
        return True
