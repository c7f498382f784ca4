"""How many tokens and claims to expect: from what the store has seen, else from assumptions that are stated.

The assumptions, each as a range from few to many:

* a token of a prompt is 3 to 5 bytes of UTF-8 (English prose is about 4; lists of numbers and many scripts are less);
* a sentence makes 1 to 5 claims: sentences taken whole give about 1, atomic facts 3.6 to 5.4 (10th and 90th percentile
  over the 242 biographies of FActScore, Min et al. 2023);
* the claims of a text are together 1 to 2 times as long as it (1.5 to 2 in FActScore);
* a verdict is 20 to 60 tokens, and a model that thinks before it answers spends 100 to 3,000 more on a call.

What a known list of questions will cost: those that the store does not answer, counted and priced by judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from claimeval.evaluation.forecast.walk import StepForecast
from claimeval.execution import Executor
from claimeval.execution.cached import OfflineExecutor
from claimeval.judging.panel import Panel
from claimeval.providers import reasons
from claimeval.providers.prices import cost_bound, price, prompt_bytes
from claimeval.store.replies import completion
from claimeval.store.stats import read_origin
from claimeval.store.store import Store
from claimeval.types.records import SampleResult
from claimeval.types.requests import AssessTask, CallError, ExtractTask, Judge, Outcome, Request


class Range(NamedTuple):
    low: float
    high: float


class Counted(NamedTuple):
    """Prompts whose tokens a provider has counted."""

    replies: int = 0
    bytes: int = 0
    tokens: int = 0

    def plus(self, other: Counted) -> Counted:
        """Both together."""
        return Counted(self.replies + other.replies, self.bytes + other.bytes, self.tokens + other.tokens)


BYTES_PER_TOKEN = Range(3, 5)
CLAIMS_PER_SENTENCE = Range(1, 5)
CLAIM_BYTES = Range(1, 2)
"""Of all claims of a text together, as a multiple of the text's bytes."""
VERDICT_TOKENS = Range(20, 60)
THINKING_TOKENS = Range(100, 3000)
REPLY_TOKENS = 10
"""What a reply has around its claims or verdicts."""

CLAIM_FRAME = 45
"""Bytes of the JSON around a claim in a reply."""
LINE_FRAME = 8
"""Bytes of a claim's line in a prompt beside the claim: its number and the quotation marks."""
QUOTE_BYTES = Range(0.5, 1.5)
"""Of all quotes in an extraction together, as a multiple of the text's bytes."""

ENOUGH = 20
"""Replies or texts from which a range is taken instead of an assumption."""
ENOUGH_PROMPTS = 5
TOLERANCE = 0.05
"""Half the width of the range around bytes per token that were measured on prompts of the same data."""
LOOKED_AT = 100_000
"""The newest replies of a store that are searched, and of these at most `SAMPLED` for each model and prompt."""
SAMPLED = 1_000

Source = tuple[str, str | None, str]
"""Model, endpoint and prompt digest of a reply."""


def spread(values: Counter[float]) -> Range | None:
    """The 10th to the 90th percentile, widened to hold the mean; None for fewer than `ENOUGH` values."""
    count = values.total()
    if count < ENOUGH:
        return None
    mean = sum(value * n for value, n in values.items()) / count
    return Range(min(_percentile(values, 0.1), mean), max(_percentile(values, 0.9), mean))


def _percentile(values: Counter[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    seen = 0
    for value in sorted(values):
        seen += values[value]
        if seen >= share * values.total():
            break
    return value


def output_seen(store: Store, wanted: Collection[Source]) -> dict[Source, Counter[float]]:
    """The output tokens that the store's newest replies to these prompts had, as the provider counted them."""
    found: dict[Source, Counter[float]] = {source: Counter() for source in wanted}
    open_ = set(wanted)
    for row in islice(store.rows(newest_first=True), LOOKED_AT):
        if not open_:
            break
        origin = read_origin(row.value) if row.value is not None else None
        if row.value is None or origin is None:
            continue
        source = (origin.model, origin.endpoint, origin.prompt)
        if source in open_ and (tokens := _output_tokens(row.value)) is not None:
            found[source][tokens] += 1
            if found[source].total() >= SAMPLED:
                open_.remove(source)
    return found


def _output_tokens(value: bytes) -> int | None:
    try:
        return completion(value).usage.completion_tokens
    except CallError:
        return None


def measured(counted: Counted) -> Range | None:
    """Bytes per token of prompts that the provider has counted; None for fewer than `ENOUGH_PROMPTS`."""
    if counted.replies < ENOUGH_PROMPTS:
        return None
    ratio = counted.bytes / counted.tokens
    return Range(ratio * (1 - TOLERANCE), ratio * (1 + TOLERANCE))


def thinking(judge: Judge) -> Range:
    """Tokens of a reply that are spent before its words."""
    return THINKING_TOKENS if judge.reasoning_effort is not None or reasons(judge) else Range(0, 0)


def output(request: Request) -> Range:
    """The output assumed for one request, never over its limit."""
    task = request.task
    if isinstance(task, AssessTask):
        tokens = verdicts(request.judge, 1, len(task.claims))
    else:
        assert isinstance(task, ExtractTask), "every step gives its request a task"
        tokens = _claims(request.judge, len(task.sentences), size(task.text))
    return Range(min(tokens.low, request.max_tokens), min(tokens.high, request.max_tokens))


def size(text: str) -> int:
    """Bytes of a text."""
    return len(text.encode("utf-8", "surrogatepass"))


def _claims(judge: Judge, sentences: int, text: int) -> Range:
    low = sentences * CLAIMS_PER_SENTENCE.low * CLAIM_FRAME + text * (CLAIM_BYTES.low + QUOTE_BYTES.low)
    high = sentences * CLAIMS_PER_SENTENCE.high * CLAIM_FRAME + text * (CLAIM_BYTES.high + QUOTE_BYTES.high)
    return _replies(judge, 1, Range(low / BYTES_PER_TOKEN.high, high / BYTES_PER_TOKEN.low))


def verdicts(judge: Judge, calls: int, claims: int) -> Range:
    """The output assumed for verdicts on so many claims in so many calls."""
    return _replies(judge, calls, Range(claims * VERDICT_TOKENS.low, claims * VERDICT_TOKENS.high))


def _replies(judge: Judge, calls: int, content: Range) -> Range:
    extra = thinking(judge)
    return Range(content.low + calls * (REPLY_TOKENS + extra.low), content.high + calls * (REPLY_TOKENS + extra.high))


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
        self.requests: dict[str, Request] = {}

    async def ask(self, request: Request) -> Outcome:
        """Record the request and answer it from the store, if possible."""
        self.requests[request.key] = request
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
        self._price = price(first.judge.model, first.judge.endpoint, prices)
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
