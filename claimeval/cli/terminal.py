"""The terminal: pipes whose readers leave early, disks that are full, keys, control
characters in texts, and the progress line: drawn in place, or now and then as a plain line if there is no terminal.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import io
import math
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

import click

if TYPE_CHECKING:
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


def go_on_in_a_child(message: str) -> None:
    """Go on in a child process, and wait here for its end; does nothing where signals cannot be waited for.

    Ray ends the process that it is in, without an exception, when its node dies. A child that ends like that is
    reported with a line and exit code 3, as other losses are.

    Args:
        message: What is said if the child is ended before its end.
    """
    if not hasattr(signal, "sigwaitinfo"):
        return
    waited = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
    ended, end = os.pipe()
    alive, parent = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    if child := os.fork():
        os.close(end)
        os.close(alive)
        os._exit(_end_of(child, ended, waited, message))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, waited)
    os.close(ended)
    os.close(parent)
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
    atexit.register(os.write, end, b"ended")


def _end_with(parent: int) -> None:
    """End this process when the pipe is closed, because the process at its other end was killed."""
    os.read(parent, 1)
    os._exit(128 + signal.SIGKILL)


def _end_of(child: int, ended: int, waited: Collection[int], message: str) -> int:
    """Pass signals on to the child until it ends, and return the exit code."""
    while True:
        info = signal.sigwaitinfo(waited)
        if info.si_signo != signal.SIGCHLD:
            if info.si_code <= 0:  # another process sent it; the terminal sends it to the child as well
                os.kill(child, info.si_signo)
            continue
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            break
    os.set_blocking(ended, False)
    with contextlib.suppress(BlockingIOError):
        if os.read(ended, 1):
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
    print(f"claimeval: {message}", file=sys.stderr, flush=True)
    return 3


def in_words(error: OSError) -> tuple[str, int] | None:
    """Return the line and the exit code for a file that cannot be opened (2) or written (3).

    None for other errors of the operating system, which are none that you could mend.
    """
    if error.errno in (errno.EMFILE, errno.ENFILE):
        advice = "raise the limit with `ulimit -n 1024`, or give a lower --concurrency; the same command resumes"
        return f"too many open files: {advice}", 3
    if error.errno not in _FULL and error.filename is None:
        return None
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
