"""Pace of calls to a model: concurrency, rates per minute and pauses, shared by all workers.

If the user sets no concurrency limit, it is adapted as TCP adapts to a network (additive increase,
multiplicative decrease; Chiu and Jain 1989). It starts low, doubles as long as rounds succeed,
drops by a fifth when the provider throttles, and grows slowly after that.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from claimeval.types.options import RunOptions
from claimeval.types.progress import time_of_day
from claimeval.types.requests import CallError, Completion, RateLimitStatus, Request

Clock = Callable[[], float]
"""Monotonic clock in seconds."""
Sleep = Callable[[float], Awaitable[None]]
OnWait = Callable[[str | None], None]
"""Called with the reason of a wait, and with None when the wait is over."""

MAX_CONCURRENCY = 100
"""Maximum parallel calls per model if the user sets no limit."""
MAX_WAIT = 120.0
"""Seconds. A provider that asks for a longer pause is given up."""
MAX_PAUSE = 60.0
"""Maximum pause in seconds if the provider throttles without saying for how long."""
AT_ONCE = 3
"""Throttled calls in a row after which a provider that asks for no pause still gets one."""
THROTTLED_TIMEOUT = 600.0
"""Seconds without a reply, only throttling, after which a model is given up."""
SILENT_AFTER = 12
"""Failed calls in a row, more than one question has attempts, after which a model counts as silent:
calls are sent one by one, and do not count as attempts, until one is answered."""
PROBE_PAUSE = 2.0
"""Seconds between two calls to a silent model, times the backoff of the options."""
MOST_UNANSWERED = 60
SILENT_TIMEOUT = 90.0
"""Failed calls in a row, and seconds (times the backoff) without a reply, after both of which a
model is given up."""
LONGEST_SILENCE = 900.0
"""Seconds without a reply after which a silent model is given up, however few calls it got: each
may take minutes to fail."""
RECHECK = 1.0
"""Seconds after which the rates are checked again, because replies correct the estimates."""
CHARACTERS_PER_TOKEN = 4
FIRST_REPLY_TOKENS = 200.0
"""Estimated tokens of a reply before the first reply arrives."""


class Slot(NamedTuple):
    """Permission for one call, with its reservations in the rate windows."""

    request: Reservation
    tokens: Reservation
    replies: int = 0
    """Number of replies before the call."""


class Pace:
    """Pace of one model at one endpoint. Calls are served in order of arrival."""

    def __init__(self, options: RunOptions, on_wait: OnWait, clock: Clock, sleep: Sleep) -> None:
        self._concurrency = ConcurrencyLimit(options.concurrency)
        self._requests = RateWindow(options.rpm)
        self._tokens = RateWindow(options.tpm)
        self._fixed = (options.rpm is not None, options.tpm is not None)
        self._on_wait = on_wait
        self._clock = clock
        self._sleep = sleep
        self._queue = asyncio.Lock()
        self._released = asyncio.Event()
        self._paused_until = float("-inf")
        self._pause_reason = "rate limit until"
        """Why calls pause, in the words of the progress line."""
        self._throttle_count = 0
        """Throttled calls since the last success. If it is not 0, calls are sent one by one."""
        self._throttled_at = float("-inf")
        self._throttled_since: float | None = None
        self._backoff = options.backoff
        self._failures = 0
        """Failed calls since the last reply, other than throttled ones."""
        self._failing_since = 0.0
        self._replies = 0
        self._reply_tokens = FIRST_REPLY_TOKENS
        self._random = random.Random(0)

    async def acquire(self, request: Request, check: Callable[[], None] = lambda: None) -> Slot:
        """Wait for a free slot, the rates and the end of a pause. Call `release` after the call.

        Args:
            request: The request; its estimated tokens are reserved.
            check: Called at least every `RECHECK` seconds while the call waits; an exception from
                it ends the wait.
        """
        tokens = (
            sum(len(m.content) for m in request.messages) / CHARACTERS_PER_TOKEN
            + self._reply_tokens
        )
        async with self._queue:
            while True:
                # A judge that was stopped while hundreds of calls wait must not hold each for its
                # turn.
                check()
                alone = self._throttle_count or self.silent
                if self._concurrency.full or (alone and self._concurrency.in_flight):
                    self._released.clear()
                    await self._released.wait()
                elif (seconds := self._seconds_to_wait(tokens)) > 0:
                    await self._sleep(min(seconds, RECHECK))
                else:
                    break
            self._on_wait(None)
            self._concurrency.acquire()
            now = self._clock()
            reservations = self._requests.reserve(1, now), self._tokens.reserve(tokens, now)
            return Slot(*reservations, self._replies)

    def release(self) -> None:
        """Free the slot of a call that has ended."""
        self._concurrency.release()
        self._released.set()

    def succeeded(self, slot: Slot, completion: Completion) -> None:
        """Record a reply. Its usage replaces the estimate."""
        now = self._clock()
        # Only a call that was sent after the throttling shows that it is over; replies to earlier
        # ones still arrive.
        if slot.request.at > self._throttled_at:
            self._throttle_count = 0
            self._throttled_since = None
        self._failures = 0
        self._replies += 1
        self._concurrency.succeeded()
        usage = completion.usage
        if usage.prompt_tokens is not None and usage.completion_tokens is not None:
            self._tokens.correct(slot.tokens, usage.prompt_tokens + usage.completion_tokens, now)
            # A moving mean of about ten replies: extraction writes hundreds of tokens, assessment
            # of a claim some dozens.
            self._reply_tokens += (usage.completion_tokens - self._reply_tokens) / 10
        self._update_limits(completion.rate_limits, now)

    def failed(self, slot: Slot, error: CallError) -> None:
        """Record an error. If the provider throttles or asks for a pause, all calls slow down."""
        now = self._clock()
        # A call that timed out may have been counted by the provider.
        if not error.possibly_paid:
            self._tokens.correct(slot.tokens, 0.0, now)
        self._update_limits(error.rate_limits, now)
        if error.rate_limited:
            self._concurrency.throttled(now)
            self._throttled_at = now
            if self._throttled_since is None:
                self._throttled_since = now
            # Calls that were in flight when the pause began say nothing new about it.
            if now >= self._paused_until:
                self._throttle_count += 1
            self._pause(now, self._throttled_pause(error.retry_after), "rate limit until")
        else:
            self._concurrency.failed()
            if error.reason == "timeout":
                self._concurrency.overloaded(self._replies - slot.replies)
            if error.retryable and error.reason in ("provider_error", "timeout"):
                self._count_failure(now)
            if error.retry_after:
                self._pause(now, error.retry_after, "asked to wait until")

    def _count_failure(self, now: float) -> None:
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        if self.silent:
            self._pause(now, PROBE_PAUSE * self._backoff, "no reply, next try at")

    @property
    def silent(self) -> bool:
        """Whether no call has been answered for a while, as when a server is away."""
        return self._failures >= SILENT_AFTER

    @property
    def silence(self) -> str | None:
        """How many calls were not answered, in words, once a silent model is to be given up."""
        seconds = self._clock() - self._failing_since
        enough = self._failures >= MOST_UNANSWERED and seconds >= SILENT_TIMEOUT * self._backoff
        if self.silent and (enough or seconds >= LONGEST_SILENCE):
            return f"no reply to {self._failures} requests in {seconds:.0f} seconds"
        return None

    def _throttled_pause(self, retry_after: float | None) -> float:
        """Return the pause in seconds: as requested, or growing if none (or repeatedly 0) is
        requested."""
        # A gateway may answer 429 with `retry-after: 0` for as long as it throttles.
        if retry_after or (retry_after == 0 and self._throttle_count <= AT_ONCE):
            return retry_after
        # The exponent is limited too: a float has no power of two above 1,023.
        return float(min(2.0 ** min(self._throttle_count - 1, 99), MAX_PAUSE))

    @property
    def given_up(self) -> bool:
        """Whether the provider has only throttled for too long."""
        return (
            self._throttled_since is not None
            and self._clock() - self._throttled_since > THROTTLED_TIMEOUT
        )

    def _update_limits(self, rate_limits: RateLimitStatus | None, now: float) -> None:
        if rate_limits is None:
            return
        for window, fixed, limit, remaining in (
            (self._requests, self._fixed[0], rate_limits.requests, rate_limits.requests_remaining),
            (self._tokens, self._fixed[1], rate_limits.tokens, rate_limits.tokens_remaining),
        ):
            # A limit that the user set is for this run alone; that of the headers is for the
            # account.
            if limit and not fixed:
                window.limit = limit
                if remaining is not None:
                    window.limit_remaining(remaining, now)

    def _pause(self, now: float, seconds: float, reason: str) -> None:
        # Several processes that were throttled together would return together.
        until = now + min(seconds, MAX_WAIT) + self._random.uniform(0, 0.1)
        if until > self._paused_until:
            self._paused_until = until
            self._pause_reason = reason

    def _seconds_to_wait(self, tokens: float) -> float:
        now = self._clock()
        waits = {
            self._pause_reason: self._paused_until - now,
            "requests per minute until": self._requests.wait(1, now),
            "tokens per minute until": self._tokens.wait(tokens, now),
        }
        reason = max(waits, key=lambda name: waits[name])
        if waits[reason] > 0:
            self._on_wait(f"{reason} {time_of_day(waits[reason])}")
        return waits[reason]


MINUTE = 61.0
"""Seconds. One more than a minute, because the provider counts a call only when it arrives."""


@dataclass(slots=True)
class Reservation:
    """Amount reserved in a rate window. It can be corrected later."""

    amount: float
    at: float


class RateWindow:
    """Window that admits at most `limit` in any minute, which satisfies both sliding windows and
    token buckets.

    Without a limit, everything is admitted and counted, so that a limit reported later takes effect
    immediately.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self._reservations: deque[Reservation] = deque()
        self._used = 0.0

    def used(self, now: float) -> float:
        """Return the amount reserved in the last minute."""
        while self._reservations and self._reservations[0].at <= now - MINUTE:
            self._used -= self._reservations.popleft().amount
        if not self._reservations:
            self._used = 0.0
        return self._used

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` fits. An amount above the limit fits if nothing else is
        reserved."""
        if self.limit is None:
            return 0.0
        # A request that is larger than the limit waits for all others and no longer.
        excess = min(self.used(now) + amount - self.limit, self._used)
        for reservation in self._reservations:
            if excess <= 0:
                return 0.0
            excess -= reservation.amount
            # Corrected amounts leave remainders such as 1e-13, for which no call should wait.
            if excess <= 1e-9:
                return reservation.at + MINUTE - now
        return 0.0

    def reserve(self, amount: float, now: float) -> Reservation:
        """Reserve an amount, whether it fits or not."""
        reservation = Reservation(amount, now)
        self._reservations.append(reservation)
        self._used += amount
        return reservation

    def correct(self, reservation: Reservation, amount: float, now: float) -> None:
        """Replace an estimated amount. A reservation older than a minute is ignored."""
        self.used(now)
        if reservation.at > now - MINUTE:
            self._used += amount - reservation.amount
            reservation.amount = amount

    def limit_remaining(self, remaining: float, now: float) -> None:
        """Reserve what other users of the same account have used, according to the provider."""
        if self.limit is not None and (others := self.limit - remaining - self.used(now)) > 0:
            self.reserve(others, now)


INITIAL_LIMIT = 8
# After the first throttled call the limit is near: a step of 5%, against a drop of 20%, finds it
# again without being throttled at every round.
GROWTH = 1.05
DECREASE = 0.8
DECREASE_INTERVAL = 15.0
"""Seconds between two decreases, because the calls in flight at a decrease belong to the old
limit."""
MIN_UTILIZATION = 0.8
"""The limit grows only if at least this share of it was in use."""


class ConcurrencyLimit:
    """Limit of the calls in flight."""

    def __init__(self, fixed: int | None) -> None:
        self.limit = fixed or INITIAL_LIMIT
        self.in_flight = 0
        self._fixed = fixed is not None
        self._slow_start = True
        self._successes = 0
        self._max_in_flight = 0
        self._next_decrease = float("-inf")

    @property
    def full(self) -> bool:
        """Whether the limit is reached."""
        return self.in_flight >= self.limit

    def acquire(self) -> None:
        """Count a call that starts."""
        self.in_flight += 1
        self._max_in_flight = max(self._max_in_flight, self.in_flight)

    def release(self) -> None:
        """Count a call that has ended."""
        self.in_flight -= 1

    def succeeded(self) -> None:
        """Record a reply. After as many replies in a row as the limit, the limit grows."""
        self._successes += 1
        if self._fixed or self._successes < self.limit:
            return
        if self._max_in_flight >= MIN_UTILIZATION * self.limit:
            grown = (
                2 * self.limit
                if self._slow_start
                else max(self.limit + 1, int(self.limit * GROWTH))
            )
            self.limit = min(grown, MAX_CONCURRENCY)
        self.failed()

    def throttled(self, now: float) -> None:
        """Decrease the limit because the provider throttled."""
        if self._fixed or now < self._next_decrease:
            return
        self._slow_start = False
        self._next_decrease = now + DECREASE_INTERVAL
        self.limit = max(1, int(self.limit * DECREASE))
        self.failed()

    def overloaded(self, answered: int) -> None:
        """Decrease the limit to what the server answered while one call timed out.

        A server that answers fewer calls than are in flight makes the others wait, until they time
        out as well: a model on two cores, asked six questions at once, answered two in ten minutes.
        """
        if not self._fixed and answered < self.limit:
            self._slow_start = False
            self.limit = max(1, answered)

    def failed(self) -> None:
        """Begin to count anew, as after another error, for which the limit neither grows nor
        decreases."""
        self._successes = 0
        # Growth by replies alone would raise a limit that was never reached, as with a slow reader.
        self._max_in_flight = self.in_flight
