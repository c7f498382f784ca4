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
