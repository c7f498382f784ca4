"""What an earlier run knows that still holds: claims, and verdicts of judges who would be asked the same again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from claimeval import prompting
from claimeval.calls import Judge
from claimeval.metrics import ClaimMetric
from claimeval.pipeline import Plan
from claimeval.prompting import Prompt
from claimeval.records import ABSTAINED, Assessment, Call, Part, SampleResult, Verdict
from claimeval.run import Manifest
from claimeval.steps.assess import CLAIMS_PER_CALL


class Saved:
    """Calls that are not made because their results are taken over, counted as the samples pass."""

    def __init__(self) -> None:
        self.extractions = 0
        self.assessments = 0

    @property
    def calls(self) -> int:
        return self.extractions + self.assessments


class Known:
    """Which claims and verdicts of a run hold under another extractor, other prompts and other judges."""

    def __init__(
        self,
        record: Manifest | None,
        *,
        extractor: Judge | None,
        extract_prompt: str | None,
        assess_prompt: str | None,
        defaults: tuple[str, str],
    ) -> None:
        """`extractor` and prompts are None where they shall be the run's; `defaults` are prompts for runs without."""
        self._record = record
        self.extractor = extractor
        self.extract_prompt = _prompt("extract", extract_prompt, record, defaults[0])
        self.assess_prompt = _prompt("assess", assess_prompt, record, defaults[1])
        self.own = {judge.name: judge for judge in record.judges} if record else {}
        other = extractor is not None and record is not None and not _same(extractor, record.extractor)
        self.claims_hold = (
            record is not None and not other and (not extract_prompt or _was(self.extract_prompt, record))
        )
        self.same_prompt = record is not None and (not assess_prompt or _was(self.assess_prompt, record))

    @property
    def extractor_on_record(self) -> Judge:
        """Who took the claims that are taken over."""
        assert self._record is not None, "claims are taken over from a run"
        return self._record.extractor

    def has(self, metrics: Sequence[ClaimMetric]) -> bool:
        """Whether the run assessed all that these metrics need."""
        before = {(m.claims_of, m.against) for m in self._record.metrics} if self._record else set()
        return all((metric.claims_of, metric.against) in before for metric in metrics)

    def parts(self, result: SampleResult) -> set[Part]:
        """The parts of a sample whose claims hold."""
        return {e.of for e in result.extractions if not e.failed_because} if self.claims_hold else set()

    def taken_over(self, result: SampleResult, plan: Plan, saved: Saved) -> SampleResult:
        """The sample with the claims and verdicts that hold, and the calls that they came from."""
        kept = self.parts(result) & {metric.claims_of for metric in plan.metrics}
        extractions = tuple(e for e in result.extractions if e.of in kept)
        judges = {judge.name for judge in plan.judges if self._would_be_asked_the_same(judge, plan)}
        part = {claim.id: claim.of for extraction in extractions for claim in extraction.claims}
        pairs = {(metric.claims_of, metric.against) for metric in plan.metrics}
        assessments = tuple(
            a.model_copy(update={"verdicts": verdicts})
            for a in result.assessments
            if a.claim_id in part and (part[a.claim_id], a.against) in pairs
            if (verdicts := tuple(v for v in a.verdicts if v.judge in judges and _stands(v, plan)))
        )
        saved.extractions += sum(bool(extraction.claims) for extraction in extractions)
        saved.assessments += _calls_for(assessments, part)
        return SampleResult(
            sample=result.sample,
            extractions=extractions,
            assessments=assessments,
            calls=tuple(
                call.model_copy(update={"reused": True}) for call in result.calls if _belongs(call, kept, judges, pairs)
            ),
        )

    def _would_be_asked_the_same(self, judge: Judge, plan: Plan) -> bool:
        before = self.own.get(judge.name)
        return before is not None and (judge.name in plan.on_record or (self.same_prompt and _same(judge, before)))


def _stands(verdict: Verdict, plan: Plan) -> bool:
    """Whether a verdict is taken over: a failed call is made again, and repeats that are too many are left out."""
    answered = verdict.unassessed_because is None or verdict.unassessed_because in ABSTAINED
    return verdict.replicate < plan.panel.replicates and (answered or verdict.judge in plan.on_record)


def _calls_for(assessments: Sequence[Assessment], part: Mapping[str, Part]) -> int:
    """The calls that it would take to ask for these verdicts."""
    claims: dict[tuple[str, int, Part, Part], int] = {}
    for assessment in assessments:
        for verdict in assessment.verdicts:
            key = verdict.judge, verdict.replicate, part[assessment.claim_id], assessment.against
            claims[key] = claims.get(key, 0) + 1
    return sum(-(-n // CLAIMS_PER_CALL) for n in claims.values())


def _belongs(call: Call, kept: set[Part], judges: set[str], pairs: set[tuple[Part, Part]]) -> bool:
    """Whether something that is taken over came from this call."""
    if call.step == "extract":
        return call.part in kept
    return call.judge in judges and call.part in kept and (call.part, call.against) in pairs


def _prompt(step: str, named: str | None, record: Manifest | None, default: str) -> Prompt:
    """The prompt that is named, else the run's own as it was then, else the default."""
    if named:
        return prompting.load(step, named)
    for p in record.prompts if record else ():
        if p.step == step:
            return Prompt(p.name, p.step, p.source, p.parameters)
    return prompting.load(step, default)


def _was(prompt: Prompt, record: Manifest) -> bool:
    """Whether the run used this prompt with these parameters."""
    return any(p.digest == prompt.digest and p.parameters == prompt.parameters for p in record.prompts)


def _same(one: Judge, other: Judge) -> bool:
    """Whether two judges give the same answers: all settings but the name and where the key is kept."""
    ignored = {"name": "", "key_variable": None}
    return one.model_copy(update=ignored) == other.model_copy(update=ignored)
