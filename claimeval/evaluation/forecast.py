"""Forecast of a job: the real pipeline runs on the reply cache, and every request that it cannot answer is counted.

What follows from a cached reply is known. If the claims of a text are known the calls are exact; if not, the
assessments that depend on them are a range, from few claims in a sentence to many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from math import ceil, floor
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Self

from claimeval.evaluation import estimates
from claimeval.evaluation.claims import ClaimsJob
from claimeval.evaluation.estimates import Range, TokenCounts
from claimeval.execution.cached import OfflineExecutor
from claimeval.judging.assess import CLAIMS_PER_CALL
from claimeval.judging.prompts import Prompt
from claimeval.providers import Backend, provider, reads_prompts
from claimeval.providers.prices import FREE, MESSAGE_TOKENS, Price, batch_price_of, cost_bound, price_of, prompt_bytes
from claimeval.store.lessons import Lessons
from claimeval.store.replies import completion
from claimeval.store.store import Store
from claimeval.types.records import Call, Claim, Part, Record, Sample, SampleResult
from claimeval.types.requests import Completion, ExtractTask, Judge, Outcome, Request

Step = Literal["extract", "assess"]
OVERHEAD = 3 * MESSAGE_TOKENS
"""Tokens around a system message, a user message, and the whole, in the worst case."""
NOTHING = Range(0, 0)


class StepForecast(Record):
    """What one judge will be asked in one step."""

    step: str
    judge: str
    stored: int
    """Questions that the store answers."""
    calls: tuple[int, int]
    """At least and at most."""
    exact: bool
    """Whether the calls are known and not estimated."""
    prompt_tokens: tuple[int, int]
    output_tokens: tuple[int, int]
    price: Price | None
    """None where it is unknown."""
    cost: tuple[float, float] | None
    """US dollars."""
    worst: float | None
    """US dollars if every byte of the prompts were a token and every reply ran to its limit."""
    how: tuple[str, ...]
    """What the numbers of tokens rest on, in words; empty where nothing is left to ask."""


class _KnownRequests(NamedTuple):
    """Questions whose words are known, added up."""

    calls: int = 0
    bytes: int = 0
    output: Range = NOTHING
    """Tokens of the replies, as assumed."""
    worst: float = 0.0


class _Texts(NamedTuple):
    """Texts to be assessed whose claims are unknown, added up."""

    texts: int = 0
    bytes: int = 0
    frames: int = 0
    """Bytes of their requests without claims."""


class _Sum(NamedTuple):
    """All questions, at one end of the range."""

    calls: int
    bytes: float
    output: float
    worst: float


@dataclass
class _Found:
    """Questions that will be asked, or that may be."""

    asked: _KnownRequests = field(default_factory=_KnownRequests)
    unknown: dict[int, _Texts] = field(default_factory=dict)
    """By number of sentences."""


@dataclass
class StepWorkload:
    """What is found of one judge's questions in one step."""

    step: Step
    judge: Judge
    prompt: Prompt
    price: Price | None
    stored: int = 0
    counted: TokenCounts = field(default_factory=TokenCounts)
    certain: _Found = field(default_factory=_Found)
    possible: _Found = field(default_factory=_Found)
    """On top of these: what is asked only if earlier judges disagree."""

    @property
    def source(self) -> estimates.Source:
        """What the store calls the replies to such questions."""
        return self.judge.model, self.judge.endpoint, self.prompt.digest

    @property
    def is_open(self) -> bool:
        """Whether anything may be left to ask."""
        return bool(self.certain.asked.calls) or not self.is_exact

    @property
    def is_exact(self) -> bool:
        """Whether all that will be asked is known."""
        return not (self.certain.unknown or self.possible.unknown or self.possible.asked.calls)

    def answered(self, request: Request, reply: Completion) -> None:
        """Counts a question that the store answers."""
        self.stored += 1
        if tokens := reply.usage.prompt_tokens:
            self.counted = self.counted.plus(TokenCounts(1, prompt_bytes(request), tokens))

    def ask(self, request: Request, *, certain: bool = True) -> None:
        """Counts a question that will, or may, be asked."""
        found = self.certain if certain else self.possible
        had, tokens = found.asked, estimates.output(request)
        found.asked = _KnownRequests(
            had.calls + 1,
            had.bytes + prompt_bytes(request),
            Range(had.output.low + tokens.low, had.output.high + tokens.high),
            had.worst + (cost_bound(request, self.price) if self.price else 0.0),
        )

    def expect(self, frame: Request, sentences: int, size: int, *, certain: bool = True) -> None:
        """Count the assessment of a text whose claims are not known yet.

        Args:
            frame: The request without claims.
            sentences: Number of sentences of the text.
            size: Size of the text in bytes.
            certain: Whether the text is assessed in any case.
        """
        found = self.certain if certain else self.possible
        had = found.unknown.get(sentences, _Texts())
        found.unknown[sentences] = _Texts(had.texts + 1, had.bytes + size, had.frames + prompt_bytes(frame))

    def line(self, per_sentence: Range, counted: TokenCounts, seen: Range | None) -> StepForecast:
        """What it comes to: with so many claims in a sentence, prompts counted by this model, and outputs as seen."""
        low = self._sum([self.certain], per_sentence.low, estimates.CLAIM_BYTES.low, 0)
        high = self._sum([self.certain, self.possible], per_sentence.high, estimates.CLAIM_BYTES.high, 1)
        per_token = estimates.measured(counted) or estimates.BYTES_PER_TOKEN
        prompt = floor(low.bytes / per_token.high), ceil(high.bytes / per_token.low)
        least, most = (low.calls * seen.low, high.calls * seen.high) if seen else (low.output, high.output)
        output = floor(least), min(ceil(most), high.calls * self.judge.max_tokens)
        if not reads_prompts(self.judge):
            prompt = output = (0, 0)
        known = self.price if high.calls else FREE
        return StepForecast(
            step=self.step,
            judge=self.judge.name,
            stored=self.stored,
            calls=(low.calls, high.calls),
            exact=self.is_exact,
            prompt_tokens=prompt,
            output_tokens=output,
            price=self.price,
            cost=(known.dollars(prompt[0], output[0]), known.dollars(prompt[1], output[1])) if known else None,
            worst=high.worst if known else None,
            how=self._how(counted, seen) if any(prompt) else (),
        )

    def _sum(self, parts: Sequence[_Found], per_sentence: float, claim_bytes: float, end: Literal[0, 1]) -> _Sum:
        """The questions of these parts, if each sentence makes so many claims, which are so long beside their text."""
        calls = sum(part.asked.calls for part in parts)
        size: float = sum(part.asked.bytes for part in parts)
        output = sum(part.asked.output[end] for part in parts)
        worst = sum(part.asked.worst for part in parts)
        for sentences, texts in (item for part in parts for item in part.unknown.items()):
            claims = max(1, ceil(per_sentence * sentences))
            requests = ceil(claims / CLAIMS_PER_CALL) * texts.texts
            frames = texts.frames * ceil(claims / CLAIMS_PER_CALL)
            added = frames + texts.bytes * claim_bytes + texts.texts * claims * estimates.LINE_FRAME
            calls += requests
            size += added
            output += estimates.verdicts(self.judge, requests, texts.texts * claims)[end]
            worst += (self.price or FREE).dollars(added + requests * OVERHEAD, requests * self.judge.max_tokens)
        return _Sum(calls, size, output, worst)

    def _how(self, counted: TokenCounts, seen: Range | None) -> tuple[str, str]:
        prompt, output = "prompt tokens", "output tokens"
        if (found := estimates.measured(counted)) is None:
            prompt += f": assumed, {estimates.BYTES_PER_TOKEN.low:g} to {estimates.BYTES_PER_TOKEN.high:g} bytes each"
        else:
            prompt += f": {found.low:.2f} to {found.high:.2f} bytes each, as in {counted.replies:,} stored replies"
        if seen is not None:
            output += f": {seen.low:.0f} to {seen.high:.0f} a call, as in stored replies to {self.prompt.name}"
        elif estimates.thinking(self.judge).high:
            output += (
                f": assumed, {estimates.THINKING_TOKENS.low:g} to {estimates.THINKING_TOKENS.high:g} of them thinking"
            )
        else:
            output += ": assumed"
        return prompt, output


OPEN = "not_in_cache"
"""The reason that `OfflineExecutor` gives for a question that nobody answered."""


class Forecast(Record):
    """What a run will ask and cost. Questions put again after a useless reply, and retries, come on top."""

    samples: int
    lines: tuple[StepForecast, ...]
    how: tuple[str, ...]
    """What the ranges of calls rest on, in words; empty where they are exact."""

    @property
    def calls(self) -> tuple[int, int]:
        """Return the least and greatest number of calls."""
        return sum(line.calls[0] for line in self.lines), sum(line.calls[1] for line in self.lines)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The judges with calls to come whose price is unknown."""
        return tuple(dict.fromkeys(line.judge for line in self.lines if line.cost is None))

    @property
    def cost(self) -> tuple[float, float]:
        """US dollars for the judges whose price is known."""
        known = [line.cost for line in self.lines if line.cost]
        return sum(low for low, _ in known), sum(high for _, high in known)

    @property
    def worst(self) -> float:
        """The most that the judges can cost whose price is known."""
        return sum(line.worst or 0.0 for line in self.lines)


async def forecast(
    samples: Iterable[Sample | SampleResult],
    plan: ClaimsJob,
    store: Store | None,
    prices: str | Path | None = None,
    asked: set[int] | None = None,
    batched: Collection[str] = (),
) -> Forecast:
    """Forecast a run over the samples without sending anything.

    Memory grows with the number of different requests alone, about 80 bytes each.

    Args:
        samples: The samples, or the results of an earlier run, which keep their verdicts.
        plan: The job.
        store: Stored replies, which cost nothing. None: nothing is stored.
        prices: File of prices.
        asked: Requests of earlier plans over the same store, which are not counted again; those of this plan are added.
        batched: Names of judges whose requests are sent in batches, at batch prices.

    Returns:
        The number of requests and their cost, for each step and judge.

    Raises:
        UsageError: If the file of prices cannot be read.
    """
    walk = _Walk(plan, store, prices, set() if asked is None else asked, batched)
    count = 0
    async with walk:
        for sample in samples:
            await walk.visit(sample)
            count += 1
    return walk.sum_up(count)


class _Frames:
    """Answers nothing, and remembers what is asked about claims."""

    def __init__(self, lessons: Lessons) -> None:
        self._lessons = lessons
        self._nowhere = OfflineExecutor()
        self.requests: list[Request] = []

    async def ask(self, request: Request) -> Outcome:
        """Record the request."""
        self.requests.append(self._lessons.adapt(request))
        return await self._nowhere.ask(request)


class _Walk:
    """Stands in for the executor, and learns from each sample what hangs on questions that stayed open."""

    def __init__(
        self, plan: ClaimsJob, store: Store | None, prices: str | Path | None, seen: set[int], batched: Collection[str]
    ) -> None:
        self._plan = plan
        self._first = replace(
            plan,
            judges=plan.judges[: plan.panel.escalate],
            panel=plan.panel.model_copy(update={"escalate": None}),
            joint=not plan.panel.per_document,
        )
        """Without what hangs on the answers: judges who are asked only where others disagree, and all documents
        together about claims that no single one supports."""
        self._has_later_questions = bool(plan.panel.escalate or plan.panel.per_document)
        self._certain = True
        """Whether what is asked now is asked in any case."""
        self._store = store

        def rate(judge: Judge) -> Price | None:
            if judge.name in batched:
                return batch_price_of(judge, prices)
            return price_of(judge, prices)

        self._takers = plan.judges if plan.panel.extract_per_judge else (plan.extractor,)
        self._extractions = {
            taker.name: StepWorkload("extract", taker, plan.extract_prompt, rate(taker)) for taker in self._takers
        }
        self._assessments = {
            judge.name: StepWorkload("assess", judge, plan.assess_prompt, rate(judge)) for judge in plan.judges
        }
        self._prompts = tuple((p.name, p.digest) for p in (plan.extract_prompt, plan.assess_prompt))
        self._nowhere = OfflineExecutor()
        self._lessons = Lessons(store.folder if store else None)
        self._seen = seen
        self._texts: dict[str, tuple[int, int]] = {}
        """Sentences and bytes of the texts that the current sample's extractions are of, by key."""
        self._claims_per_sentence: Counter[float] = Counter()
        self._stack = AsyncExitStack()
        self._engines: dict[str, Backend] = {}
        """By name the takers of claims that cost nothing."""

    async def __aenter__(self) -> Self:
        for taker in self._takers:
            if not provider(taker.model).costs:
                self._engines[taker.name] = await self._stack.enter_async_context(provider(taker.model).open(taker))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def ask(self, request: Request) -> Outcome:
        """The stored reply, the claims of an engine that costs nothing, or that the reply is not there."""
        put, request = request, self._lessons.adapt(request)
        if request.again is not None and not (self._store and self._store.get(request.key)):
            return await self._nowhere.ask(request)
        extracting = isinstance(request.task, ExtractTask)
        workload = (self._extractions if extracting else self._assessments)[request.judge.name]
        fresh = self._is_new(int(request.key[:16], 16))
        if isinstance(request.task, ExtractTask):
            self._texts[put.key] = len(request.task.sentences), estimates.size(request.task.text)
        if self._store and (value := self._store.get(request.key)) is not None:
            reply = completion(value)
            if fresh:
                workload.answered(request, reply)
            return reply
        if fresh:
            workload.ask(request, certain=self._certain)
        if extracting and (engine := self._engines.get(request.judge.name)):
            return await engine.complete(request, lambda _: None)
        return await self._nowhere.ask(request)

    def _is_new(self, question: int) -> bool:
        """Whether a question comes for the first time; a run asks the same only once."""
        before = len(self._seen)
        self._seen.add(question)
        return len(self._seen) > before

    async def visit(self, item: Sample | SampleResult) -> None:
        """Takes a sample, or an earlier result of one, through the pipeline and counts what it asks."""
        self._certain = True
        result = await self._first.evaluate(item, self)
        taken_from: dict[tuple[Part, str], list[Call]] = {}
        for call in result.calls:
            if call.step == "extract" and not call.reused:
                taken_from.setdefault((call.part, call.judge), []).append(call)
        for (part, judge), calls in taken_from.items():
            texts = [self._texts[call.key] for call in calls if not call.attempt]
            sentences, size = sum(n for n, _ in texts), sum(n for _, n in texts)
            if still_open := [call for call in calls if call.failed == OPEN]:
                await self._expect(result.sample, still_open[0], sentences, size)
            elif not any(call.failed for call in calls):
                taken = sum(c.of == part and c.extractor in (None, judge) for c in result.claims)
                self._claims_per_sentence[taken / max(1, sentences)] += 1
        if self._has_later_questions:
            self._certain = not any(call.failed == OPEN for call in result.calls)
            await self._plan.evaluate(result, self)
        self._texts.clear()

    async def _expect(self, sample: Sample, extraction: Call, sentences: int, size: int) -> None:
        """Counts the assessments of a text whose claims are not known because nobody answered this call: the run's
        questions about one claim, for as many claims as the text may have."""
        part = extraction.part
        claim = Claim(
            id="", text="", of=part, extractor=extraction.judge if self._plan.panel.extract_per_judge else None
        )
        metrics = tuple(metric for metric in self._plan.metrics if metric.claims_of == part)
        item = SampleResult(sample=sample, claims=(claim,))
        for job, certain in ((self._first, True), (self._plan, False))[: 1 + self._has_later_questions]:
            frames = _Frames(self._lessons)
            await replace(job, metrics=metrics, derived=()).evaluate(item, frames)
            for request in frames.requests:
                if self._is_new(hash((self._prompts, extraction.key, request.key))):
                    self._assessments[request.judge.name].expect(request, sentences, size, certain=certain)

    def sum_up(self, samples: int) -> Forecast:
        """What was found, in tokens and money."""
        workloads = [*self._extractions.values(), *self._assessments.values()]
        counted: dict[str, TokenCounts] = {}
        for workload in workloads:
            model = workload.judge.model
            counted[model] = counted.get(model, TokenCounts()).plus(workload.counted)
        still_open = {workload.source for workload in workloads if workload.is_open}
        seen = estimates.output_seen(self._store, still_open) if self._store else {}
        ratio = estimates.spread(self._claims_per_sentence)
        return Forecast(
            samples=samples,
            lines=tuple(
                workload.line(
                    ratio or estimates.CLAIMS_PER_SENTENCE,
                    counted[workload.judge.model],
                    estimates.spread(seen.get(workload.source, Counter())),
                )
                for workload in workloads
            ),
            how=tuple(self._how(ratio)),
        )

    def _how(self, ratio: Range | None) -> Iterator[str]:
        workloads = self._assessments.values()
        if any(workload.certain.unknown for workload in workloads):
            low, high = ratio or estimates.CLAIMS_PER_SENTENCE
            source = f"as in {self._claims_per_sentence.total():,} known texts" if ratio else "assumed"
            yield f"claims: {low:.1f} to {high:.1f} a sentence where they are not stored, {source}"
        if any(workload.possible.asked.calls or workload.possible.unknown for workload in workloads):
            if self._plan.panel.escalate:
                yield "judges who are asked only where the first ones disagree: from never to always"
            if self._plan.panel.per_document:
                yield "all documents together, asked only about claims that none supports alone: from never to always"
