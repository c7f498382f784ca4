"""Asks providers: bounded concurrency, a deadline by the wall clock for each attempt, retries owned in one place.

A reply is handed to `keep` in the very step that received it, before anything reads it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from claimeval.backends import Backend, open_backend
from claimeval.calls import CallError, Completion, Failure, Judge, Outcome, Request
from claimeval.execution.progress import Progress
from claimeval.records import Record

if TYPE_CHECKING:
    from tenacity import RetryCallState

MAX_WAIT = 120.0
"""Seconds; a provider that asks for a longer pause is treated as down."""


class Limits(Record):
    """How hard providers may be asked."""

    concurrency: int = 16
    """Calls in flight per judge."""
    timeout: float = 300.0
    """Seconds an attempt may take from sending to the last byte."""
    attempts: int = 6
    """How often a call is tried when the provider fails."""


Keep = Callable[[Request, Completion], None]
Sleep = Callable[[float], Awaitable[None]]


class Online:
    """Answers requests by asking their judges' backends, which live as long as the block."""

    def __init__(
        self, judges: Sequence[Judge], keep: Keep, limits: Limits, progress: Progress, *, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._judges = judges
        self._keep = keep
        self._limits = limits
        self._progress = progress
        self._sleep = sleep
        self._backends: dict[str, Backend] = {}
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._stopped: dict[str, str] = {}
        self._paused_until: dict[str, float] = {}
        self._open = asyncio.Event()
        self._open.set()
        self._random = random.Random(0)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for judge in {judge.name: judge for judge in self._judges}.values():
            self._backends[judge.name] = await self._stack.enter_async_context(open_backend(judge))
            self._slots[judge.name] = asyncio.Semaphore(self._limits.concurrency)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def stopped(self) -> dict[str, str]:
        """The judges that no further call can reach, and why."""
        return dict(self._stopped)

    async def drain(self, seconds: float) -> None:
        """Sends nothing more and waits for the replies that are under way, at most `seconds`."""
        self._open.clear()
        deadline = asyncio.get_running_loop().time() + seconds
        while self._progress.in_flight and asyncio.get_running_loop().time() < deadline:
            await self._sleep(0.02)

    async def ask(self, request: Request) -> Outcome:
        """The reply, after as many attempts as it is worth, or why there is none."""
        import tenacity

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(_is_worth_a_retry),
            stop=tenacity.stop_after_attempt(self._limits.attempts),
            wait=self._wait,
            sleep=self._sleep,
            reraise=True,
        )
        async with self._slots[request.judge.name]:
            try:
                return await retrying(self._attempt, request)
            except CallError as error:
                if error.fatal:
                    self._stopped.setdefault(request.judge.name, error.message)
                return Failure(reason=error.reason, message=error.message)

    async def _attempt(self, request: Request) -> Completion:
        judge = request.judge.name
        if judge in self._stopped:
            raise CallError("judge_stopped", self._stopped[judge], retryable=False)
        await self._wait_for_pause(judge)
        await self._open.wait()
        self._progress.sent(judge)
        try:
            async with asyncio.timeout(self._limits.timeout):
                completion = await self._backends[judge].complete(request, partial(self._keep, request))
        except TimeoutError:
            error = CallError("timeout", f"no whole reply within {self._limits.timeout:g} s", possibly_paid=True)
            self._progress.failed(judge, error)
            raise error from None
        except CallError as error:
            self._progress.failed(judge, error)
            if error.rate_limited:
                self._pause(judge, error.retry_after)
            raise
        self._progress.received(judge, completion)
        return completion

    def _pause(self, judge: str, seconds: float | None) -> None:
        until = asyncio.get_running_loop().time() + min(seconds or 1.0, MAX_WAIT)
        self._paused_until[judge] = max(until, self._paused_until.get(judge, 0.0))

    async def _wait_for_pause(self, judge: str) -> None:
        clock = asyncio.get_running_loop().time
        while (seconds := self._paused_until.get(judge, 0.0) - clock()) > 0:
            await self._sleep(seconds + self._random.uniform(0, 0.1))

    def _wait(self, state: RetryCallState) -> float:
        """What the provider asks for, else twice as long each time, from one second on, with jitter."""
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, CallError) else None
        backoff = min(2.0 ** (state.attempt_number - 1), 30.0) * self._random.uniform(0.75, 1.25)
        return max(asked or 0.0, backoff)


def _is_worth_a_retry(error: BaseException) -> bool:
    return isinstance(error, CallError) and error.retryable and (error.retry_after or 0.0) <= MAX_WAIT
