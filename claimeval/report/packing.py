"""Data inside a page: compressed, and written so that nothing in it can be markup."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import IO

from claimeval.report.requests import Literals, Packed

CHUNK = 256 * 1024
"""Bytes of JSON from which a chunk of details is closed; a page unpacks one chunk to show one sample."""


def block(name: str, content: bytes) -> str:
    """An element that holds zlib-compressed content as base64; the browser neither shows nor runs it."""
    return f'<script type="text/plain" id="{name}">{base64.b64encode(zlib.compress(content, 9)).decode()}</script>\n'


def as_json(value: object) -> bytes:
    """Compact JSON; only where a text has lone surrogates, which UTF-8 cannot hold, everything is escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


class Index:
    """Writes the element `index` into a file row by row: `{"rows": [...], "starts": [first sample of every chunk]}`."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._packer = zlib.compressobj(9)
        self._left = b""
        self._next = b'{"rows":['
        file.write('<script type="text/plain" id="index">')

    def add(self, row: object) -> None:
        """One sample."""
        self._write(self._packer.compress(self._next + as_json(row)))
        self._next = b","

    def close(self, starts: Sequence[int]) -> None:
        """Ends the element."""
        opened = b"" if self._next == b"," else self._next
        self._write(self._packer.compress(opened + b'],"starts":' + as_json(starts) + b"}"))
        self._file.write(base64.b64encode(self._left + self._packer.flush()).decode() + "</script>\n")

    def _write(self, packed: bytes) -> None:
        """Base64 of as many bytes as make whole letters; the others wait for more."""
        packed = self._left + packed
        whole = len(packed) - len(packed) % 3
        self._left = packed[whole:]
        self._file.write(base64.b64encode(packed[:whole]).decode())


class Details:
    """Writes the full results of a run into a file, in chunks named `chunk-0`, `chunk-1` and so on.

    A chunk is `{"results": [[line of run a, line of run b?], ...], "requests": [[request or null per call of a], ...],
    "literals": [...]}`.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._samples = 0
        self._begin()
        self.starts: list[int] = []
        """The number of the first sample of every chunk, counted from 0."""

    def _begin(self) -> None:
        self.literals = Literals()
        self._lines: list[bytes] = []
        self._requests: list[object] = []
        self._bytes = 0

    def add(self, lines: Iterable[bytes], requests: Sequence[Sequence[Packed | None]]) -> None:
        """One sample: its line in each run, and the requests behind its calls in each run."""
        if not self._lines:
            self.starts.append(self._samples)
        self._samples += 1
        self._lines.append(b"[" + b",".join(line.strip() for line in lines) + b"]")
        self._requests.append(requests)
        self._bytes += len(self._lines[-1])
        if self._bytes >= CHUNK:
            self.close()

    def close(self) -> None:
        """Writes what has been gathered since the last chunk."""
        if not self._lines:
            return
        lines = b",".join(self._lines)
        rest = as_json({"requests": self._requests, "literals": self.literals.texts()})
        self._file.write(block(f"chunk-{len(self.starts) - 1}", b'{"results":[' + lines + b"]," + rest[1:]))
        self._begin()
