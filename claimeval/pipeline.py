"""One sample's way from texts to scores.

The way is straight-line code over `ask`: extract the claims of each part once, put each claim to the judges for each
pair of part and evidence, ask once more about claims that a reply left out, vote, score. What an earlier result of the
sample has found out is taken from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from claimeval import panel, scoring
from claimeval.calls import Failure, Judge
from claimeval.execution import Executor
from claimeval.execution.side_by_side import side_by_side
from claimeval.families import Families
from claimeval.metrics import ClaimMetric
from claimeval.panel import Panel
from claimeval.panel.voters import Voters
from claimeval.prompting import Prompt
from claimeval.records import (
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
from claimeval.steps.call_record import call_record

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
    panel: Panel = Panel()
    families: Families = Families()
    on_record: frozenset[str] = frozenset()
    """Judges that are not asked: the verdicts that an earlier result has of them are all there is."""
    extracts: bool = True
    """Whether some text may have to be taken apart."""

    @property
    def asked(self) -> tuple[Judge, ...]:
        """Everyone to whom a question may go."""
        judges = tuple(judge for judge in self.judges if judge.name not in self.on_record)
        return (*judges, self.extractor) if self.extracts and not self.panel.own_claims else judges

    @property
    def voters(self) -> Voters:
        return Voters(self.judges, self.panel, self.families)


class _Known:
    """What an earlier result of the sample has: claims of parts whose extraction did not fail, and verdicts."""

    def __init__(self, earlier: SampleResult | None) -> None:
        self.calls = earlier.calls if earlier else ()
        self.extractions = {e.of: e for e in earlier.extractions if not e.failed_because} if earlier else {}
        self.verdicts = {
            (a.claim_id, a.against, verdict.judge, verdict.replicate): verdict
            for a in (earlier.assessments if earlier else ())
            for verdict in a.verdicts
        }


class _Question(NamedTuple):
    """What is asked of one judge, apart from the claims."""

    sample: Sample
    against: Part
    documents: tuple[Document, ...]
    judge: Judge
    replicate: int
    prompt: Prompt
    on_record: bool
    """Whether the judge's known verdicts are all there is."""


class _Extracted(NamedTuple):
    extraction: Extraction
    calls: tuple[Call, ...]


class _Assessed(NamedTuple):
    verdicts: tuple[Verdict, ...]
    """Judge after judge, each on the claims it was asked about."""
    calls: tuple[Call, ...]

    def by_claim(self, claims: Sequence[Claim]) -> list[list[Verdict]]:
        """The verdicts on each of the claims."""
        rows: dict[str, list[Verdict]] = {claim.id: [] for claim in claims}
        for verdict in self.verdicts:
            rows[verdict.claim_id].append(verdict)
        return list(rows.values())


async def evaluate(sample: Sample, plan: Plan, executor: Executor, earlier: SampleResult | None = None) -> SampleResult:
    """All claims, verdicts and scores of one sample. What fails is in the result as a reason.

    What `earlier` has (claims of parts whose extraction did not fail, verdicts) is taken over and not asked for again.
    """
    known = _Known(earlier)
    fed = [metric for metric in plan.metrics if metric.lacks(sample) is None]
    parts = list(dict.fromkeys(metric.claims_of for metric in fed))
    extracted: list[_Extracted] = await side_by_side([_claims(sample, part, plan, executor, known) for part in parts])
    extractions = {part: found.extraction for part, found in zip(parts, extracted, strict=True)}

    pairs = [
        (of, against)
        for of, against in dict.fromkeys((metric.claims_of, metric.against) for metric in fed)
        if extractions[of].claims and sample.documents(against)
    ]
    assessed: list[_Assessed] = await side_by_side(
        [_assess_all(sample, extractions[of].claims, against, plan, executor, known) for of, against in pairs]
    )
    assessments = {
        (of, against): [
            plan.voters.vote(sample, of, against, claim.id, row)
            for claim, row in zip(extractions[of].claims, found.by_claim(extractions[of].claims), strict=True)
        ]
        for (of, against), found in zip(pairs, assessed, strict=True)
    }
    asked: list[_Extracted | _Assessed] = [*extracted, *assessed]
    return SampleResult(
        sample=sample,
        extractions=tuple(extractions.values()),
        assessments=tuple(assessment for column in assessments.values() for assessment in column),
        scores=scoring.scores(plan.metrics, sample, extractions, assessments),
        calls=known.calls + tuple(call for found in asked for call in found.calls),
    )


async def _claims(sample: Sample, part: Part, plan: Plan, executor: Executor, known: _Known) -> _Extracted:
    """The claims of one part: known, taken by the extractor, or by every judge for itself."""
    if part in known.extractions:
        return _Extracted(known.extractions[part], ())
    if not plan.panel.own_claims:
        return await _extract(sample, part, plan.extractor, plan.extract_prompt, executor)
    found = await side_by_side([_extract(sample, part, j, plan.extract_prompt, executor) for j in plan.judges])
    by_judge = {judge.name: f.extraction for judge, f in zip(plan.judges, found, strict=True)}
    return _Extracted(extract.side_by_side(part, by_judge), tuple(call for f in found for call in f.calls))


async def _extract(sample: Sample, part: Part, taker: Judge, prompt: Prompt, executor: Executor) -> _Extracted:
    text = sample.text(part)
    assert text is not None, "only parts that the sample has are extracted"
    if not extract.says_something(text):
        return _Extracted(Extraction(of=part), ())
    calls: list[Call] = []
    read: Extraction | Failure = Failure(reason="provider_error", message="not asked")
    for attempt in range(ATTEMPTS):
        request = extract.ask(prompt, taker, part, text, sample.question, attempt=attempt)
        outcome = await executor.ask(request)
        read = outcome if isinstance(outcome, Failure) else extract.read(outcome, request, part, sample.question)
        failure = read if isinstance(read, Failure) else None
        calls.append(call_record("extract", request, outcome, failure, part))
        if isinstance(outcome, Failure) or failure is None or failure.reason not in _ASK_AGAIN:
            break
    if isinstance(read, Failure):
        read = Extraction(of=part, failed_because=read.reason, message=read.message)
    return _Extracted(read, tuple(calls))


async def _assess_all(
    sample: Sample, claims: Sequence[Claim], against: Part, plan: Plan, executor: Executor, known: _Known
) -> _Assessed:
    """The verdicts of all judges; those after `escalate` are asked only about claims that divide the first ones."""
    first = await _assess(sample, claims, against, plan.judges[: plan.panel.escalate], plan, executor, known)
    if not plan.panel.escalate:
        return first
    rows = first.by_claim(claims)
    divided = [claim for claim, row in zip(claims, rows, strict=True) if panel.disputed(row, plan.panel)]
    more = await _assess(sample, divided, against, plan.judges[plan.panel.escalate :], plan, executor, known)
    return _Assessed(first.verdicts + more.verdicts, first.calls + more.calls)


async def _assess(
    sample: Sample,
    claims: Sequence[Claim],
    against: Part,
    judges: Sequence[Judge],
    plan: Plan,
    executor: Executor,
    known: _Known,
) -> _Assessed:
    documents = sample.documents(against)
    assert documents, "there is evidence to assess against"
    if not claims:
        return _Assessed((), ())
    own = plan.voters.own_family(sample, claims[0].of, against)
    excluded = own if plan.panel.on_same_family == "exclude" else frozenset()
    found = await side_by_side(
        [
            _ask_judge(
                _Question(sample, against, documents, judge, n, plan.assess_prompt, judge.name in plan.on_record),
                [claim for claim in claims if not plan.panel.own_claims or claim.taken_by == judge.name],
                executor,
                known,
            )
            for judge in judges
            if judge.name not in excluded
            for n in range(plan.panel.replicates)
        ]
    )
    not_asked = [
        _unassessed(claim, judge, "own_family") for judge in judges if judge.name in excluded for claim in claims
    ]
    return _Assessed(
        (*(v for f in found for v in f.verdicts), *not_asked), tuple(call for f in found for call in f.calls)
    )


async def _ask_judge(question: _Question, claims: Sequence[Claim], executor: Executor, known: _Known) -> _Assessed:
    """The verdicts of one judge, those that are known taken over."""
    place = question.against, question.judge.name, question.replicate
    before = {c.id: v for c in claims if (v := known.verdicts.get((c.id, *place)))}
    if question.on_record:
        absent = (_unassessed(c, question.judge, "not_in_cache", question.replicate) for c in claims)
        return _Assessed(tuple(before.get(verdict.claim_id, verdict) for verdict in absent), ())
    unknown = [claim for claim in claims if claim.id not in before]
    found = await side_by_side([_assess_chunk(chunk, question, executor) for chunk in assess.chunks(unknown)])
    verdicts = before | {v.claim_id: v for f in found for v in f.verdicts}
    return _Assessed(tuple(verdicts[claim.id] for claim in claims), tuple(call for f in found for call in f.calls))


async def _assess_chunk(chunk: tuple[Claim, ...], question: _Question, executor: Executor) -> _Assessed:
    """One verdict for every claim of the chunk: the judge's, or `unassessed` and why."""
    verdicts: dict[str, Verdict] = {}
    why: dict[str, Reason] = {}
    calls: list[Call] = []
    batches = [chunk]
    for attempt in range(ATTEMPTS):
        again: list[tuple[Claim, ...]] = []
        for batch in batches:
            request = assess.ask(
                question.prompt,
                question.judge,
                batch,
                question.documents,
                question.sample.question,
                attempt=attempt,
                replicate=question.replicate,
            )
            outcome = await executor.ask(request)
            if isinstance(outcome, Failure):
                reading = assess.Reading((), batch, outcome)
            else:
                reading = assess.read(outcome, request)
            ids = [claim.id for claim in batch]
            calls.append(call_record("assess", request, outcome, reading.failure, chunk[0].of, question.against, ids))
            verdicts.update({verdict.claim_id: verdict for verdict in reading.verdicts})
            why.update({c.id: reading.failure.reason if reading.failure else "incomplete" for c in reading.missing})
            if not isinstance(outcome, Failure):
                again += _to_ask_again(reading)
        batches = again
    judge, n = question.judge, question.replicate
    return _Assessed(tuple(verdicts.get(c.id) or _unassessed(c, judge, why[c.id], n) for c in chunk), tuple(calls))


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


def _unassessed(claim: Claim, judge: Judge, reason: Reason, replicate: int = 0) -> Verdict:
    return Verdict(
        claim_id=claim.id, judge=judge.name, label="unassessed", unassessed_because=reason, replicate=replicate
    )
