"""A file of requests while it is being gathered: each line goes to the disk as it comes."""

from __future__ import annotations

import contextlib
import json
import os
import uuid

from claimeval.execution.batch.records import Batch, Freed, Sealed
from claimeval.execution.batch.state import BatchState, on_disk
from claimeval.providers.batches import file_limits
from claimeval.store.locks import KeyLocks
from claimeval.types.requests import Judge


class RequestFile:
    """A batch in the making. Its turn is held until it is sealed or dropped, so that nobody takes it for abandoned."""

    def __init__(self, state: BatchState, turns: KeyLocks, judge: Judge, run: str) -> None:
        self.name = uuid.uuid4().hex
        self.requests = 0
        self._size = 0
        self._limits = file_limits(judge)
        self._state = state
        self._turns = turns
        taken = turns.take(self.name)
        assert taken, "a name that nobody had before"
        self._path = state.path(self.name)
        with on_disk(self._path):
            self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        state.begin(self.name, judge, run)

    def has_room(self, line: bytes) -> bool:
        """Whether one more line keeps the file within its provider's limits; the first always fits."""
        limits = self._limits
        return self.requests < limits.requests and (not self.requests or self._size + len(line) <= limits.bytes)

    def write(self, line: bytes) -> None:
        """Appends the line of a request that rides in this batch."""
        with on_disk(self._path):
            self._file.write(line)
        self._size += len(line)
        self.requests += 1

    def close(self) -> Sealed:
        """Brings the file to the disk."""
        with on_disk(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        return Sealed(self.name, self.requests, self._size)

    def seal(self) -> None:
        """Brings the file to the disk, and then enters the intent to submit it."""
        self._state.seal(self.close())
        self._turns.give(self.name)

    def drop(self) -> Freed:
        """Undoes it; its requests are free again."""
        with contextlib.suppress(OSError):  # a full disk
            self._file.close()
        freed = self._state.end(self.name, "dropped")
        self._turns.give(self.name)
        return freed


def split(state: BatchState, turns: KeyLocks, batch: Batch) -> list[str]:
    """Makes two batches of one that is more than its provider's queue takes, and gives their names."""
    halves = [(RequestFile(state, turns, batch.judge, batch.run), list[str]()) for _ in range(2)]
    with state.path(batch.name).open("rb") as lines:
        for number, line in enumerate(lines):
            draft, keys = halves[2 * number >= batch.requests]
            draft.write(line)
            keys.append(json.loads(line)["custom_id"])
    state.split(batch.name, [(draft.close(), keys) for draft, keys in halves])
    for draft, _ in halves:
        turns.give(draft.name)
    return [draft.name for draft, _ in halves]
