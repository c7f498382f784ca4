"""Waiting for a SQLite file that another process writes to.

SQLite can wait by itself, but not always: it refuses to turn a young file to WAL mode at once while
another process writes to it. And its wait stops the whole thread, with all calls of the event loop.
So files are opened without a timeout of SQLite, and what is refused is tried again here.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from claimeval.types.errors import StoreError

MAX_WAIT = 60.0
"""Seconds to wait for another process."""
PAUSE = 0.01
"""Seconds between two attempts."""

T = TypeVar("T")


class LockedError(StoreError):
    """The file is in use by another process."""


def is_locked(error: BaseException | None) -> bool:
    """Return whether SQLite refused because another connection writes."""
    if not isinstance(error, sqlite3.OperationalError):
        return False
    # the low byte is the primary code, the others say which kind of lock it was
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    )


def wait_until_free(action: Callable[[], T]) -> T:
    """Return the result of an action, which is repeated while it raises `LockedError`."""
    deadline = time.monotonic() + MAX_WAIT
    while True:
        try:
            return action()
        except LockedError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(PAUSE)


async def until_free(action: Callable[[], T]) -> T:
    """Like `wait_until_free`, without stopping the event loop."""
    deadline = time.monotonic() + MAX_WAIT
    while True:
        try:
            return action()
        except LockedError:
            if time.monotonic() >= deadline:
                raise
            await asyncio.sleep(PAUSE)
