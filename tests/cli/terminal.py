"""A command on a real pseudo-terminal: what it shows is read, keys are pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from multiprocessing.reduction import DupFd
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.clients import FORKS
from claimeval.cli.main import main

PATIENCE = 60.0
"""Seconds that a test waits for what it expects to see."""


class Terminal:
    """`claimeval ARGUMENTS` in a folder, on a terminal of this size."""

    def __init__(self, folder: Path, *arguments: object, rows: int = 24, columns: int = 60) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {
            name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")
        }
        given = (
            _Passed(slave),
            str(folder),
            environment | {"TERM": "xterm"},
            list(map(str, arguments)),
        )
        self.process = FORKS.Process(target=_live, args=given, daemon=True)
        self.process.start()
        os.close(slave)
        self.shown = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.join()
        os.close(self._master)

    def until(self, words: str) -> str:
        """What is shown from here up to the words, these included; AssertionError where they do not
        come."""
        start = len(self.shown)
        end = time.monotonic() + PATIENCE
        while words not in self.shown[start:]:
            assert time.monotonic() < end, f"{words!r} did not come; shown: {self.shown[start:]}"
            if not self._read():
                break
        assert words in self.shown[start:], self.shown[start:]
        return self.shown[start:]

    def press(self, key: str) -> None:
        """Presses a key as soon as the command waits for one: then the terminal does not echo."""
        end = time.monotonic() + PATIENCE
        while termios.tcgetattr(self._master)[3] & termios.ICANON:
            assert time.monotonic() < end, f"nobody waits for {key!r}; shown: {self.shown}"
            time.sleep(0.01)
        os.write(self._master, key.encode())

    def ended(self) -> int | None:
        """Reads to the end; the exit code."""
        while self._read():
            pass
        self.process.join(PATIENCE)
        return self.process.exitcode

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], PATIENCE)
        if not ready:
            return False
        try:
            found = os.read(self._master, 65536)
        except OSError:  # Linux says so when the other side is closed
            return False
        self.shown += found.decode("utf-8", "replace")
        return bool(found)


class _Passed:
    """An open file that a forked process gets too."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __reduce__(self) -> tuple[object, ...]:
        return _received, (DupFd(self.descriptor),)


def _received(passed: Any) -> _Passed:
    return _Passed(passed.detach())


def _live(
    terminal: _Passed, folder: str, environment: dict[str, str], arguments: list[str]
) -> None:
    """The command's side; Ctrl-C reaches it, since the terminal becomes that of the process."""
    os.setsid()
    fcntl.ioctl(terminal.descriptor, termios.TIOCSCTTY, 0)
    for descriptor in range(3):
        os.dup2(terminal.descriptor, descriptor)
    os.close(terminal.descriptor)
    sys.stdin = os.fdopen(0)
    sys.stdout = os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w")
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["claimeval", *arguments]
    main()
