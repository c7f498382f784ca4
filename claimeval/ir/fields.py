"""The fields of a regular text table, found and compared without making an object of each.

A text of a million lines is taken as an array of bytes: field borders are the places where blanks begin or end, and
eight bytes of every line's field are read, masked and compared in one step. Whatever is not regular (comments, empty
lines, more or fewer fields) raises ``Irregular``, and a slower reader says what it makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from claimeval.ir.content import MARGIN, FileContent
from claimeval.ir.ranked import Bools, Ints

Words = NDArray[np.uint64]

_BLOCK = 1 << 19
"""Bytes taken at once: so many stay in the processor's cache."""

MOST_STARTS = (1 << 16) - 1
"""Values of the first field in one block, so that 16 bits hold their number."""

_BLANK, _FIRST_BLANK, _NEWLINE, _COMMENT = ord(" "), ord("\t"), ord("\n"), ord("#")

LEADING = np.array([(1 << (8 * count)) - 1 for count in range(9)], np.uint64)
"""Masks of the first 0 to 8 bytes of a word, which is read with its first byte lowest."""
TRAILING = ~LEADING[::-1]
"""Masks of its last 0 to 8 bytes."""


class Irregular(Exception):
    """The text is not in the form that can be read by columns."""


class Field(NamedTuple):
    """One field of several lines: positions of its first byte and behind its last."""

    start: Ints
    end: Ints

    def take(self, rows: Ints | slice) -> Field:
        return Field(self.start[rows], self.end[rows])


class LineBlock(NamedTuple):
    """Lines that follow each other."""

    fields: list[Field]
    starts: Ints
    """Rows where the first field changes, from 0, and the number of rows."""


class TextTable:
    """The content of a file as a table."""

    def __init__(self, content: FileContent) -> None:
        self._bytes = content.padded
        self._view = content.padded.data
        self._words = np.ndarray((len(content.padded) - 7,), "<u8", content.padded, strides=(1,))
        self._end = content.end
        while self._end > MARGIN and self._bytes[self._end - 1] <= _BLANK:
            self._end -= 1
        self._bytes[self._end] = _NEWLINE

    def blocks(self, width: int) -> Iterator[LineBlock]:
        """All lines, each of ``width`` fields, cut so that lines with the same first field stay together."""
        if self._end == MARGIN:
            raise Irregular
        begin, size = MARGIN, _BLOCK
        while begin < self._end:
            complete = begin + size > self._end
            fields = self._split(begin, min(begin + size, self._end + 1), width)
            keys = self.hashes(fields[0])
            starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1], True])
            count = min(len(starts) - (1 if complete else 2), MOST_STARTS)
            if count < 1:
                size *= 2
                continue
            yield LineBlock([field.take(slice(starts[count])) for field in fields], starts[: count + 1])
            if complete and count == len(starts) - 1:
                return
            begin, size = int(fields[0].start[starts[count]]), _BLOCK

    def _split(self, begin: int, stop: int, width: int) -> list[Field]:
        """The fields of the complete lines between two positions; the first is the begin of a line."""
        newlines = np.flatnonzero(self._bytes[begin:stop] == _NEWLINE) + begin
        if not newlines.size:
            return [Field(newlines, newlines)] * width
        window = self._bytes[begin - 1 : newlines[-1] + 1]
        blank = window <= _BLANK
        borders = np.flatnonzero(blank[1:] != blank[:-1]) + begin
        if len(borders) != 2 * width * len(newlines) or window.min() < _FIRST_BLANK:
            raise Irregular
        columns = np.ascontiguousarray(borders.reshape(-1, 2 * width).T)
        first, last = columns[0], columns[-1]
        if (last > newlines).any() or (first[1:] < newlines[:-1]).any() or (self._bytes[first] == _COMMENT).any():
            raise Irregular
        return [Field(columns[2 * i], columns[2 * i + 1]) for i in range(width)]

    def bytes_of(self, field: Field) -> list[bytes]:
        """The field of each line."""
        view = self._view
        return [view[a:b].tobytes() for a, b in zip(field.start.tolist(), field.end.tolist(), strict=True)]

    def words(self, position: Ints) -> Words:
        """The eight bytes from each position on, the first one lowest."""
        taken: Words = self._words[position]
        return taken

    def prefix(self, field: Field, number: int) -> Words:
        """The ``number``-th eight bytes of each field, with zeros behind its end."""
        kept: Words = LEADING[np.clip(field.end - field.start - 8 * number, 0, 8)]
        return self.words(np.minimum(field.start + 8 * number, field.end)) & kept

    def hashes(self, field: Field) -> Words:
        """64 bits that differ where the bytes differ, but for one chance in 2**64."""
        length = field.end - field.start
        key = length.astype(np.uint64)
        for number in range(_words_in(length)):
            mixed = (key ^ self.prefix(field, number)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
            key = np.where(length > 8 * number, mixed, key)
        return key


def same(text: TextTable, field: Field, other_text: TextTable, other: Field) -> Bools:
    """Where two fields hold the same bytes."""
    length = field.end - field.start
    equal: Bools = length == other.end - other.start
    for number in range(_words_in(length)):
        equal &= text.prefix(field, number) == other_text.prefix(other, number)
    return equal


def _words_in(length: Ints) -> int:
    return (int(length.max(initial=0)) + 7) // 8
