"""SQLite files next to the reply cache that several processes can have open."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self, TypeVar

from claimeval.store.locked import LockedError, is_locked, until_free, wait_until_free
from claimeval.types.errors import StoreError

T = TypeVar("T")


class Database:
    """A SQLite file. Its errors, and those of the system, are StoreErrors that name it."""

    kind: str
    """What it is, in messages."""

    def __init__(self, file: Path) -> None:
        """Open the file, which is created if it does not exist."""
        self._file = file
        self._waits = True
        with self._store_errors():
            # without a timeout, because `wait_until_free` waits also where SQLite would not
            self._database = sqlite3.connect(file, timeout=0, isolation_level=None)
        try:
            wait_until_free(self._open)
        except StoreError:
            self._database.close()
            raise

    def _open(self) -> None:
        with self._store_errors():
            self._database.execute("PRAGMA journal_mode = WAL")
            # With a write-ahead log NORMAL loses no transaction when a process is killed, and saves
            # a flush of the disk for each call.
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._prepare()

    def _prepare(self) -> None:
        """Create the tables. Repeated if another process writes to the file meanwhile."""

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        def execute() -> sqlite3.Cursor:
            """Execute the statement once."""
            with self._store_errors():
                return self._database.execute(statement, values)

        return wait_until_free(execute) if self._waits else execute()

    async def when_free(self, action: Callable[[], T]) -> T:
        """Return the result of an action on this file. The event loop goes on while another
        process writes to the file."""

        def attempt() -> T:
            """Act, or raise LockedError."""
            with self.at_once():
                return action()

        return await until_free(attempt)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Within the block, raise LockedError instead of waiting for another process."""
        self._waits = False
        try:
            yield
        finally:
            self._waits = True

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        # A transaction that reads first and writes later fails at once if another process wrote
        # meanwhile, whatever the timeout.
        self._execute("BEGIN IMMEDIATE")
        with self._store_errors():
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    @contextlib.contextmanager
    def _store_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            kind = LockedError if is_locked(error) else StoreError
            raise kind(f"The {self.kind} database {self._file} cannot be used: {error}") from error
        except OSError as error:
            why = error.strerror or error
            raise StoreError(
                f"The {self.kind} database {self._file} cannot be used: {why}"
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
