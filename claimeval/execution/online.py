"""Send requests to providers: within the pace and the budget, with a timeout for each attempt, and
with retries.

A reply is stored with `keep` as soon as it is received, before anything reads it.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Self

from claimeval.execution import Executor
from claimeval.execution.budget import Budget
from claimeval.execution.pace import MAX_WAIT, THROTTLED_TIMEOUT, Clock, Pace, Sleep, Slot
from claimeval.execution.trials import Trials, TriedForms, model_of
from claimeval.providers import MAX_REPLY_BYTES, Backend, check_secrets_of, provider
from claimeval.store.lessons import Lessons
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress, time_of_day
from claimeval.types.requests import CallError, Completion, Judge, Outcome, Request

if TYPE_CHECKING:
    from tenacity import RetryCallState

MAX_BACKOFF = 30.0
MAX_UNANSWERED = 10
"""Requests in a row, at one step, that may fail after all their attempts before the judge is
stopped."""
UNREACHED_FOR = 3.0
"""Seconds after which a judge that no call has ever reached is stopped."""
MAX_REFUSED = 4
"""Requests in a row, at one step, that a server may refuse with the same message before the judge
is stopped."""
REFUSED_AGAIN = 2
"""Refusals of one form after which a request is tried in other forms, if the status says that the
server is in trouble."""
_NUMBERS = re.compile(r" \(request \S+\)|\d+")
"""The parts that differ between refusals for the same reason."""
MAX_STRANGE = 3
"""Responses with status 200 but without a reply, from an endpoint that never replied, before the
judge is stopped."""

Keep = Callable[[Request, Completion], Awaitable[None] | None]
"""Stores a reply at once. Where that has to wait for another process, returns what to wait for."""


class OnlineExecutor(Executor):
    """Executor that sends requests to the judges' backends.

    The backends are closed at the end of the block. A backend with an SDK is opened for its first
    request, because loading the SDK takes longer than all else in a run that finds every reply in
    the cache; the others are opened at its beginning.
    """

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
        self._forms: TriedForms | None = None
        """None if refused requests are not tried in other forms."""
        self._sleep = sleep
        self._backends: dict[str, Backend] = {}
        paces = {
            (judge.model, judge.endpoint): Pace(
                options,
                partial(progress.set_waiting, judge.name),
                clock,
                sleep,
            )
            for judge in judges
        }
        self._paces = {judge.name: paces[judge.model, judge.endpoint] for judge in judges}
        self._stopped: dict[str, str] = {}
        self._clock = clock
        self._unreached: dict[str, float | None] = {}
        """When the first call to a judge failed to connect; None once a call has reached it."""
        self._strange: dict[str, int | None] = {}
        """Number of responses without a reply; None once a reply has arrived."""
        self._unanswered: Counter[tuple[str, str]] = Counter()
        """By judge and prompt, because a server may accept the requests of one step and refuse
        those of another."""
        self._refusals: dict[tuple[str, str], list[str]] = {}
        self._open = asyncio.Event()
        self._open.set()
        self._random = random.Random(0)
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        for judge in self._judges.values():
            if provider(judge.model).loads_sdk:
                check_secrets_of(judge)
            else:
                await self._backend(judge)
        return self

    async def _backend(self, judge: Judge) -> Backend:
        """Return the open backend of a judge."""
        if judge.name not in self._backends:
            # The first hundred calls arrive at once, and each would open a client of its own.
            async with self._opening:
                if judge.name not in self._backends:
                    self._backends[judge.name] = await self._opened(judge)
        return self._backends[judge.name]

    async def _opened(self, judge: Judge) -> Backend:
        longest = MAX_REPLY_BYTES.set(self._options.max_reply_bytes)
        try:
            backend = provider(judge.model).open(judge)
            return await self._stack.enter_async_context(backend)
        finally:
            MAX_REPLY_BYTES.reset(longest)

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def trials(self, lessons: Lessons, cached: Executor) -> Trials | None:
        """Return what tries refused requests in other forms from now on, through the executor
        `cached`; None in batches, of which each request of a trial would be one."""
        if self._options.batch:
            return None
        self._forms = TriedForms()
        return Trials(self._forms, lessons, cached.ask, self.stop)

    @property
    def stopped(self) -> dict[str, str]:
        """Return the judges that have stopped, each with the reason."""
        return dict(self._stopped)

    async def drain(self, seconds: float | None = None) -> None:
        """Stop sending requests and wait for the replies in flight, at most `seconds`."""
        self._open.clear()
        deadline = asyncio.get_running_loop().time() + (seconds or float("inf"))
        while self._progress.in_flight and asyncio.get_running_loop().time() < deadline:
            self._progress.set_waiting("stopping", "the replies in flight")
            await asyncio.sleep(0.02)

    async def ask(self, request: Request) -> Outcome:
        """Return the reply, after retries if needed, or the failure."""
        judge = request.judge.name
        try:
            completion = await self._complete_with_retries(request)
        except CallError as error:
            self._record_error(request, error)
            return error.failure
        # Failures in a row: a server that answers one of ten is slow, not gone.
        self._unanswered.pop((judge, request.prompt), None)
        self._refusals.pop((judge, request.prompt), None)
        return completion

    def _record_error(self, request: Request, error: CallError) -> None:
        """Stop the judge if no further call can succeed."""
        judge = request.judge.name
        step = (judge, request.prompt)
        if error.fatal:
            self.stop(judge, error.message)
        elif error.another_form:
            return  # other forms of the request are tried first
        elif error.refused or (error.context_tokens and request.judge.context_tokens is None):
            return  # the request is sent again in a form that the server accepts
        elif (error.retry_after or 0.0) > MAX_WAIT:
            self.stop(judge, f"it asks to wait {error.retry_after:.0f} seconds: {error.message}")
        elif error.rate_limited:
            self.stop(
                judge,
                f"only throttled calls for {THROTTLED_TIMEOUT / 60:.0f} minutes: {error.message}",
            )
        elif error.reason in ("provider_error", "timeout"):
            self._count_unanswered(judge, step, error)

    def _count_unanswered(self, judge: str, step: tuple[str, str], error: CallError) -> None:
        """Stop a judge that does not answer the requests of a step, or refuses them alike."""
        self._unanswered[step] += 1
        if self._unanswered[step] >= MAX_UNANSWERED:
            self.stop(judge, f"no reply to {MAX_UNANSWERED} requests in a row: {error.message}")
        elif error.status in (400, 422):
            words = self._refusals.setdefault(step, [])
            # A server that refuses each request for another reason is tried on; the same words,
            # apart from ids and counts, mean the request itself.
            words.append(_NUMBERS.sub("", error.message)[:120])
            if len(words) >= MAX_REFUSED and len(set(words[-MAX_REFUSED:])) == 1:
                self.stop(
                    judge,
                    f"refused {MAX_REFUSED} requests in a row in the same words: {error.message}",
                )

    def _record_contact(self, asked: Judge, error: CallError | None = None) -> None:
        """Stop a judge that no call has reached. A judge that was reached once may be away for a
        while."""
        judge = asked.name
        if error is None:
            self._strange[judge] = None
            self._unreached[judge] = None
            return
        if error.status == 200 and error.retryable:
            self._count_strange(judge, error)
        answered = error.status is not None or error.possibly_paid
        if answered or error.reason != "provider_error":
            self._unreached[judge] = None
        elif (since := self._unreached.setdefault(judge, self._clock())) is not None:
            seconds = self._clock() - since
            if seconds >= UNREACHED_FOR:
                start = provider(asked.model).start
                how = f" (`{start}` starts it)" if start else ""
                self.stop(
                    judge,
                    f"{error.message}, for {seconds:.0f} seconds; check the address"
                    f" {asked.endpoint}, and that the server runs{how}",
                )

    def _count_strange(self, judge: str, error: CallError) -> None:
        """Stop a judge whose endpoint answers, but never with a reply: a web page, say."""
        strange = self._strange.get(judge, 0)
        if strange is None:
            return
        self._strange[judge] = strange + 1
        if strange + 1 >= MAX_STRANGE:
            self.stop(
                judge,
                f"{MAX_STRANGE} responses without a reply: {error.message}; check the endpoint",
            )

    def stop(self, judge: str, reason: str) -> None:
        """Send nothing more to a judge; the first reason is kept."""
        self._stopped.setdefault(judge, reason)

    async def _complete_with_retries(self, request: Request) -> Completion:
        import tenacity

        pace = self._paces[request.judge.name]
        counted = 0

        def can_succeed(error: BaseException) -> bool:
            if (
                not isinstance(error, CallError)
                or not error.retryable
                or (error.retry_after or 0.0) > MAX_WAIT
            ):
                return False
            return not (error.rate_limited and pace.given_up)

        def attempts_exhausted(state: RetryCallState) -> bool:
            nonlocal counted
            error = _error(state)
            # a server that is away for a while ends no question
            counted += not (error.rate_limited or pace.silent)
            if error.another_form and self._forms:
                running = model_of(request) in self._forms.running
                return running or self._forms.refusals(request) >= REFUSED_AGAIN
            return counted >= self._options.attempts

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(can_succeed),
            stop=attempts_exhausted,
            wait=lambda state: self._backoff(request.judge.name, _error(state), counted),
            sleep=self._sleep,
            reraise=True,
        )
        return await retrying(self._attempt, request)

    def _backoff(self, judge: str, error: CallError, attempts: int) -> float:
        """Return exponential backoff with jitter. Throttled calls wait in the pace, with all other
        calls."""
        if error.rate_limited:
            return 0.0
        # A wrong address should be named after seconds, not after the backoff of a busy server.
        longest = UNREACHED_FOR / 3 if self._unreached.get(judge) is not None else MAX_BACKOFF
        seconds = min(self._options.backoff * 2.0**attempts, longest)
        seconds = max(error.retry_after or 0.0, seconds * self._random.uniform(0.75, 1.25))
        problem = error.message if error.status is None else f"status {error.status}"
        self._progress.set_waiting(judge, f"{problem[:60]}, retry at {time_of_day(seconds)}")
        return seconds

    async def _attempt(self, request: Request) -> Completion:
        judge = request.judge.name
        pace = self._paces[judge]
        slot = await pace.acquire(request, lambda: self._check_open(judge))
        try:
            self._check_open(judge)
            # Ctrl-C may have come while the call waited for its turn; it is then not sent.
            await self._open.wait()
            reserved = await self._budget.reserve(request)
            return await self._send(request, pace, slot, reserved)
        finally:
            pace.release()

    def _check_open(self, judge: str) -> None:
        if judge in self._stopped:
            raise CallError("judge_stopped", self._stopped[judge], retryable=False)

    async def _send(self, request: Request, pace: Pace, slot: Slot, reserved: float) -> Completion:
        outcome: Completion | CallError | None = None
        self._progress.sent()
        try:
            outcome = await self._complete(request)
            pace.succeeded(slot, outcome)
            self._record_contact(request.judge)
        except CallError as error:
            self._judge_refusal(request, error)
            outcome = error
            pace.failed(slot, error)
            self._record_contact(request.judge, error)
            if error.fatal:
                self.stop(request.judge.name, error.message)
            elif unanswered := pace.silence:
                self.stop(request.judge.name, f"{unanswered}: {error.message}")
            raise
        finally:
            self._budget.settle(request, reserved, outcome)
            self._progress.ended(outcome, self._budget.spent)
        return outcome

    def _judge_refusal(self, request: Request, error: CallError) -> None:
        """Settle what follows from an error that may be a refusal of a part of the request."""
        forms = self._forms
        error.another_form = error.another_form and forms is not None
        if forms is None or not error.another_form:
            if error.refused:
                # A parameter that a user set is not left out in silence.
                error.fatal = request.judge.without(error.refused) is None
            return
        forms.add_refused(request)
        running = model_of(request) in forms.running
        error.another_form = running or forms.may_try(request, error.refused)
        if error.another_form:
            error.fatal = False
        elif error.refused:
            # No other form was answered, or this one was before: the words are about another thing.
            error.refused = ()
            error.reason = "provider_error"

    async def _complete(self, request: Request) -> Completion:
        received: list[Completion] = []
        storing: list[Awaitable[None]] = []

        def keep(completion: Completion) -> None:
            if waiting := self._keep(request, completion):
                storing.append(waiting)
            received.append(completion)

        remote = provider(request.judge.model).costs  # a local model may be slow and always answers
        judge = self._judges[request.judge.name]
        backend = await self._backend(judge)
        try:
            async with asyncio.timeout(self._options.timeout if remote else None):
                completion = await backend.complete(request, keep)
        except TimeoutError:
            # The reply came, was stored, and what reads it was too slow: it is paid, and it counts.
            if received:
                await asyncio.gather(*storing)
                return received[0]
            message = f"no complete reply within {self._options.timeout:g} s"
            raise CallError("timeout", message, possibly_paid=True) from None
        if not received:
            advice = (
                "its backend must call `keep` before it returns (docs/reference/custom-judges.md)"
            )
            raise CallError(
                "judge_stopped",
                f"the provider {request.judge.provider!r} returned a reply that it did not keep;"
                f" {advice}",
                fatal=True,
                possibly_paid=True,
            )
        await asyncio.gather(*storing)
        return completion


def _error(state: RetryCallState) -> CallError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, CallError), "only call errors are retried"
    return error
