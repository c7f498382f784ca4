"""When the next call to a model may go: slots, rates per minute and pauses, for all workers at once.

What was used within the last minute, against a limit.

How many calls may be in flight: a number that was given, or one that is found.

Found as TCP finds a line's capacity (additive increase, multiplicative decrease; Chiu and Jain 1989): it begins low,
doubles while rounds are clean, falls by a fifth when the provider says that it is too much, and then grows slowly.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable

from claimeval.types.options import RunOptions
from claimeval.types.progress import time_of_day
from claimeval.types.requests import Allowance, CallError, Completion, Request

Clock = Callable[[], float]
"""Seconds that only go forward."""
Sleep = Callable[[float], Awaitable[None]]
Waits = Callable[[str | None], None]
"""Is told what is being waited for, and None when it is over."""

MOST_IN_FLIGHT = 100
"""Calls in flight per model that are not passed without being asked to."""
MAX_WAIT = 120.0
"""Seconds; a provider that asks for a longer pause is treated as out of reach."""
LONGEST_PAUSE = 60.0
"""Seconds; the most that is waited where the provider refuses and does not say how long."""
PATIENCE = 600.0
"""Seconds without one reply, only refusals, after which a model is given up."""
LOOK_AGAIN = 1.0
"""Seconds after which the rates are looked at anew, since replies correct what was estimated."""
CHARACTERS_PER_TOKEN = 4
FIRST_GUESS = 200.0
"""Tokens of a reply, until replies show it."""


class Turn:
    """One call's place in the rates."""

    __slots__ = ("request", "tokens")

    def __init__(self, request: Use, tokens: Use) -> None:
        self.request = request
        self.tokens = tokens


class Pace:
    """The pace of one model at one endpoint. First come, first served."""

    def __init__(self, options: RunOptions, waits: Waits, clock: Clock, sleep: Sleep) -> None:
        self._slots = ConcurrencyLimit(options.concurrency)
        self._requests = RateWindow(options.rpm)
        self._tokens = RateWindow(options.tpm)
        self._fixed = (options.rpm is not None, options.tpm is not None)
        self._waits = waits
        self._clock = clock
        self._sleep = sleep
        self._door = asyncio.Lock()
        self._left = asyncio.Event()
        self._paused_until = float("-inf")
        self._refusals = 0
        """Since the last reply to a call that was sent after a refusal; while there are any, calls go one by one."""
        self._refused_at = float("-inf")
        self._refused_since: float | None = None
        self._reply_tokens = FIRST_GUESS
        self._random = random.Random(0)

    async def enter(self, request: Request) -> Turn:
        """Waits for a slot, for the rates and for the end of a pause; give the turn back with `leave`."""
        tokens = sum(len(m.content) for m in request.messages) / CHARACTERS_PER_TOKEN + self._reply_tokens
        async with self._door:
            while True:
                if self._slots.full or (self._refusals and self._slots.in_flight):
                    self._left.clear()
                    await self._left.wait()
                elif (seconds := self._seconds_to_wait(tokens)) > 0:
                    await self._sleep(min(seconds, LOOK_AGAIN))
                else:
                    break
            self._waits(None)
            self._slots.take()
            now = self._clock()
            return Turn(self._requests.take(1, now), self._tokens.take(tokens, now))

    def leave(self) -> None:
        """Gives the slot back."""
        self._slots.give()
        self._left.set()

    def succeeded(self, turn: Turn, completion: Completion) -> None:
        """A reply came; its usage replaces the estimate."""
        now = self._clock()
        if turn.request.at > self._refused_at:
            self._refusals, self._refused_since = 0, None
        self._slots.succeeded()
        usage = completion.usage
        if usage.prompt_tokens is not None and usage.completion_tokens is not None:
            self._tokens.correct(turn.tokens, usage.prompt_tokens + usage.completion_tokens, now)
            self._reply_tokens += (usage.completion_tokens - self._reply_tokens) / 10
        self._learn(completion.allowance, now)

    def failed(self, turn: Turn, error: CallError) -> None:
        """No reply came. Being told to slow down, or to come back later, holds for all calls."""
        now = self._clock()
        if not error.possibly_paid:
            self._tokens.correct(turn.tokens, 0.0, now)
        self._learn(error.allowance, now)
        if error.rate_limited:
            self._slots.refused(now)
            self._refused_at = now
            if self._refused_since is None:
                self._refused_since = now
            if now >= self._paused_until:
                self._refusals += 1
            self._pause(now, error.retry_after or min(2.0 ** (self._refusals - 1), LONGEST_PAUSE))
        else:
            self._slots.troubled()
            if error.retry_after:
                self._pause(now, error.retry_after)

    @property
    def hopeless(self) -> bool:
        """Whether there were only refusals for so long that the model is given up."""
        return self._refused_since is not None and self._clock() - self._refused_since > PATIENCE

    def _learn(self, allowance: Allowance | None, now: float) -> None:
        if allowance is None:
            return
        for window, fixed, limit, left in (
            (self._requests, self._fixed[0], allowance.requests, allowance.requests_left),
            (self._tokens, self._fixed[1], allowance.tokens, allowance.tokens_left),
        ):
            if limit and not fixed:
                window.limit = limit
                if left is not None:
                    window.allow_at_most(left, now)

    def _pause(self, now: float, seconds: float) -> None:
        jittered = min(seconds, MAX_WAIT) + self._random.uniform(0, 0.1)
        self._paused_until = max(self._paused_until, now + jittered)

    def _seconds_to_wait(self, tokens: float) -> float:
        now = self._clock()
        waits = {
            "rate limit": self._paused_until - now,
            "requests per minute": self._requests.wait(1, now),
            "tokens per minute": self._tokens.wait(tokens, now),
        }
        why = max(waits, key=lambda name: waits[name])
        if waits[why] > 0:
            self._waits(f"{why} until {time_of_day(waits[why])}")
        return waits[why]


MINUTE = 61.0
"""Seconds; one more than a minute, since a use begins to count at the provider only when it arrives there."""


class Use:
    """One use; its amount may be corrected when it is known better."""

    __slots__ = ("amount", "at")

    def __init__(self, amount: float, at: float) -> None:
        self.amount = amount
        self.at = at


class RateWindow:
    """Lets at most `limit` through in any minute, which satisfies sliding windows and refilled buckets alike.

    Without a limit it lets everything through and takes note, so that a limit learnt later holds at once.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self._uses: deque[Use] = deque()
        self._used = 0.0

    def used(self, now: float) -> float:
        """The sum of the last minute's uses."""
        while self._uses and self._uses[0].at <= now - MINUTE:
            self._used -= self._uses.popleft().amount
        if not self._uses:
            self._used = 0.0
        return self._used

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` fits, 0 when it does. More than the limit fits when nothing else is used."""
        if self.limit is None:
            return 0.0
        over = min(self.used(now) + amount - self.limit, self._used)
        for use in self._uses:
            if over <= 0:
                return 0.0
            over -= use.amount
            if over <= 1e-9:
                return use.at + MINUTE - now
        return 0.0

    def take(self, amount: float, now: float) -> Use:
        """Uses it up, whether it fits or not."""
        use = Use(amount, now)
        self._uses.append(use)
        self._used += amount
        return use

    def correct(self, use: Use, amount: float, now: float) -> None:
        """Replaces the amount of a use that was only estimated; one that is over a minute old counts no more."""
        self.used(now)
        if use.at > now - MINUTE:
            self._used += amount - use.amount
            use.amount = amount

    def allow_at_most(self, left: float, now: float) -> None:
        """Counts as used what the provider says is: others may be using the same account."""
        if self.limit is not None and (others := self.limit - left - self.used(now)) > 0:
            self.take(others, now)


FIRST = 8
GROWTH, CUT = 1.05, 0.8
CUT_EVERY = 15.0
"""Seconds between two cuts: the calls in flight at a cut belong to the old number."""
BUSY = 0.8
"""The number grows only when at least this share of it was in use; else it was never tried."""


class ConcurrencyLimit:
    """The number of slots, and how many are taken."""

    def __init__(self, fixed: int | None) -> None:
        self.limit = fixed or FIRST
        self.in_flight = 0
        self._fixed = fixed is not None
        self._steep = True
        self._clean = 0
        self._most = 0
        self._next_cut = float("-inf")

    @property
    def full(self) -> bool:
        """Whether every slot is taken."""
        return self.in_flight >= self.limit

    def take(self) -> None:
        self.in_flight += 1
        self._most = max(self._most, self.in_flight)

    def give(self) -> None:
        self.in_flight -= 1

    def succeeded(self) -> None:
        """A reply came. A round of as many as there are slots makes the number grow."""
        self._clean += 1
        if self._fixed or self._clean < self.limit:
            return
        if self._most >= BUSY * self.limit:
            grown = 2 * self.limit if self._steep else max(self.limit + 1, int(self.limit * GROWTH))
            self.limit = min(grown, MOST_IN_FLIGHT)
        self._new_round()

    def refused(self, now: float) -> None:
        """The provider said that it is too much."""
        if self._fixed or now < self._next_cut:
            return
        self._steep = False
        self._next_cut = now + CUT_EVERY
        self.limit = max(1, int(self.limit * CUT))
        self._new_round()

    def troubled(self) -> None:
        """The provider failed: no time to grow, and no reason to shrink."""
        self._new_round()

    def _new_round(self) -> None:
        self._clean = 0
        self._most = self.in_flight
