"""The real pipeline walked over the store, with every question that is not answered there counted.

A question whose reply is stored is answered from the store, so that what follows from it is known. Where the claims of
a text are known the calls are exact; where they are not, the assessments that depend on them are a range, from few
claims in a sentence to many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from claimeval.evaluation.claims import ONE_TEXT, ClaimsJob
from claimeval.evaluation.forecast import estimates
from claimeval.evaluation.forecast.estimates import Counted, Range
from claimeval.evaluation.forecast.workload import StepForecast, StepWorkload
from claimeval.execution.cached import OfflineExecutor
from claimeval.judging import assess
from claimeval.providers import Backend, provider, reads_prompts
from claimeval.providers.prices import Price, batch_price, price
from claimeval.store.replies import completion
from claimeval.store.store import Store
from claimeval.types.records import Call, Claim, Document, Evidence, Part, Record, Sample, SampleResult
from claimeval.types.requests import ExtractTask, Judge, Outcome, Request

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
        self._store = store

        def rate(judge: Judge) -> Price | None:
            if judge.name in batched:
                return batch_price(judge.model, judge.endpoint or "", prices)
            return price(judge.model, judge.endpoint, prices)

        self._takers = plan.judges if plan.panel.own_claims else (plan.extractor,)
        self._extractions = {
            taker.name: StepWorkload("extract", taker, plan.extract_prompt, rate(taker)) for taker in self._takers
        }
        self._assessments = {
            judge.name: StepWorkload("assess", judge, plan.assess_prompt, rate(judge)) for judge in plan.judges
        }
        self._prompts = tuple((p.name, p.digest) for p in (plan.extract_prompt, plan.assess_prompt))
        self._nowhere = OfflineExecutor()
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
        extracting = isinstance(request.task, ExtractTask)
        workload = (self._extractions if extracting else self._assessments)[request.judge.name]
        fresh = self._is_new(int(request.key[:16], 16))
        if isinstance(request.task, ExtractTask):
            self._texts[request.key] = len(request.task.sentences), estimates.size(request.task.text)
        if self._store and (value := self._store.get(request.key)) is not None:
            reply = completion(value)
            if fresh:
                workload.answered(request, reply)
            return reply
        if fresh:
            workload.ask(request)
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
        result = await self._first.evaluate(item, self)
        sample = result.sample
        taken_from: dict[tuple[Part, str], list[Call]] = {}
        for call in result.calls:
            if call.step == "extract" and not call.reused:
                taken_from.setdefault((call.part, call.judge), []).append(call)
        for (part, judge), calls in taken_from.items():
            texts = [self._texts[call.key] for call in calls if not call.attempt]
            sentences, size = sum(n for n, _ in texts), sum(n for _, n in texts)
            if still_open := [call for call in calls if call.failed == OPEN]:
                self._expect(sample, still_open[0], sentences, size)
            elif not any(call.failed for call in calls):
                taken = sum(c.of == part and c.extractor in (None, judge) for c in result.claims)
                self._claims_per_sentence[taken / max(1, sentences)] += 1
        if self._plan.panel.escalate or self._plan.panel.per_document:
            if any(call.failed == OPEN for call in result.calls):
                self._allow_for(sample, result)
            else:
                await self._plan.evaluate(result, self)
        self._texts.clear()

    def _expect(self, sample: Sample, extraction: Call, sentences: int, size: int) -> None:
        """Counts the assessments of a text whose claims are not known because nobody answered this call."""
        part = extraction.part
        claim = Claim(id="", text="", of=part)
        for evidence, documents, in_any_case in self._evidence(sample, part):
            prompt = self._plan.prompt(part, evidence.part)
            shown = assess.ShownDocuments(documents, sample.alternatives(evidence.part))
            frame = assess.ask(prompt, self._plan.judges[0], [claim], shown, sample.question)
            texts = tuple((document.title, document.text) for document in documents)
            for workload, certain, n in self._asked(sample, part, evidence.part):
                if self._plan.panel.own_claims and workload.judge.name != extraction.judge:
                    continue
                request = frame.model_copy(update={"judge": workload.judge})
                asked = extraction.key, workload.judge.name, n, sample.question, texts, prompt.digest
                if self._is_new(hash((self._prompts, asked))):
                    workload.expect(request, sentences, size, certain=certain and in_any_case)

    def _allow_for(self, sample: Sample, result: SampleResult) -> None:
        """Counts what may be asked about known claims, as long as the verdicts that it hangs on are not known."""
        for extraction in result.extractions:
            for evidence, documents, in_any_case in self._evidence(sample, extraction.of):
                prompt = self._plan.prompt(extraction.of, evidence.part)
                shown = assess.ShownDocuments(documents, sample.alternatives(evidence.part))
                for workload, certain, n in self._asked(sample, extraction.of, evidence.part):
                    claims = tuple(c for c in extraction.claims if c.extractor in (None, workload.judge.name))
                    for chunk in [] if certain and in_any_case else assess.chunks(claims):
                        request = assess.ask(prompt, workload.judge, chunk, shown, sample.question, replicate=n)
                        workload.ask(request, certain=False)

    def _evidence(self, sample: Sample, part: Part) -> Iterator[tuple[Evidence, tuple[Document, ...], bool]]:
        """What the claims of a part are assessed against, and whether they are in any case."""
        panel = self._plan.panel
        fed = (m for m in self._plan.metrics if m.claims_of == part and m.missing_part(sample) is None)
        for against in dict.fromkeys(metric.against for metric in fed):
            documents = sample.documents(against) or ()
            several = len(documents) > 1 and against not in ONE_TEXT
            if documents:
                yield Evidence(part=against), documents, not (several and panel.per_document)
            if several and panel.per_document:
                for rank, document in zip(sample.ranks(against), documents, strict=True):
                    yield Evidence(part=against, document=rank), (document,), True
            if several:
                others = (Evidence(part=against, order=number) for number in panel.other_orders(len(documents)))
                yield from ((evidence, sample.documents(evidence) or (), True) for evidence in others)

    def _asked(self, sample: Sample, part: Part, against: Part) -> Iterator[tuple[StepWorkload, bool, int]]:
        """The judges who assess such claims, whether they do so in any case, and the number of the replicate."""
        excluded: frozenset[str] = frozenset()
        if self._plan.panel.on_same_family == "skip":
            excluded = self._plan.voters.same_family(sample, part, against)
        local = self._plan.prompt(part, against).step == "assess"
        for place, judge in enumerate(self._plan.judges):
            if judge.name not in excluded and (local or reads_prompts(judge)):
                certain = place < (self._plan.panel.escalate or len(self._plan.judges))
                for n in range(self._plan.panel.replicates):
                    yield self._assessments[judge.name], certain, n

    def sum_up(self, samples: int) -> Forecast:
        """What was found, in tokens and money."""
        workloads = [*self._extractions.values(), *self._assessments.values()]
        counted: dict[str, Counted] = {}
        for workload in workloads:
            model = workload.judge.model
            counted[model] = counted.get(model, Counted()).plus(workload.counted)
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
