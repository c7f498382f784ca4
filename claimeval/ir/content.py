"""The content of a file in memory, with a margin around it."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np

from claimeval.types.errors import DataError

Source = str | Path
"""A file name; gzipped content is unpacked, ``-`` is the standard input."""

MARGIN = 32
"""Bytes before and behind the content, so that several bytes may be read at any place of it."""


class FileContent:
    """What a file holds; ``name`` is how messages call it."""

    def __init__(self, size: int, name: str) -> None:
        self.name = name
        self.padded = np.empty(MARGIN + size + MARGIN, np.uint8)
        self.end = MARGIN + size
        """Where the content ends; it begins at ``MARGIN``."""
        self.padded[:MARGIN] = self.padded[self.end :] = ord("\n")
        self.inside = self.padded.data[MARGIN : self.end]

    @classmethod
    def read(cls, source: Source) -> FileContent:
        """Read a file into memory."""
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
            raise DataError(f"{source}: there is no such file") from None
        except (OSError, EOFError) as error:
            raise DataError(f"{source}: cannot be read: {error}") from None

    @classmethod
    def of(cls, data: bytes, name: str) -> FileContent:
        """Take content that is in memory already."""
        content = cls(len(data), name)
        content.inside[:] = data
        return content

    def lines(self) -> list[bytes]:
        """The lines without their ends."""
        return self.inside.tobytes().split(b"\n")
