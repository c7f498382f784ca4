"""What a run has spent, over all its processes and all its interruptions: one row a run, beside the store.

The worst case of a call is entered before the call is sent and replaced by what it cost when the reply has come. A
process that dies in between leaves the worst case standing, so the sum is never below what was paid.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from claimeval.types.errors import StoreError

FILE = "spending.db"
"""In the store's folder."""
NANO = 1_000_000_000
"""Amounts are kept as whole billionths of a dollar, so that sums are exact."""
_NO_CAP = 2**62


class Spent(NamedTuple):
    calls: int
    cost: float
    """US dollars, reserved amounts included."""


class Ledger:
    """The row of one run, with its caps. Several processes may hold it open."""

    def __init__(self, file: Path, run: str, max_calls: int | None, max_cost: float | None) -> None:
        self._file = file
        self._run = run
        self._most = (_NO_CAP if max_calls is None else max_calls, _NO_CAP if max_cost is None else _nano(max_cost))
        with self._explained():
            self._database = sqlite3.connect(file, timeout=60, isolation_level=None)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS spending "
                "(run TEXT PRIMARY KEY, calls INTEGER NOT NULL, cost INTEGER NOT NULL) WITHOUT ROWID"
            )
            self._database.execute("INSERT OR IGNORE INTO spending VALUES (?, 0, 0)", (run,))

    def reserve(self, cost: float) -> bool:
        """Enters one call of at most `cost`; False, and nothing entered, where that would pass a cap."""
        amount = _nano(cost)
        with self._explained():
            entered = self._database.execute(
                "UPDATE spending SET calls = calls + 1, cost = cost + ? WHERE run = ? AND calls < ? AND cost + ? <= ?",
                (amount, self._run, self._most[0], amount, self._most[1]),
            )
        return entered.rowcount == 1

    def settle(self, reserved: float, cost: float) -> None:
        """Replaces the worst case of a call by what it cost; the call itself stays counted."""
        with self._explained():
            self._database.execute(
                "UPDATE spending SET cost = cost - ? + ? WHERE run = ?", (_nano(reserved), _nano(cost), self._run)
            )

    def give_back(self, calls: int, reserved: float) -> None:
        """Takes out calls that were entered and never reached a provider."""
        with self._explained():
            self._database.execute(
                "UPDATE spending SET calls = calls - ?, cost = cost - ? WHERE run = ?",
                (calls, _nano(reserved), self._run),
            )

    @property
    def spent(self) -> Spent:
        """All calls and their cost so far."""
        with self._explained():
            row = self._database.execute("SELECT calls, cost FROM spending WHERE run = ?", (self._run,)).fetchone()
        return Spent(row[0], row[1] / NANO)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"the record of spending {self._file} cannot be used: {error}") from error


def _nano(dollars: float) -> int:
    return round(dollars * NANO)
