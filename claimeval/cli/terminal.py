"""The terminal: pipes that close early, full disks, keys, control characters in texts, and the line of progress."""

from __future__ import annotations

import errno
import io
import math
import os
import re
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import NoReturn, Self, TextIO

import click

from claimeval.types.progress import Progress

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class _Patient(io.FileIO):
    """A file that goes on when nobody reads it any more."""

    def write(self, data: object) -> int:
        view = memoryview(data)  # type: ignore[arg-type]  # whatever a buffered writer hands over has a buffer
        try:
            return super().write(view)
        except BrokenPipeError:
            return view.nbytes


def ignore_closed_pipe() -> None:
    """Lets a command finish its work, with its own exit code, when the reader of a pipe leaves, as `head` does."""
    if sys.platform != "win32":
        sys.stdout, sys.stderr = _patient(sys.stdout), _patient(sys.stderr)


def _patient(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper) or stream.isatty():
        return stream
    stream.flush()
    raw = _Patient(stream.fileno(), "wb", closefd=False)
    line_buffering = stream.line_buffering
    return io.TextIOWrapper(
        io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=line_buffering, write_through=False
    )


def fail_for(error: OSError) -> NoReturn:
    """Ends the program with one line for a file that cannot be opened (2) or written (3).

    Other errors of the operating system are none that a user could mend, and are raised again.
    """
    if error.errno not in _FULL and error.filename is None:
        raise error
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # what could not be written is not tried again at the end
    where = f"{error.filename}: " if error.filename else "cannot write the output: "
    print(f"claimeval: {where}{error.strerror}", file=sys.stderr)
    raise SystemExit(3 if error.errno in _FULL else 2)


_JOINERS = "\u200c\u200d"
"""Format characters that some writing needs."""


class Keys:
    """Keys pressed on a terminal, one by one; elsewhere the first character of each line."""

    def __init__(self) -> None:
        self._ahead: deque[str] = deque()

    def next(self) -> str:
        """One key in lower case, `""` for one without a letter, such as an arrow.

        EOFError at the end of the input, KeyboardInterrupt for Ctrl-C.
        """
        if not sys.stdin.isatty():
            line = sys.stdin.readline()
            if not line:
                raise EOFError
            return line.strip()[:1].lower()
        if not self._ahead:
            pressed = click.getchar(echo=False)
            if not pressed or "\x04" in pressed:
                raise EOFError
            if "\x03" in pressed:
                raise KeyboardInterrupt
            if pressed.startswith("\x1b"):
                return ""
            self._ahead.extend(pressed)
        return self._ahead.popleft().lower()


def strip_control(text: str) -> str:
    """Return the text without control characters: they become U+FFFD, tabs spaces, several empty lines one."""
    lines = (
        "".join(c if c.isprintable() or c in _JOINERS else "\N{REPLACEMENT CHARACTER}" for c in line).rstrip()
        for line in text.expandtabs(4).splitlines()
    )
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


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
    """What was done, how fast, at what cost, and what is being waited for.

    `[#####.....] 120/240 samples  480 calls (96/min, 41k tokens/min)  12 from cache  $0.0420  3 failed (timeout 3)
    16 in flight  1:05 left  waiting for openai:gpt-5-mini: rate limit until 16:40:03`
    """
    total = progress.total
    done = f"{progress.done}/{total}" if total else str(progress.done)
    parts = [f"{done} {progress.unit}", f"{progress.calls} calls"]
    if total:
        filled = 20 * progress.done // total
        parts[0] = f"[{'#' * filled}{'.' * (20 - filled)}] {parts[0]}"
    if progress.replies:
        replies, tokens = progress.per_minute()
        parts[1] += f" ({_short(replies)}/min, {_short(tokens)} tokens/min)"
    if progress.cached:
        parts.append(f"{progress.cached} from cache")
    if progress.spent:
        parts.append(f"${progress.spent:.4f}")
    if failures := progress.failures.total():
        reasons = ", ".join(f"{reason} {n}" for reason, n in progress.failures.most_common(2))
        parts.append(f"{failures} failed ({reasons})")
    if progress.in_flight:
        parts.append(f"{progress.in_flight} in flight")
    if (left := progress.seconds_remaining()) is not None:
        parts.append(f"{int(left) // 60}:{int(left) % 60:02d} left")
    parts += [f"waiting for {who}: {what}" for who, what in progress.waiting.items()]
    return "  ".join(parts)


def _short(number: float) -> str:
    """`96`, `41k`, `1.2M`."""
    if number < 1000:
        return f"{number:.0f}"
    return f"{number / 1000:.0f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"
