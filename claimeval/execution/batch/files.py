"""Files of batches: request files are written line by line to the disk, and result files are read
in bounded memory.

Replies go to the reply cache and errors to the batch state. A reply is stored before its request is
removed from the state. If the process dies between the two steps, reading the file again changes
nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from claimeval.execution.batch import (
    Batch,
    ClosedRequestFile,
    ReleasedRequests,
    UnansweredRequest,
    read_line,
)
from claimeval.execution.batch.state import BatchState, file_errors
from claimeval.execution.budget import NANO, cost
from claimeval.providers.batches import MAX_LINE_BYTES, batches_of
from claimeval.providers.served import ServedPrices
from claimeval.store.store import KeyLocks, ReplyOrigin, Store, join
from claimeval.types.requests import CallError, Completion, Judge


class RequestFile:
    """The file of a new batch. Its lock is held until `commit` or `drop`, so that no process treats
    it as abandoned."""

    def __init__(self, state: BatchState, locks: KeyLocks, judge: Judge, run: str) -> None:
        self.name = uuid.uuid4().hex
        self.requests = 0
        self._size = 0
        self._limits = batches_of(judge).limits
        self._state = state
        self._locks = locks
        locked = locks.acquire(self.name)
        assert locked, "the name is new"
        self._path = state.path(self.name)
        with file_errors(self._path):
            self._file = os.fdopen(
                os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
            )
        state.add(self.name, judge, run)

    def has_room(self, line: bytes) -> bool:
        """Return whether one more line fits the provider's limits. The first line always fits."""
        limits = self._limits
        return self.requests < limits.requests and (
            not self.requests or self._size + len(line) <= limits.bytes
        )

    def write(self, line: bytes) -> None:
        """Append the line of one request."""
        with file_errors(self._path):
            self._file.write(line)
        self._size += len(line)
        self.requests += 1

    def close(self) -> ClosedRequestFile:
        """Flush the file to disk and close it."""
        with file_errors(self._path):
            self._file.flush()
            # The state says `ready` after this; a machine that loses power must not upload half a
            # file.
            os.fsync(self._file.fileno())
            self._file.close()
        return ClosedRequestFile(self.name, self.requests, self._size)

    def commit(self) -> None:
        """Close the file, then mark the batch as ready to be submitted."""
        self._state.mark_ready(self.close())
        self._locks.release(self.name)

    def drop(self) -> ReleasedRequests:
        """Delete the batch and release its requests."""
        with contextlib.suppress(OSError):  # a full disk
            self._file.close()
        released = self._state.end(self.name, "dropped")
        self._locks.release(self.name)
        return released


def split(state: BatchState, locks: KeyLocks, batch: Batch) -> list[str]:
    """Split a batch that is too large for its provider's queue into two, and return their names."""
    # Halves find a queue's room in a few steps, whatever it is; providers do not say how much is
    # free.
    halves = [(RequestFile(state, locks, batch.judge, batch.run), list[str]()) for _ in range(2)]
    with state.path(batch.name).open("rb") as lines:
        for number, line in enumerate(lines):
            request_file, keys = halves[2 * number >= batch.requests]
            request_file.write(line)
            keys.append(json.loads(line)["custom_id"])
    state.split(batch.name, [(request_file.close(), keys) for request_file, keys in halves])
    for request_file, _ in halves:
        locks.release(request_file.name)
    return [request_file.name for request_file, _ in halves]


FLUSH_LINES = 1000
"""Lines between two flushes, after each of which other tasks can run."""

Settle = Callable[[str, int, int], None]
"""Replace, for a run, a reserved cost by the paid cost, both in billionths of a US dollar."""


@dataclass
class Received:
    """Counts of the results that were read."""

    replies: int = 0
    repeated: int = 0
    """Lines whose request already had its reply."""
    unexpected_keys: int = 0
    """Lines that cannot be read or whose request is not pending."""
    tokens: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """Requests that came back without a reply, by reason."""
    fatal: CallError | None = None
    """An error that every further request to this model would get."""
    paid: float = 0.0
    """US dollars. Requests with an unknown outcome count at their maximum."""
    priced: bool = True
    """Whether the price of every paid request is known."""

    def add(self, other: Received) -> None:
        """Add the counts of another result file."""
        self.replies += other.replies
        self.repeated += other.repeated
        self.unexpected_keys += other.unexpected_keys
        self.tokens += other.tokens
        self.failures += other.failures
        self.fatal = self.fatal or other.fatal
        self.paid += other.paid
        self.priced = self.priced and other.priced


class BatchCharge(NamedTuple):
    """Cost of one request in billionths of a US dollar."""

    reserved: int
    paid: int


class BatchResultReader:
    """Reader of the result files of one batch."""

    def __init__(
        self,
        state: BatchState,
        store: Store,
        settle: Settle,
        batch: Batch,
        prices: str | Path | None = None,
    ) -> None:
        self.received = Received()
        self._state = state
        self._store = store
        self._settle = settle
        self._batch = batch
        self._prices = ServedPrices(batch.judge, prices, batched=True)
        self._answered: dict[str, BatchCharge] = {}
        """Answered requests that are still in the state."""
        self._failed: dict[str, CallError] = {}

    async def read(self, file: Path, api_key: SecretStr) -> None:
        """Read every line of a file."""
        with file.open("rb") as lines:
            for number, raw in enumerate(iter(partial(lines.readline, MAX_LINE_BYTES), b""), 1):
                if result := read_line(raw, api_key):
                    self._add(result.key, result.outcome)
                elif raw.strip():
                    self.received.unexpected_keys += 1
                # A file of 50,000 lines is read in a minute, in which the progress line would stand
                # still.
                if number % FLUSH_LINES == 0:
                    self._flush()
                    await asyncio.sleep(0)
        self._flush()

    def finish(self, missing: CallError | None) -> None:
        """Record why requests came back without a reply. `missing` is the error of requests that
        have no line."""
        failed = self._failures(missing)
        charges = []
        for key, error in failed.items():
            entry = self._state.entry(key)
            if entry and entry.batch:
                self.received.failures[error.reason] += 1
                charges.append(
                    BatchCharge(entry.reserved, entry.reserved if error.possibly_paid else 0)
                )
        self._state.mark_failed(failed.items())
        self._charge(charges)
        self._failed.clear()

    def _failures(self, missing: CallError | None) -> dict[str, CallError]:
        """Return why each request has no reply. A fatal error, such as a refused key, is that of
        the judge: its requests are as if they had not been sent."""
        fatal = next((error for error in self._failed.values() if error.fatal), None)
        self.received.fatal = fatal
        failed = {key: error for key, error in self._failed.items() if not error.fatal}
        if fatal or missing is None:
            return failed
        return dict.fromkeys(self._state.pending_keys(self._batch.name), missing) | failed

    def _add(self, key: str, outcome: Completion | CallError | None) -> None:
        entry = None if key in self._answered else self._state.entry(key)
        if entry is None or entry.batch != self._batch.name:
            # A process that died after storing and before removing leaves such lines; they are no
            # fault of the provider.
            if key in self._answered or self._store.get(key) is not None:
                self.received.repeated += 1
            else:
                self.received.unexpected_keys += 1
        elif isinstance(outcome, CallError):
            outcome.fatal |= (
                bool(outcome.refused) and self._batch.judge.without(outcome.refused) is None
            )
            self._failed.setdefault(key, outcome)
        elif outcome:
            self._add_reply(key, entry, outcome)

    def _add_reply(self, key: str, entry: UnansweredRequest, reply: Completion) -> None:
        if self._store.get(key) is None:
            judge = self._batch.judge
            origin = ReplyOrigin(judge.model, judge.endpoint, entry.prompt, time.time(), None)
            self._store.put(key, join(origin, reply.body))
        # A request may be in the file of errors and in that of replies; the reply counts.
        self._failed.pop(key, None)
        price = self._prices.of(reply.served_model)
        paid = cost(reply, price) if price else None
        self._answered[key] = BatchCharge(
            entry.reserved, entry.reserved if paid is None else round(paid * NANO)
        )
        self.received.replies += 1
        self.received.tokens += (reply.usage.prompt_tokens or 0) + (
            reply.usage.completion_tokens or 0
        )
        self.received.priced = self.received.priced and price is not None

    def _flush(self) -> None:
        """Remove answered requests from the state once their replies are on disk."""
        # In this order: a reply that is on disk and still pending is read again; one that is
        # neither would be lost.
        self._store.sync()
        self._state.remove_answered(self._answered)
        self._charge(self._answered.values())
        self._answered.clear()

    def _charge(self, charges: Collection[BatchCharge]) -> None:
        reserved = sum(charge.reserved for charge in charges)
        paid = sum(charge.paid for charge in charges)
        self.received.paid += paid / NANO
        if charges and self._batch.run:
            self._settle(self._batch.run, reserved, paid)
