"""The terminal: output streams, signals, keys, and the progress line."""

from __future__ import annotations

import atexit
import contextlib
import errno
import io
import math
import os
import shutil
import signal
import sys
import textwrap
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Self, TextIO

import click

from claimeval.types.errors import escaped, visible

if TYPE_CHECKING:
    from claimeval.types.progress import Progress


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class _Patient(io.FileIO):
    """A file that ignores writes to a closed pipe."""

    def write(self, data: object) -> int:
        view = memoryview(data)  # type: ignore[arg-type]  # a buffered writer passes buffers
        try:
            return super().write(view)
        except BrokenPipeError:
            return view.nbytes


UNENCODABLE = "backslashreplace"
"""Error handler for characters that the output's encoding lacks: `\\u2013`."""


def prepare_streams() -> None:
    """Keep a command running, with its exit code, if a pipe is closed or the encoding lacks a
    character.

    `head` closes its pipe early; cp1252 and ASCII lack characters.
    """
    sys.stdout = _patient(sys.stdout)
    sys.stderr = _patient(sys.stderr)


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
        io.BufferedWriter(raw),
        stream.encoding,
        stream.errors,
        line_buffering=line_buffering,
        write_through=False,
    )


def write_data(text: str) -> None:
    """Write data for another program on standard output, as UTF-8 in any locale.

    Bytes of an id that were read from invalid UTF-8 are written unchanged, other lone surrogates as
    the JSON escape `\\ud800`.
    """
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode("utf-8", UNENCODABLE)
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def on_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def write_plain(text: str) -> None:
    """Write lines for people on standard output, escaped, without loading `rich`; folded where
    there is a terminal."""
    lines = list(map(escaped, text.split("\n")))
    if on_terminal() or "COLUMNS" in os.environ:
        width = shutil.get_terminal_size().columns
        wrapped = list[str]()
        for line in lines:
            wrapped += _folded(line, width) or [""]
        lines = wrapped
    sys.stdout.write("\n".join(lines))


def binary_output() -> BinaryIO:
    """Return standard output for bytes."""
    sys.stdout.flush()
    return sys.stdout.buffer


def flush() -> None:
    """Write what is left in standard output."""
    sys.stdout.flush()


def encodes(text: str) -> bool:
    """Return whether standard output has these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def say(*texts: str) -> list[str]:
    """Print lines on standard error; on a terminal they are folded between words, and returned."""
    lines = [f"claimeval: {visible(text)}" for text in texts]
    ProgressLine.erase_all()
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else 0
    if width:
        wrapped = list[str]()
        for line in lines:
            wrapped += _folded(line, width)
        lines = wrapped
    for line in lines:
        print(line, file=sys.stderr)
    return lines if width else []


def _folded(line: str, width: int) -> list[str]:
    """Return the lines of a text, folded between words at so many cells of a terminal."""
    if line.isascii():
        return textwrap.wrap(line, width, break_on_hyphens=False)
    from rich.cells import cell_len

    # A Chinese character takes two cells, and `textwrap` counts characters. A line may end between
    # the two, so one cell is left.
    wide = "".join(character + "\0" * (cell_len(character) - 1) for character in line)
    lines = textwrap.wrap(wide, width - 1, break_on_hyphens=False)
    return [folded.replace("\0", "") for folded in lines]


def say_trace(trace: str) -> None:
    """Print the lines of a traceback on standard error, escaped."""
    print("\n".join(map(escaped, trace.splitlines())), file=sys.stderr)


def interrupt_on_termination() -> None:
    """Treat SIGTERM and SIGHUP like Ctrl-C; ignored signals, as under nohup, stay ignored."""
    _handle(("SIGTERM", "SIGHUP"), signal.SIG_DFL, signal.default_int_handler)


def end_on_next_signal() -> None:
    """End the process at once, with 130, on a further signal: it was interrupted and only says so
    now."""
    _handle(("SIGINT", "SIGTERM", "SIGHUP"), signal.default_int_handler, lambda *_: os._exit(130))


def _handle(
    names: Iterable[str], before: object, handler: Callable[[int, FrameType | None], object]
) -> None:
    """Set the handler of signals that have the one `before`; only the main thread can."""
    if threading.current_thread() is threading.main_thread():
        for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
            if signal.getsignal(number) == before:
                signal.signal(number, handler)


def go_on_in_a_child(message: str) -> None:
    """Continue in a child process while this process waits; does nothing on platforms without
    `sigwaitinfo`.

    When its node dies, Ray ends the process it runs in without an exception. If the child ends this
    way, `message` is printed and the exit code is 3.
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
    """End this process when the pipe is closed, because the parent process was killed."""
    os.read(parent, 1)
    os._exit(128 + signal.SIGKILL)


def _end_of(child: int, ended: int, waited: Collection[int], message: str) -> int:
    """Pass signals on to the child until it ends, and return the exit code."""
    while True:
        info = signal.sigwaitinfo(waited)
        if info.si_signo != signal.SIGCHLD:
            if (
                info.si_code <= 0
            ):  # another process sent it; the terminal sends it to the child as well
                os.kill(child, info.si_signo)
            continue
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            break
    # Processes that the child began may hold the pipe open, and a read would wait for them.
    os.set_blocking(ended, False)
    with contextlib.suppress(BlockingIOError):
        if os.read(ended, 1):
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
    say(message)
    return 3


def in_words(error: OSError) -> tuple[str, int] | None:
    """Return message and exit code for a file that cannot be opened (2) or written (3); None for
    other errors."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        advice = (
            "raise the limit with `ulimit -n 1024`, or give a lower --concurrency; the same command"
            " resumes"
        )
        return f"too many open files: {advice}", 3
    if error.errno not in _FULL and error.filename is None:
        return None
    if not error.filename:
        unwritten = sys.stdout
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # not flushed again at exit
        if isinstance(getattr(getattr(unwritten, "buffer", None), "raw", None), _Patient):
            with contextlib.suppress(
                OSError
            ):  # Python 3.13 would report it when the stream is deleted
                unwritten.close()
    if error.errno == errno.EISDIR:
        return f"{error.filename} is a directory; give the name of a file", 2
    return (
        f"{error.filename or 'cannot write the output'}: {error.strerror}",
        3 if error.errno in _FULL else 2,
    )


class Keys:
    """Reads keys from a terminal one by one, or the first character of each line of other input."""

    def __init__(self) -> None:
        self._ahead: deque[str] = deque()

    def next(self) -> str:
        """Return the next key in lower case, or `""` for a key without a character, such as an
        arrow.

        Raises EOFError at the end of the input, KeyboardInterrupt for Ctrl-C.
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
            # The right arrow is Escape, [ and C, and c is the key of “contradicted”.
            if pressed.startswith("\x1b"):
                return ""
            self._ahead.extend(pressed)
        return self._ahead.popleft().lower()


QUIET = 2.0
"""Seconds before progress is shown, so that a quick run shows none."""
REDRAW = 0.1
BAR = 20
LEAST_BAR = 5
"""Most and least characters of the bar."""
PLAIN_EVERY = 10.0


class ProgressLine:
    """Shows a `Progress` while the block runs: in place on a terminal, else every 10 seconds as a
    line.

    Shows nothing if it is `quiet`.
    """

    _open: ClassVar[list[ProgressLine]] = []
    """Lines that may stand on the terminal, so that messages can be printed on lines of their
    own."""

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._next = math.inf if quiet else time.monotonic() + QUIET
        self._drawn = 0

    def __enter__(self) -> Self:
        self._open.append(self)
        return self

    @classmethod
    def erase_all(cls) -> None:
        """Erase the lines, which are drawn again with the next progress."""
        for line in cls._open:
            line.erase()

    def erase(self) -> None:
        """Erase the line."""
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
            self._drawn = 0

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.remove(self)
        self.erase()

    def show(self, progress: Progress) -> None:
        """Draw the progress if it is due."""
        now = time.monotonic()
        if now < self._next:
            return
        width = shutil.get_terminal_size().columns - 1 if self._terminal else None
        text = escaped(describe(progress, width))
        if self._terminal:
            # A line that is one character too wide scrolls the terminal at every redraw.
            text = text[:width]
            self._stream.write("\r" + text.ljust(self._drawn))
            self._drawn = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()
        self._next = now + (REDRAW if self._terminal else PLAIN_EVERY)


def describe(progress: Progress, width: int | None = None) -> str:
    """Return the progress in words, in at most `width` columns, with a bar if there is room for it
    and the total is known.

    As in `[#####.....] 120/240 samples  480 calls`.
    """
    words = progress.in_words(width)
    cells = BAR if width is None else min(BAR, width - len(words) - len("[] "))
    if not progress.total or cells < LEAST_BAR:
        return words
    filled = cells * progress.done // progress.total
    return f"[{'#' * filled}{'.' * (cells - filled)}] {words}"
