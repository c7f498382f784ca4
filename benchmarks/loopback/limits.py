"""Rate limits like those of providers: requests and tokens per minute, reported in headers, refused
with 429."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Literal, Protocol

from benchmarks.loopback.dialects import Dialect
from benchmarks.loopback.wire import Answer, encode


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of one model; None for no limit."""

    requests: int | None = None
    tokens: int | None = None
    per_seconds: float = 60.0
    by: Literal["bucket", "window"] = "bucket"
    """``bucket``: full at first and refilled evenly, so that the first minute allows up to twice
    the limit. ``window``: never more than the limit within any ``per_seconds``."""

    def __post_init__(self) -> None:
        if not self.requests and not self.tokens:
            raise ValueError("limits need a number of requests, of tokens, or of both, above 0")


class Meter(Protocol):
    """Counts one quantity with a limit."""

    limit: int

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until ``amount`` is allowed: 0 if it is now, infinite if it never will
        be."""

    def take(self, amount: float, now: float) -> None:
        """Use ``amount``, even if it is not allowed."""

    def left(self, now: float) -> float:
        """Return the remaining amount, at least 0."""

    def full_in(self, now: float) -> float:
        """Return the seconds until the full amount is available again."""


@dataclass(slots=True)
class Bucket:
    """Refilled evenly up to its limit. It can be overdrawn by amounts that are only known later."""

    limit: int
    seconds: float
    _used: float = 0.0
    _at: float = -math.inf

    def _refill(self, now: float) -> None:
        self._used = max(0.0, self._used - (now - self._at) * self.limit / self.seconds)
        self._at = now

    def wait(self, amount: float, now: float) -> float:
        self._refill(now)
        if amount > self.limit:
            return math.inf
        return max(0.0, (self._used + amount - self.limit) * self.seconds / self.limit)

    def take(self, amount: float, now: float) -> None:
        self._refill(now)
        self._used += amount

    def left(self, now: float) -> float:
        self._refill(now)
        return max(0.0, self.limit - self._used)

    def full_in(self, now: float) -> float:
        self._refill(now)
        return self._used * self.seconds / self.limit


@dataclass(slots=True)
class Window:
    """Counts the use in the last ``seconds``."""

    limit: int
    seconds: float
    _uses: deque[tuple[float, float]] = field(default_factory=deque)
    _used: float = 0.0

    def _forget(self, now: float) -> None:
        while self._uses and self._uses[0][0] <= now - self.seconds:
            self._used -= self._uses.popleft()[1]

    def wait(self, amount: float, now: float) -> float:
        self._forget(now)
        over = self._used + amount - self.limit
        if over <= 0:
            return 0.0
        for at, used in self._uses:
            over -= used
            if over <= 0:
                return at + self.seconds - now
        return math.inf

    def take(self, amount: float, now: float) -> None:
        self._forget(now)
        self._uses.append((now, amount))
        self._used += amount

    def left(self, now: float) -> float:
        self._forget(now)
        return max(0.0, self.limit - self._used)

    def full_in(self, now: float) -> float:
        self._forget(now)
        return self._uses[-1][0] + self.seconds - now if self._uses else 0.0


class Limiter:
    """The limits of one model on one server."""

    def __init__(self, limits: Limits) -> None:
        make = Bucket if limits.by == "bucket" else Window
        self._requests = make(limits.requests, limits.per_seconds) if limits.requests else None
        self._tokens = make(limits.tokens, limits.per_seconds) if limits.tokens else None

    def refuse(self, dialect: Dialect, tokens: int, now: float) -> Answer | None:
        """Count one request with this number of prompt tokens, or return the refusal with the time
        to wait."""
        meters = [(self._requests, 1, "requests"), (self._tokens, tokens, "tokens")]
        waits = {
            name: meter.wait(amount, now) for meter, amount, name in meters if meter is not None
        }
        name = max(waits, key=lambda name: waits[name])
        if waits[name] > 0:
            return self._refusal(dialect, name, waits[name], tokens, now)
        for meter, amount, _ in meters:
            if meter is not None:
                meter.take(amount, now)
        return None

    def charge(self, tokens: int, now: float) -> None:
        """Count the tokens of the completion, which are only known afterwards."""
        if self._tokens is not None:
            self._tokens.take(tokens, now)

    def headers(self, dialect: Dialect, tokens: int, now: float) -> dict[str, str]:
        """Return the provider's headers for the limits; ``tokens`` is the cost of the request."""
        headers: dict[str, str] = {}
        if dialect.name == "mistral":
            for name, meter in (("req", self._requests), ("tokens", self._tokens)):
                if meter is not None:
                    headers[f"x-ratelimit-limit-{name}-minute"] = str(meter.limit)
                    headers[f"x-ratelimit-remaining-{name}-minute"] = str(int(meter.left(now)))
            return {**headers, "x-ratelimit-tokens-query-cost": str(tokens)}
        for name, meter in (("requests", self._requests), ("tokens", self._tokens)):
            if meter is not None:
                headers[f"x-ratelimit-limit-{name}"] = str(meter.limit)
                headers[f"x-ratelimit-remaining-{name}"] = str(int(meter.left(now)))
                headers[f"x-ratelimit-reset-{name}"] = duration(meter.full_in(now))
        return headers

    def _refusal(self, dialect: Dialect, name: str, wait: float, tokens: int, now: float) -> Answer:
        headers = self.headers(dialect, 0, now)
        if math.isinf(wait):
            message = f"Request too large on {name} per min: requested {tokens}. It will never fit."
        else:
            message = f"Rate limit reached on {name} per min. Please try again in {duration(wait)}."
            headers["retry-after"] = str(math.ceil(wait))
        if dialect.name == "mistral":
            record = dialect.error("Rate limit exceeded", type="rate_limited", code="1300")
        else:
            record = dialect.error(message, type=name, code="rate_limit_exceeded")
        return Answer(429, encode(record), headers)


def duration(seconds: float) -> str:
    """Format seconds like OpenAI: ``500ms``, ``1.2s``, ``6m0s``, ``1h0m0s``."""
    milliseconds = round(seconds * 1000)
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:g}s"
    minutes, rest = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{rest}s" if hours else f"{minutes}m{rest}s"
