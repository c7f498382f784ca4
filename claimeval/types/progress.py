"""Progress of a run: counts, rates and the progress line."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from claimeval.types.requests import CallError, Completion

RATE_SECONDS = 60.0
"""Seconds over which rates are computed."""


def time_of_day(seconds: float) -> str:
    """Return the local time in `seconds` from now, such as `16:40:03`."""
    return time.strftime("%H:%M:%S", time.localtime(time.time() + seconds))


class _Checkpoint(NamedTuple):
    time: float
    replies: int
    tokens: int


class Progress:
    """Counts of samples and calls. `on_change` is called after every change and decides how often
    to draw."""

    def __init__(
        self,
        total: int | None = None,
        on_change: Callable[[Progress], None] | None = None,
        *,
        unit: str = "samples",
    ) -> None:
        self.total = total
        """Number of samples, None if unknown."""
        self.unit = unit
        """Noun for the items, for the progress line."""
        self.done = 0
        self.calls = 0
        """Number of requests sent, including retries."""
        self.replies = 0
        self.cached = 0
        self.in_flight = 0
        self.failures: Counter[str] = Counter()
        """Failed attempts by reason."""
        self.last_failure: str | None = None
        """Message of the last failed attempt."""
        self.possibly_paid = 0
        """Number of failed attempts that the provider may have charged for."""
        self.tokens = 0
        """Prompt and completion tokens of the replies, as counted by the provider."""
        self.spent: float | None = None
        """US dollars, an upper limit where the provider did not count tokens. None before the first
        call that may cost something, or if a price is unknown."""
        self.waiting: dict[str, str] = {}
        """Reason of each wait, by judge or other source."""
        self.started = time.monotonic()
        self._checkpoints: deque[_Checkpoint] = deque([_Checkpoint(self.started, 0, 0)])
        self._on_change = on_change

    def sent(self) -> None:
        """Count a request that was sent."""
        self.calls += 1
        self.in_flight += 1
        self.notify()

    def ended(self, outcome: Completion | CallError | None, spent: float | None) -> None:
        """Count a call that ended. `outcome` is None if it was cancelled."""
        self.in_flight -= 1
        self.spent = spent
        if isinstance(outcome, Completion):
            self.replies += 1
            self.tokens += (outcome.usage.prompt_tokens or 0) + (
                outcome.usage.completion_tokens or 0
            )
            self._record_rate()
        elif outcome:
            self.failures[outcome.reason] += 1
            self.possibly_paid += outcome.possibly_paid
            self.last_failure = outcome.message
        self.notify()

    def batched(self, requests: int) -> None:
        """Count requests that will be sent in a batch."""
        self.calls += requests

    def unbatched(
        self,
        replies: int,
        tokens: int,
        failures: Counter[str],
        spent: float | None,
    ) -> None:
        """Count the results of a batch.

        Args:
            replies: Number of replies.
            tokens: Prompt and completion tokens of the replies.
            failures: Failed requests by reason.
            spent: US dollars spent in the whole run, None if unknown.
        """
        self.replies += replies
        self.tokens += tokens
        self.failures += failures
        self.spent = spent
        self._record_rate()
        self.notify()

    def set_waiting(self, source: str, reason: str | None) -> None:
        """Set the reason why a source waits, or None when the wait is over."""
        if reason is not None:
            self.waiting[source] = reason
            self.notify()
        elif source in self.waiting:
            del self.waiting[source]

    def answered_from_cache(self) -> None:
        """Count a reply from the reply cache."""
        self.cached += 1

    def sample_done(self) -> None:
        """Count a finished sample."""
        self.done += 1
        self.notify()

    def begin_again(self) -> None:
        """Start with the first sample again; calls and costs stay counted."""
        self.done = 0
        self.cached = 0
        self.notify()

    @property
    def paid(self) -> float | None:
        """US dollars for the calls that have ended, 0 if there are none; None if a price is
        unknown."""
        return self.spent if self.replies or self.failures else 0.0

    def record(self) -> dict[str, int | float | None]:
        """Return what this command sent and paid, as JSON."""
        return {
            "sent": self.calls,
            "cached": self.cached,
            "tokens": self.tokens,
            "dollars": self.paid,
        }

    def per_minute(self) -> tuple[float, float]:
        """Return replies and tokens per minute, over the last minute or since the start."""
        first = self._checkpoints[0]
        minutes = max(time.monotonic() - first.time, 1.0) / 60
        return (self.replies - first.replies) / minutes, (self.tokens - first.tokens) / minutes

    def seconds_remaining(self) -> float | None:
        """Return the estimated remaining seconds, or None before the first sample or without a
        total."""
        if not self.total or not self.done:
            return None
        return (time.monotonic() - self.started) / self.done * (self.total - self.done)

    def in_words(self, width: int | None = None) -> str:
        """Return the progress line, of at most `width` columns.

        What is done, the cost and the remaining time come first, then the rest as there is room:

        `120/240 samples  $0.042 of ~$0.084  1:05 left  480 calls  12 from cache
        3 failed (timeout 3)  16 in flight  96 calls/min, 41k tokens/min
        waiting for openai:gpt-5-mini: rate limit until 16:40:03`

        A part that does not fit is left out, and shorter ones after it may still be shown.
        """
        parts = list[str]()
        free = math.inf if width is None else width
        for part in self._parts():
            needed = len(part) + 2 * bool(parts)
            if needed <= free:
                parts.append(part)
                free -= needed
        return "  ".join(parts)

    def _parts(self) -> Iterator[str]:
        """Yield the parts of the progress line, the most important first."""
        yield (
            f"{self.done:,}/{self.total:,} {self.unit}"
            if self.total
            else (f"{self.done:,} {self.unit}")
        )
        if self.spent:
            likely = self.spent / self.done * self.total if self.done and self.total else None
            yield _money(self.spent) + (f" of ~{_money(likely)}" if likely else "")
        if left := self.seconds_remaining():
            yield f"{int(left) // 60}:{int(left) % 60:02d} left"
        for source, reason in self.waiting.items():
            yield f"waiting for {source}: {reason}"
        yield f"{self.calls:,} call{'' if self.calls == 1 else 's'}"
        if failures := self.failures.total():
            reasons = ", ".join(f"{reason} {n:,}" for reason, n in self.failures.most_common(2))
            yield f"{failures:,} failed ({reasons})"
        if self.in_flight:
            yield f"{self.in_flight:,} in flight"
        if self.cached:
            yield f"{self.cached:,} from cache"
        if self.replies:
            replies, tokens = self.per_minute()
            yield f"{_short(replies)} calls/min, {_short(tokens)} tokens/min"

    def _record_rate(self) -> None:
        now = time.monotonic()
        if now - self._checkpoints[-1].time >= 1.0:
            self._checkpoints.append(_Checkpoint(now, self.replies, self.tokens))
            # One a second for a minute, so that a run of days keeps sixty.
            while now - self._checkpoints[0].time > RATE_SECONDS:
                self._checkpoints.popleft()

    def notify(self) -> None:
        """Call `on_change`."""
        if self._on_change:
            self._on_change(self)


def _money(amount: float) -> str:
    """Return dollars with cents, and small amounts with two digits that are not 0."""
    if amount >= 0.1:
        return f"${amount:,.2f}"
    # Never $0 once money was spent.
    return f"${amount:.2g}" if amount >= 0.0001 else "$0.0001"


def _short(number: float) -> str:
    """Return a short number such as `96`, `41k` or `1.2M`."""
    if number < 1000:
        return f"{number:.0f}"
    return f"{number / 1000:.0f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"
