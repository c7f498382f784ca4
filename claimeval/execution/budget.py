"""Budget of a run: the maximum cost of every call is reserved before it is sent, and settled when
its cost is known.

The spending of each run is kept next to the reply cache, over all processes and interruptions of
the run. A call whose outcome is unknown, because its process died or its reply was lost, leaves the
maximum in place until the same request is answered: then it counts like that answer, so that the
sum is never below what was paid, and hardly above.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from claimeval.execution.database import Database
from claimeval.execution.extra_fields import FREE
from claimeval.providers import provider
from claimeval.providers.prices import VARIABLE, Price, cost_bound, counted, example_row, price_of
from claimeval.providers.served import ServedPrices, stated_dollars
from claimeval.store.locked import LockedError
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.requests import CallError, Completion, Judge, Request

LEDGER_FILE = "spending.db"
"""File name in the directory of the reply cache."""
NANO = 1_000_000_000
"""Amounts are stored as whole billionths of a US dollar, so that sums are exact."""
_NO_LIMIT = 2**62


def check_caps(judges: Iterable[Judge], options: RunOptions) -> None:
    """Raise UsageError if a price file cannot be read, or if the caps of the options cannot hold
    for a judge."""
    # Nothing is paid for offline, so that no price needs to be known.
    for judge in judges if not options.offline else ():
        price = price_of(judge, options.prices)
        if options.max_cost is not None and price is None:
            raise UsageError(
                f"A cost limit needs the price of {judge.model} at {judge.endpoint}, which is"
                f" unknown. Add a line such as {example_row(judge)} (US dollars per million tokens)"
                f" to a YAML file and pass it with --prices or {VARIABLE}, or limit the number of"
                " calls instead"
            )
        if options.capped and not judge.uncounted and (unknown := sorted(set(judge.extra) - FREE)):
            raise UsageError(
                f"judge {judge.name!r}: the price of `{unknown[0]}` in `extra` is not known, so a"
                " cap is no promise. Leave it out, leave --max-cost and --max-calls out, or write"
                " `uncounted: true` into the judge file"
            )


def cost(completion: Completion, price: Price) -> float | None:
    """Return the cost of a reply in US dollars, or None if the provider did not report token
    counts."""
    return price.of(completion.usage) if counted(completion.usage) else None


def _paid(request: Request, reply: Completion, price: Price) -> float | None:
    """Return the cost of a reply: as the provider states it, else by its tokens."""
    stated = stated_dollars(request.judge, reply.usage)
    return cost(reply, price) if stated is None else stated


class Spending(NamedTuple):
    """Number and cost of the calls of a run."""

    calls: int
    cost: float
    """US dollars, reserved amounts included."""


class Ledger(Database):
    """The spending of one run and its limits. Several processes can have it open."""

    kind = "spending"

    def __init__(self, file: Path, run: str, max_calls: int | None, max_cost: float | None) -> None:
        self._run = run
        self._owner = uuid4().hex
        self.lost: frozenset[str]
        """The requests of calls without an outcome when the ledger was opened."""
        self._max_calls = _NO_LIMIT if max_calls is None else max_calls
        self._max_cost = _NO_LIMIT if max_cost is None else _nano(max_cost)
        super().__init__(file)

    def _prepare(self) -> None:
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS spending "
            "(run TEXT PRIMARY KEY, calls INTEGER NOT NULL, cost INTEGER NOT NULL) WITHOUT ROWID"
        )
        self._database.execute(
            # A reservation is a row until it is settled: what a killed process leaves is what may
            # have been paid and lost.
            "CREATE TABLE IF NOT EXISTS reserved (run TEXT, request TEXT, owner TEXT, cost INTEGER)"
        )
        self._database.execute(
            "CREATE INDEX IF NOT EXISTS reserved_by_request ON reserved (run, request)"
        )
        self._database.execute("INSERT OR IGNORE INTO spending VALUES (?, 0, 0)", (self._run,))
        lost = self._database.execute(
            "SELECT DISTINCT request FROM reserved WHERE run = ?", (self._run,)
        )
        self.lost = frozenset([request for (request,) in lost])

    def reserve(self, cost: float, request: str | None = None) -> bool:
        """Reserve one call of at most `cost`. Return False, without a reservation, if it would
        exceed a limit.

        With the key of its `request`, the reservation of a call without an outcome is settled by a
        later call.
        """
        amount = _nano(cost)
        with self._transaction():
            update = self._database.execute(
                "UPDATE spending SET calls = calls + 1, cost = cost + ? WHERE run = ? AND calls < ?"
                " AND cost + ? <= ?",
                (amount, self._run, self._max_calls, amount, self._max_cost),
            )
            if update.rowcount == 1 and request is not None:
                row = self._run, request, self._owner, amount
                self._database.execute("INSERT INTO reserved VALUES (?, ?, ?, ?)", row)
        return update.rowcount == 1

    def settle(self, reserved: float, cost: float) -> None:
        """Replace the reserved cost of a call by its actual cost. The call stays counted."""
        self._add(_nano(cost) - _nano(reserved))

    def settle_request(self, request: str, cost: float) -> None:
        """Replace the reserved cost of a call by its actual cost, also for earlier calls with an
        unknown outcome."""
        with self._transaction():
            query = (
                "SELECT rowid, cost FROM reserved WHERE run = ? AND request = ? AND owner = ?"
                " LIMIT 1"
            )
            row, amount = self._database.execute(
                # Its own reservation: another process may have asked the same and still wait.
                query,
                (self._run, request, self._owner),
            ).fetchone()
            self._database.execute("DELETE FROM reserved WHERE rowid = ?", (row,))
            self._add(_nano(cost) - amount)
            self._settle_lost(request, _nano(cost))

    def settle_lost(self, request: str, cost: float) -> None:
        """Replace the reserved costs of calls with an unknown outcome by what an answer to the same
        request cost.

        A reservation of another process that still waits is settled again by that process.
        """
        with self._transaction():
            self._settle_lost(request, _nano(cost))

    def _settle_lost(self, request: str, paid: int) -> None:
        # Only those above what was paid: a row at or below it was settled by an earlier answer.
        which = (self._run, request, paid)
        over = "FROM reserved WHERE run = ? AND request = ? AND cost > ?"
        count, total = self._database.execute(
            f"SELECT COUNT(*), TOTAL(cost) {over}", which
        ).fetchone()
        self._database.execute(
            "UPDATE reserved SET cost = ?3 WHERE run = ?1 AND request = ?2 AND cost > ?3", which
        )
        self._add(paid * count - int(total))

    def _add(self, nano: int) -> None:
        self._execute("UPDATE spending SET cost = cost + ? WHERE run = ?", nano, self._run)

    @property
    def limits_cost(self) -> bool:
        """Whether a limit in dollars is set."""
        return self._max_cost != _NO_LIMIT

    def release(self, calls: int, reserved: float) -> None:
        """Remove reserved calls that were never sent to a provider."""
        update = "UPDATE spending SET calls = calls - ?, cost = cost - ? WHERE run = ?"
        self._execute(update, calls, _nano(reserved), self._run)

    @property
    def spending(self) -> Spending:
        """Return the number and cost of all calls so far."""
        calls, cost = self._execute(
            "SELECT calls, cost FROM spending WHERE run = ?", self._run
        ).fetchone()
        return Spending(calls, cost / NANO)

    def next_in_words(self, cost: float) -> str:
        """Return the limit in dollars and what the next call may cost; empty if no limit in dollars
        is reached."""
        calls, spent = self.spending
        if calls >= self._max_calls or not self.limits_cost:
            return ""
        if _nano(spent) > self._max_cost:
            return (
                f" of ${self._max_cost / NANO:.4f}: replies in flight cost more than any before"
                " (another model answered, or reasoning that max_tokens does not limit)"
            )
        return (
            f" of ${self._max_cost / NANO:.4f}, and the next call may cost ${cost:.4f}, at its"
            " maximum length"
        )


def _nano(dollars: float) -> int:
    return round(dollars * NANO)


class Budget:
    """Spending of this process. If there is a ledger, its limits apply."""

    def __init__(
        self,
        judges: Iterable[Judge],
        ledger: Ledger | None = None,
        prices: str | Path | None = None,
    ) -> None:
        judges = tuple(judges)
        self._prices = {judge.name: ServedPrices(judge, prices) for judge in judges}
        self._dearest = {name: served.asked for name, served in self._prices.items()}
        """The dearest price of a reply so far, which the next reservations assume."""
        self._excess: dict[str, float] = {}
        """How many times its bound a reply of a judge has cost, where it cost more: hidden
        reasoning is not always limited by `max_tokens`."""
        self._answered: set[str] = set()
        self._first: set[str] = set()
        """Judges whose first call is under way."""
        self._charged = {judge.name for judge in judges if provider(judge.model).costs}
        self._ledger = ledger
        self._unsettled = 0
        self._settled = asyncio.Event()
        self._to_write: deque[Callable[[], None]] = deque()
        """Settlements that could not be written at once, because another process wrote to the
        ledger. Until they are, their reservations count."""
        self.exhausted: str | None = None
        """The reason, once a call would have exceeded a limit."""
        self.spent: float | None = 0.0 if all(self._dearest.values()) else None
        """Cost of this process in US dollars, or None if a price is unknown.

        Calls with an unknown outcome count at their maximum."""

    async def reserve(self, request: Request) -> float:
        """Reserve the maximum cost of a call and return it.

        Waits as long as calls in flight may still release enough. Raises CallError if the call
        would exceed a limit.
        """
        name = request.judge.name
        if not (self._ledger and name in self._charged):
            self._unsettled += 1
            return self._bound(request)
        if self._ledger.limits_cost:
            await self._wait_for_first(name)
        try:
            reserved = await self._reserve(self._ledger, request)
        # Cancelled here, the first call of a judge would hold all others for good.
        except BaseException:
            self._first.discard(name)
            self._settled.set()
            raise
        self._unsettled += 1
        return reserved

    async def _reserve(self, ledger: Ledger, request: Request) -> float:
        def reserve() -> float | None:
            """Reserve the bound, after what is settled by now is written."""
            self._write_settlements()
            bound = self._bound(request)
            return bound if ledger.reserve(bound, request.key) else None

        while not self.exhausted:
            if (reserved := await ledger.when_free(reserve)) is not None:
                return reserved
            # What is in flight is reserved at its maximum, and usually settles at a fraction of it.
            if self._unsettled:
                self._settled.clear()
                await self._settled.wait()
            else:
                next_call = ledger.next_in_words(self._bound(request))
                self.exhausted = f"{self.spending_in_words()} are spent{next_call}"
                self._settled.set()
        raise CallError("over_budget", self.exhausted, retryable=False)

    def _bound(self, request: Request) -> float:
        """Return the maximum cost of a call, by what the replies so far have shown."""
        name = request.judge.name
        known_price = self._dearest[name]
        if not known_price:
            return 0.0
        bound = cost_bound(request, known_price)
        # a judge whose replies exceed the bound has none; twice the worst so far takes its place
        # Twice, as reasoning of one length says little about that of the next.
        return 2 * self._excess[name] * bound if name in self._excess else bound

    async def _wait_for_first(self, judge: str) -> None:
        """Wait for a judge's first reply, unless this call is the first.

        A cap holds only if calls cost what is assumed of them. Whether they do, the first reply
        shows: another model may answer, or reasoning may be charged beside the completion.
        """
        while judge in self._first and not self.exhausted:
            self._settled.clear()
            await self._settled.wait()
        if judge not in self._answered:
            self._first.add(judge)

    def _settle_in_ledger(self, settlement: Callable[[], None]) -> None:
        assert self._ledger, "there is a ledger"
        self._to_write.append(settlement)
        # The reply is paid and stored; the event loop must not stand still until another process
        # has written to the ledger.
        with contextlib.suppress(LockedError), self._ledger.at_once():
            self._write_settlements()

    def _write_settlements(self) -> None:
        while self._to_write:
            self._to_write[0]()
            self._to_write.popleft()

    def close(self) -> None:
        """Write what is settled and could not be written yet."""
        self._write_settlements()

    def spending_in_words(self) -> str:
        """Return the calls and the cost of the whole run, the cost only if all prices are known."""
        assert self._ledger, "only a ledger limits the spending"
        spending = self._ledger.spending
        is_priced = all(self._prices[name].asked for name in self._charged)
        return f"{spending.calls} calls" + (
            f" and ${spending.cost:.4f}" if is_priced else " of unknown price"
        )

    def settle_stored(self, request: Request, completion: Completion) -> None:
        """Settle calls that were lost by a killed process, given the stored reply to the same
        request."""
        prices = self._prices.get(request.judge.name)
        if not (self._ledger and prices) or request.key not in self._ledger.lost:
            return
        known_price = prices.of(completion.served_model)
        if known_price and (paid := _paid(request, completion, known_price)) is not None:
            self._settle_in_ledger(partial(self._ledger.settle_lost, request.key, paid))

    def settle(
        self,
        request: Request,
        reserved: float,
        outcome: Completion | CallError | None,
    ) -> None:
        """Record the cost of a call: the whole reservation if a reply may have been paid for and
        lost.

        Args:
            request: The request of the call.
            reserved: The reserved cost in US dollars.
            outcome: The reply or the error, None if the call was cancelled.
        """
        name = request.judge.name
        paid: float | None = None
        self._first.discard(name)
        if isinstance(outcome, Completion):
            paid = self._cost(request, outcome)
        elif outcome and not outcome.possibly_paid:
            paid = 0.0
        if paid is None:
            paid = reserved
        elif self._ledger and name in self._charged:
            self._settle_in_ledger(partial(self._ledger.settle_request, request.key, paid))
        if self.spent is not None:
            self.spent += paid
        self._unsettled -= 1
        self._settled.set()

    def _cost(self, request: Request, reply: Completion) -> float | None:
        """Return the cost of a reply; None if it is unknown. Learn what the next calls may
        cost."""
        name = request.judge.name
        self._answered.add(name)
        known_price = self._prices[name].of(reply.served_model)
        dearest = self._dearest[name]
        if known_price is None or dearest is None:
            return None
        self._dearest[name] = dearest = dearest.dearer(known_price)
        paid = _paid(request, reply, known_price)
        # A cheap model that reasons: 64 tokens asked for, 3,000 billed beside them.
        if paid is not None and paid > (bound := cost_bound(request, dearest)) > 0:
            self._excess[name] = max(self._excess.get(name, 1.0), paid / bound)
        return paid
