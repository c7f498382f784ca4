"""Reads replies from a damaged database of a reply cache, page by page and without SQLite.

SQLite stops at the first page that it cannot follow. But a reply stands on a leaf page of its
table, with the rest of a long one on a chain of further pages, and has a checksum. So every page is
searched, and what has the right checksum is a reply, whatever became of the pages that lead to it.
The format is that of https://www.sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

from claimeval.store.store import StoredReply, intact

PAGE_SIZE = 4096
_LEAF = 0x0D
_FIRST_HEADER = 100
_WAL_HEADER = 32
_FRAME_HEADER = 24
_KEY = re.compile(rb"[0-9a-f]{64}")
_SIZES = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0}
"""Bytes of a column by its serial type, if it is a number."""
_LONGEST = 2**31


class Salvaged(NamedTuple):
    """What was found."""

    replies: tuple[StoredReply, ...]
    """Oldest first."""
    damaged: int
    """Keys whose replies are damaged."""


class _PageLayout(NamedTuple):
    """How a database file is divided into pages."""

    page_size: int = PAGE_SIZE
    """The size of pages that diskcache's databases have."""
    reserved: int = 0
    """Bytes at the end of each page that hold no content."""


def _layouts(data: bytes) -> set[_PageLayout]:
    """Return the layout that the header of a file states, and the usual one: what is damaged may be
    the two bytes that state it. A reply that is read in the wrong layout has no right checksum."""
    size = int.from_bytes(data[16:18], "big")
    size = 65536 if size == 1 else size
    sound = data.startswith(b"SQLite format 3\0") and size >= 512 and not size & (size - 1)
    return {_PageLayout(), _PageLayout(size, data[20])} if sound else {_PageLayout()}


class _DatabasePages:
    """The pages of a database file, with those of its log in place of older ones."""

    def __init__(self, data: bytes, newer: Mapping[int, bytes], layout: _PageLayout) -> None:
        self._data = data
        self._newer = newer
        self.page_size = layout.page_size
        self.usable = layout.page_size - layout.reserved
        self.pages = max(-(-len(data) // self.page_size), *newer, 0)

    def page(self, number: int) -> bytes:
        """Return a page, from 1; empty if there is none."""
        if number in self._newer:
            return self._newer[number]
        start = (number - 1) * self.page_size
        return self._data[start : start + self.page_size] if number > 0 else b""


def salvage(folder: Path) -> Salvaged:
    """Return all replies in the files of a reply cache that have the right checksum."""
    data = (folder / "cache.db").read_bytes()
    log = folder / "cache.db-wal"
    newer = dict(_frames(log.read_bytes())) if log.exists() else {}
    found: dict[str, tuple[int, StoredReply]] = {}
    keys: set[str] = set()
    for layout, pages in product(_layouts(data), ({}, newer) if newer else ({},)):
        database = _DatabasePages(data, pages, layout)
        for number in range(1, database.pages + 1):
            for row, key, value in _rows(database, number):
                keys.add(key)
                reply = intact(key, value)
                if reply is not None:
                    found[key] = row, StoredReply(key, reply)
    replies = (reply for _, reply in sorted(found.values(), key=lambda entry: entry[0]))
    return Salvaged(tuple(replies), len(keys - found.keys()))


def _frames(log: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the pages in a write-ahead log, with their numbers."""
    size = int.from_bytes(log[8:12], "big")
    if not 512 <= size <= 65536:
        return
    for start in range(_WAL_HEADER, len(log) - size - _FRAME_HEADER + 1, size + _FRAME_HEADER):
        number = int.from_bytes(log[start : start + 4], "big")
        body = start + _FRAME_HEADER
        yield number, log[body : body + size]


def _rows(database: _DatabasePages, number: int) -> Iterator[tuple[int, str, bytes]]:
    """Yield number, key and value of each row on a page, damaged or not."""
    page = database.page(number)
    header = _FIRST_HEADER if number == 1 else 0
    if len(page) < header + 8 or page[header] != _LEAF:
        return
    cells = int.from_bytes(page[header + 3 : header + 5], "big")
    for place in range(header + 8, min(header + 8 + 2 * cells, len(page) - 1), 2):
        start = int.from_bytes(page[place : place + 2], "big")
        try:
            row, payload = _payload(database, page, start)
            columns = dict(_columns(payload))
        except (IndexError, ValueError):
            continue
        key = columns.get("text")
        value = columns.get("blob")
        if key and value:
            yield row, key.decode("ascii"), value


def _payload(database: _DatabasePages, page: bytes, start: int) -> tuple[int, bytes]:
    """Return the number of the row in a cell and its content, which may go on on other pages."""
    length, at = _varint(page, start)
    row, at = _varint(page, at)
    if length > _LONGEST:
        raise ValueError(length)
    usable = database.usable
    if length <= usable - 35:
        return row, page[at : at + length]
    least = (usable - 12) * 32 // 255 - 23
    local = least + (length - least) % (usable - 4)
    if local > usable - 35:
        local = least
    content = bytearray(page[at : at + local])
    following = int.from_bytes(page[at + local : at + local + 4], "big")
    seen: set[int] = set()
    while len(content) < length and following and following not in seen:
        seen.add(following)
        overflow = database.page(following)
        content += overflow[4:usable]
        following = int.from_bytes(overflow[:4], "big")
    return row, bytes(content[:length])


def _columns(payload: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the key, as `text`, and the value, as `blob`, of a row."""
    header, at = _varint(payload, 0)
    body = header
    while at < header:
        kind, at = _varint(payload, at)
        size = _SIZES[kind] if kind in _SIZES else (kind - 12) // 2
        content = payload[body : body + size]
        body += size
        if kind >= 13 and kind % 2 and _KEY.fullmatch(content):
            yield "text", content
        elif kind >= 12 and not kind % 2 and len(content) == size:
            yield "blob", content


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, and the place after it."""
    value = 0
    for count in range(9):
        byte = data[at + count]
        if count == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + count + 1
    raise ValueError(at)
