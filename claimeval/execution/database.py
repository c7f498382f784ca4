"""SQLite files next to the reply cache that several processes can have open."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from claimeval.types.errors import StoreError


class Database:
    """A SQLite file. Its errors, and those of the system, are StoreErrors that name it."""

    kind: str
    """What it is, in messages."""

    def __init__(self, file: Path) -> None:
        """Open the file, which is created if it does not exist."""
        self._file = file
        with self._store_errors():
            self._database = sqlite3.connect(file, timeout=60, isolation_level=None)
            try:
                self._database.execute("PRAGMA journal_mode = WAL")
                self._database.execute("PRAGMA synchronous = NORMAL")
                self._prepare()
            except (sqlite3.Error, StoreError):
                self._database.close()
                raise

    def _prepare(self) -> None:
        """Create the tables."""

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        with self._store_errors():
            return self._database.execute(statement, values)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._store_errors():
            self._database.execute("BEGIN IMMEDIATE")
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
            raise StoreError(
                f"The {self.kind} database {self._file} cannot be used: {error}"
            ) from error
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
