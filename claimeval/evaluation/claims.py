"""One sample's way from texts to scores.

The way is straight-line code over `ask`: extract the claims of each part once, put each claim to the judges for each
pair of part and evidence, ask once more about claims that a reply left out, vote, score. What an earlier result of the
sample has found out is taken from it.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from claimeval.evaluation.ask import CallAddress, ask_until_read
from claimeval.evaluation.judgment import EarlierVerdicts, JudgedSubjects, JudgingContext, judge
from claimeval.evaluation.plan import ClaimsJob
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import assess, extract
from claimeval.judging.prompts import Prompt
from claimeval.judging.replies import Reading
from claimeval.metrics import scoring
from claimeval.providers import reads_prompts
from claimeval.types.records import (
    ASKED,
    Call,
    Claim,
    Document,
    Evidence,
    Extraction,
    Part,
    Sample,
    SampleResult,
    Verdict,
    says_something,
)
from claimeval.types.requests import Completion, Failure, Judge, Request

ONE_TEXT = frozenset({"answer", "reference", ASKED})
"""Parts that are read as a whole; all others are sets of documents."""


@dataclass(frozen=True)
class ClaimsQuestion:
    """Whether a part of a sample supports the claims of another, or what they have to do with its question."""

    sample: Sample
    prompt: Prompt
    of: Part
    evidence: Evidence
    own_claims: bool = False
    """Whether a judge is asked only about the claims that it took itself."""
    per_call = assess.CLAIMS_PER_CALL

    @property
    def address(self) -> CallAddress:
        """Step and part that calls are recorded under."""
        return CallAddress("assess", self.of)

    @cached_property
    def singles(self) -> tuple[tuple[Evidence, Document], ...]:
        """The single documents of the evidence; none if it is read as a whole."""
        part = self.evidence.part
        if part in ONE_TEXT:
            return ()
        documents = self.sample.documents(part) or ()
        ranks = self.sample.ranks(part)
        return tuple((Evidence(part=part, document=rank), one) for rank, one in zip(ranks, documents, strict=True))

    def concerns(self, judge: Judge, subject: Claim) -> bool:
        """Whether the judge reads such a prompt and, with claims of its own, took this claim."""
        reads = self.prompt.step == "assess" or reads_prompts(judge)
        return reads and (not self.own_claims or subject.taken_by == judge.name)

    def ask(
        self, judge: Judge, subjects: Sequence[Claim], evidence: Evidence, *, attempt: int, replicate: int
    ) -> Request:
        """Return the request for verdicts on the claims."""
        return assess.ask(
            self.prompt,
            judge,
            subjects,
            self.sample.documents(evidence) or (),
            self.sample.question,
            alternatives=self.sample.alternatives(evidence.part),
            attempt=attempt,
            replicate=replicate,
        )

    def read(self, completion: Completion, request: Request, subjects: Sequence[Claim]) -> Reading[Verdict]:
        """Read the verdicts on the claims."""
        return assess.read(completion, request, computed=not reads_prompts(request.judge))


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

    def judged(of: Part, against: Part) -> Coroutine[Any, Any, JudgedSubjects]:
        question = ClaimsQuestion(
            sample, plan.prompt(of, against), of, Evidence(part=against), own_claims=plan.panel.own_claims
        )
        context = JudgingContext(
            judges=plan.judges,
            panel=plan.voters.settings(against),
            executor=executor,
            same_family=plan.voters.same_family(sample, of, against),
            on_record=plan.on_record,
            joint=plan.joint,
            earlier=known,
        )
        return judge(question, extractions[of].claims, context)

    pairs = [
        (of, against)
        for of, against in dict.fromkeys((metric.claims_of, metric.against) for metric in fed)
        if extractions[of].claims and sample.documents(against)
    ]
    found: list[JudgedSubjects] = await gather_all([judged(of, against) for of, against in pairs])
    unasked = scoring.unasked(fed, sample, extractions)
    assessments = {pair: list(one.assessments) for pair, one in zip(pairs, found, strict=True)} | unasked
    cells = tuple(cell for one in found for cell in one.cells)
    asked: list[_Extracted | JudgedSubjects] = [*extracted, *found]
    return SampleResult(
        sample=sample,
        extractions=tuple(extractions.values()),
        assessments=tuple(assessment for column in assessments.values() for assessment in column),
        cells=cells,
        scores=scoring.scores(plan.metrics, sample, extractions, assessments, plan.derived, cells),
        calls=known.calls + tuple(call for one in asked for call in one.calls),
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
    reply = await ask_until_read(
        lambda attempt: extract.ask(prompt, taker, part, text, sample.question, attempt=attempt),
        lambda completion, request: extract.read(completion, request, part, sample.question),
        executor,
        CallAddress("extract", part),
    )
    if isinstance(reply.value, Failure):
        failed = Extraction(of=part, failed_because=reply.value.reason, message=reply.value.message)
        return _Extracted(failed, reply.calls)
    return _Extracted(reply.value, reply.calls)
