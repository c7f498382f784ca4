"""What is known of batches, durable beside the store: which there are, and which request rides in which.

A request is in here from the moment it is to ride in a batch until its reply is in the store; one that came back
without a reply stays, with the reason, until the run that met it is over. A request rides in one batch at a time, over
all processes, so none is paid twice.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from claimeval.execution.batch.records import Batch, BatchTarget, Entry, Freed, Sealed, State, group
from claimeval.providers.batches import BatchStatus
from claimeval.types.errors import StoreError
from claimeval.types.requests import CallError, Judge

FILE, FOLDER = "batches.db", "batches"
FORMAT = 1
TRIES = 3
"""How often a request rides in a batch before the want of a reply counts as its failure."""

_TABLES = """
CREATE TABLE IF NOT EXISTS batch (
    name TEXT PRIMARY KEY, judge TEXT NOT NULL, grouping TEXT NOT NULL, run TEXT NOT NULL, state TEXT NOT NULL,
    requests INTEGER NOT NULL, size INTEGER NOT NULL, at REAL NOT NULL, upload TEXT, id TEXT,
    status TEXT NOT NULL, answered INTEGER NOT NULL, failed INTEGER NOT NULL, problem TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS request (
    key BLOB PRIMARY KEY, batch TEXT, prompt TEXT NOT NULL, reserved INTEGER NOT NULL, tries INTEGER NOT NULL,
    reason TEXT, message TEXT NOT NULL, final INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS riding ON request (batch);
"""
_BATCH = "SELECT name, judge, run, state, requests, size, at, upload, id, status, answered, failed, problem FROM batch"


class BatchState:
    """The state of all batches of one store. Several processes may hold it open."""

    def __init__(self, store: Path) -> None:
        self._file = store / FILE
        self.folder = store / FOLDER
        """Where files of requests and results lie until they have been read."""
        with self._explained():
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._file.touch(mode=0o600)
            self._database = sqlite3.connect(self._file, timeout=60, isolation_level=None)
            try:
                self._prepare()
            except (sqlite3.Error, StoreError):
                self._database.close()
                raise

    def _prepare(self) -> None:
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        (found,) = self._database.execute("PRAGMA user_version").fetchone()
        if found not in (0, FORMAT):
            raise StoreError(
                f"the record of batches {self._file} has the format {found}; this version reads {FORMAT}. Use the "
                "version that made it until its batches are over"
            )
        self._database.executescript(_TABLES)
        self._database.execute(f"PRAGMA user_version = {FORMAT}")

    def path(self, name: str) -> Path:
        """The file of a batch's request lines."""
        return self.folder / f"{name}.jsonl"

    def begin(self, name: str, judge: Judge, run: str) -> None:
        """Enters a batch whose requests are about to be gathered."""
        self._execute(
            "INSERT INTO batch VALUES (?, ?, ?, ?, 'gathering', 0, 0, ?, NULL, NULL, '', 0, 0, '')",
            name,
            judge.model_dump_json(),
            "\n".join(group(judge)),
            run,
            time.time(),
        )

    def claim(self, name: str, key: str, prompt: str, reserved: int) -> bool:
        """Makes a request ride in a batch; False where it rides in another one already."""
        claimed = self._execute(
            "INSERT INTO request VALUES (?, ?, ?, ?, 0, NULL, '', 0) ON CONFLICT (key) DO UPDATE "
            "SET batch = excluded.batch, reserved = excluded.reserved WHERE batch IS NULL",
            bytes.fromhex(key),
            name,
            prompt,
            reserved,
        )
        return claimed.rowcount == 1

    def seal(self, file: Sealed) -> None:
        """Enters that the batch's file is whole: the intent that precedes the submission."""
        how = "UPDATE batch SET state = 'ready', requests = ?, size = ? WHERE name = ?"
        self._execute(how, file.requests, file.size, file.name)

    def split(self, name: str, parts: Iterable[tuple[Sealed, list[str]]]) -> None:
        """Makes the requests of a batch ride in others, which are ready to be submitted."""
        with self._at_once():
            for file, keys in parts:
                self.seal(file)
                self._database.executemany(
                    "UPDATE request SET batch = ? WHERE key = ?", ((file.name, bytes.fromhex(key)) for key in keys)
                )
            self._database.execute("UPDATE batch SET state = 'split' WHERE name = ?", (name,))
        self.path(name).unlink(missing_ok=True)

    def uploaded(self, name: str, file_id: str) -> None:
        """Enters, to the disk itself, that from now on the provider may hear of the batch."""
        self._certainly("UPDATE batch SET upload = ? WHERE name = ?", file_id, name)

    def submitted(self, name: str, standing: BatchStatus) -> None:
        """Enters, to the disk itself, what the provider calls the batch."""
        how = "UPDATE batch SET state = 'submitted', id = ?, at = ? WHERE name = ?"
        self._certainly(how, standing.id, time.time(), name)
        self.told(name, standing)

    def told(self, name: str, standing: BatchStatus) -> None:
        """Enters what the provider says of it."""
        self._execute(
            "UPDATE batch SET status = ?, answered = ?, failed = ?, problem = ? WHERE name = ?",
            standing.status,
            standing.answered,
            standing.failed,
            standing.problem,
            name,
        )

    def put_back(self, name: str) -> None:
        """Makes a batch that the provider did not take ready to be submitted anew."""
        self._execute("UPDATE batch SET state = 'ready', upload = NULL, id = NULL WHERE name = ?", name)

    def end(self, name: str, state: State) -> Freed:
        """Closes a batch. Requests still in it will not be answered by it: they are free, and no try was lost."""
        with self._at_once():
            count, reserved = self._database.execute(
                "SELECT count(*), coalesce(sum(reserved), 0) FROM request WHERE batch = ?", (name,)
            ).fetchone()
            self._database.execute("DELETE FROM request WHERE batch = ? AND tries = 0", (name,))
            self._database.execute("UPDATE request SET batch = NULL, reserved = 0 WHERE batch = ?", (name,))
            self._database.execute("UPDATE batch SET state = ? WHERE name = ?", (state, name))
        for file in self.folder.glob(f"{name}.*"):
            file.unlink(missing_ok=True)
        return Freed(count, reserved)

    def answered(self, keys: Iterable[str]) -> None:
        """Takes out requests whose replies are in the store."""
        with self._at_once():
            self._database.executemany("DELETE FROM request WHERE key = ?", ((bytes.fromhex(key),) for key in keys))

    def came_back(self, failures: Iterable[tuple[str, CallError]]) -> None:
        """Notes why requests came back without a reply. They ride in no batch now."""
        rows = ((e.reason, e.message, not e.retryable, TRIES, bytes.fromhex(key)) for key, e in failures)
        with self._at_once():
            self._database.executemany(
                "UPDATE request SET batch = NULL, reserved = 0, reason = ?, message = ?, tries = tries + 1, "
                "final = (? OR tries + 1 >= ?) WHERE key = ?",
                rows,
            )

    def forget(self, keys: Iterable[str]) -> None:
        """Remove requests that came back without a reply, so that the next run that needs them sends them again."""
        with self._at_once():
            self._database.executemany(
                "DELETE FROM request WHERE key = ? AND batch IS NULL", ((bytes.fromhex(key),) for key in keys)
            )

    def entry(self, key: str) -> Entry | None:
        """What is known of a request; None where it never was in a batch, or where its reply is in the store."""
        row = self._execute(
            "SELECT batch, prompt, reserved, tries, reason, message, final FROM request WHERE key = ?",
            bytes.fromhex(key),
        ).fetchone()
        return Entry(*row) if row else None

    def waiting(self, name: str) -> Iterator[str]:
        """The requests that still ride in a batch; they may be taken out while this is read."""
        last = b""
        while page := self._execute(
            "SELECT key FROM request WHERE batch = ? AND key > ? ORDER BY key LIMIT 1000", name, last
        ).fetchall():
            yield from (key.hex() for (key,) in page)
            last = page[-1][0]

    def batch(self, name: str) -> Batch | None:
        """The batch with this name."""
        row = self._execute(f"{_BATCH} WHERE name = ?", name).fetchone()
        return _batch(row) if row else None

    def batches(self, *states: State) -> list[Batch]:
        """The batches in these states, in any where none is given, oldest first."""
        marks = ", ".join("?" * len(states))
        where = f" WHERE state IN ({marks})" if states else ""
        return [_batch(row) for row in self._execute(f"{_BATCH}{where} ORDER BY at, name", *states)]

    def refusals(self, of: BatchTarget) -> int:
        """How many batches of a group the provider has refused since it last answered one."""
        states = self._execute(
            "SELECT state FROM batch WHERE grouping = ? AND state IN ('refused', 'answered') "
            "ORDER BY at DESC LIMIT 100",
            "\n".join(of),
        ).fetchall()
        return next((i for i, (state,) in enumerate(states) if state == "answered"), len(states))

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        with self._explained():
            return self._database.execute(statement, values)

    def _certainly(self, statement: str, *values: object) -> None:
        """Executes and waits until the disk has it, so that a power cut does not take it."""
        self._execute("PRAGMA synchronous = FULL")
        try:
            self._execute(statement, *values)
        finally:
            self._execute("PRAGMA synchronous = NORMAL")

    @contextlib.contextmanager
    def _at_once(self) -> Iterator[None]:
        """Everything in the block, or nothing of it."""
        with self._explained():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"the record of batches {self._file} cannot be used: {error}") from error
        except OSError as error:
            raise StoreError(f"the record of batches {self._file} cannot be used: {error.strerror or error}") from error


@contextlib.contextmanager
def on_disk(file: Path) -> Iterator[None]:
    """The system's errors with one of the files in words that name it."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"the file {file} cannot be read or written: {error.strerror or error}") from error


def requests_under_way(store: Path) -> int:
    """How many requests ride in batches that a provider has; 0 where there never was a batch."""
    if not (store / FILE).exists():
        return 0
    with BatchState(store) as state:
        return sum(1 for batch in state.batches("submitted") for _ in state.waiting(batch.name))


def _batch(row: tuple[Any, ...]) -> Batch:
    name, judge, *rest = row
    return Batch(name, Judge.model_validate_json(judge), *rest)
