"""Who may ask for a key now, over all threads and processes that use one store.

Byte locks on one file, which the system frees when a process dies. They belong to the whole process, and closing the
file anywhere in it frees them all; so its threads share one open file and one list of what is held.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from claimeval.types.errors import StoreError

_Identity = tuple[int, int, int]
_open_files: dict[_Identity, _File] = {}
_guard = threading.Lock()


class _File:
    """The file as this process has it open."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.held: set[int] = set()
        self.users = 0


def _identity(status: os.stat_result) -> _Identity:
    return os.getpid(), status.st_dev, status.st_ino


class KeyLocks:
    """The turns of one run; StoreError where the file system has no locks."""

    def __init__(self, file: Path) -> None:
        with _guard:
            file.touch(mode=0o600)
            self._identity = _identity(file.stat())
            if self._identity not in _open_files:
                _open_files[self._identity] = _File(os.open(file, os.O_RDWR))
            self._file = _open_files[self._identity]
            self._file.users += 1

    def take(self, key: str) -> bool:
        """Takes the turn; False while somebody else has it."""
        import fcntl

        byte = int(key[:10], 16)
        with _guard:
            if byte in self._file.held:
                return False
            try:
                fcntl.lockf(self._file.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
            except (BlockingIOError, PermissionError):
                return False
            except OSError as error:
                raise StoreError(f"the store's file system has no locks: {error.strerror}; use another") from error
            self._file.held.add(byte)
            return True

    def give(self, key: str) -> None:
        """Gives the turn to whoever takes it next."""
        import fcntl

        byte = int(key[:10], 16)
        with _guard:
            self._file.held.discard(byte)
            fcntl.lockf(self._file.descriptor, fcntl.LOCK_UN, 1, byte)

    def close(self) -> None:
        """Lets the file go; the last user of the process closes it."""
        with _guard:
            self._file.users -= 1
            if not self._file.users:
                os.close(_open_files.pop(self._identity).descriptor)
