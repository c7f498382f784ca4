"""What the commands share that ask a person: single keys, and texts of others that cannot steer the terminal."""

from __future__ import annotations

import re
import sys
from collections import deque

import typer

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
            pressed = typer.getchar(echo=False)
            if not pressed or "\x04" in pressed:
                raise EOFError
            if "\x03" in pressed:
                raise KeyboardInterrupt
            if pressed.startswith("\x1b"):
                return ""
            self._ahead.extend(pressed)
        return self._ahead.popleft().lower()


def harmless(text: str) -> str:
    """The text for a terminal: what would steer it becomes U+FFFD, tabs spaces, several empty lines one."""
    lines = (
        "".join(c if c.isprintable() or c in _JOINERS else "\N{REPLACEMENT CHARACTER}" for c in line).rstrip()
        for line in text.expandtabs(4).splitlines()
    )
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
