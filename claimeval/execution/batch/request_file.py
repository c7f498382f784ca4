"""Request files that are being written. Each line goes to disk as it arrives."""

from __future__ import annotations

import contextlib
import json
import os
import uuid

from claimeval.execution.batch import Batch, ClosedRequestFile, ReleasedRequests
from claimeval.execution.batch.state import BatchState, file_errors
from claimeval.providers.batches import file_limits
from claimeval.store.locks import KeyLocks
from claimeval.types.requests import Judge


class RequestFile:
    """The file of a new batch. Its lock is held until `commit` or `drop`, so that no process treats it as abandoned."""

    def __init__(self, state: BatchState, locks: KeyLocks, judge: Judge, run: str) -> None:
        self.name = uuid.uuid4().hex
        self.requests = 0
        self._size = 0
        self._limits = file_limits(judge)
        self._state = state
        self._locks = locks
        locked = locks.acquire(self.name)
        assert locked, "the name is new"
        self._path = state.path(self.name)
        with file_errors(self._path):
            self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        state.add(self.name, judge, run)

    def has_room(self, line: bytes) -> bool:
        """Return whether one more line fits the provider's limits. The first line always fits."""
        limits = self._limits
        return self.requests < limits.requests and (not self.requests or self._size + len(line) <= limits.bytes)

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
