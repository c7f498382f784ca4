"""One sample's way from texts to scores.

The way is straight-line code over `ask`: extract the claims of each part once, put each claim to the judges for each
pair of part and evidence, ask once more about claims that a reply left out, vote, score. What an earlier result of the
sample has found out is taken from it.
"""

from __future__ import annotations

from typing import NamedTuple

from claimeval.evaluation.assessing import MAX_ATTEMPTS, RE_ASKED_REASONS, Assessed, EarlierVerdicts, assess_all
from claimeval.evaluation.plan import ClaimsJob
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import extract
from claimeval.judging.call_record import call_record
from claimeval.judging.prompts import Prompt
from claimeval.metrics import scoring
from claimeval.types.records import Call, Evidence, Extraction, Part, Sample, SampleResult, says_something
from claimeval.types.requests import Failure, Judge


class _Extracted(NamedTuple):
    extraction: Extraction
    calls: tuple[Call, ...]


async def evaluate(
    sample: Sample, plan: ClaimsJob, executor: Executor, earlier: SampleResult | None = None
) -> SampleResult:
    """All claims, verdicts and scores of one sample. What fails is in the result as a reason.

    What `earlier` has (claims of parts whose extraction did not fail, verdicts) is taken over and not asked for again.
    """
    known = EarlierVerdicts(earlier)
    fed = [metric for metric in plan.metrics if metric.lacks(sample) is None]
    parts = list(dict.fromkeys(metric.claims_of for metric in fed))
    extracted: list[_Extracted] = await gather_all([_claims(sample, part, plan, executor, known) for part in parts])
    extractions = {part: found.extraction for part, found in zip(parts, extracted, strict=True)}

    pairs = [
        (of, against)
        for of, against in dict.fromkeys((metric.claims_of, metric.against) for metric in fed)
        if extractions[of].claims and sample.documents(against)
    ]
    assessed: list[Assessed] = await gather_all(
        [assess_all(sample, extractions[of].claims, against, plan, executor, known) for of, against in pairs]
    )
    voters = plan.voters
    assessments = {
        (of, against): [
            voters.vote(sample, of, Evidence(part=against), claim.id, row)
            for claim, row in zip(extractions[of].claims, found.by_claim(extractions[of].claims), strict=True)
        ]
        for (of, against), found in zip(pairs, assessed, strict=True)
    } | scoring.unasked(fed, sample, extractions)
    cells = tuple(
        plan.voters.vote(sample, of, evidence, claim_id, verdicts)
        for (of, _), found in zip(pairs, assessed, strict=True)
        for (evidence, claim_id), verdicts in found.by_cell().items()
    )
    asked: list[_Extracted | Assessed] = [*extracted, *assessed]
    return SampleResult(
        sample=sample,
        extractions=tuple(extractions.values()),
        assessments=tuple(assessment for column in assessments.values() for assessment in column),
        cells=cells,
        scores=scoring.scores(plan.metrics, sample, extractions, assessments, plan.derived, cells),
        calls=known.calls + tuple(call for found in asked for call in found.calls),
    )


async def _claims(
    sample: Sample, part: Part, plan: ClaimsJob, executor: Executor, known: EarlierVerdicts
) -> _Extracted:
    """The claims of one part: known, taken by the extractor, or by every judge for itself."""
    if part in known.extractions:
        return _Extracted(known.extractions[part], ())
    if not plan.panel.own_claims:
        return await _extract(sample, part, plan.extractor, plan.extract_prompt, executor)
    found: list[_Extracted] = await gather_all(
        [_extract(sample, part, judge, plan.extract_prompt, executor) for judge in plan.judges]
    )
    by_judge = {judge.name: f.extraction for judge, f in zip(plan.judges, found, strict=True)}
    return _Extracted(extract.side_by_side(part, by_judge), tuple(call for f in found for call in f.calls))


async def _extract(sample: Sample, part: Part, taker: Judge, prompt: Prompt, executor: Executor) -> _Extracted:
    texts = sample.texts(part)
    assert texts is not None, "only parts that the sample has are extracted"
    found: list[_Extracted] = await gather_all(
        [_extract_text(sample, part, text, taker, prompt, executor) for text in texts]
    )
    if not sample.alternatives(part):
        return found[0]
    pairs = [(text, one.extraction) for text, one in zip(texts, found, strict=True)]
    return _Extracted(extract.one_after_another(part, pairs), tuple(call for one in found for call in one.calls))


async def _extract_text(
    sample: Sample, part: Part, text: str, taker: Judge, prompt: Prompt, executor: Executor
) -> _Extracted:
    if not says_something(text):
        return _Extracted(Extraction(of=part), ())
    calls: list[Call] = []
    read: Extraction | Failure = Failure(reason="provider_error", message="not asked")
    for attempt in range(MAX_ATTEMPTS):
        request = extract.ask(prompt, taker, part, text, sample.question, attempt=attempt)
        outcome = await executor.ask(request)
        read = outcome if isinstance(outcome, Failure) else extract.read(outcome, request, part, sample.question)
        failure = read if isinstance(read, Failure) else None
        calls.append(call_record("extract", request, outcome, failure, part))
        if isinstance(outcome, Failure) or failure is None or failure.reason not in RE_ASKED_REASONS:
            break
    if isinstance(read, Failure):
        read = Extraction(of=part, failed_because=read.reason, message=read.message)
    return _Extracted(read, tuple(calls))
