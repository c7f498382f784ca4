"""What a run has done so far, in numbers that a status line can show."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from typing import NamedTuple

from claimeval.types.requests import CallError, Completion

RECENT = 60.0
"""Seconds over which rates are taken."""


def time_of_day(seconds: float) -> str:
    """The local time in so many seconds, as `16:40:03`."""
    return time.strftime("%H:%M:%S", time.localtime(time.time() + seconds))


class _Mark(NamedTuple):
    at: float
    replies: int
    tokens: int


class Progress:
    """Counts samples and calls. `changed` is called after every change; it decides how often to draw."""

    def __init__(
        self, total: int | None = None, changed: Callable[[Progress], None] | None = None, *, unit: str = "samples"
    ) -> None:
        self.total = total
        """Samples in all; None while unknown."""
        self.unit = unit
        """What they are, where they are not samples."""
        self.done = 0
        self.calls = 0
        """Requests sent, retries included."""
        self.replies = 0
        self.cached = 0
        self.in_flight = 0
        self.failures: Counter[str] = Counter()
        """Failed attempts by reason."""
        self.last_failure: str | None = None
        """What the last failed attempt said."""
        self.possibly_paid = 0
        """Failed attempts that the provider may have charged for."""
        self.tokens = 0
        """Of the replies received, prompts included, as the provider counted them."""
        self.spent: float | None = None
        """US dollars; None while nothing was sent or where a price is not known."""
        self.waiting: dict[str, str] = {}
        """Who waits, and for what."""
        self.started = time.monotonic()
        self._marks: deque[_Mark] = deque([_Mark(self.started, 0, 0)])
        self._changed = changed

    def sent(self) -> None:
        """A request is on its way."""
        self.calls += 1
        self.in_flight += 1
        self.tell()

    def ended(self, outcome: Completion | CallError | None, spent: float | None) -> None:
        """A call is over: a reply, an error, or None when it was broken off."""
        self.in_flight -= 1
        self.spent = spent
        if isinstance(outcome, Completion):
            self.replies += 1
            self.tokens += (outcome.usage.prompt_tokens or 0) + (outcome.usage.completion_tokens or 0)
            self._mark()
        elif outcome:
            self.failures[outcome.reason] += 1
            self.possibly_paid += outcome.possibly_paid
            self.last_failure = outcome.message
        self.tell()

    def batched(self, requests: int) -> None:
        """So many requests are to go out in a batch."""
        self.calls += requests

    def unbatched(self, replies: int, tokens: int, failures: Counter[str], spent: float | None) -> None:
        """So much has come of a batch."""
        self.replies += replies
        self.tokens += tokens
        self.failures += failures
        self.spent = spent
        self._mark()
        self.tell()

    def waits_for(self, who: str, what: str | None) -> None:
        """Somebody cannot go on until something happens; None when it has."""
        if what is not None:
            self.waiting[who] = what
            self.tell()
        elif who in self.waiting:
            del self.waiting[who]

    def answered_from_cache(self) -> None:
        self.cached += 1

    def sample_done(self) -> None:
        self.done += 1
        self.tell()

    def per_minute(self) -> tuple[float, float]:
        """Replies and tokens a minute, over the last minute or since the beginning."""
        first = self._marks[0]
        minutes = max(time.monotonic() - first.at, 1.0) / 60
        return (self.replies - first.replies) / minutes, (self.tokens - first.tokens) / minutes

    def seconds_left(self) -> float | None:
        """Estimated from the pace so far; None before the first sample or without a total."""
        if not self.total or not self.done:
            return None
        return (time.monotonic() - self.started) / self.done * (self.total - self.done)

    def _mark(self) -> None:
        now = time.monotonic()
        if now - self._marks[-1].at >= 1.0:
            self._marks.append(_Mark(now, self.replies, self.tokens))
            while now - self._marks[0].at > RECENT:
                self._marks.popleft()

    def tell(self) -> None:
        """Lets whoever shows the progress look at it."""
        if self._changed:
            self._changed(self)
