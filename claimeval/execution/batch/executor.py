"""Answer requests through the batch APIs of providers. Requests that are not in the reply cache go
to request files.

The pipeline uses it like any other executor. In each pass over the items, every item runs as far as
the stored replies allow. One that needs a reply from a batch has its request written to a file, is
dropped, and starts from its beginning in the next pass, out of the reply cache. So memory does not
grow with the number of items, one round of batches holds the requests of all items, and a run that
was killed resumes like any other. Another executor answers for judges without batches and for
judges listed in `online`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn, Self, TypeVar

from claimeval.execution import Executor
from claimeval.execution.batch import BatchTarget, ReleasedRequests, batch_target
from claimeval.execution.batch.files import Received, RequestFile
from claimeval.execution.batch.lifecycle import BatchLifecycle
from claimeval.execution.batch.polling import BatchPoller
from claimeval.execution.batch.state import BatchState
from claimeval.execution.budget import NANO, Budget, Ledger
from claimeval.providers.batches import batches_of, supports_batches
from claimeval.providers.http import stated_window
from claimeval.providers.prices import cost_bound, price_of
from claimeval.store.store import LOCK_FILE, KeyLocks, Store, completion
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Reason
from claimeval.types.refusals import refused_parameters
from claimeval.types.requests import Completion, Failure, Judge, Outcome, Request

R = TypeVar("R")

IDLE_STEPS = 20
"""Steps of the event loop without a new request after which an item counts as blocked.

The pipeline takes four steps from one request to the next. Dropping an item too early only costs it
a pass."""

_current: ContextVar[ItemPass] = ContextVar("item_pass")
"""The pass of the item that the current task belongs to."""


class ItemPass:
    """One item in one pass."""

    def __init__(self) -> None:
        self.events = 0
        """Number of requests that started or ended."""
        self.blocked = False
        """Whether a request needs a reply that will not arrive in this pass."""
        self.idle = asyncio.Event()
        """Set while no request is in progress."""
        self.idle.set()
        self._requests = 0

    def start_request(self) -> None:
        """Count a request that starts."""
        self.events += 1
        self._requests += 1
        self.idle.clear()

    def end_request(self) -> None:
        """Count a request that was answered or has no reply in this pass."""
        self.events += 1
        self._requests -= 1
        if not self._requests:
            self.idle.set()


@contextmanager
def request_in_progress() -> Iterator[None]:
    """Mark the block as the processing of one request."""
    item_pass = _current.get()
    item_pass.start_request()
    try:
        yield
    finally:
        item_pass.end_request()


async def suspend() -> NoReturn:
    """Suspend a request whose reply will not arrive in this pass. The item is cancelled here."""
    _current.get().blocked = True
    await asyncio.get_running_loop().create_future()
    raise AssertionError("the item is cancelled")


async def run_until_blocked(coroutine: Coroutine[Any, Any, R]) -> R | None:
    """Return the item's result, or None if it needs replies that will not arrive in this pass."""
    item_pass = ItemPass()
    token = _current.set(item_pass)
    task = asyncio.create_task(coroutine)
    _current.reset(token)
    try:
        idle_steps = 0
        while not task.done() and idle_steps < IDLE_STEPS:
            await item_pass.idle.wait()
            events = item_pass.events
            await asyncio.sleep(0)
            # Other requests of the item may still be on their way to the file: an item waits for
            # all that it can ask in one round.
            idle_steps = idle_steps + 1 if item_pass.blocked and item_pass.events == events else 0
        return task.result() if task.done() else None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def run_in_rounds(
    run_pass: Callable[[int], AsyncGenerator[R | None]], next_round: Callable[[], Awaitable[bool]]
) -> AsyncGenerator[R]:
    """Yield the results of all items in order, each as soon as it and all before it are complete.

    `run_pass` runs the items from a given number on and yields None for a blocked item.
    `next_round` gets the missing replies and returns False if the run should not wait for them.
    """
    finished = 0
    while True:
        complete = True
        async with aclosing(run_pass(finished)) as results:
            async for result in results:
                if result is None:
                    complete = False
                elif complete:
                    finished += 1
                    yield result
        # Results after a blocked item are computed again in the next pass, from the cache, so that
        # they need no memory.
        if complete or not await next_round():
            return


def batch_judges(judges: Sequence[Judge]) -> dict[str, Judge]:
    """Return the judges that are asked in batches, by name. Raises UsageError if there is none."""
    batched = {judge.name: judge for judge in judges if supports_batches(judge)}
    if not batched:
        names = ", ".join(sorted({judge.name for judge in judges}))
        raise UsageError(f"None of the judges supports batches: {names}. Remove --batch.")
    return batched


def options_for(judges: Sequence[Judge], options: RunOptions) -> RunOptions:
    """Return the options for some of the judges. Batches are off if none of these judges supports
    them."""
    if any(map(supports_batches, judges)):
        return options
    return replace(options, batch=False, detach=False)


def _failure(reason: Reason, message: str) -> Failure:
    """Return the failure of a request that its batch refused, with what its message teaches."""
    refused = refused_parameters(message) if reason == "judge_stopped" else ()
    window = stated_window(message) if reason == "too_long" else None
    return Failure(reason=reason, message=message, refused=refused, context_tokens=window)


class BatchBudget(NamedTuple):
    """Budget and spending of a run."""

    budget: Budget
    ledger: Ledger | None
    run: str
    """The ledger row, empty if there is none."""


class BatchExecutor(Executor):
    """Executor that collects the requests of a pass. `next_round` submits them and gets the
    replies."""

    def __init__(
        self,
        judges: dict[str, Judge],
        options: RunOptions,
        store: Store,
        fallback: Executor,
        budget: BatchBudget,
        progress: Progress,
    ) -> None:
        self.pending_batches: str | None = None
        """Description of the pending batches if the run ends without waiting for them."""
        self._judges = judges
        self._options = options
        self._prices = {
            name: price_of(j, options.prices, batched=True) for name, j in judges.items()
        }
        self._store = store
        self._fallback = fallback
        self._budget = budget
        self._progress = progress
        self._round = 0
        self._request_files: dict[BatchTarget, RequestFile] = {}
        self._awaited: set[str] = set()
        """Batches with requests of this pass."""
        self._over_budget = False
        self._failed: set[str] = set()
        """Requests without a reply that this run has met."""
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._state = self._stack.enter_context(BatchState(self._store.folder))
        self._locks = KeyLocks(self._store.folder / LOCK_FILE)
        self._stack.callback(self._locks.close)
        lifecycle = BatchLifecycle(
            self._state,
            self._store,
            self._locks,
            self._options.timeout,
            self._options.prices,
        )
        await self._stack.enter_async_context(lifecycle)
        self._poller = BatchPoller(
            self._state,
            lifecycle,
            self._locks,
            self._progress,
            self._record_received,
        )
        lifecycle.clean_up()
        return self

    async def __aexit__(self, *_: object) -> None:
        for request_file in self._request_files.values():
            self._release(request_file.drop())
        await self._stack.aclose()

    @property
    def stopped(self) -> dict[str, str]:
        """Return the judges that no further batch can reach, with the reason."""
        stopped = self._poller.stopped
        return {
            name: reason
            for name, j in self._judges.items()
            if (reason := stopped.get(batch_target(j)))
        }

    async def ask(self, request: Request) -> Outcome:
        """Return the stored reply or the fallback's outcome. Does not return if the reply has not
        arrived yet."""
        with request_in_progress():
            outcome = await self._answer(request)
        if outcome is None:
            await suspend()
        if isinstance(outcome, Completion) and outcome.cached and not self._round:
            self._progress.answered_from_cache()
        return outcome

    async def next_round(self) -> bool:
        """Submit the collected requests and get replies. Return False if the run should stop
        here."""
        self._round += 1
        for target in list(self._request_files):
            self._close_file(target)
        awaited = self._awaited
        self._awaited = set()
        over_budget = self._over_budget
        self._over_budget = False
        if over_budget and not awaited:
            self._budget.budget.exhausted = (
                f"{self._budget.budget.spending_in_words()} are spent or reserved"
            )
            return False
        if await self._poller.poll(awaited, f"round {self._round}", detach=self._options.detach):
            return True
        self.pending_batches = self._describe_pending(awaited)
        return False

    def finish(self) -> None:
        """End a complete run: later runs send requests that came back without a reply again."""
        self._state.forget(self._failed)

    async def _answer(self, request: Request) -> Outcome | None:
        key = request.key
        judge = request.judge
        if judge.name not in self._judges:
            return await self._fallback.ask(request)
        if (value := self._store.get(key)) is not None:
            return completion(value)
        # After the cache: replies that arrived before the judge stopped are paid and count.
        if reason := self._poller.stopped.get(batch_target(judge)):
            return Failure(reason="judge_stopped", message=reason)
        entry = self._state.entry(key)
        if entry and entry.batch:
            self._awaited.add(entry.batch)
            return None
        if entry:
            self._failed.add(key)
        # A request that failed for its own reason is not sent again in this run; one that only came
        # back empty is.
        if entry and entry.final and entry.reason:
            return _failure(entry.reason, entry.message)
        return self._collect(request)

    def _collect(self, request: Request) -> Outcome | None:
        """Add a request to a file, unless the budget is exhausted or another process was faster."""
        text = batches_of(request.judge).line(request)
        price = self._prices[request.judge.name]
        reserved = round(cost_bound(request, price) * NANO) if price else 0
        ledger = self._budget.ledger
        # Reserved before the claim: a claimed request that cannot be paid would be missing in
        # another process.
        if ledger and not ledger.reserve(reserved / NANO):
            self._over_budget = True
            return None
        request_file = self._file_for(request.judge, text)
        if not self._state.claim(request_file.name, request.key, request.prompt, reserved):
            self._release(ReleasedRequests(1, reserved))
            entry = self._state.entry(request.key)
            if entry and entry.batch:
                self._awaited.add(entry.batch)
            return None
        if (
            value := self._store.get(request.key)
        ) is not None:  # it arrived between the lookup and the claim
            self._state.remove_answered([request.key])
            self._release(ReleasedRequests(1, reserved))
            return completion(value)
        request_file.write(text)
        self._awaited.add(request_file.name)
        return None

    def _file_for(self, judge: Judge, text: bytes) -> RequestFile:
        target = batch_target(judge)
        request_file = self._request_files.get(target)
        if request_file and not request_file.has_room(text):
            self._close_file(target)
            request_file = None
        if request_file is None:
            request_file = RequestFile(self._state, self._locks, judge, self._budget.run)
            self._request_files[target] = request_file
        return request_file

    def _close_file(self, target: BatchTarget) -> None:
        request_file = self._request_files.pop(target)
        if request_file.requests:
            self._progress.batched(request_file.requests)
            request_file.commit()
        else:
            request_file.drop()

    def _release(self, released: ReleasedRequests) -> None:
        if self._budget.ledger:
            self._budget.ledger.release(released.requests, released.reserved / NANO)

    def _record_received(self, received: Received) -> None:
        """Show the results of a batch in the progress line."""
        budget = self._budget.budget
        if budget.spent is not None:
            budget.spent = budget.spent + received.paid if received.priced else None
        self._progress.unbatched(received.replies, received.tokens, received.failures, budget.spent)

    def _describe_pending(self, names: set[str]) -> str:
        batches = [batch for batch in map(self._state.__getitem__, names) if batch.open]
        requests = sum(batch.requests for batch in batches)
        count = f"{len(batches)} batch{'es' if len(batches) != 1 else ''}"
        resume = "Run the same command to resume (see `claimeval batch list --refresh`)."
        return f"{count} with {requests} requests pending. {resume}"
