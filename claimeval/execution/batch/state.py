"""Durable state of batches, kept with the reply cache: all batches, and the batch of each pending
request.

A request is in the state from the moment it is claimed for a batch until its reply is stored. A
request that came back without a reply stays, with the reason, until the run that met it ends. A
request is in one batch at a time, over all processes, so that it is never paid twice.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from claimeval.execution.batch import (
    Batch,
    BatchTarget,
    ClosedRequestFile,
    ReleasedRequests,
    State,
    UnansweredRequest,
    batch_target,
)
from claimeval.execution.database import Database
from claimeval.providers.batches import BatchStatus
from claimeval.types.errors import StoreError
from claimeval.types.requests import CallError, Judge

FILE = "batches.db"
FOLDER = "batches"
FORMAT = 1
MAX_TRIES = 3
"""Batches that a request may be part of before a missing reply counts as a failure."""

_TABLES = """
CREATE TABLE IF NOT EXISTS batch (
    name TEXT PRIMARY KEY, judge TEXT NOT NULL, grouping TEXT NOT NULL, run TEXT NOT NULL,
    state TEXT NOT NULL, requests INTEGER NOT NULL, size INTEGER NOT NULL, at REAL NOT NULL,
    upload TEXT, id TEXT, status TEXT NOT NULL, answered INTEGER NOT NULL,
    failed INTEGER NOT NULL, problem TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS request (
    key BLOB PRIMARY KEY, batch TEXT, prompt TEXT NOT NULL, reserved INTEGER NOT NULL,
    tries INTEGER NOT NULL, reason TEXT, message TEXT NOT NULL,
    final INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS riding ON request (batch);
"""
_BATCH = (
    "SELECT name, judge, run, state, requests, size, at, upload, id, status, answered, failed,"
    " problem FROM batch"
)


class BatchState(Database):
    """State of all batches of one store. Several processes can have it open."""

    kind = "batch"

    def __init__(self, store: Path) -> None:
        self._file = store / FILE
        self.folder = store / FOLDER
        """Directory of request and result files. They are deleted once they have been read."""
        with self._store_errors():
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._file.touch(mode=0o600)
        super().__init__(self._file)

    def _prepare(self) -> None:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version not in (0, FORMAT):
            raise StoreError(
                f"The batch database {self._file} has the format {version}; this version of"
                f" claimeval reads {FORMAT}. Use the version that wrote it until its batches have"
                " ended"
            )
        self._database.executescript(_TABLES)
        self._database.execute(f"PRAGMA user_version = {FORMAT}")

    def path(self, name: str) -> Path:
        """Return the path of a batch's request file."""
        return self.folder / f"{name}.jsonl"

    def add(self, name: str, judge: Judge, run: str) -> None:
        """Add a batch whose request file is being written."""
        self._execute(
            "INSERT INTO batch VALUES (?, ?, ?, ?, 'gathering', 0, 0, ?, NULL, NULL, '', 0, 0, '')",
            name,
            judge.model_dump_json(),
            "\n".join(batch_target(judge)),
            run,
            time.time(),
        )

    def claim(self, name: str, key: str, prompt: str, reserved: int) -> bool:
        """Assign a request to a batch. Return False if it is in a batch already.

        Args:
            name: Name of the batch.
            key: Key of the request.
            prompt: Digest of the request's prompt.
            reserved: Reserved cost in billionths of a US dollar.
        """
        claimed = self._execute(
            # One statement, so that of two processes that claim a request at the same time one gets
            # it.
            "INSERT INTO request VALUES (?, ?, ?, ?, 0, NULL, '', 0) ON CONFLICT (key) DO UPDATE "
            "SET batch = excluded.batch, reserved = excluded.reserved WHERE batch IS NULL",
            bytes.fromhex(key),
            name,
            prompt,
            reserved,
        )
        return claimed.rowcount == 1

    def mark_ready(self, file: ClosedRequestFile) -> None:
        """Record that the request file is complete and the batch can be submitted."""
        statement = "UPDATE batch SET state = 'ready', requests = ?, size = ? WHERE name = ?"
        self._execute(statement, file.requests, file.size, file.name)

    def split(self, name: str, parts: Iterable[tuple[ClosedRequestFile, list[str]]]) -> None:
        """Move the requests of a batch to other batches, which are ready to be submitted."""
        with self._transaction():
            for file, keys in parts:
                self.mark_ready(file)
                self._database.executemany(
                    "UPDATE request SET batch = ? WHERE key = ?",
                    ((file.name, bytes.fromhex(key)) for key in keys),
                )
            self._database.execute("UPDATE batch SET state = 'split' WHERE name = ?", (name,))
        self.path(name).unlink(missing_ok=True)

    def mark_uploaded(self, name: str, file_id: str) -> None:
        """Record, durably, that the provider may know the batch from now on."""
        self._execute_durably("UPDATE batch SET upload = ? WHERE name = ?", file_id, name)

    def mark_submitted(self, name: str, status: BatchStatus) -> None:
        """Record, durably, the provider's id of the batch."""
        statement = "UPDATE batch SET state = 'submitted', id = ?, at = ? WHERE name = ?"
        self._execute_durably(statement, status.id, time.time(), name)
        self.update_status(name, status)

    def update_status(self, name: str, status: BatchStatus) -> None:
        """Record the status that the provider reports."""
        self._execute(
            "UPDATE batch SET status = ?, answered = ?, failed = ?, problem = ? WHERE name = ?",
            status.status,
            status.answered,
            status.failed,
            status.problem,
            name,
        )

    def requeue(self, name: str) -> None:
        """Make a batch that the provider did not accept ready to be submitted again."""
        self._execute(
            "UPDATE batch SET state = 'ready', upload = NULL, id = NULL WHERE name = ?", name
        )

    def end(self, name: str, state: State) -> ReleasedRequests:
        """Close a batch and release the requests still in it. The batch does not count as one of
        their tries."""
        with self._transaction():
            count, reserved = self._database.execute(
                "SELECT count(*), coalesce(sum(reserved), 0) FROM request WHERE batch = ?", (name,)
            ).fetchone()
            self._database.execute("DELETE FROM request WHERE batch = ? AND tries = 0", (name,))
            self._database.execute(
                "UPDATE request SET batch = NULL, reserved = 0 WHERE batch = ?", (name,)
            )
            self._database.execute("UPDATE batch SET state = ? WHERE name = ?", (state, name))
        for file in self.folder.glob(f"{name}.*"):
            file.unlink(missing_ok=True)
        return ReleasedRequests(count, reserved)

    def remove_answered(self, keys: Iterable[str]) -> None:
        """Remove requests whose replies are stored."""
        with self._transaction():
            self._database.executemany(
                "DELETE FROM request WHERE key = ?", ((bytes.fromhex(key),) for key in keys)
            )

    def mark_failed(self, failures: Iterable[tuple[str, CallError]]) -> None:
        """Record why requests came back without a reply, and take them out of their batch."""
        rows = (
            (e.reason, e.message, not e.retryable, MAX_TRIES, bytes.fromhex(key))
            for key, e in failures
        )
        with self._transaction():
            self._database.executemany(
                "UPDATE request SET batch = NULL, reserved = 0, reason = ?, message = ?, tries ="
                " tries + 1, final = (? OR tries + 1 >= ?) WHERE key = ?",
                rows,
            )

    def forget(self, keys: Iterable[str]) -> None:
        """Remove requests that came back without a reply, so that the next run that needs them
        sends them again."""
        with self._transaction():
            self._database.executemany(
                "DELETE FROM request WHERE key = ? AND batch IS NULL",
                ((bytes.fromhex(key),) for key in keys),
            )

    def entry(self, key: str) -> UnansweredRequest | None:
        """Return a request without a reply, or None if it never was in a batch or its reply is
        stored."""
        row = self._execute(
            "SELECT batch, prompt, reserved, tries, reason, message, final FROM request WHERE"
            " key = ?",
            bytes.fromhex(key),
        ).fetchone()
        return UnansweredRequest(*row) if row else None

    def pending_keys(self, name: str) -> Iterator[str]:
        """Yield the keys of the requests in a batch. They can be removed during the iteration."""
        last = b""
        while page := self._execute(
            "SELECT key FROM request WHERE batch = ? AND key > ? ORDER BY key LIMIT 1000",
            name,
            last,
        ).fetchall():
            for (key,) in page:
                if key <= last:
                    raise StoreError(
                        f"The batch database {self._file} is damaged: its requests are out of order"
                    )
                last = key
                yield key.hex()

    def __getitem__(self, name: str) -> Batch:
        return _batch(self._execute(f"{_BATCH} WHERE name = ?", name).fetchone())

    def batches(self, *states: State) -> list[Batch]:
        """Return the batches in these states, or in any state if none is given, oldest first."""
        condition = f" WHERE state IN ({', '.join('?' * len(states))})" if states else ""
        return [
            _batch(row) for row in self._execute(f"{_BATCH}{condition} ORDER BY at, name", *states)
        ]

    def refusals(self, target: BatchTarget) -> int:
        """Return how many batches of a target were refused since the last one that was answered."""
        states = self._execute(
            "SELECT state FROM batch WHERE grouping = ? AND state IN ('refused', 'answered') "
            "ORDER BY at DESC LIMIT 100",
            "\n".join(target),
        ).fetchall()
        return next((i for i, (state,) in enumerate(states) if state == "answered"), len(states))

    def _execute_durably(self, statement: str, *values: object) -> None:
        """Execute a statement and wait until it is on disk, so that it survives a power failure."""
        self._execute("PRAGMA synchronous = FULL")
        try:
            self._execute(statement, *values)
        finally:
            self._execute("PRAGMA synchronous = NORMAL")


@contextlib.contextmanager
def file_errors(file: Path) -> Iterator[None]:
    """Raise StoreError with the name of the file if the block raises OSError."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"The file {file} cannot be read or written: {error.strerror or error}"
        ) from error


def pending_requests(store: Path) -> int:
    """Return how many requests are in submitted batches."""
    try:
        if not (store / FILE).exists():
            return 0
    except OSError:  # a folder that this user may not look into
        return 0
    with BatchState(store) as state:
        submitted = state.batches("submitted")
        return sum(len(list(state.pending_keys(batch.name))) for batch in submitted)


def _batch(row: tuple[Any, ...]) -> Batch:
    name, judge, *rest = row
    return Batch(name, Judge.model_validate_json(judge), *rest)
