"""One line that says how far a run is: drawn in place on a terminal, now and then as a plain line elsewhere."""

from __future__ import annotations

import io
import math
import shutil
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from claimeval.types.progress import Progress

QUIET = 2.0
"""Seconds during which nothing is shown, so that a quick run prints no progress at all."""
REDRAW = 0.1
PLAIN_EVERY = 10.0


class ProgressLine:
    """Shows a `Progress` while the block runs, or nothing without a stream."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream or io.StringIO()
        self._terminal = self._stream.isatty()
        self._next = time.monotonic() + QUIET if stream else math.inf
        self._drawn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()

    def show(self, progress: Progress) -> None:
        """Draws the line of a run if it is time to."""
        self.draw(lambda: describe(progress))

    def draw(self, describe: Callable[[], str]) -> None:
        """Draws a line if it is time to; only then it is put into words."""
        now = time.monotonic()
        if now < self._next:
            return
        text = describe()
        if self._terminal:
            text = text[: shutil.get_terminal_size().columns - 1]
            self._stream.write("\r" + text.ljust(self._drawn))
            self._drawn = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()
        self._next = now + (REDRAW if self._terminal else PLAIN_EVERY)


def describe(progress: Progress) -> str:
    """The progress in words, after a bar if the total is known: `[#####.....] 120/240 samples  480 calls ...`."""
    if not progress.total:
        return progress.in_words()
    filled = 20 * progress.done // progress.total
    return f"[{'#' * filled}{'.' * (20 - filled)}] {progress.in_words()}"
