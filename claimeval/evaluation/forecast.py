"""Forecast the requests and cost of a job.

The real pipeline runs on the reply cache, and every request without a stored reply is counted. If
the claims of a text are known, the number of calls is exact. If not, the assessments of its claims
are a range, from few claims per sentence to many.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from math import ceil, floor, sqrt
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar, cast

from pydantic import Field

from claimeval.evaluation import estimates
from claimeval.evaluation.claims import ClaimsJob
from claimeval.evaluation.estimates import Range, RecordedOutput, TokenCounts
from claimeval.evaluation.job import Job
from claimeval.evaluation.reports import ReportJob, sentence_claims
from claimeval.evaluation.summary.cost import long_evidence, windows_of
from claimeval.evaluation.write_queries import WriteQueriesJob
from claimeval.execution import Executor
from claimeval.execution.cached import OfflineExecutor
from claimeval.execution.learning import JudgeWindows
from claimeval.execution.warm import beginning
from claimeval.judging.prompts import PromptRecord
from claimeval.providers import Backend, claims_per_call, provider, writes
from claimeval.providers.prices import FREE, Price, cost_bound, overhead, price_of
from claimeval.providers.windows import cut_by
from claimeval.statistics.formatting import dollars, number_of, span
from claimeval.store.lessons import Lessons
from claimeval.store.store import Store, completion
from claimeval.types import html
from claimeval.types.estimates import LongEvidence
from claimeval.types.records import Call, Claim, Document, Part, Record, Sample, SampleResult
from claimeval.types.requests import (
    AssessTask,
    CallError,
    Completion,
    ExtractTask,
    Judge,
    Outcome,
    Request,
    question_size,
)
from claimeval.types.scales import THREE_WAY

NOTHING = Range(0, 0)


class StepForecast(Record):
    """Forecast of the requests to one judge in one step."""

    step: str
    judge: str
    cached: int
    """Number of requests with a stored reply."""
    calls: tuple[int, int]
    """Minimum and maximum."""
    exact: bool
    """Whether the number of calls is known and not estimated."""
    prompt_tokens: tuple[int, int]
    output_tokens: tuple[int, int]
    cached_tokens: int
    """The most tokens of the prompts that the provider's prompt cache may hold, since they begin an
    earlier request."""
    verdicts: tuple[int, int]
    """Verdicts on claims that these calls ask for."""
    price: Price | None
    """None if it is unknown."""
    batched: bool = False
    """Whether the price is that of batches."""
    cost: tuple[float, float] | None
    """US dollars."""
    cost_bound: float | None
    """US dollars if every byte of the prompts were a token and every reply had its maximum
    length."""
    basis: tuple[str, ...]
    """How the numbers of tokens are estimated; empty if there are no calls."""


@dataclass
class _UnextractedTexts:
    """Totals of texts to be assessed whose claims are unknown."""

    count: int = 0
    bytes: int = 0
    frames: int = 0
    """Bytes of their requests without claims."""
    warm: int = 0
    """Bytes of these in requests that are long enough for a prompt cache."""
    again: int = 0
    """Bytes of these that begin an earlier request."""


@dataclass
class _RequestCounts:
    """Totals of requests that will be sent, or that may be sent."""

    calls: int = 0
    bytes: float = 0
    again: float = 0
    """Bytes that begin an earlier request."""
    output: Range = NOTHING
    """Assumed tokens of the replies."""
    verdicts: int = 0
    cost_bound: float = 0.0
    unknown: defaultdict[int, _UnextractedTexts] = field(
        default_factory=lambda: defaultdict(_UnextractedTexts)
    )
    """Texts whose claims, and so whose requests, are unknown, by number of sentences."""

    def add(
        self,
        calls: int,
        size: float,
        again: float,
        output: Range,
        verdicts: int,
        bound: float,
    ) -> None:
        """Add requests.

        Args:
            calls: Number of requests.
            size: Bytes of their prompts.
            again: Bytes of these that begin an earlier request.
            output: Assumed tokens of all replies.
            verdicts: Number of verdicts that they ask for.
            bound: Upper bound of their cost in dollars.
        """
        self.calls += calls
        self.bytes += size
        self.again += again
        self.output = Range(self.output.low + output.low, self.output.high + output.high)
        self.verdicts += verdicts
        self.cost_bound += bound


@dataclass
class StepWorkload:
    """Counts of the requests to one judge in one step."""

    step: str
    judge: Judge
    prompt: PromptRecord
    price: Price | None
    begun: set[str]
    """The beginnings of earlier requests of the run."""
    batched: bool = False
    cached: int = 0
    counted: TokenCounts = field(default_factory=TokenCounts)
    certain: _RequestCounts = field(default_factory=_RequestCounts)
    possible: _RequestCounts = field(default_factory=_RequestCounts)
    """Additional requests that are sent only if earlier judges disagree."""

    @property
    def source(self) -> estimates.Source:
        """The origin of stored replies to such requests."""
        return self.judge.model, self.judge.endpoint, self.prompt.digest

    @property
    def is_open(self) -> bool:
        """Whether requests may be sent."""
        return bool(self.certain.calls) or not self.is_exact

    @property
    def is_exact(self) -> bool:
        """Whether the number of requests is known."""
        return not (self.certain.unknown or self.possible.unknown or self.possible.calls)

    def answered(self, request: Request, reply: Completion) -> None:
        """Count a request with a stored reply."""
        self.cached += 1
        if tokens := reply.usage.prompt_tokens:
            self.counted = self.counted.plus(TokenCounts(1, request.size, tokens))

    def ask(self, request: Request, tokens: Range, *, certain: bool = True) -> None:
        """Count a request that will be sent, or that may be, with the assumed tokens of its
        reply."""
        claims = request.task.claims if isinstance(request.task, AssessTask) else ()
        again = max(self._warm(request)[1] - sum(estimates.size(claim.text) for claim in claims), 0)
        bound = cost_bound(request, self.price) if self.price else 0.0
        (self.certain if certain else self.possible).add(
            1,
            request.size,
            again,
            tokens,
            len(claims),
            bound,
        )

    def expect(self, frame: Request, sentences: int, size: int, *, certain: bool = True) -> None:
        """Count the assessment of a text whose claims are unknown.

        Args:
            frame: The request without claims.
            sentences: Number of sentences of the text.
            size: Size of the text in bytes.
            certain: Whether the text is assessed in any case.
        """
        texts = (self.certain if certain else self.possible).unknown[sentences]
        texts.count += 1
        texts.bytes += size
        texts.frames += frame.size
        warm, again = self._warm(frame)
        texts.warm += warm
        texts.again += again

    def _warm(self, request: Request) -> tuple[int, int]:
        """Return the size of a request that is long enough for a prompt cache, and again if one
        before begins alike."""
        begun = None if self.batched else beginning(request)
        if begun is None:
            return 0, 0
        known = begun in self.begun
        self.begun.add(begun)
        return request.size, request.size * known

    def line(
        self,
        per_sentence: Range,
        counted: TokenCounts,
        recorded: Range | None,
    ) -> StepForecast:
        """Return the forecast, given claims per sentence, counted prompt tokens, and recorded
        output tokens."""
        low = self._sum([self.certain], per_sentence.low, estimates.CLAIM_BYTES.low)
        high = self._sum(
            [self.certain, self.possible],
            per_sentence.high,
            estimates.CLAIM_BYTES.high,
        )
        per_token = estimates.measured(counted) or estimates.BYTES_PER_TOKEN
        prompt = floor(low.bytes / per_token.high), ceil(high.bytes / per_token.low)
        low_output, high_output = (
            (low.calls * recorded.low, high.calls * recorded.high)
            if recorded
            else (low.output.low, high.output.high)
        )
        # A stored reply of a model that thinks may be longer than the limit now allows.
        output = floor(low_output), min(ceil(high_output), high.calls * self.judge.max_tokens)
        # A local model writes no tokens, and reads some only where its texts are charged.
        if not writes(self.judge):
            output = (0, 0)
            if not provider(self.judge.model).costs:
                prompt = (0, 0)
        price = self.price if high.calls else FREE
        return StepForecast(
            step=self.step,
            judge=self.judge.name,
            cached=self.cached,
            calls=(low.calls, high.calls),
            exact=self.is_exact,
            prompt_tokens=prompt,
            output_tokens=output,
            cached_tokens=min(ceil(high.again / per_token.low), prompt[1]),
            verdicts=(low.verdicts, high.verdicts),
            price=self.price,
            batched=self.batched,
            cost=(
                (price.dollars(prompt[0], output[0]), price.dollars(prompt[1], output[1]))
                if price
                else None
            ),
            cost_bound=high.cost_bound if price else None,
            basis=self._basis(counted, recorded) if any(prompt) else (),
        )

    def _sum(
        self,
        parts: Sequence[_RequestCounts],
        per_sentence: float,
        claim_bytes: float,
    ) -> _RequestCounts:
        """Return the totals for this number of claims per sentence and size of claims relative to
        their text."""
        total = _RequestCounts()
        # Three-way has the longest meanings of the scales for claims.
        line_frame = estimates.LINE_FRAME if writes(self.judge) else question_size(THREE_WAY)
        for part in parts:
            total.add(
                part.calls,
                part.bytes,
                part.again,
                part.output,
                part.verdicts,
                part.cost_bound,
            )
            for sentences, texts in part.unknown.items():
                claims = max(1, ceil(per_sentence * sentences))
                chunks = ceil(claims / claims_per_call(self.judge))
                calls = chunks * texts.count
                verdicts = claims * texts.count
                size = chunks * texts.frames + texts.bytes * claim_bytes + verdicts * line_frame
                output = estimates.verdicts(self.judge, calls, verdicts, self.prompt.parameters)
                tokens = size + calls * overhead(self.judge, 2)
                bound = (self.price or FREE).at_most(tokens, calls * self.judge.max_tokens)
                total.add(
                    calls,
                    size,
                    (chunks - 1) * texts.warm + texts.again,
                    output,
                    verdicts,
                    bound,
                )
        return total

    def _basis(self, counted: TokenCounts, recorded: Range | None) -> tuple[str, str]:
        if (measured := estimates.measured(counted)) is None:
            prompt = (
                f"assumed, {estimates.BYTES_PER_TOKEN.low:g} to {estimates.BYTES_PER_TOKEN.high:g}"
                " bytes each"
            )
        else:
            prompt = (
                f"{measured.low:.2f} to {measured.high:.2f} bytes each, as in {counted.replies:,}"
                " stored replies"
            )
        if recorded is not None:
            output = (
                f"{recorded.low:.0f} to {recorded.high:.0f} a call, as in stored replies to"
                f" {self.prompt.name}"
            )
        elif (thinking := estimates.thinking(self.judge)).high:
            output = f"assumed, {thinking.low:g} to {thinking.high:g} of them thinking"
        else:
            output = "assumed"
        return f"prompt tokens: {prompt}", f"output tokens: {output}"


OPEN = "not_in_cache"
"""The reason that `OfflineExecutor` gives for a request without a stored reply."""


class TokenShares(Record):
    """Shares of the tokens of a run, which may be below 0."""

    prompt: float
    output: float


class Forecast(Record):
    """The expected requests and cost of a run, without re-asks and retries."""

    samples: int
    lines: tuple[StepForecast, ...]
    basis: tuple[str, ...]
    """How the ranges of calls are estimated; empty if they are exact."""
    long: tuple[LongEvidence, ...] = ()
    """Samples that do not fit into the window of a judge, if it is known."""
    cheaper: dict[str, float] = Field(default_factory=dict)
    """The share of the dollars that each cheaper form of `score` would save by itself, such as
    `--reasons none`, over the first 100 samples; empty if prices are unknown."""
    fewer_tokens: dict[str, TokenShares] = Field(default_factory=dict)
    """The shares of the tokens that the same forms would save, if a price is unknown."""

    @property
    def calls(self) -> tuple[int, int]:
        """The minimum and maximum number of calls."""
        return sum(line.calls[0] for line in self.lines), sum(line.calls[1] for line in self.lines)

    @property
    def judges_without_price(self) -> tuple[str, ...]:
        """The judges with open calls whose price is unknown."""
        return tuple(dict.fromkeys(line.judge for line in self.lines if line.cost is None))

    @property
    def cost(self) -> tuple[float, float] | None:
        """Minimum and maximum US dollars; None if the price of a judge with open calls is
        unknown."""
        return None if self.judges_without_price else self.known_cost

    @property
    def known_cost(self) -> tuple[float, float]:
        """Minimum and maximum US dollars for the judges whose price is known."""
        costs = [line.cost for line in self.lines if line.cost]
        return sum(low for low, _ in costs), sum(high for _, high in costs)

    @property
    def likely_cost(self) -> float | None:
        """What the run likely costs, in US dollars: between the ends of each step by their
        geometric mean, as the unknown numbers (tokens a byte, claims a sentence) are factors. None
        if a price is unknown."""
        if self.judges_without_price:
            return None
        costs = [line.cost for line in self.lines if line.cost]
        return sum(sqrt(low * high) if low else (low + high) / 2 for low, high in costs)

    @property
    def cost_per_verdict(self) -> tuple[float, float] | None:
        """Minimum and maximum US dollars for a verdict on a claim; None without these, or if a
        price is unknown."""
        verdicts = (
            sum(line.verdicts[0] for line in self.lines),
            sum(line.verdicts[1] for line in self.lines),
        )
        if not self.cost or not all(verdicts):
            return None
        few = self.cost[0] / verdicts[0]
        many = self.cost[1] / verdicts[1]
        return min(few, many), max(few, many)

    @property
    def cost_bound(self) -> float:
        """Upper bound in US dollars for the judges whose price is known."""
        return sum(line.cost_bound or 0.0 for line in self.lines)

    def __repr__(self) -> str:
        calls = span(self.calls, lambda number: f"{number:,.0f}")
        cost = "price unknown"
        if self.cost is not None:
            cost = f"${span(self.cost, dollars)}"
        return f"<Forecast of {number_of(self.samples, 'sample')}: {calls} calls, {cost}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Show the steps with their calls and cost."""
        rows = [
            (
                line.step,
                line.judge,
                f"{line.cached:,}",
                span(line.calls, lambda number: f"{number:,.0f}"),
                "unknown" if line.cost is None else f"${span(line.cost, dollars)}",
            )
            for line in self.lines
        ]
        return html.shown(html.table(("step", "judge", "cached", "calls", "USD"), rows, [1]))


T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class PlannedJob(Job[T_contra], Protocol[T_contra]):
    """A job that can be forecast."""

    @property
    def first_stage(self) -> Job[T_contra]:
        """The job without requests that depend on verdicts: about all documents together."""


async def forecast(
    items: Iterable[Any],
    job: PlannedJob[Any],
    store: Store | None,
    prices: str | Path | None = None,
    counted: set[int] | None = None,
    batched: Collection[str] = (),
    recorded: RecordedOutput | None = None,
) -> Forecast:
    """Forecast a run on the items without sending anything.

    Memory grows only with the number of different requests, about 80 bytes each.

    Args:
        items: The items of the job: samples, results of an earlier run (which keep their verdicts),
            or documents.
        job: The job.
        store: The stored replies, which cost nothing; None without a store.
        prices: Price file.
        counted: Requests of earlier jobs with the same store, which are not counted again; those of
            this job are added.
        batched: Names of judges whose requests are sent in batches, at batch prices.
        recorded: What earlier forecasts with the same store have read of it.

    Returns:
        The number of requests and their cost, for each step and judge.

    Raises:
        UsageError: If the price file cannot be read.
    """
    # A cited report is a claims job too, so it is looked for first.
    walk_type: type[_Walk[Any]] = _Walk
    if isinstance(job, ReportJob):
        walk_type = _ReportWalk
    elif isinstance(job, ClaimsJob):
        walk_type = _ClaimsWalk
    elif isinstance(job, WriteQueriesJob):
        walk_type = _QueriesWalk
    seen = set[int]() if counted is None else counted
    walk = walk_type(job, store, prices, seen, batched, recorded or RecordedOutput(store))
    count = 0
    async with walk:
        for item in items:
            await walk.visit(item)
            count += 1
    return walk.sum_up(count)


class _Planner(Executor):
    """Executor that sends nothing and knows the windows of judges."""

    def __init__(self, lessons: Lessons) -> None:
        self._lessons = lessons
        self._offline = OfflineExecutor()
        self.windows = JudgeWindows(lambda judge: lessons.judge(judge).context_tokens, self._holds)

    async def _holds(self, request: Request) -> bool:
        """Return whether there is a whole reply to a request."""
        return False


class _Frames(_Planner):
    """Executor that records requests and answers none."""

    def __init__(self, lessons: Lessons) -> None:
        super().__init__(lessons)
        self.requests: list[Request] = []

    async def ask(self, request: Request) -> Outcome:
        """Record the request."""
        self.requests.append(self._lessons.adapt(request))
        return await self._offline.ask(request)


class _Walk(_Planner, Generic[T]):
    """Executor that answers from the reply cache, and counts the requests that it cannot answer."""

    def __init__(
        self,
        job: PlannedJob[T],
        store: Store | None,
        prices: str | Path | None,
        seen: set[int],
        batched: Collection[str],
        recorded: RecordedOutput,
    ) -> None:
        super().__init__(Lessons(store.folder if store else None))
        self._recorded = recorded
        self._job = job
        self._first = job.first_stage
        self._store = store
        self._prices = prices
        self._batched = batched
        self._prompts = {prompt.digest: prompt for prompt in job.manifest.prompts}
        self._workloads: dict[tuple[str, str], StepWorkload] = {}
        self._seen = seen
        self._begun: set[str] = set()
        self._uncounted: dict[str, tuple[Request, Completion | None]] = {}
        """Requests that are not counted yet, by key, with the stored reply."""
        self._texts: dict[str, tuple[int, int]] = {}
        """Sentences and bytes of the texts that the current sample's claims are extracted from, by
        key."""
        self._claims_per_sentence: Counter[float] = Counter()
        self._long: dict[str, list[int]] = {}
        """Number of windows of each sample with a text longer than a judge's window, by judge."""
        self._stack = AsyncExitStack()
        self._engines: dict[str, Backend] = {}
        """Extractors without cost, by name."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _holds(self, request: Request) -> bool:
        if (
            self._store is None
            or (value := self._store.get(self._lessons.adapt(request, self._store).key)) is None
        ):
            return False
        return cut_by(request, completion(value)) is None

    def _workload(self, step: str, judge: Judge, digest: str) -> StepWorkload:
        key = step, judge.name
        if key not in self._workloads:
            batched = judge.name in self._batched
            rate = price_of(judge, self._prices, batched=batched)
            self._workloads[key] = StepWorkload(
                step,
                judge,
                self._prompts[digest],
                rate,
                self._begun,
                batched,
            )
        return self._workloads[key]

    async def ask(self, request: Request) -> Outcome:
        """Return the stored reply, the claims of an engine without cost, or a failure."""
        original = request
        request = self._lessons.adapt(request, self._store)
        if request.again is not None and not (self._store and self._store.get(request.key)):
            return await self._offline.ask(request)
        value = self._store.get(request.key) if self._store else None
        reply = None if value is None else completion(value)
        if self._is_new(int(request.key[:16], 16)):
            self._uncounted[original.key] = request, reply
        if reply:
            return cut_by(request, reply) or reply
        if isinstance(request.task, ExtractTask) and (
            engine := self._engines.get(request.judge.name)
        ):
            try:
                return await engine.complete(request, lambda _: None)
            except CallError as error:
                return error.failure
        return await self._offline.ask(request)

    def _is_new(self, request: int) -> bool:
        """Return whether the digest of a request is new; a run sends equal requests once."""
        before = len(self._seen)
        self._seen.add(request)
        return len(self._seen) > before

    async def visit(self, item: T) -> None:
        """Evaluate an item and count its requests."""
        result = await self._first.evaluate(item, self)
        self._count(result, certain=True)
        calls = [*result.calls, *await self._expect(item, result)]
        # Requests of the second stage are about claims that no document alone supported: which,
        # nobody knows before.
        if self._first is not self._job:
            # If all verdicts on single documents are stored, the claims that are left for the joint
            # question are known.
            certain = not any(call.failed == OPEN for call in result.calls)
            result = await self._job.evaluate(cast(T, result), self)
            self._count(result, certain=certain)
            calls += result.calls
        for judge, windows in windows_of(calls).items():
            self._long.setdefault(judge, []).append(windows)

    def _count(self, result: SampleResult, *, certain: bool) -> None:
        for call in result.calls:
            if call.key not in self._uncounted:
                continue
            request, reply = self._uncounted.pop(call.key)
            workload = self._workload(call.step, request.judge, request.prompt)
            if reply and (
                certain or len(call.subjects) == 1
            ):  # with fewer subjects it would be another request
                workload.answered(request, reply)
            else:
                workload.ask(request, self._output(request, call), certain=certain)

    def _output(self, request: Request, call: Call) -> Range:
        """Return the assumed tokens of a reply."""
        return estimates.output(
            request,
            call.step,
            max(1, len(call.subjects)),
            self._prompts[request.prompt].parameters,
        )

    async def _expect(self, item: T, result: SampleResult) -> Sequence[Call]:
        """Count the requests that depend on unknown replies, and return their calls as far as
        known."""
        return ()

    def sum_up(self, samples: int) -> Forecast:
        """Return the forecast of the counted requests."""
        workloads = list(self._workloads.values())
        counted: dict[str, TokenCounts] = {}
        for workload in workloads:
            model = workload.judge.model
            counted[model] = counted.get(model, TokenCounts()).plus(workload.counted)
        ratio = estimates.spread(self._claims_per_sentence)
        return Forecast(
            samples=samples,
            lines=tuple(
                workload.line(
                    ratio or estimates.CLAIMS_PER_SENTENCE,
                    counted[workload.judge.model],
                    estimates.spread(self._recorded.of(workload.source))
                    if workload.is_open
                    else None,
                )
                for workload in workloads
            ),
            basis=tuple(self._basis(ratio)),
            long=long_evidence(self._long, self._job.manifest.asked, self._lessons.judge),
        )

    def _basis(self, ratio: Range | None) -> Iterator[str]:
        possible = [workload.possible for workload in self._workloads.values()]
        undecided = any(steps.calls or steps.unknown for steps in possible)
        if undecided and self._job.manifest.panel.per_document is True:
            yield (
                "all documents together, asked only about claims that none supports alone: from"
                " never to always"
            )


class _ClaimsWalk(_Walk[Sample | SampleResult]):
    _job: ClaimsJob

    async def __aenter__(self) -> Self:
        job = self._job
        extractor = job.extractor
        if job.extract_prompt.digest in self._prompts:  # given claims are not extracted
            self._workload("extract", extractor, job.extract_prompt.digest)
        if not provider(extractor.model).costs:
            self._engines[extractor.name] = await self._stack.enter_async_context(
                provider(extractor.model).open(extractor)
            )
        for judge in job.judges:
            self._workload("assess", judge, job.assess_prompt.digest)
        return self

    async def _expect(self, item: Sample | SampleResult, result: SampleResult) -> Sequence[Call]:
        expected: list[Call] = []
        extractions: dict[Part, list[Call]] = {}
        for call in result.calls:
            if call.step == "extract" and not call.reused:
                extractions.setdefault(call.part, []).append(call)
        for part, calls in extractions.items():
            texts = [self._texts[call.key] for call in calls if not call.attempt]
            sentences = sum(n for n, _ in texts)
            size = sum(n for _, n in texts)
            if open_calls := [call for call in calls if call.failed == OPEN]:
                expected += await self._expect_claims(result.sample, open_calls[0], sentences, size)
            elif not any(call.failed for call in calls):
                extracted = sum(claim.of == part for claim in result.claims)
                self._claims_per_sentence[extracted / max(1, sentences)] += 1
        self._texts.clear()
        return expected

    async def ask(self, request: Request) -> Outcome:
        """Answer a request as `_Walk` does, and record the size of texts that claims are extracted
        from."""
        if isinstance(request.task, ExtractTask):
            self._texts[request.key] = (
                len(request.task.sentences),
                estimates.size(request.task.text),
            )
        return await super().ask(request)

    async def _expect_claims(
        self,
        sample: Sample,
        extraction: Call,
        sentences: int,
        size: int,
    ) -> list[Call]:
        """Count the assessments of a text whose claims are unknown, and return their calls.

        The requests are those about one claim, counted for as many claims as the text may have.
        """
        job = self._job
        part = extraction.part
        prompts = tuple((p.name, p.digest) for p in (job.extract_prompt, job.assess_prompt))
        claim = Claim(id="", of=part, text="", grounding="ungrounded")
        metrics = tuple(metric for metric in job.metrics if metric.claims_of == part)
        item = SampleResult(sample=sample, claims=(claim,), assessments=())
        first = job.first_stage
        calls = list[Call]()
        for stage in [first] if first is job else [first, job]:
            frames = _Frames(self._lessons)
            calls += (
                await replace(stage, metrics=metrics, derived=()).evaluate(item, frames)
            ).calls
            for request in frames.requests:
                if self._is_new(hash((prompts, extraction.key, request.key))):
                    workload = self._workload("assess", request.judge, job.assess_prompt.digest)
                    workload.expect(request, sentences, size, certain=stage is first)
        return calls

    def _basis(self, ratio: Range | None) -> Iterator[str]:
        if any(workload.certain.unknown for workload in self._workloads.values()):
            low, high = ratio or estimates.CLAIMS_PER_SENTENCE
            source = (
                f"as in {self._claims_per_sentence.total():,} known texts" if ratio else "assumed"
            )
            yield (
                f"claims: {low:.1f} to {high:.1f} per sentence of texts that are not extracted yet,"
                f" {source}"
            )
        yield from super()._basis(ratio)


class _ReportWalk(_ClaimsWalk):
    _job: ReportJob

    async def _expect_claims(
        self,
        sample: Sample,
        extraction: Call,
        sentences: int,
        size: int,
    ) -> list[Call]:
        """Count the assessments of a report whose claims are unknown, as if each sentence were one.

        Which sources a sentence cites is known; whether these support it is not, so it may be
        asked again against all sources.
        """
        job = self._job
        frames = _Frames(self._lessons)
        item = SampleResult(sample=sample, claims=sentence_claims(sample), assessments=())
        result = await job.evaluate(item, frames)
        calls = {call.key: call for call in result.calls}
        for request in frames.requests:
            if self._is_new(int(request.key[:16], 16)):
                workload = self._workload("assess", request.judge, job.assess_prompt.digest)
                call = calls.get(request.key)
                about_one = call is None or call.evidence is None or not call.evidence.is_whole
                subjects = len(call.subjects) if call else 1
                parameters = job.assess_prompt.parameters
                output = estimates.output(request, "assess", subjects, parameters)
                workload.ask(request, output, certain=about_one)
        return list(result.calls)


class _QueriesWalk(_Walk[Document]):
    _job: WriteQueriesJob

    def _output(self, request: Request, call: Call) -> Range:
        written = self._job.per_document if call.step == "queries" else 1
        tokens = estimates.output(request, call.step, written)
        return (
            tokens._replace(low=min(tokens.low, estimates.TOKENS[call.step].low))
            if written > 1
            else tokens
        )

    async def _expect(self, item: Document, result: SampleResult) -> Sequence[Call]:
        if any(call.step == "queries" and call.failed == OPEN for call in result.calls):
            for request in self._job.usual_checks(item):
                workload = self._workload("screen", request.judge, request.prompt)
                workload.ask(request, estimates.output(request, "screen", 1), certain=False)
        return ()
