"""Answers requests through the batches of providers: what the store does not hold is gathered into files.

For the pipeline this is an executor like any other. A question without a reply yet is written to a file, and its
sample's way is let go (see `batch_rounds`); once every sample waits, the files go out, and what comes back is stored
as live replies are. Judges without batches, and those named to be asked online, are answered by the executor behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from types import TracebackType
from typing import NamedTuple, Self

from claimeval.execution import Executor
from claimeval.execution.batch.lifecycle import BatchLifecycle
from claimeval.execution.batch.polling import BatchPoller
from claimeval.execution.batch.records import BatchTarget, Freed, group
from claimeval.execution.batch.request_file import RequestFile
from claimeval.execution.batch.results import Received
from claimeval.execution.batch.rounds import question, wait_for_ever
from claimeval.execution.batch.state import BatchState
from claimeval.execution.budget import Budget
from claimeval.execution.ledger import NANO, Ledger
from claimeval.providers.batches import line, offered
from claimeval.providers.prices import batch_price, worst_case
from claimeval.store.locks import KeyLocks
from claimeval.store.replies import completion
from claimeval.store.store import Store
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Completion, Failure, Judge, Outcome, Request


def batch_judges(judges: Sequence[Judge], options: RunOptions) -> dict[str, Judge]:
    """Return those that are asked in batches, by name; UsageError where there is none, or `online` names a stranger."""
    names = {judge.name for judge in judges}
    for name in options.online:
        if name not in names:
            raise unknown_name("judge to be asked online:", name, names)
    found = {j.name: j for j in judges if offered(j.model) and j.name not in options.online}
    if not found:
        raise UsageError(f"None of the judges supports batches: {', '.join(sorted(names))}. Remove --batch.")
    return found


def options_for(judges: Sequence[Judge], options: RunOptions) -> RunOptions:
    """Return what of the options holds for some of the judges of several runs, which may have nobody to batch."""
    names = {judge.name for judge in judges}
    mine = replace(options, online=tuple(name for name in options.online if name in names))
    if any(offered(j.model) and j.name not in mine.online for j in judges):
        return mine
    return replace(options, batch=False, batch_retries="batch", detach=False, online=())


class Purse(NamedTuple):
    """What a run may spend, and what it has spent."""

    budget: Budget
    ledger: Ledger | None
    run: str
    """The ledger's row; empty where there is none."""


class Batched:
    """Gathers the questions of a pass; `next_round` carries them out and brings the replies."""

    def __init__(
        self,
        judges: dict[str, Judge],
        options: RunOptions,
        store: Store,
        behind: Executor,
        purse: Purse,
        progress: Progress,
    ) -> None:
        self.paused: str | None = None
        """Set, in words, when the run is to be taken up later."""
        self._judges = judges
        self._options = options
        self._prices = {name: batch_price(j.model, j.endpoint or "", options.prices) for name, j in judges.items()}
        self._store = store
        self._behind = behind
        self._purse = purse
        self._progress = progress
        self._round = 0
        self._drafts: dict[BatchTarget, RequestFile] = {}
        self._sealed: list[str] = []
        self._awaited: set[str] = set()
        """The batches that this pass has met."""
        self._short_of_money = False
        self._met: set[str] = set()
        """Requests that came back without a reply and were met as such."""
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._state = self._stack.enter_context(BatchState(self._store.folder))
        self._turns = KeyLocks(self._store.folder / "turns")
        self._stack.callback(self._turns.close)
        carrier = BatchLifecycle(self._state, self._store, self._turns, self._options.timeout, self._options.prices)
        self._carrier = await self._stack.enter_async_context(carrier)
        self._watch = BatchPoller(self._state, carrier, self._turns, self._progress, self._count)
        carrier.clear_away()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for draft in self._drafts.values():
            self._give_back(draft.drop())
        await self._stack.aclose()

    @property
    def stopped(self) -> dict[str, str]:
        """The judges that no further batch can reach, and why."""
        return {name: why for name, j in self._judges.items() if (why := self._watch.stopped.get(group(j)))}

    async def ask(self, request: Request) -> Outcome:
        """The stored reply, or what the executor behind says. Does not return while the reply is yet to come."""
        with question():
            outcome = await self._answer(request)
        if outcome is None:
            await wait_for_ever()
        if isinstance(outcome, Completion) and outcome.cached and not self._round:
            self._progress.answered_from_cache()
        return outcome

    async def next_round(self) -> bool:
        """Carries out what was gathered and brings replies; False when the run is to stop here."""
        self._round += 1
        self.seal()
        awaited, self._awaited = self._awaited, set()
        short, self._short_of_money = self._short_of_money, False
        if short and not awaited:
            assert self._purse.ledger, "only a ledger can run short"
            spent = self._purse.ledger.spent
            self._purse.budget.exhausted = f"{spent.calls} calls and ${spent.cost:.4f} are spent or set aside"
            return False
        if await self._watch.see_through(awaited, f"round {self._round}", detach=self._options.detach):
            return True
        self.paused = self._how_far(awaited)
        return False

    def seal(self) -> None:
        """Brings what was gathered to the disk, ready to be submitted."""
        for place in list(self._drafts):
            self._seal(place)

    def over(self) -> None:
        """The run is complete: who asks next what came back without a reply asks anew."""
        self._state.forget(self._met)

    async def _answer(self, request: Request) -> Outcome | None:
        key, judge = request.key, request.judge
        if judge.name not in self._judges:
            return await self._behind.ask(request)
        if (value := self._store.get(key)) is not None:
            return completion(value)
        if why := self._watch.stopped.get(group(judge)):
            return Failure(reason="judge_stopped", message=why)
        entry = self._state.entry(key)
        if entry and entry.batch:
            self._awaited.add(entry.batch)
            return None
        if entry:
            self._met.add(key)
        if entry and entry.final and entry.reason:
            return Failure(reason=entry.reason, message=entry.message)
        if self._options.batch_retries == "online" and (entry or request.attempt):
            return await self._behind.ask(request)
        return self._gather(request)

    def _gather(self, request: Request) -> Outcome | None:
        """Makes a request ride in a batch, unless the money is short or somebody else was quicker."""
        text = line(request)
        price = self._prices[request.judge.name]
        reserved = round(worst_case(request, price) * NANO) if price else 0
        ledger = self._purse.ledger
        if ledger and not ledger.reserve(reserved / NANO):
            self._short_of_money = True
            return None
        draft = self._draft(request.judge, text)
        if not self._state.claim(draft.name, request.key, request.prompt, reserved):
            self._give_back(Freed(1, reserved))
            entry = self._state.entry(request.key)
            if entry and entry.batch:
                self._awaited.add(entry.batch)
            return None
        if (value := self._store.get(request.key)) is not None:  # it came between the look and the claim
            self._state.answered([request.key])
            self._give_back(Freed(1, reserved))
            return completion(value)
        draft.write(text)
        self._awaited.add(draft.name)
        return None

    def _draft(self, judge: Judge, text: bytes) -> RequestFile:
        """The file that a line belongs into."""
        place = group(judge)
        draft = self._drafts.get(place)
        if draft and not draft.has_room(text):
            self._seal(place)
            draft = None
        if draft is None:
            draft = self._drafts[place] = RequestFile(self._state, self._turns, judge, self._purse.run)
        return draft

    def _seal(self, place: BatchTarget) -> None:
        draft = self._drafts.pop(place)
        if draft.requests:
            self._progress.batched(draft.requests)
            draft.seal()
        else:
            draft.drop()

    def _give_back(self, freed: Freed) -> None:
        if self._purse.ledger:
            self._purse.ledger.give_back(freed.requests, freed.reserved / NANO)

    def _count(self, received: Received) -> None:
        """Shows what came of a batch."""
        budget = self._purse.budget
        if budget.spent is not None:
            budget.spent = budget.spent + received.paid if received.priced else None
        self._progress.unbatched(received.replies, received.tokens, received.failures, budget.spent)

    def _how_far(self, names: set[str]) -> str:
        batches = [batch for batch in map(self._state.batch, names) if batch and batch.open]
        requests = sum(batch.requests for batch in batches)
        what = f"{len(batches)} batch{'es' if len(batches) != 1 else ''} with {requests} requests"
        return f"{what} pending. Run the same command to resume (see `claimeval batch status`)."
