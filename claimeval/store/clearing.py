"""Delete replies from a reply cache: all of them, old ones, or those of one run."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import NamedTuple

from claimeval.store.stats import read_origin
from claimeval.store.store import Store, StoredRow

DAY = 86_400.0
"""Seconds."""


class RowsToDelete(NamedTuple):
    """The rows of a reply cache to delete."""

    rows: array[int]
    """Their numbers."""
    bytes: int
    """The size of their replies."""
    first: float | None
    """When the oldest of them was received, in seconds since 1970; None without any."""
    last: float | None
    remaining: int
    """Rows that are kept."""


def select(
    store: Store,
    *,
    before: float | None = None,
    keys: Iterable[str] | None = None,
) -> RowsToDelete:
    """Return the rows to delete, in one pass.

    Args:
        store: The reply cache.
        before: Only replies that were received before this time, in seconds since 1970. Rows
            without a readable time are kept. None: all.
        keys: Only the replies under these keys. None: all, damaged rows included.
    """
    chosen = None if keys is None else frozenset(keys)
    rows = array("q")
    size = 0
    remaining = 0
    times: list[float] = []
    for row in store.rows():
        at = _received(row)
        if not _fits(row.key, at, before, chosen):
            remaining += 1
            continue
        rows.append(row.number)
        size += len(row.value or b"")
        if at is not None:
            # Two numbers in place of one for each of a million replies.
            times = [min([at, *times]), max([at, *times])]
    first, last = times or (None, None)
    return RowsToDelete(rows, size, first, last, remaining)


def _received(row: StoredRow) -> float | None:
    """Return when a reply was received; None if the row is damaged or unreadable."""
    if row.value is None:
        return None
    origin = read_origin(row.value)
    if origin is None:
        return None
    return origin.at


def _fits(key: str, at: float | None, before: float | None, chosen: frozenset[str] | None) -> bool:
    if chosen is not None and key not in chosen:
        return False
    if before is None:
        return True
    return at is not None and at < before
