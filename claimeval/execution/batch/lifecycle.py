"""Steps in the life of a batch: submit, check, collect, cancel. Each step is durable before the
next one starts.

Every batch has a name of ours, which is stored before the provider is contacted and which the
provider keeps with the batch. A process that cannot tell whether a batch was submitted asks the
provider for that name first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

from claimeval.execution.batch import Batch, BatchTarget, ReleasedRequests, State
from claimeval.execution.batch.files import BatchResultReader, Received
from claimeval.execution.batch.state import BatchState, file_errors
from claimeval.execution.budget import LEDGER_FILE, NANO, Ledger
from claimeval.providers.batches import BatchBackend, BatchStatus, Phase, batches_of
from claimeval.store.store import KeyLocks, Store
from claimeval.types.requests import CallError

T = TypeVar("T")

CLOCK_TOLERANCE = 86_400.0
"""Seconds by which the provider's clock may differ from ours when a batch is searched by name."""
TRANSFER_TIMEOUT = 3600.0
"""Seconds allowed for the transfer of one file."""
FINAL_STATES: Mapping[Phase, State] = {
    "ended": "answered",
    "expired": "answered",
    "refused": "refused",
    "cancelled": "cancelled",
}
MISSING_RESULTS: Mapping[Phase, CallError] = {
    "ended": CallError(
        "provider_error",
        "the batch ended and neither result file has the request",
        possibly_paid=True,
    ),
    "expired": CallError("timeout", "the batch expired before the request ran"),
}
"""Error of a request that has no result line. In the other phases the request is released."""


class BatchProgress(NamedTuple):
    """Result of one step with a batch."""

    batch: Batch
    received: Received | None = None
    """Counts of the results read in this step."""
    queue_full: bool = False
    """Whether the provider's queue was full."""


class BatchLifecycle:
    """Single steps with single batches. It does not wait or retry, and raises CallError if the
    provider fails."""

    def __init__(
        self,
        state: BatchState,
        store: Store,
        locks: KeyLocks,
        timeout: float,
        prices: str | Path | None = None,
    ) -> None:
        self._state = state
        self._store = store
        self._locks = locks
        self._timeout = timeout
        self._prices = prices
        self._backends: dict[BatchTarget, BatchBackend] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def clean_up(self) -> None:
        """Drop the unfinished files of processes that died, and close batches whose replies are all
        stored."""
        for batch in self._state.batches("gathering", "ready", "submitted"):
            missing = (
                key for key in self._state.pending_keys(batch.name) if self._store.get(key) is None
            )
            if (batch.state == "gathering" or next(missing, None) is None) and self._locks.acquire(
                batch.name
            ):
                if self._state[batch.name].state == batch.state:
                    self._close(batch)
                self._locks.release(batch.name)

    def _close(self, batch: Batch) -> None:
        """End a batch that has no missing replies. The cost reserved for stored replies stays
        spent."""
        if batch.state == "submitted":
            self._state.remove_answered(list(self._state.pending_keys(batch.name)))
            self._state.end(batch.name, "answered")
        elif batch.open:
            self.release(batch, self._state.end(batch.name, "dropped"))

    async def advance(self, name: str) -> BatchProgress:
        """Submit a batch that is ready, or check a submitted batch and read its results if it has
        ended."""
        async with self._locked(name) as (batch, locked):
            if locked and batch.state == "ready":
                await self._submit(batch)
            elif locked and batch.state == "submitted":
                return await self._check(batch)
        return BatchProgress(self._state[name])

    async def refresh(self, name: str) -> Batch:
        """Return a batch with the provider's current status. Results are not read."""
        batch = self._state[name]
        if batch.state == "submitted" and batch.id:
            backend = await self._backend(batch)
            self._state.update_status(name, await self._with_timeout(backend.status(batch.id)))
        return self._state[name]

    async def cancel(self, batch: Batch) -> None:
        """Ask the provider to stop a batch. Drop a batch that no provider has and that no process
        is handling."""
        if batch.state == "submitted" and batch.id:
            try:
                await self._with_timeout((await self._backend(batch)).cancel(batch.id))
            except CallError as error:
                if error.status != 409:  # the batch has ended already
                    raise
            return
        async with self._locked(batch.name) as (current, locked):
            if locked and current.open and not await self._find_submitted(current):
                self.release(current, self._state.end(current.name, "dropped"))

    async def forget(self, batch: Batch) -> None:
        """Drop a batch without asking its provider. The cost reserved for its requests stays
        spent."""
        async with self._locked(batch.name) as (current, locked):
            if locked and current.open:
                self._state.end(current.name, "dropped")

    def release(self, batch: Batch, released: ReleasedRequests) -> None:
        """Return the reserved cost of requests that were not sent to the run's ledger."""
        if batch.run:
            with self._ledger(batch.run) as ledger:
                ledger.release(released.requests, released.reserved / NANO)

    def settle(self, run: str, reserved: int, paid: int) -> None:
        """Replace the reserved cost in a run's ledger by the cost that was paid."""
        with self._ledger(run) as ledger:
            ledger.settle(reserved / NANO, paid / NANO)

    def _ledger(self, run: str) -> Ledger:
        return Ledger(self._store.folder / LEDGER_FILE, run, None, None)

    @asynccontextmanager
    async def _locked(self, name: str) -> AsyncIterator[tuple[Batch, bool]]:
        """Yield the batch and whether its lock was acquired. Another process may be handling it."""
        locked = self._locks.acquire(name)
        try:
            yield self._state[name], locked
        finally:
            if locked:
                self._locks.release(name)

    async def _backend(self, batch: Batch) -> BatchBackend:
        if batch.target not in self._backends:
            self._backends[batch.target] = await self._stack.enter_async_context(
                batches_of(batch.judge).open(batch.judge)
            )
        return self._backends[batch.target]

    async def _with_timeout(self, call: Awaitable[T], seconds: float | None = None) -> T:
        try:
            async with asyncio.timeout(seconds or self._timeout):
                return await call
        except TimeoutError:
            raise CallError(
                "timeout", "the provider did not answer in time", possibly_paid=True
            ) from None

    async def _submit(self, batch: Batch) -> None:
        backend = await self._backend(batch)
        if await self._find_submitted(batch):
            return
        if batch.upload is None:
            path = self._state.path(batch.name)
            with file_errors(path):
                upload = await self._with_timeout(
                    backend.upload(path, batch.name), TRANSFER_TIMEOUT
                )
            self._state.mark_uploaded(batch.name, upload)
        else:
            upload = batch.upload
        try:
            status = await self._with_timeout(backend.create(upload, batch.name))
        except CallError as error:
            if (
                error.status in (400, 404) and batch.upload
            ):  # the file of an earlier attempt may be gone
                self._state.requeue(batch.name)
            raise
        self._state.mark_submitted(batch.name, status)

    async def _find_submitted(self, batch: Batch) -> bool:
        """Return whether the provider has the batch already. If so, mark it as submitted."""
        if batch.upload is None:
            return False
        backend = await self._backend(batch)
        submitted = await self._with_timeout(
            backend.find(batch.name, batch.at - CLOCK_TOLERANCE, batch.upload)
        )
        others = {other.id for other in self._state.batches()}
        status = next(
            (
                status
                for status in submitted
                if status.phase != "refused" and status.id not in others
            ),
            None,
        )
        if status:
            self._state.mark_submitted(batch.name, status)
        return status is not None

    async def _check(self, batch: Batch) -> BatchProgress:
        assert batch.id, "a submitted batch has an id"
        status = await self._with_timeout((await self._backend(batch)).status(batch.id))
        self._state.update_status(batch.name, status)
        if status.phase == "under_way":
            return BatchProgress(self._state[batch.name])
        if status.queue_full and not status.files:
            self._state.requeue(batch.name)
            return BatchProgress(self._state[batch.name], queue_full=True)
        received = await self._collect(batch, status)
        return BatchProgress(self._state[batch.name], received)

    async def _collect(self, batch: Batch, status: BatchStatus) -> Received:
        """Download and read the result files. Requests without a result get an error or are
        released."""
        backend = await self._backend(batch)
        reader = BatchResultReader(self._state, self._store, self.settle, batch, self._prices)
        for number, file_id in enumerate(status.files):
            path = self._state.path(batch.name).with_suffix(f".result{number}")
            with file_errors(path):
                if path.exists() or await self._download(backend, file_id, path):
                    await reader.read(path, backend.key)
        reader.finish(MISSING_RESULTS.get(status.phase))
        self.release(batch, self._state.end(batch.name, FINAL_STATES[status.phase]))
        return reader.received

    async def _download(self, backend: BatchBackend, file_id: str, path: Path) -> bool:
        """Download a file. Return False if the provider does not have it, although it listed it."""
        try:
            await self._with_timeout(backend.fetch(file_id, path), TRANSFER_TIMEOUT)
        except CallError as error:
            if error.status == 404:
                return False
            raise
        return True
