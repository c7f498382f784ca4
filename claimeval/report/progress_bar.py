"""Progress bar below a notebook cell."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from claimeval.types.html import Html, element, shown
from claimeval.types.progress import Progress

FIRST = 0.5
NEXT = 0.25
"""Seconds until the bar appears, so that a quick run shows none, and between two updates."""


def progress_bar() -> Callable[[Progress], None] | None:
    """Return a function that draws the progress of a job below the running cell; None outside of
    notebooks."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if ipython is None or getattr(shell, "kernel", None) is None:
        return None
    return ProgressBar(ipython.display.display)


class ProgressBar:
    """Draws progress in place; the last state remains visible."""

    def __init__(self, display: Callable[..., Any]) -> None:
        """`display` is `IPython.display.display`."""
        self._display = display
        self._handle: Any = None
        self._next = time.monotonic() + FIRST

    def __call__(self, progress: Progress) -> None:
        """Draw the progress if it is due or complete."""
        now = time.monotonic()
        ended = progress.done == progress.total
        if now < self._next and not (ended and self._handle):
            return
        self._next = now + NEXT
        text = progress.in_words()
        bar = (
            element("progress", max=progress.total, value=progress.done)
            if progress.total
            else Html()
        )
        content = {
            "text/html": shown(element("div", bar, Html(" "), element("small", text))),
            "text/plain": text,
        }
        if self._handle is None:
            self._handle = self._display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
