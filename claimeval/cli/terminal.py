"""The terminal: pipes whose readers leave early, disks that are full, keys, and control characters in texts."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import signal
import sys
import threading
from collections import deque
from typing import TextIO

import click

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class _Patient(io.FileIO):
    """A file that goes on when nobody reads it any more."""

    def write(self, data: object) -> int:
        view = memoryview(data)  # type: ignore[arg-type]  # whatever a buffered writer hands over has a buffer
        try:
            return super().write(view)
        except BrokenPipeError:
            return view.nbytes


UNENCODABLE = "backslashreplace"
"""What becomes of a character that the encoding of the output lacks: `\\u2013`."""


def prepare_streams() -> None:
    """Let a command finish its work, with its exit code, whatever its output is.

    A reader of a pipe may leave early, as `head` does, and the encoding may lack characters, as cp1252 and ASCII do.
    """
    sys.stdout, sys.stderr = _patient(sys.stdout), _patient(sys.stderr)


def _patient(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors=UNENCODABLE)
    if stream.isatty() or sys.platform == "win32":
        return stream
    stream.flush()
    raw = _Patient(stream.fileno(), "wb", closefd=False)
    line_buffering = stream.line_buffering
    return io.TextIOWrapper(
        io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=line_buffering, write_through=False
    )


def write_data(text: str) -> None:
    """Write data for another program on standard output: UTF-8 in any locale.

    Bytes of an id that were not UTF-8 when it was read are written as they were; any other lone surrogate as `\\ud800`,
    which is what JSON calls it.
    """
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode("utf-8", UNENCODABLE)
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def interrupt_on_termination() -> None:
    """Treat SIGTERM and SIGHUP as Ctrl-C; a signal that is ignored, as under nohup, stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        return
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def in_words(error: OSError) -> tuple[str, int]:
    """Return the line and the exit code for a file that cannot be opened (2) or written (3).

    Other errors of the operating system are none that you could mend, and are raised again.
    """
    if error.errno in (errno.EMFILE, errno.ENFILE):
        advice = "raise the limit with `ulimit -n 1024`, or give a lower --concurrency; the same command resumes"
        return f"too many open files: {advice}", 3
    if error.errno not in _FULL and error.filename is None:
        raise error
    if not error.filename:
        unwritten, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115  # it is not tried again at the end
        if isinstance(getattr(getattr(unwritten, "buffer", None), "raw", None), _Patient):
            with contextlib.suppress(OSError):  # of which Python 3.13 would tell when the stream is deleted
                unwritten.close()
    return f"{error.filename or 'cannot write the output'}: {error.strerror}", 3 if error.errno in _FULL else 2


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
