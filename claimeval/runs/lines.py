"""The lines of a run's results, and the files of lines that hold them, plain or compressed.

Each sample has one line in `results.jsonl`, a `SampleResult` without its calls, and one in
`replies.jsonl.gz` with them. Fields equal to their default are left out.

A compressed file is a sequence of gzip members, each with whole lines, so that a line can be read
without decompressing all lines before it. Any program that reads gzip can read it.
"""

from __future__ import annotations

import gzip
import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar, overload

from claimeval.types.errors import DataError
from claimeval.types.records import Call, Record, SampleResult

T = TypeVar("T")


class WrittenResult(NamedTuple):
    """The two lines of a result, each with its line end."""

    line: bytes
    replies: bytes

    @property
    def asked(self) -> bool:
        """Whether a judge was asked anything."""
        # In a text of the data, these quotation marks are escaped.
        return b',"calls":[' in self.replies


class _Calls(Record):
    """A line of `replies.jsonl.gz`: the requests and replies of a sample."""

    sample: str
    calls: tuple[Call, ...] = ()


def write(result: SampleResult) -> WrittenResult:
    """Return the lines of a result."""
    line = result.model_dump_json(exclude_defaults=True, exclude={"calls"})
    replies = _Calls(sample=result.sample.id, calls=result.calls).model_dump_json(
        exclude_defaults=True
    )
    return WrittenResult(line.encode() + b"\n", replies.encode() + b"\n")


def read(line: bytes, replies: bytes | None = None) -> SampleResult:
    """Return the result that was written as these lines; without `replies`, it has no calls.

    Raises:
        ValueError: A line is not that of a result, or the lines are of different samples.
    """
    result = SampleResult.model_validate_json(line)
    if replies is None:
        return result
    asked = _Calls.model_validate_json(replies)
    if asked.sample != result.sample.id:
        raise ValueError(
            f"the replies for this line are those of {asked.sample!r}, not of {result.sample.id!r}"
        )
    places = []
    for assessment in result.assessments:
        places += [verdict.call for verdict in assessment.verdicts if verdict.call is not None]
    if max(places, default=-1) >= len(asked.calls):
        raise ValueError("a verdict names a call that its sample does not have")
    return result.model_copy(update={"calls": asked.calls})


_ID = b'{"sample":{"id":'


def sample_id(line: bytes) -> str:
    """Return the sample id of a line without parsing the rest."""
    end = len(_ID) + 1
    while line[end] != ord('"'):
        end += 2 if line[end] == ord("\\") else 1
    name: str = json.loads(line[len(_ID) : end + 1])
    return name


MEMBER = 64
"""Lines of a member."""
LEVEL = 6
_CHUNK = 1 << 18
_GZIP = 16 + zlib.MAX_WBITS


def compress(plain: Path, into: Path) -> None:
    """Compress a file of lines; the same lines and the same zlib give the same bytes."""
    with plain.open("rb") as lines, into.open("wb") as file:
        # Gzip writes the time into its header unless it is told 0, and equal runs shall have equal
        # bytes.
        while block := b"".join(islice(lines, MEMBER)):
            file.write(gzip.compress(block, LEVEL, mtime=0))


class _Place(NamedTuple):
    start: int
    """Offset of the line in the file, or of its member if the file is compressed."""
    within: int
    """Offset of the line in its member."""


class OnAccess(Sequence[T], ABC):
    """A sequence whose items are made on each access; a slice is a list."""

    @abstractmethod
    def at(self, position: int) -> T:
        """Return the item at a position, from 0."""

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        found = range(len(self))[index]
        return (
            self.at(found) if isinstance(found, int) else [self.at(position) for position in found]
        )

    def __repr__(self) -> str:
        return f"<{len(self):,} items, read when they are used>"


class Mapped(OnAccess[T]):
    """The values of a function for each result, computed on access."""

    def __init__(
        self, results: Sequence[SampleResult], function: Callable[[SampleResult], T]
    ) -> None:
        self._results = results
        self._function = function

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[T]:
        return map(self._function, self._results)

    def at(self, position: int) -> T:
        """Return the value for the result at a position."""
        return self._function(self._results[position])


class Lines(OnAccess[bytes]):
    """The lines of a file, read on demand; only their positions are kept in memory.

    In an unfinished file, one that ends in `.part`, a last line without a line end is ignored. A
    damaged file raises DataError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begun = path.suffix == ".part"
        self._compressed = ".gz" in path.suffixes
        self._found: list[_Place] | None = None
        self._member: tuple[int, bytes] = (-1, b"")

    def __iter__(self) -> Iterator[bytes]:
        if not self._compressed:
            with self.path.open("rb") as file:
                yield from (line for line in file if line.endswith(b"\n") or not self._begun)
            return
        for _, member in self._members():
            yield from member.splitlines(keepends=True)

    @property
    def _places(self) -> list[_Place]:
        if self._found is None:
            self._found = list(self._find())
        return self._found

    def _find(self) -> Iterator[_Place]:
        if self._compressed:
            for start, member in self._members():
                within = 0
                for line in member.splitlines(keepends=True):
                    yield _Place(start, within)
                    within += len(line)
        else:
            start = 0
            for line in self:
                yield _Place(start, 0)
                start += len(line)

    def __len__(self) -> int:
        return len(self._places)

    def at(self, position: int) -> bytes:
        """Return the line at a position, from 0."""
        place = self._places[position]
        if self._compressed:
            if self._member[0] != place.start:
                self._member = next(self._members(place.start))
            member = self._member[1]
            return member[place.within : member.index(b"\n", place.within) + 1]
        with self.path.open("rb") as file:
            file.seek(place.start)
            return file.readline()

    def _members(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield offset and content of the members from an offset on."""
        with self.path.open("rb") as file:
            file.seek(start)
            ahead = b""
            while ahead := ahead or file.read(_CHUNK):
                unpacking = zlib.decompressobj(_GZIP)
                unpacked = []
                length = 0
                while not unpacking.eof:
                    if not ahead and not (ahead := file.read(_CHUNK)):
                        raise DataError(f"{self.path} is cut off after {start + length} bytes")
                    try:
                        unpacked.append(unpacking.decompress(ahead))
                    except zlib.error as error:
                        raise DataError(
                            f"{self.path} is damaged after {start} bytes: {error}"
                        ) from None
                    length += len(ahead) - len(unpacking.unused_data)
                    ahead = unpacking.unused_data
                yield start, b"".join(unpacked)
                start += length
