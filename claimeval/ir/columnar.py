"""Fast reader of regular TREC files: from text to ranked columns, without an object for each line.

The text is an array of bytes. Fields start and end where blanks end and start, and one operation
reads, masks and compares eight bytes of a field in all lines. Irregular text (comments, empty
lines, more or fewer fields) raises ``Irregular``, and the slower reader in ``trec_files`` is used
instead.

Both files have one line per judgment or document, and all lines of a query must be together.
Judgments are looked up in the run by hashes of the document ids, within blocks of whole queries,
and every match is compared byte by byte.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from claimeval.ir.ranked import (
    LARGEST_GRADE,
    Bools,
    Floats,
    Grades,
    Ints,
    Ranked,
    Tied,
    Ties,
    arrange,
    as_grades,
    document_ranks,
)
from claimeval.types.errors import DataError, missing_file

Source = str | Path
"""A file name, possibly of a gzipped file; ``-`` is the standard input."""
MARGIN = 32
"""Number of bytes before and after the content, so that several bytes can be read at any
position."""


class FileContent:
    """The bytes of a file, with a margin around them. Error messages use ``name``."""

    def __init__(self, size: int, name: str) -> None:
        self.name = name
        self.padded = np.empty(MARGIN + size + MARGIN, np.uint8)
        self.end = MARGIN + size
        """End of the content, which starts at ``MARGIN``."""
        self.padded[:MARGIN] = self.padded[self.end :] = ord("\n")
        self.inside = self.padded.data[MARGIN : self.end]

    @classmethod
    def read(cls, source: Source) -> FileContent:
        """Read a file into memory. Raises DataError if that fails."""
        try:
            if str(source) == "-":
                return cls.of(sys.stdin.buffer.read(), "standard input")
            with open(source, "rb", buffering=0) as file:
                if not file.seekable():
                    return cls.of(file.readall(), str(source))
                packed = file.read(2) == b"\x1f\x8b"
                size = file.seek(0, 2)
                file.seek(0)
                if packed:
                    return cls.of(gzip.decompress(file.read()), str(source))
                content = cls(size, str(source))
                file.readinto(content.inside)
                return content
        except FileNotFoundError:
            raise missing_file(Path(source)) from None
        except (OSError, EOFError) as error:
            raise DataError(f"{source}: cannot be read: {error}") from None

    @classmethod
    def of(cls, data: bytes, name: str) -> FileContent:
        """Copy bytes."""
        content = cls(len(data), name)
        content.inside[:] = data
        return content

    def lines(self) -> list[bytes]:
        """Return the lines without line breaks."""
        return self.inside.tobytes().split(b"\n")


Words = NDArray[np.uint64]
_BLOCK = 1 << 19
"""Bytes per block, which fit into the processor's cache."""
MOST_STARTS = (1 << 16) - 1
"""Maximum number of values of the first field in a block, so that 16 bits are enough to number
them."""
_BLANK = ord(" ")
_FIRST_BLANK = ord("\t")
_NEWLINE = ord("\n")
_COMMENT = ord("#")
_ZERO = np.uint8(ord("0"))
LEADING = np.array([(1 << (8 * count)) - 1 for count in range(9)], np.uint64)
"""Masks of the first 0 to 8 bytes of a word, which is read with its first byte lowest."""
TRAILING = ~LEADING[::-1]
"""Masks of its last 0 to 8 bytes."""


class Irregular(Exception):
    """The text cannot be read by columns."""


class Field(NamedTuple):
    """One field of several lines: the positions of its first byte and after its last."""

    start: Ints
    end: Ints

    def take(self, rows: Ints | slice) -> Field:
        """Return the same field of the selected lines."""
        return Field(self.start[rows], self.end[rows])


class LineBlock(NamedTuple):
    """Consecutive lines."""

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
        """Yield all lines, each with ``width`` fields, in blocks that keep lines with the same
        first field together."""
        if self._end == MARGIN:
            raise Irregular
        begin = MARGIN
        size = _BLOCK
        while begin < self._end:
            complete = begin + size > self._end
            fields = self._split(begin, min(begin + size, self._end + 1), width)
            keys = self.hashes(fields[0])
            starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1], True])
            count = min(len(starts) - (1 if complete else 2), MOST_STARTS)
            if count < 1:
                size *= 2
                continue
            yield LineBlock(
                [field.take(slice(starts[count])) for field in fields], starts[: count + 1]
            )
            if complete and count == len(starts) - 1:
                return
            begin = int(fields[0].start[starts[count]])
            size = _BLOCK

    def _split(self, begin: int, stop: int, width: int) -> list[Field]:
        """Split the complete lines between two positions into fields. ``begin`` is the start of a
        line."""
        newlines = np.flatnonzero(self._bytes[begin:stop] == _NEWLINE) + begin
        if not newlines.size:
            return [Field(newlines, newlines)] * width
        window = self._bytes[begin - 1 : newlines[-1] + 1]
        blank = window <= _BLANK
        borders = np.flatnonzero(blank[1:] != blank[:-1]) + begin
        if len(borders) != 2 * width * len(newlines) or window.min() < _FIRST_BLANK:
            raise Irregular
        columns = np.ascontiguousarray(borders.reshape(-1, 2 * width).T)
        first = columns[0]
        last = columns[-1]
        if (
            (last > newlines).any()
            or (first[1:] < newlines[:-1]).any()
            or (self._bytes[first] == _COMMENT).any()
        ):
            raise Irregular
        return [Field(columns[2 * i], columns[2 * i + 1]) for i in range(width)]

    def bytes_of(self, field: Field) -> list[bytes]:
        """Return the bytes of the field, line by line."""
        view = self._view
        return [
            view[a:b].tobytes()
            for a, b in zip(field.start.tolist(), field.end.tolist(), strict=True)
        ]

    def check_numbers(self, field: Field) -> None:
        """Raise Irregular if a field does not begin and end with a digit, as ranks do."""
        for ends in (self._bytes[field.start], self._bytes[field.end - 1]):
            if (ends - _ZERO > 9).any():
                raise Irregular

    def words(self, position: Ints) -> Words:
        """Return the eight bytes from each position on, with the first byte lowest."""
        words: Words = self._words[position]
        return words

    def prefix(self, field: Field, number: int) -> Words:
        """Return the ``number``-th eight bytes of each field, with zeros after its end."""
        mask: Words = LEADING[np.clip(field.end - field.start - 8 * number, 0, 8)]
        return self.words(np.minimum(field.start + 8 * number, field.end)) & mask

    def hashes(self, field: Field) -> Words:
        """Return 64-bit hashes of the fields."""
        length = field.end - field.start
        key = length.astype(np.uint64)
        for number in range(_words_in(length)):
            # The odd 64-bit number nearest to 2^64 divided by the golden ratio (Knuth's
            # multiplicative hashing): ids such as d1 and d2 end far apart.
            mixed = (key ^ self.prefix(field, number)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
            key = np.where(length > 8 * number, mixed, key)
        return key


def same(text: TextTable, field: Field, other_text: TextTable, other: Field) -> Bools:
    """Return for each line whether two fields, of as many lines, have the same bytes.

    Args:
        text: The table of ``field``.
        field: One field.
        other_text: The table of ``other``.
        other: The field to compare with.
    """
    length = field.end - field.start
    equal: Bools = length == other.end - other.start
    for number in range(_words_in(length)):
        equal &= text.prefix(field, number) == other_text.prefix(other, number)
    return equal


def _words_in(length: Ints) -> int:
    return (int(length.max(initial=0)) + 7) // 8


_DIGITS = 19
"""Number of decimal digits that always fit into 64 bits."""
_POWERS = np.array([float(10**exponent) for exponent in range(_DIGITS + 1)])
_EXTENDED = np.array([np.longdouble(str(10**exponent)) for exponent in range(_DIGITS + 1)])
_EXACT = np.uint64(1 << 53)
_HAS_EXTENDED = np.finfo(np.longdouble).nmant >= 63
_ONES = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)


def decimals(text: TextTable, field: Field) -> Floats:
    """Read the number in each field, with the same result as ``float``. Raises Irregular for NaN
    and non-numbers.

    Up to 24 bytes of a number form three words of eight digits, and three multiplications turn each
    word into an integer (by adding its bytes in pairs, then in fours, then in eights). Integers
    below 2**53 and powers of ten up to 10**22 are exact as 64-bit floats, so that their quotient is
    rounded correctly, once (Clinger 1990). Larger integers are divided in extended precision if the
    machine has it. ``float`` reads all other numbers, such as exponents and infinities.
    """
    negative = text.words(field.start) & np.uint64(0xFF) == ord("-")
    start = field.start + negative
    point = _find_point(text, start, field.end)
    has_point = point < field.end
    fraction = np.where(has_point, field.end - 1 - point, 0)
    count = field.end - start - has_point

    whole = np.zeros(len(start), np.uint64)
    wrong = np.zeros(len(start), np.uint64)
    for number in range(min((int(count.max(initial=0)) + 7) // 8, 3)):
        digits = _digits(
            text,
            field.end - 8 * (number + 1),
            np.where(has_point, fraction, 24),
            count,
            number,
        )
        wrong |= (digits + np.uint64(0x7676767676767676)) | digits
        whole += _value(digits) * np.uint64(10 ** (8 * number))
    usable = ((wrong & _HIGH) == 0) & (count > 0) & (count <= _DIGITS)
    fraction = np.where(usable, fraction, 0)
    values: Floats = whole / _POWERS[fraction]
    large = np.flatnonzero(usable & (whole > _EXACT))
    if large.size and _HAS_EXTENDED:
        values[large], usable[large] = _divide_extended(whole[large], fraction[large])
    # Without extended precision, as on ARM, `float` reads them, more slowly.
    elif large.size:
        usable[large] = False
    values = np.where(negative, -values, values)
    rest = np.flatnonzero(~usable)
    values[rest] = [_by_float(characters) for characters in text.bytes_of(field.take(rest))]
    return values


def _find_point(text: TextTable, start: Ints, end: Ints) -> Ints:
    """Return the position of the first point among the first eight bytes, or the end."""
    other = text.words(start) ^ np.uint64(0x2E2E2E2E2E2E2E2E)
    points = (other - _ONES) & ~other & _HIGH
    lowest = points & (~points + np.uint64(1))
    exponent = (lowest.astype(np.float64).view(np.int64) >> 52) - 1023
    return np.where(lowest != 0, np.minimum(start + (exponent >> 3), end), end)


def _digits(text: TextTable, position: Ints, fraction: Ints, count: Ints, number: int) -> Words:
    """Return the eight digits that end ``8 * number`` digits before the number's end; bytes above 9
    are not digits.

    Digits after the decimal point are at ``position``; those before it are one byte further left.
    """
    after_point = TRAILING[np.clip(fraction - 8 * number, 0, 8)]
    characters = (text.words(position) & after_point) | (text.words(position - 1) & ~after_point)
    return (characters ^ np.uint64(0x3030303030303030)) & TRAILING[
        np.clip(count - 8 * number, 0, 8)
    ]


def _value(digits: Words) -> Words:
    pairs = (digits * np.uint64(10) + (digits >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    fours = (pairs * np.uint64(100) + (pairs >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (fours * np.uint64(10000) + (fours >> np.uint64(32))) & np.uint64(0xFFFFFFFF)


def _divide_extended(whole: Words, fraction: Ints) -> tuple[Floats, Bools]:
    """Return quotients, and whether each is certainly rounded correctly.

    The extended quotient is rounded again to 64 bits, which can only be wrong if it is half-way
    between two values.
    """
    extended = whole.astype(np.longdouble) / _EXTENDED[fraction]
    values = extended.astype(np.float64)
    return values, np.abs(extended - values) * 2 != np.spacing(values)


def _by_float(characters: bytes) -> float:
    try:
        value = float(characters)
    except ValueError:
        raise Irregular from None
    # Python reads "1_000" as a number, and C does not.
    if value != value or b"_" in characters:
        raise Irregular
    return value


class ColumnarRun(NamedTuple):
    """A run joined with the judgments."""

    ranked: Ranked
    """The queries of the qrels, sorted."""
    in_run: frozenset[str]
    """The queries of the run."""
    run_id: str | None
    """The tag in the last line of the run; None without a file."""


def rank(
    qrels: FileContent,
    run: FileContent,
    ties: Ties,
    *,
    positive: bool = False,
) -> ColumnarRun | None:
    """Rank the judged documents; None if the content needs the readers in ``trec_files``.

    They are needed for comments, empty lines, queries whose lines are not together, and invalid
    content.

    Args:
        qrels: The judgments, with four fields per line.
        run: The run, with six fields per line.
        ties: The order of documents with equal scores; ``error`` always needs the other readers.
        positive: Rank only documents with a grade above 0.
    """
    if ties == "error":
        return None
    try:
        judgments = _read_judgments(TextTable(qrels))
        return _rank(judgments, TextTable(run), ties, positive=positive)
    except Irregular:
        return None


class _Judgments(NamedTuple):
    """The judgments in the order of the file."""

    text: TextTable
    numbers: dict[bytes, int]
    """Query to its number, in the order of the file."""
    counts: Ints
    """Number of judgments per query."""
    first: Ints
    """First row of each query."""
    documents: Field
    hashes: Words
    grades: Grades

    def rows(self, queries: Ints) -> Ints:
        """Return the rows of the judgments of these queries."""
        counts = self.counts[queries]
        return np.repeat(self.first[queries] - (np.cumsum(counts) - counts), counts) + np.arange(
            counts.sum()
        )


def _read_judgments(text: TextTable) -> _Judgments:
    numbers: dict[bytes, int] = {}
    counts = []
    starts = []
    ends = []
    hashes = []
    grades = []
    for block in text.blocks(4):
        _number(text, block, numbers)
        sizes = np.diff(block.starts)
        document = block.fields[2]
        key = text.hashes(block.fields[2])
        _refuse_duplicates(np.sort(_tag(key, np.repeat(np.arange(len(sizes)), sizes))))
        values = decimals(text, block.fields[3])
        # Written so that NaN is refused too.
        if not (np.abs(values) <= LARGEST_GRADE).all():
            raise Irregular
        counts.append(sizes)
        starts.append(document.start)
        ends.append(document.end)
        hashes.append(key)
        grades.append(values)
    return _Judgments(
        text,
        numbers,
        per_query := np.concatenate(counts),
        np.cumsum(per_query) - per_query,
        Field(np.concatenate(starts), np.concatenate(ends)),
        np.concatenate(hashes),
        as_grades(np.concatenate(grades)),
    )


def _rank(judgments: _Judgments, text: TextTable, ties: Ties, *, positive: bool) -> ColumnarRun:
    in_run: dict[bytes, int] = {}
    retrieved = np.zeros(len(judgments.counts), np.int64)
    judged_counts = np.zeros(len(judgments.counts), np.int64)
    queries = []
    ranks = []
    grades = []
    for block in text.blocks(6):
        number = np.array(
            [judgments.numbers.get(name, -1) for name in _number(text, block, in_run)]
        )
        judged_rows = np.flatnonzero(number >= 0)
        retrieved[number[judged_rows]] = np.diff(block.starts)[judged_rows]
        judged = judgments.rows(number[judged_rows])
        within_block = np.repeat(judged_rows, judgments.counts[number[judged_rows]])
        rows, matched = _match(judgments, judged, within_block, text, block)
        text.check_numbers(block.fields[3])
        scores = decimals(text, block.fields[4])
        grade = judgments.grades[judged[matched]]
        query = within_block[matched]
        judged_counts[number[judged_rows]] = np.bincount(query[grade >= 0], minlength=len(number))[
            judged_rows
        ]
        mask = np.flatnonzero(grade > 0 if positive else grade >= 0)
        ranks.append(_document_ranks(text, block, scores, rows[mask], query[mask], ties))
        queries.append(number[query[mask]])
        grades.append(grade[mask])

    # The output is in the order of trec_eval, which sorts queries as bytes.
    names = sorted(judgments.numbers)
    sorted_number = np.empty(len(names), np.int64)
    sorted_number[[judgments.numbers[name] for name in names]] = np.arange(len(names))
    query, rank, grade = (np.concatenate(parts) for parts in (queries, ranks, grades))
    query = sorted_number[query]
    key = query * (int(rank.max(initial=0)) + 1) + rank
    order = np.argsort(key)
    in_file = np.argsort(sorted_number)
    pooled = judgments.grades >= 0
    return ColumnarRun(
        Ranked(
            queries=tuple(map(_decode, names)),
            retrieved=retrieved[in_file],
            judged=judged_counts[in_file],
            query=query[order],
            rank=rank[order],
            grade=grade[order],
            pool_query=np.repeat(sorted_number, judgments.counts)[pooled],
            pool_grade=judgments.grades[pooled],
        ),
        frozenset(map(_decode, in_run)),
        _decode(text.bytes_of(block.fields[5].take(slice(-1, None)))[0]),
    )


def _number(text: TextTable, block: LineBlock, numbers: dict[bytes, int]) -> list[bytes]:
    """Number the queries of a block. Raises Irregular if a query occurs again."""
    names = text.bytes_of(block.fields[0].take(block.starts[:-1]))
    numbers.update(zip(names, range(len(numbers), len(numbers) + len(names)), strict=True))
    # A query that comes back later in the file has fewer new names than blocks.
    if len(numbers) != numbers[names[-1]] + 1:
        raise Irregular
    return names


def _match(
    judgments: _Judgments,
    judged: Ints,
    query: Ints,
    text: TextTable,
    block: LineBlock,
) -> tuple[Ints, Ints]:
    """Return the rows of the block that are judged, and the positions of their judgments in
    ``judged``."""
    documents = block.fields[2]
    sizes = np.diff(block.starts)
    keys = _tag(text.hashes(documents), np.repeat(np.arange(len(sizes)), sizes))
    order = np.argsort(keys)
    keys = keys[order]
    _refuse_duplicates(keys)
    judged_keys = _tag(judgments.hashes[judged], query)
    nearest = np.minimum(np.searchsorted(keys, judged_keys), len(keys) - 1)
    matched = np.flatnonzero(keys[nearest] == judged_keys)
    rows = order[nearest[matched]]
    if not same(
        text,
        documents.take(rows),
        judgments.text,
        judgments.documents.take(judged[matched]),
    ).all():
        raise Irregular
    return rows, matched


def _document_ranks(
    text: TextTable,
    block: LineBlock,
    scores: Floats,
    rows: Ints,
    query: Ints,
    ties: Ties,
) -> Ints:
    documents = block.fields[2]
    order = arrange(scores, block.starts)

    def names(hits: Ints) -> list[bytes]:
        """Return the ids of the judged documents in these rows."""
        return text.bytes_of(documents.take(rows[hits]))

    starts = block.starts.tolist()

    def members(groups: list[Tied]) -> list[list[bytes]]:
        """Return the ids of each group of equal scores."""
        alike: list[int] = []
        for group, first, last, value in groups:
            begin, end = starts[group], starts[group + 1]
            if group in order.resorted:
                alike.extend((np.flatnonzero(scores[begin:end] == value) + begin).tolist())
            else:
                alike.extend(range(begin + first, begin + last))
        ids = iter(text.bytes_of(documents.take(np.array(alike))))
        return [list(islice(ids, last - first)) for _, first, last, _ in groups]

    return document_ranks(order, query, scores[rows], names, members, ties)


def _tag(hashes: Words, query: Ints) -> Words:
    """Return the number of the query within the block in 16 bits (``MOST_STARTS``), then 48 bits of
    the hash."""
    return (query.astype(np.uint64) << np.uint64(48)) | (hashes >> np.uint64(16))


def _refuse_duplicates(keys: Words) -> None:
    """Raise Irregular for equal neighbors: a document twice in a query, or a rare collision of
    hashes."""
    if (keys[1:] == keys[:-1]).any():
        raise Irregular


def _decode(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
