"""Answer requests through the batch APIs of providers. Requests that are not in the reply cache go to request files.

The pipeline uses it like any other executor. If a request has no reply yet, it is written to a file and its item is
dropped for this pass (see `rounds`). Once every item is blocked, the files are submitted, and the replies are stored
like live ones. Another executor answers for judges without batches and for judges listed in `online`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from types import TracebackType
from typing import NamedTuple, Self

from claimeval.execution import Executor
from claimeval.execution.batch import BatchTarget, ReleasedRequests, batch_target
from claimeval.execution.batch.lifecycle import BatchLifecycle
from claimeval.execution.batch.polling import BatchPoller
from claimeval.execution.batch.request_file import RequestFile
from claimeval.execution.batch.results import Received
from claimeval.execution.batch.rounds import request_in_progress, suspend
from claimeval.execution.batch.state import BatchState
from claimeval.execution.budget import NANO, Budget, Ledger
from claimeval.providers.batches import line, supports_batches
from claimeval.providers.prices import batch_price_of, cost_bound
from claimeval.store.locks import LOCK_FILE, KeyLocks
from claimeval.store.replies import completion
from claimeval.store.store import Store
from claimeval.types.chat_format import refused_parameters
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Completion, Failure, Judge, Outcome, Request


def batch_judges(judges: Sequence[Judge], options: RunOptions) -> dict[str, Judge]:
    """Return the judges that are asked in batches, by name.

    Raises UsageError if there is none or if `online` names a judge that does not exist.
    """
    names = {judge.name for judge in judges}
    for name in options.online:
        if name not in names:
            raise unknown_name("judge in --online:", name, names)
    batched = {j.name: j for j in judges if supports_batches(j.model) and j.name not in options.online}
    if not batched:
        raise UsageError(f"None of the judges supports batches: {', '.join(sorted(names))}. Remove --batch.")
    return batched


def options_for(judges: Sequence[Judge], options: RunOptions) -> RunOptions:
    """Return the options for some of the judges. Batches are off if none of these judges supports them."""
    names = {judge.name for judge in judges}
    batch_options = replace(options, online=tuple(name for name in options.online if name in names))
    if any(supports_batches(j.model) and j.name not in batch_options.online for j in judges):
        return batch_options
    return replace(options, batch=False, batch_retries="batch", detach=False, online=())


class BatchBudget(NamedTuple):
    """Budget and spending of a run."""

    budget: Budget
    ledger: Ledger | None
    run: str
    """The ledger row, empty if there is none."""


class BatchExecutor:
    """Executor that collects the requests of a pass. `next_round` submits them and gets the replies."""

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
        self._prices = {name: batch_price_of(j, options.prices) for name, j in judges.items()}
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
        lifecycle = BatchLifecycle(self._state, self._store, self._locks, self._options.timeout, self._options.prices)
        await self._stack.enter_async_context(lifecycle)
        self._poller = BatchPoller(self._state, lifecycle, self._locks, self._progress, self._record_received)
        lifecycle.clean_up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for request_file in self._request_files.values():
            self._release(request_file.drop())
        await self._stack.aclose()

    @property
    def stopped(self) -> dict[str, str]:
        """Return the judges that no further batch can reach, with the reason."""
        stopped = self._poller.stopped
        return {name: reason for name, j in self._judges.items() if (reason := stopped.get(batch_target(j)))}

    async def ask(self, request: Request) -> Outcome:
        """Return the stored reply or the fallback's outcome. Does not return if the reply has not arrived yet."""
        with request_in_progress():
            outcome = await self._answer(request)
        if outcome is None:
            await suspend()
        if isinstance(outcome, Completion) and outcome.cached and not self._round:
            self._progress.answered_from_cache()
        return outcome

    async def next_round(self) -> bool:
        """Submit the collected requests and get replies. Return False if the run should stop here."""
        self._round += 1
        self.close_files()
        awaited, self._awaited = self._awaited, set()
        over_budget, self._over_budget = self._over_budget, False
        if over_budget and not awaited:
            self._budget.budget.exhausted = f"{self._budget.budget.spending_in_words()} are spent or reserved"
            return False
        if await self._poller.poll(awaited, f"round {self._round}", detach=self._options.detach):
            return True
        self.pending_batches = self._describe_pending(awaited)
        return False

    def close_files(self) -> None:
        """Close the request files, so that they can be submitted."""
        for target in list(self._request_files):
            self._close_file(target)

    def finish(self) -> None:
        """End a complete run: later runs send requests that came back without a reply again."""
        self._state.forget(self._failed)

    async def _answer(self, request: Request) -> Outcome | None:
        key, judge = request.key, request.judge
        if judge.name not in self._judges:
            return await self._fallback.ask(request)
        if (value := self._store.get(key)) is not None:
            return completion(value)
        if reason := self._poller.stopped.get(batch_target(judge)):
            return Failure(reason="judge_stopped", message=reason)
        entry = self._state.entry(key)
        if entry and entry.batch:
            self._awaited.add(entry.batch)
            return None
        if entry:
            self._failed.add(key)
        if entry and entry.final and entry.reason:
            refused = refused_parameters(entry.message) if entry.reason == "judge_stopped" else ()
            return Failure(reason=entry.reason, message=entry.message, refused=refused)
        if self._options.batch_retries == "online" and (entry or request.attempt):
            return await self._fallback.ask(request)
        return self._collect(request)

    def _collect(self, request: Request) -> Outcome | None:
        """Add a request to a file, unless the budget is exhausted or another process was faster."""
        text = line(request)
        price = self._prices[request.judge.name]
        reserved = round(cost_bound(request, price) * NANO) if price else 0
        ledger = self._budget.ledger
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
        if (value := self._store.get(request.key)) is not None:  # it arrived between the lookup and the claim
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
