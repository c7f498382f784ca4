"""Files of results -> replies in the store and reasons in the state, line by line, in bounded memory.

A reply is stored before its request is taken out of the state, so that a process may die between any two steps and
reading the same file again changes nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from claimeval.execution.batch.records import Batch, Entry, read_line
from claimeval.execution.batch.state import BatchState
from claimeval.execution.budget import cost
from claimeval.execution.ledger import NANO
from claimeval.providers.prices import batch_price
from claimeval.store.replies import ReplyOrigin, join
from claimeval.store.store import Store
from claimeval.types.requests import CallError, Completion

LONGEST_LINE = 64 * 2**20
"""Bytes; a longer line is no result."""
CHUNK = 1000
"""Lines between two flushes, at which others get their turn."""

Settle = Callable[[str, int, int], None]
"""Replaces, for a run, billionths of a dollar that were set aside by what was paid."""


@dataclass
class Received:
    """What came of reading results."""

    replies: int = 0
    repeated: int = 0
    """Lines whose request had its reply already."""
    strangers: int = 0
    """Lines of requests that nobody waits for, or that cannot be read."""
    tokens: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """Requests that came back without a reply, by reason."""
    fatal: CallError | None = None
    """What no further request to this model can better."""
    paid: float = 0.0
    """US dollars, requests of unknown outcome at their worst."""
    priced: bool = True
    """Whether the price of all that was paid is known."""

    def add(self, other: Received) -> None:
        """Counts another reading in."""
        self.replies += other.replies
        self.repeated += other.repeated
        self.strangers += other.strangers
        self.tokens += other.tokens
        self.failures += other.failures
        self.fatal = self.fatal or other.fatal
        self.paid += other.paid
        self.priced = self.priced and other.priced


class Bill(NamedTuple):
    """What one request cost, in billionths of a dollar."""

    reserved: int
    paid: int


class BatchResultReader:
    """Reads the files of one batch."""

    def __init__(
        self, state: BatchState, store: Store, settle: Settle, batch: Batch, prices: str | Path | None = None
    ) -> None:
        self.received = Received()
        self._state = state
        self._store = store
        self._settle = settle
        self._batch = batch
        self._price = batch_price(batch.judge.model, batch.judge.endpoint or "", prices)
        self._done: dict[str, Bill] = {}
        """Answered requests that are still in the state."""
        self._back: dict[str, CallError] = {}

    async def read(self, file: Path, api_key: SecretStr) -> None:
        """Takes in every line of a file."""
        with file.open("rb") as lines:
            for number, raw in enumerate(iter(partial(lines.readline, LONGEST_LINE), b""), 1):
                if result := read_line(raw, api_key):
                    self._take(result.key, result.outcome)
                elif raw.strip():
                    self.received.strangers += 1
                if number % CHUNK == 0:
                    self._flush()
                    await asyncio.sleep(0)
        self._flush()

    def finish(self, missing: CallError | None) -> None:
        """Notes why the others came back without a reply; with `missing`, also those of which there was no line."""
        fatal = next((error for error in self._back.values() if error.fatal), None)
        self.received.fatal = fatal
        back = {key: error for key, error in self._back.items() if not error.fatal}
        if missing and not fatal:
            back |= {key: missing for key in self._state.waiting(self._batch.name) if key not in back}
        bills = []
        for key, error in back.items():
            entry = self._state.entry(key)
            if entry and entry.batch:
                self.received.failures[error.reason] += 1
                bills.append(Bill(entry.reserved, entry.reserved if error.possibly_paid else 0))
        self._state.came_back(back.items())
        self._pay(bills)
        self._back.clear()

    def _take(self, key: str, outcome: Completion | CallError | None) -> None:
        entry = None if key in self._done else self._state.entry(key)
        if entry is None or entry.batch != self._batch.name:
            if key in self._done or self._store.get(key) is not None:
                self.received.repeated += 1
            else:
                self.received.strangers += 1
        elif isinstance(outcome, CallError):
            self._back.setdefault(key, outcome)
        elif outcome:
            self._keep(key, entry, outcome)

    def _keep(self, key: str, entry: Entry, reply: Completion) -> None:
        if self._store.get(key) is None:
            judge = self._batch.judge
            origin = ReplyOrigin(judge.model, judge.endpoint, entry.prompt, time.time(), None)
            self._store.put(key, join(origin, reply.body))
        self._back.pop(key, None)
        paid = cost(reply, self._price) if self._price else None
        self._done[key] = Bill(entry.reserved, entry.reserved if paid is None else round(paid * NANO))
        self.received.replies += 1
        self.received.tokens += (reply.usage.prompt_tokens or 0) + (reply.usage.completion_tokens or 0)
        self.received.priced = self.received.priced and self._price is not None

    def _flush(self) -> None:
        """Takes answered requests out of the state, once their replies are on the disk."""
        self._store.sync()
        self._state.answered(self._done)
        self._pay(self._done.values())
        self._done.clear()

    def _pay(self, bills: Collection[Bill]) -> None:
        reserved, paid = sum(bill.reserved for bill in bills), sum(bill.paid for bill in bills)
        self.received.paid += paid / NANO
        if bills and self._batch.run:
            self._settle(self._batch.run, reserved, paid)
