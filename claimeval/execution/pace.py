"""When the next call to a model may go: slots, rates per minute and pauses, for all workers at once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from claimeval.calls import Allowance, CallError, Completion, Request
from claimeval.execution.concurrency import Concurrency
from claimeval.execution.limits import Limits
from claimeval.execution.progress import time_of_day
from claimeval.execution.window import Use, Window

Clock = Callable[[], float]
"""Seconds that only go forward."""
Sleep = Callable[[float], Awaitable[None]]
Waits = Callable[[str | None], None]
"""Is told what is being waited for, and None when it is over."""

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

    def __init__(self, limits: Limits, waits: Waits, clock: Clock, sleep: Sleep) -> None:
        self._slots = Concurrency(limits.concurrency)
        self._requests = Window(limits.rpm)
        self._tokens = Window(limits.tpm)
        self._fixed = (limits.rpm is not None, limits.tpm is not None)
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
