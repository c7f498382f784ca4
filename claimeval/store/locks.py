"""Locks on keys, over all threads and processes that use one reply cache.

They are byte locks on one file, which the system releases when a process dies. Such locks belong to the whole process,
and closing the file anywhere in the process releases them all. So all threads share one open file and its locks.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from claimeval.types.errors import StoreError

LOCK_FILE = "locks"
"""File name in the directory of the reply cache."""

_Identity = tuple[int, int, int]
_open_files: dict[_Identity, _File] = {}
_guard = threading.Lock()


class _File:
    """The lock file as this process has it open."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.locked: set[int] = set()
        self.users = 0


def _identity(status: os.stat_result) -> _Identity:
    return os.getpid(), status.st_dev, status.st_ino


class KeyLocks:
    """Locks of one run. Raises StoreError if the file system does not support locks."""

    def __init__(self, file: Path) -> None:
        with _guard:
            file.touch(mode=0o600)
            self._identity = _identity(file.stat())
            if self._identity not in _open_files:
                _open_files[self._identity] = _File(os.open(file, os.O_RDWR))
            self._file = _open_files[self._identity]
            self._file.users += 1

    def acquire(self, key: str) -> bool:
        """Acquire the lock of a key. Return False if another run has it."""
        import fcntl

        byte = int(key[:10], 16)
        with _guard:
            if byte in self._file.locked:
                return False
            try:
                fcntl.lockf(self._file.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
            except (BlockingIOError, PermissionError):
                return False
            except OSError as error:
                raise StoreError(
                    f"The file system of the reply cache has no locks: {error.strerror}. Use another directory"
                ) from error
            self._file.locked.add(byte)
            return True

    def release(self, key: str) -> None:
        """Release the lock of a key."""
        import fcntl

        byte = int(key[:10], 16)
        with _guard:
            self._file.locked.discard(byte)
            fcntl.lockf(self._file.descriptor, fcntl.LOCK_UN, 1, byte)

    def close(self) -> None:
        """Close the locks. The last user in the process closes the file."""
        with _guard:
            self._file.users -= 1
            if not self._file.users:
                os.close(_open_files.pop(self._identity).descriptor)
