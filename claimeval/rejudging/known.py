"""What an earlier run knows that still holds: claims, and verdicts of judges who would be asked the same again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from claimeval import prompting
from claimeval.assessing import ONE_TEXT
from claimeval.calls import Judge
from claimeval.metrics import ClaimMetric
from claimeval.panel import Panel
from claimeval.plan import Plan
from claimeval.prompting import Prompt
from claimeval.records import ABSTAINED, ASKED, Assessment, Evidence, Part, SampleResult, Verdict
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

    def asked_as(self, settings: Mapping[str, Any]) -> bool:
        """Whether judges asked so would be asked nothing new."""
        if self._record is None:
            return False
        return self.shown_as(settings) and settings.get("replicates", 1) <= self._record.panel.replicates

    def shown_as(self, settings: Mapping[str, Any]) -> bool:
        """Whether the run showed its judges the documents in all the ways in which they are to be shown."""
        before = self._record.panel if self._record else Panel()
        per_document: bool = settings.get("per_document", before.per_document)
        shuffles: int = settings.get("shuffles", 0)
        return per_document == before.per_document and shuffles <= before.shuffles

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
        same = {pair for pair in pairs if self._asked_the_same(*pair, plan)}

        def holds(judge: str, of: Part, evidence: Evidence) -> bool:
            wanted = pairs if judge in plan.on_record else same
            return judge in judges and (of, evidence.part) in wanted

        def kept_of(found: Iterable[Assessment]) -> tuple[Assessment, ...]:
            return tuple(
                a.model_copy(update={"verdicts": verdicts})
                for a in found
                if (of := part.get(a.claim_id))
                if (verdicts := tuple(v for v in a.verdicts if holds(v.judge, of, a.evidence) and _stands(v, plan)))
            )

        assessments = kept_of(result.assessments)
        cells = kept_of(cell for cell in result.cells if _wanted(cell, plan))
        saved.extractions += sum(bool(extraction.claims) for extraction in extractions)
        saved.assessments += _calls_for(assessments, part)
        return SampleResult(
            sample=result.sample,
            extractions=extractions,
            assessments=assessments,
            cells=cells,
            calls=tuple(
                call.model_copy(update={"reused": True})
                for call in result.calls
                if call.part in kept and (call.evidence is None or holds(call.judge, call.part, call.evidence))
            ),
        )

    def _asked_the_same(self, of: Part, against: Part, plan: Plan) -> bool:
        """Whether the run asked the same of the claims of a part against a text, apart from who was asked."""
        if self._record is None:
            return False
        if against == ASKED:
            return _was(plan.prompt(of, against), self._record)
        return against in ONE_TEXT or plan.panel.per_document == self._record.panel.per_document

    def _would_be_asked_the_same(self, judge: Judge, plan: Plan) -> bool:
        before = self.own.get(judge.name)
        return before is not None and (judge.name in plan.on_record or (self.same_prompt and _same(judge, before)))


def _wanted(cell: Assessment, plan: Plan) -> bool:
    """Whether a cell is of a single document, or of an order that is still asked about."""
    return cell.evidence.order is None or cell.evidence.order <= plan.panel.shuffles


def _stands(verdict: Verdict, plan: Plan) -> bool:
    """Whether a verdict is taken over: a failed call is made again, and repeats that are too many are left out."""
    answered = verdict.unassessed_because is None or verdict.unassessed_because in ABSTAINED
    return verdict.replicate < plan.panel.replicates and (answered or verdict.judge in plan.on_record)


def _calls_for(assessments: Sequence[Assessment], part: Mapping[str, Part]) -> int:
    """The calls that it would take to ask for these verdicts."""
    claims: dict[tuple[str, int, Part, Evidence], int] = {}
    for assessment in assessments:
        for verdict in assessment.verdicts:
            key = verdict.judge, verdict.replicate, part[assessment.claim_id], assessment.evidence
            claims[key] = claims.get(key, 0) + 1
    return sum(-(-n // CLAIMS_PER_CALL) for n in claims.values())


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
