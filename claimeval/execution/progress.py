"""What a run has done so far, in numbers that a status line can show."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from claimeval.calls import CallError, Completion


class Progress:
    """Counts samples and calls. `changed` is called after every change; it decides how often to draw."""

    def __init__(self, total: int | None = None, changed: Callable[[Progress], None] | None = None) -> None:
        self.total = total
        """Samples in all; None while unknown."""
        self.done = 0
        self.calls = 0
        """Requests sent, retries included."""
        self.replies = 0
        self.cached = 0
        self.in_flight = 0
        self.failures: Counter[str] = Counter()
        """Failed attempts by reason."""
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.last_failure: str | None = None
        self.started = time.monotonic()
        self._changed = changed

    def sent(self, judge: str) -> None:
        self.calls += 1
        self.in_flight += 1
        self._tell()

    def received(self, judge: str, completion: Completion) -> None:
        self.in_flight -= 1
        self.replies += 1
        self.prompt_tokens += completion.usage.prompt_tokens or 0
        self.completion_tokens += completion.usage.completion_tokens or 0
        self._tell()

    def failed(self, judge: str, error: CallError) -> None:
        self.in_flight -= 1
        self.failures[error.reason] += 1
        self.last_failure = f"{judge}: {error.message}"
        self._tell()

    def answered_from_cache(self) -> None:
        self.cached += 1

    def sample_done(self) -> None:
        self.done += 1
        self._tell()

    def seconds_left(self) -> float | None:
        """Estimated from the pace so far; None before the first sample or without a total."""
        if not self.total or not self.done:
            return None
        return (time.monotonic() - self.started) / self.done * (self.total - self.done)

    def _tell(self) -> None:
        if self._changed:
            self._changed(self)
