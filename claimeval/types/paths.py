"""Paths as users write them."""

from __future__ import annotations

from pathlib import Path


def expanded(path: str | Path) -> Path:
    """Return a path with the home directory in place of a leading `~`, which the shell leaves as it
    is in `--out=~/runs`, and Python everywhere.

    >>> expanded("runs/a").as_posix()
    'runs/a'
    """
    text = str(path)
    return Path(text).expanduser() if text == "~" or text.startswith("~/") else Path(text)
