"""One sample's way from texts to scores, and the pool of workers that many samples go through.

The way is straight-line code over `ask`: extract the claims of each part once, put each claim to every judge for each
pair of part and evidence, ask once more about claims that a reply left out, vote, score.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from claimeval import panel, scoring
from claimeval.calls import Completion, Failure, Judge, Outcome, Request
from claimeval.execution import Executor
from claimeval.metrics import ClaimMetric
from claimeval.prompting import Prompt
from claimeval.records import (
    Assessment,
    Call,
    Claim,
    Document,
    Extraction,
    Part,
    Reason,
    Sample,
    SampleResult,
    Verdict,
)
from claimeval.steps import assess, extract

T = TypeVar("T")
R = TypeVar("R")

ATTEMPTS = 2
"""How often a question is put when the reply is no use or leaves claims out."""
ALONE = 3
"""Up to this many claims that a reply left out are asked about again one by one; more are asked about together."""
_ASK_AGAIN: frozenset[Reason] = frozenset({"unparsable", "truncated"})


class Plan(NamedTuple):
    """What is asked of every sample."""

    metrics: tuple[ClaimMetric, ...]
    judges: tuple[Judge, ...]
    extractor: Judge
    extract_prompt: Prompt
    assess_prompt: Prompt


class _Extracted(NamedTuple):
    extraction: Extraction
    calls: tuple[Call, ...]


class _Assessed(NamedTuple):
    verdicts: tuple[Verdict, ...]
    calls: tuple[Call, ...]


async def evaluate(sample: Sample, plan: Plan, executor: Executor) -> SampleResult:
    """All claims, verdicts and scores of one sample. What fails is in the result as a reason."""
    fed = [metric for metric in plan.metrics if metric.lacks(sample) is None]
    parts = list(dict.fromkeys(metric.claims_of for metric in fed))
    extracted: list[_Extracted] = await _all([_extract(sample, part, plan, executor) for part in parts])
    extractions = {part: found.extraction for part, found in zip(parts, extracted, strict=True)}

    pairs = list(dict.fromkeys((metric.claims_of, metric.against) for metric in fed))
    questions = [
        (pair, judge)
        for pair in pairs
        if extractions[pair[0]].claims and sample.documents(pair[1])
        for judge in plan.judges
    ]
    assessed: list[_Assessed] = await _all(
        [_assess(sample, extractions[of].claims, against, judge, plan, executor) for (of, against), judge in questions]
    )
    assessments: dict[tuple[Part, Part], list[Assessment]] = {pair: [] for pair in pairs}
    for of, against in dict.fromkeys(pair for pair, _ in questions):
        columns = [
            found.verdicts for (pair, _), found in zip(questions, assessed, strict=True) if pair == (of, against)
        ]
        for claim, verdicts in zip(extractions[of].claims, zip(*columns, strict=True), strict=True):
            assessments[of, against].append(panel.vote(claim.id, against, verdicts))

    return SampleResult(
        sample=sample,
        extractions=tuple(extractions.values()),
        assessments=tuple(assessment for column in assessments.values() for assessment in column),
        scores=tuple(
            scoring.score(
                metric,
                extractions.get(metric.claims_of) if metric in fed else None,
                assessments.get((metric.claims_of, metric.against), ()),
                no_evidence=metric in fed and not sample.documents(metric.against),
            )
            for metric in plan.metrics
        ),
        calls=tuple(call for calls in (*[e.calls for e in extracted], *[a.calls for a in assessed]) for call in calls),
    )


async def _extract(sample: Sample, part: Part, plan: Plan, executor: Executor) -> _Extracted:
    text = sample.text(part)
    assert text is not None, "only parts that the sample has are extracted"
    if not extract.says_something(text):
        return _Extracted(Extraction(of=part), ())
    calls: list[Call] = []
    read: Extraction | Failure = Failure(reason="provider_error", message="not asked")
    for attempt in range(ATTEMPTS):
        request = extract.ask(plan.extract_prompt, plan.extractor, part, text, sample.question, attempt=attempt)
        outcome = await executor.ask(request)
        read = outcome if isinstance(outcome, Failure) else extract.read(outcome, request, part, sample.question)
        failure = read if isinstance(read, Failure) else None
        calls.append(_call("extract", request, outcome, failure, part))
        if isinstance(outcome, Failure) or failure is None or failure.reason not in _ASK_AGAIN:
            break
    if isinstance(read, Failure):
        read = Extraction(of=part, failed_because=read.reason, message=read.message)
    return _Extracted(read, tuple(calls))


async def _assess(
    sample: Sample, claims: Sequence[Claim], against: Part, judge: Judge, plan: Plan, executor: Executor
) -> _Assessed:
    documents = sample.documents(against)
    assert documents, "there is evidence to assess against"
    found = await _all(
        [
            _assess_chunk(chunk, documents, against, judge, plan.assess_prompt, sample.question, executor)
            for chunk in assess.chunks(claims)
        ]
    )
    return _Assessed(tuple(v for f in found for v in f.verdicts), tuple(c for f in found for c in f.calls))


async def _assess_chunk(
    chunk: tuple[Claim, ...],
    documents: tuple[Document, ...],
    against: Part,
    judge: Judge,
    prompt: Prompt,
    question: str,
    executor: Executor,
) -> _Assessed:
    """One verdict for every claim of the chunk: the judge's, or `unassessed` and why."""
    verdicts: dict[str, Verdict] = {}
    why: dict[str, Reason] = {}
    calls: list[Call] = []
    batches = [chunk]
    for attempt in range(ATTEMPTS):
        again: list[tuple[Claim, ...]] = []
        for batch in batches:
            request = assess.ask(prompt, judge, batch, documents, question, attempt=attempt)
            outcome = await executor.ask(request)
            if isinstance(outcome, Failure):
                reading = assess.Reading((), batch, outcome)
            else:
                reading = assess.read(outcome, request)
            calls.append(_call("assess", request, outcome, reading.failure, chunk[0].of, against, batch))
            verdicts.update({verdict.claim_id: verdict for verdict in reading.verdicts})
            why.update({c.id: reading.failure.reason if reading.failure else "incomplete" for c in reading.missing})
            if not isinstance(outcome, Failure):
                again += _to_ask_again(reading)
        batches = again
    return _Assessed(tuple(verdicts.get(c.id) or _unassessed(c, judge, why[c.id]) for c in chunk), tuple(calls))


def _to_ask_again(reading: assess.Reading) -> list[tuple[Claim, ...]]:
    """The claims that a reply left out, in the batches they are asked about again."""
    missing = reading.missing
    if reading.failure is None:
        return [(claim,) for claim in missing] if len(missing) <= ALONE else [missing]
    if reading.failure.reason not in _ASK_AGAIN:
        return []
    if reading.failure.reason == "truncated" and len(missing) > 1:
        middle = len(missing) // 2
        return [missing[:middle], missing[middle:]]
    return [missing]


def _unassessed(claim: Claim, judge: Judge, reason: Reason) -> Verdict:
    return Verdict(claim_id=claim.id, judge=judge.name, label="unassessed", unassessed_because=reason)


def _call(
    step: str,
    request: Request,
    outcome: Outcome,
    failure: Failure | None,
    part: Part,
    against: Part | None = None,
    claims: Sequence[Claim] = (),
) -> Call:
    completion = outcome if isinstance(outcome, Completion) else None
    return Call(
        key=request.key,
        step=step,
        judge=request.judge.name,
        part=part,
        against=against,
        claim_ids=tuple(claim.id for claim in claims),
        attempt=request.attempt,
        reply=completion.text if completion else None,
        failed_because=failure.reason if failure else None,
        message=failure.message if failure else None,
        served_model=completion.served_model if completion else None,
        prompt_tokens=completion.usage.prompt_tokens if completion else None,
        completion_tokens=completion.usage.completion_tokens if completion else None,
    )


async def _all(ways: Sequence[Coroutine[Any, Any, R]]) -> list[R]:
    """The results of several ways that may go side by side, in order."""
    if len(ways) == 1:
        return [await ways[0]]
    return await asyncio.gather(*ways)


async def in_order(
    items: Iterator[T], work: Callable[[T], Awaitable[R]], workers: int, window: int | None = None
) -> AsyncGenerator[R]:
    """The results of `work` in the order of `items`, with at most `workers` items in work at once.

    Items are pulled only when a worker is free and fewer than `window` results (16 a worker by default) wait behind a
    slow one, so memory does not grow with the number of items.
    """
    source = enumerate(items)
    finished: dict[int, R] = {}
    emitted = 0
    room = asyncio.Semaphore(window or 16 * workers)
    news = asyncio.Event()

    async def worker() -> None:
        while True:
            await room.acquire()
            try:
                index, item = next(source)
            except StopIteration:
                return
            finished[index] = await work(item)
            if index == emitted:
                news.set()

    tasks = [asyncio.create_task(worker()) for _ in range(workers)]
    for task in tasks:
        task.add_done_callback(lambda _: news.set())
    try:
        while True:
            while emitted in finished:
                yield finished.pop(emitted)
                emitted += 1
                room.release()
            ended = [task for task in tasks if task.done()]
            for task in ended:
                task.result()
            if len(ended) == len(tasks):
                return
            news.clear()
            await news.wait()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
