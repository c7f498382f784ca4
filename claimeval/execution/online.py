"""Asks providers: at their pace, within the budget, with a deadline for each attempt, and retries owned here alone.

A reply is handed to `keep` in the very step that received it, before anything reads it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from claimeval.execution.budget import Budget
from claimeval.execution.pace import MAX_WAIT, PATIENCE, Clock, Pace, Sleep, Turn
from claimeval.providers import Backend, provider
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress, time_of_day
from claimeval.types.requests import CallError, Completion, Failure, Judge, Outcome, Request

if TYPE_CHECKING:
    from tenacity import RetryCallState

LONGEST_BACKOFF = 30.0
OUT_OF_REACH = 10
"""Questions in a row that a judge gave no reply to, each after all attempts it was worth, before it is given up."""

Keep = Callable[[Request, Completion], None]


class Online:
    """Answers requests by asking their judges' backends, which live as long as the block."""

    def __init__(
        self,
        judges: Sequence[Judge],
        keep: Keep,
        options: RunOptions,
        progress: Progress,
        budget: Budget,
        *,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._judges = {judge.name: judge for judge in judges}
        self._keep = keep
        self._options = options
        self._progress = progress
        self._budget = budget
        self._sleep = sleep
        self._backends: dict[str, Backend] = {}
        paces = {
            (judge.model, judge.endpoint): Pace(options, partial(progress.waits_for, judge.name), clock, sleep)
            for judge in judges
        }
        self._paces = {judge.name: paces[judge.model, judge.endpoint] for judge in judges}
        self._stopped: dict[str, str] = {}
        self._unanswered = dict.fromkeys(self._judges, 0)
        self._open = asyncio.Event()
        self._open.set()
        self._random = random.Random(0)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for judge in self._judges.values():
            self._backends[judge.name] = await self._stack.enter_async_context(provider(judge.model).open(judge))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def stopped(self) -> dict[str, str]:
        """The judges that no further call can reach, and why."""
        return dict(self._stopped)

    async def drain(self, seconds: float | None = None) -> None:
        """Sends nothing more and waits for the replies that are under way, at most `seconds`."""
        self._open.clear()
        deadline = asyncio.get_running_loop().time() + (seconds or float("inf"))
        while self._progress.in_flight and asyncio.get_running_loop().time() < deadline:
            self._progress.waits_for("stopping", "the replies under way")
            await asyncio.sleep(0.02)

    async def ask(self, request: Request) -> Outcome:
        """The reply, after as many attempts as it is worth, or why there is none."""
        judge = request.judge.name
        try:
            completion = await self._try(request)
        except CallError as error:
            self._note(judge, error)
            return Failure(reason=error.reason, message=error.message)
        self._unanswered[judge] = 0
        return completion

    def _note(self, judge: str, error: CallError) -> None:
        """Stops a judge after an answer that no further call can better, or when it is out of reach."""
        if error.fatal:
            self._stop(judge, error.message)
        elif (error.retry_after or 0.0) > MAX_WAIT:
            self._stop(judge, f"it asks to come back in {error.retry_after:.0f} seconds: {error.message}")
        elif error.rate_limited:
            self._stop(judge, f"nothing but refusals for {PATIENCE / 60:.0f} minutes: {error.message}")
        elif error.reason in ("provider_error", "timeout"):
            self._unanswered[judge] += 1
            if self._unanswered[judge] >= OUT_OF_REACH:
                self._stop(judge, f"no reply to {OUT_OF_REACH} questions in a row: {error.message}")

    def _stop(self, judge: str, why: str) -> None:
        self._stopped.setdefault(judge, why)

    async def _try(self, request: Request) -> Completion:
        """The reply; most calls need no second attempt, and so none of what further ones take."""
        try:
            return await self._attempt(request)
        except CallError as error:
            return await self._try_again(request, error)

    async def _try_again(self, request: Request, first: CallError) -> Completion:
        import tenacity

        pace = self._paces[request.judge.name]
        failed: list[CallError] = [first]
        counted = 0

        async def attempt() -> Completion:
            if failed:
                raise failed.pop()
            return await self._attempt(request)

        def worth_it(error: BaseException) -> bool:
            if not isinstance(error, CallError) or not error.retryable or (error.retry_after or 0.0) > MAX_WAIT:
                return False
            return not (error.rate_limited and pace.hopeless)

        def enough(state: RetryCallState) -> bool:
            nonlocal counted
            counted += not _error(state).rate_limited
            return counted >= self._options.attempts

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(worth_it),
            stop=enough,
            wait=lambda state: self._backoff(request.judge.name, _error(state), counted),
            sleep=self._sleep,
            reraise=True,
        )
        return await retrying(attempt)

    def _backoff(self, judge: str, error: CallError, before: int) -> float:
        """Twice as long for each attempt before, with jitter; a refusal makes all calls wait, in the pace."""
        if error.rate_limited:
            return 0.0
        seconds = min(self._options.backoff * 2.0**before, LONGEST_BACKOFF)
        seconds = max(error.retry_after or 0.0, seconds * self._random.uniform(0.75, 1.25))
        what = error.message if error.status is None else f"status {error.status}"
        self._progress.waits_for(judge, f"{what[:60]}, again at {time_of_day(seconds)}")
        return seconds

    async def _attempt(self, request: Request) -> Completion:
        judge = request.judge.name
        pace = self._paces[judge]
        self._check_open(judge)
        turn = await pace.enter(request)
        try:
            self._check_open(judge)
            await self._open.wait()
            reserved = await self._budget.reserve(request)
            return await self._send(request, pace, turn, reserved)
        finally:
            pace.leave()

    def _check_open(self, judge: str) -> None:
        if judge in self._stopped:
            raise CallError("judge_stopped", self._stopped[judge], retryable=False)

    async def _send(self, request: Request, pace: Pace, turn: Turn, reserved: float) -> Completion:
        outcome: Completion | CallError | None = None
        self._progress.sent()
        try:
            outcome = await self._complete(request)
            pace.succeeded(turn, outcome)
        except CallError as error:
            outcome = error
            pace.failed(turn, error)
            if error.fatal:
                self._stop(request.judge.name, error.message)
            raise
        finally:
            self._budget.settle(request, reserved, outcome)
            self._progress.ended(outcome, self._budget.spent)
        return outcome

    async def _complete(self, request: Request) -> Completion:
        received: list[Completion] = []

        def keep(completion: Completion) -> None:
            self._keep(request, completion)
            received.append(completion)

        waits = provider(request.judge.model).costs  # a model on this machine is slow, but never silent
        try:
            async with asyncio.timeout(self._options.timeout if waits else None):
                return await self._backends[request.judge.name].complete(request, keep)
        except TimeoutError:
            if received:
                return received[0]
            message = f"no whole reply within {self._options.timeout:g} s"
            raise CallError("timeout", message, possibly_paid=True) from None


def _error(state: RetryCallState) -> CallError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, CallError), "nothing else is tried again"
    return error
