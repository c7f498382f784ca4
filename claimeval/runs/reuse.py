"""What can be reused of an earlier run: its claims, and verdicts of judges who would be asked the same again."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from claimeval.evaluation.claims import ONE_TEXT, ClaimsJob, ClaimsOptions
from claimeval.evaluation.grade import GradeJob
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.rate import RateJob
from claimeval.judging import prompts as prompting
from claimeval.judging.assess import CLAIMS_PER_CALL
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt, PromptRecord
from claimeval.metrics.rows import Metric
from claimeval.providers import specs
from claimeval.types.records import (
    ABSTAINED,
    Assessment,
    Call,
    Evidence,
    Part,
    SampleResult,
    Verdict,
    says_something,
)
from claimeval.types.requests import Judge


class ReuseCounts:
    """Calls that are not made because their results are taken over, counted as the samples pass."""

    def __init__(self) -> None:
        self.extractions = 0
        self.assessments = 0

    @property
    def calls(self) -> int:
        """Return the number of calls that are not made."""
        return self.extractions + self.assessments


class ReusableVerdicts:
    """Which claims and verdicts of a run hold under another extractor, other prompts and other judges."""

    def __init__(
        self, record: Manifest | None, wanted: ClaimsOptions, defaults: tuple[str, str], step: str = "assess"
    ) -> None:
        """`defaults` are prompts for runs without, `step` is that of the prompt by which the judges are asked.

        What is not wanted otherwise shall be as in the run.
        """
        self.record, self.wanted = record, wanted
        self._step = step
        self.extractor = specs.parse_judge(wanted.extractor) if wanted.extractor else None
        self.own = {judge.name: judge for judge in record.judges} if record else {}
        self.named = [spec for spec in wanted.judges if isinstance(spec, str) and spec in self.own]
        """The judges of the run that are named."""
        self._ids = {judge.name: judge.id for judge in record.asked} if record else {}
        self._prompts = {p.id: p for p in record.prompts} if record else {}
        on_record = [p for p in self._prompts.values() if p.step == "extract"]
        self.extract_prompt = _prompt("extract", wanted.extract_prompt, on_record, defaults[0])
        asked = self.support_prompts(*(self.named or self.own))
        self.assess_prompt = _prompt(step, wanted.assess_prompt, asked, defaults[1])
        self.undecided = () if wanted.assess_prompt or len(asked) < 2 else tuple(p.name for p in asked)
        """The prompts among which nothing decides, if a judge must be asked."""
        self._settings = self.extractor.id if self.extractor else None
        self._extract_prompt = self.extract_prompt.id if wanted.extract_prompt else None
        self.names_claims = bool(self._settings or self._extract_prompt)
        """Whether it is said who takes the claims, or how."""
        self.claims_hold = (
            record is not None
            and record.extractor is not None
            and self._settings in (None, record.extractor.id)
            and (not wanted.extract_prompt or any(p.id == self.extract_prompt.id for p in on_record))
        )

    @property
    def extractor_on_record(self) -> Judge:
        """Who took the claims that are taken over."""
        assert self.record is not None, "claims are taken over from a run"
        assert self.record.extractor is not None, "claims have an extractor"
        return self.record.extractor

    def support_prompts(self, *judges: str) -> list[PromptRecord]:
        """The prompts by which these judges of the run said whether a text supports a claim."""
        asked_with = self.record.asked_with if self.record else {}
        ids = {prompt for judge in judges for prompt in asked_with.get(judge, ())}
        return [p for p in self._prompts.values() if p.id in ids and p.step == self._step]

    def same_prompt(self, judge: str) -> bool:
        """Whether a judge of the run was asked with no other prompt than the one that is wanted."""
        if self.wanted.assess_prompt is None:
            return self.record is not None
        return [p.id for p in self.support_prompts(judge)] == [self.assess_prompt.id]

    def has(self, metrics: Sequence[Metric]) -> bool:
        """Whether the run assessed all that these metrics need."""
        before = {(m.claims_of, m.against) for m in self.record.rows} if self.record else set()
        return all((metric.claims_of, metric.against) in before for metric in metrics)

    def asked_as(self, settings: Mapping[str, Any]) -> bool:
        """Whether judges asked so would be asked nothing new."""
        if self.record is None:
            return False
        return self.shown_as(settings) and settings.get("replicates", 1) <= self.record.panel.replicates

    def shown_as(self, settings: Mapping[str, Any]) -> bool:
        """Whether the run showed its judges the documents in all the ways in which they are to be shown."""
        before = self.record.panel if self.record else Panel()
        per_document: bool = settings.get("per_document", before.per_document)
        shuffle_contexts: int = settings.get("shuffle_contexts", 0)
        return per_document == before.per_document and shuffle_contexts <= before.shuffle_contexts

    def parts(self, result: SampleResult) -> set[Part]:
        """The parts of a sample whose claims hold."""
        taken = {claim.of for claim in result.claims}
        taken |= {part for part, because in result.unextracted.items() if because == "no_claims"}
        return {part for part in taken if self._holds(part, result)}

    def _holds(self, part: Part, result: SampleResult) -> bool:
        """Whether the claims of a text are those that would be taken now."""
        if not self.names_claims or (part in result.unextracted and not says_something(result.sample.text(part) or "")):
            return True
        asked = [(call.judge, call.prompt) for call in result.calls if call.step == "extract" and call.part == part]
        return bool(asked) and all(
            self._settings in (None, self._ids.get(judge)) and self._extract_prompt in (None, prompt)
            for judge, prompt in asked
        )

    def taken_over(self, result: SampleResult, plan: ClaimsJob, saved: ReuseCounts) -> SampleResult:
        """The sample with the claims and verdicts that hold, and the calls that they came from."""
        kept = self.parts(result) & {metric.claims_of for metric in plan.metrics}
        claims = tuple(claim for claim in result.claims if claim.of in kept)
        part = {claim.id: claim.of for claim in claims}
        pairs = {(metric.claims_of, metric.against) for metric in plan.metrics}
        prompts = {pair: plan.prompt(*pair).id for pair in pairs if self._shown_the_same(pair[1], plan)}
        same = _asked_the_same(plan, self._ids, pairs, prompts)

        def kept_of(found: Iterable[Assessment]) -> tuple[Assessment, ...]:
            return tuple(
                a.model_copy(update={"verdicts": verdicts})
                for a in found
                if (of := part.get(a.subject))
                if (verdicts := tuple(v for v in a.verdicts if same(v, (of, a.evidence.part)) and _stands(v, plan)))
            )

        assessments = kept_of(result.assessments)
        saved.extractions += len({claim.of for claim in claims})
        saved.assessments += _calls_for(assessments, part)
        return SampleResult(
            sample=result.sample,
            claims=claims,
            unextracted={part: because for part, because in result.unextracted.items() if part in kept},
            assessments=assessments,
            per_document=kept_of(result.per_document),
            orders=kept_of(a for a in result.orders if (a.evidence.order or 0) <= plan.panel.shuffle_contexts),
            calls=tuple(
                call.model_copy(update={"reused": True})
                for call in result.calls
                if call.part in kept and (call.evidence is None or same(call, (call.part, call.evidence.part)))
            ),
        )

    def _shown_the_same(self, against: Part, plan: ClaimsJob) -> bool:
        """Whether the run showed its judges the documents of a part in the way in which they are to be shown."""
        if self.record is None:
            return False
        return against in ONE_TEXT or plan.panel.per_document == self.record.panel.per_document


def reused(
    result: SampleResult, job: RateJob | GradeJob, before: Mapping[str, str], saved: ReuseCounts
) -> SampleResult:
    """Return the sample with the verdicts on its answer or documents that hold, and the calls that they came from.

    Args:
        result: The sample.
        job: What is asked of it now.
        before: The ids of the judges that gave the verdicts, by name.
        saved: Counts what is taken over.
    """
    prompts = {record.name: record.prompt for record in job.records}
    same = _asked_the_same(job, before, prompts, prompts)
    assessments = tuple(
        a.model_copy(update={"verdicts": tuple(v for v in a.verdicts if same(v, a.question) and _stands(v, job))})
        for a in result.assessments
        if a.question in prompts
    )
    brought = {(v.judge, v.prompt, a.evidence) for a in assessments for v in a.verdicts}
    calls = tuple(
        call.model_copy(update={"reused": True})
        for call in result.calls
        if (call.judge, call.prompt, call.evidence) in brought
    )
    saved.assessments += sum(not call.failed for call in calls)
    return SampleResult(sample=result.sample, assessments=assessments, calls=calls)


K = TypeVar("K")


def _asked_the_same(
    job: ClaimsJob | RateJob | GradeJob,
    before: Mapping[str, str],
    wanted: Container[K],
    prompts: Mapping[K, str | None],
) -> Callable[[Verdict | Call, K], bool]:
    """Return whether a verdict or call answers a question that is wanted as its judge, known by its id before, would be
    asked it now; whoever the job does not ask need not have been asked the same."""
    judges = {judge.name: judge.id for judge in job.judges}

    def same(one: Verdict | Call, question: K) -> bool:
        """Return whether the question is asked again as it was."""
        if one.judge in job.on_record:
            return question in wanted
        asked = before.get(one.judge), one.prompt
        return question in prompts and asked == (judges.get(one.judge), prompts[question])

    return same


def _stands(verdict: Verdict, plan: ClaimsJob | RateJob | GradeJob) -> bool:
    """Whether a verdict is taken over: a failed call is made again, and repeats that are too many are left out."""
    answered = verdict.unassessed is None or verdict.unassessed in ABSTAINED
    return verdict.replicate < plan.panel.replicates and (answered or verdict.judge in plan.on_record)


def _calls_for(assessments: Sequence[Assessment], part: Mapping[str, Part]) -> int:
    """The calls that it would take to ask for these verdicts."""
    claims: dict[tuple[str, int, Part, Evidence], int] = {}
    for assessment in assessments:
        for verdict in assessment.verdicts:
            key = verdict.judge, verdict.replicate, part[assessment.subject], assessment.evidence
            claims[key] = claims.get(key, 0) + 1
    return sum(-(-n // CLAIMS_PER_CALL) for n in claims.values())


def _prompt(step: str, named: str | None, on_record: Sequence[PromptRecord], default: str) -> Prompt:
    """The prompt that is named, else the run's own as it was then, else the default."""
    if named:
        return prompting.load(step, named)
    for p in on_record:
        return Prompt.of(p)
    return prompting.load(step, default)
