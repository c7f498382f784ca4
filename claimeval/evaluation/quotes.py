"""What a known list of questions will cost: those that the store does not answer, counted and priced by judge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from claimeval.evaluation.estimates import BYTES_PER_TOKEN, Range, thinking
from claimeval.evaluation.forecast import StepForecast
from claimeval.execution import Executor
from claimeval.execution.cached import OfflineExecutor
from claimeval.judging.panel import Panel
from claimeval.providers.prices import cost_bound, price_of, prompt_bytes
from claimeval.store.lessons import Lessons
from claimeval.store.replies import completion
from claimeval.store.store import Store
from claimeval.types.records import SampleResult
from claimeval.types.requests import Judge, Outcome, Request

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Prospect(NamedTuple):
    """A question that will be asked, or that may be."""

    step: str
    request: Request
    output: Range
    """Tokens of the reply as assumed, thinking apart."""
    certain: bool = True


class Foreseen(Protocol[T_contra]):
    """A job whose questions do not hang on the replies to others, but for judges who are asked where others differ."""

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Those who are asked."""
        ...

    @property
    def panel(self) -> Panel:
        """Its `escalate` says how many of them are asked in any case."""
        ...

    def asking(self, judges: tuple[Judge, ...]) -> Foreseen[T_contra]:
        """The job with these judges alone, each asked about everything."""
        ...

    async def evaluate(self, item: T_contra, executor: Executor) -> SampleResult:
        """Return the result of one item."""
        ...


TOKENS: dict[str, Range] = {
    "rate": Range(40, 120),
    "answers": Range(30, 120),
    "answering": Range(30, 120),
}
"""Tokens assumed of a reply about one subject, by step."""


class _Recorder:
    """Answers from the store alone, and remembers every request."""

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._nowhere = OfflineExecutor()
        self._lessons = Lessons(store.folder if store else None)
        self.requests: dict[str, Request] = {}

    async def ask(self, request: Request) -> Outcome:
        """Record the request and answer it from the store, if possible."""
        self.requests[request.key] = request = self._lessons.adapt(request)
        if self._store and (value := self._store.get(request.key)) is not None:
            return completion(value)
        return await self._nowhere.ask(request)


async def foresee(job: Foreseen[T], items: Iterable[T], store: Store | None) -> AsyncIterator[Prospect]:
    """Give what a job will ask about each item, from the job's own questions; nobody is asked."""
    escalate = job.panel.escalate
    stages = [(job.asking(job.judges[:escalate]), True)]
    stages += [(job.asking(job.judges[escalate:]), False)] if escalate else []
    for item in items:
        for stage, certain in stages:
            recorder = _Recorder(store)
            result = await stage.evaluate(item, recorder)
            for call in result.calls:
                subjects, tokens = max(1, len(call.subjects)), TOKENS[call.step]
                output = Range(subjects * tokens.low, subjects * tokens.high)
                yield Prospect(call.step, recorder.requests[call.key], output, certain)


async def forecast_job(
    job: Foreseen[T], items: Iterable[T], store: Store | None, prices: str | Path | None = None
) -> tuple[StepForecast, ...]:
    """Forecast the requests and cost of a job without sending anything.

    Args:
        job: The job.
        items: The items that the job would run on.
        store: Stored replies, which cost nothing. None: nothing is stored.
        prices: File of prices.

    Returns:
        A row for each step and judge.

    Raises:
        UsageError: If the file of prices cannot be read.
    """
    return quote([prospect async for prospect in foresee(job, items, store)], store, prices)


def quote(
    prospects: Iterable[Prospect], store: Store | None, prices: str | Path | None = None
) -> tuple[StepForecast, ...]:
    """Return a row for each step and judge, each different question counted once; prompts are 3 to 5 bytes a token."""
    sums: dict[tuple[str, str], _TextTotals] = {}
    seen: set[str] = set()
    for step, request, output, certain in prospects:
        if request.key in seen:
            continue
        seen.add(request.key)
        judge = request.judge
        found = sums.setdefault((step, judge.name), _TextTotals(request, prices))
        found.add(request, output, certain, stored=store is not None and store.get(request.key) is not None)
    return tuple(found.quote(step, judge) for (step, judge), found in sums.items())


class _TextTotals:
    def __init__(self, first: Request, prices: str | Path | None) -> None:
        self._price = price_of(first.judge, prices)
        self._stored = 0
        self._ends = [[0, 0.0, 0.0], [0, 0.0, 0.0]]
        """Calls, prompt tokens and output tokens, at least and at most."""
        self._worst = 0.0

    def add(self, request: Request, output: Range, certain: bool, *, stored: bool) -> None:
        """Count one request.

        Args:
            request: The request.
            output: Least and greatest number of tokens of the reply.
            certain: Whether the request is sent in any case.
            stored: Whether its reply is in the store.
        """
        if stored:
            self._stored += 1
            return
        size, extra = prompt_bytes(request), thinking(request.judge)
        for end, sure in ((0, certain), (1, True)):
            if sure:
                sums = self._ends[end]
                sums[0] += 1
                sums[1] += size / (BYTES_PER_TOKEN.high if end == 0 else BYTES_PER_TOKEN.low)
                sums[2] += min(output[end] + extra[end], request.max_tokens)
        self._worst += cost_bound(request, self._price) if self._price else 0.0

    def quote(self, step: str, judge: str) -> StepForecast:
        """Return the forecast of the requests added so far."""
        low, high = self._ends
        known = self._price
        return StepForecast(
            step=step,
            judge=judge,
            stored=self._stored,
            calls=(int(low[0]), int(high[0])),
            prompt_tokens=(round(low[1]), round(high[1])),
            output_tokens=(round(low[2]), round(high[2])),
            cost=None if known is None else (known.dollars(low[1], low[2]), known.dollars(high[1], high[2])),
            worst=self._worst if known else None,
            exact=low[0] == high[0],
            price=known,
            how=(),
        )
