"""One question about one answer: every judge is asked, and the panel votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import JsonValue

from claimeval.evaluation.ask import CallAddress
from claimeval.evaluation.judgment import JudgedSubjects, JudgingContext, judge
from claimeval.execution import Executor
from claimeval.judging import panel, rate
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt
from claimeval.judging.rate import RatingVerdict
from claimeval.judging.replies import Reading
from claimeval.types.answer_questions import AnswerQuestion
from claimeval.types.families import Families
from claimeval.types.records import ASKED, Assessment, Evidence, Sample, Verdict
from claimeval.types.requests import Completion, Judge, Request


class Asked(NamedTuple):
    """A question with its prompt and how the opinions on it are counted."""

    question: AnswerQuestion
    prompt: Prompt
    panel: Panel


class _WholeAnswer(NamedTuple):
    """The answer of a sample as the subject of a question."""

    id: str = "answer"


@dataclass(frozen=True)
class RatingQuestion:
    """What a judge is asked about the whole answer of a sample."""

    sample: Sample
    asked: Asked
    per_call = 1
    singles = ()

    @property
    def prompt(self) -> Prompt:
        """What judges are asked with."""
        return self.asked.prompt

    @property
    def address(self) -> CallAddress:
        """Step and part that calls are recorded under."""
        return CallAddress(self.prompt.step, "answer")

    @property
    def evidence(self) -> Evidence:
        """What the answer is held against besides its question."""
        return Evidence(part=self.asked.question.against or ASKED)

    def concerns(self, judge: Judge, subject: _WholeAnswer) -> bool:
        """Every judge is asked."""
        return True

    def ask(
        self, judge: Judge, subjects: Sequence[_WholeAnswer], evidence: Evidence, *, attempt: int, replicate: int
    ) -> Request:
        """Return the request for verdicts on the answer."""
        return rate.ask(self.prompt, judge, self.asked.question, self.sample, attempt=attempt, replicate=replicate)

    def read(self, completion: Completion, request: Request, subjects: Sequence[_WholeAnswer]) -> Reading[Verdict]:
        """Read the verdicts on the answer."""
        return rate.read(completion, request, self.asked.question, subjects[0].id)


class Opinions(NamedTuple):
    """What all judges said about one answer."""

    judged: JudgedSubjects
    asked: Asked
    same_family: frozenset[str]
    """The judges of the family that wrote the answer."""

    @property
    def vote(self) -> Assessment:
        """The panel's label, and its grade where the panel votes for grades."""
        return self.judged.assessments[0]

    def vote_on(self, flag: str) -> Assessment:
        """The majority on a flag among those who gave a rating: `not_found` where it is raised, else `supported`."""
        verdicts = [
            verdict.model_copy(update={"label": "not_found" if flag in verdict.flags else "supported", "grade": None})
            if isinstance(verdict, RatingVerdict)
            else verdict
            for verdict in self.vote.verdicts
        ]
        settings = self.asked.panel.model_copy(update={"vote": "majority", "grades": None})
        return panel.vote(self.vote.subject, self.vote.evidence, verdicts, settings, same_family=self.same_family)

    @property
    def details(self) -> list[JsonValue]:
        """What each judge said, for the row of the sample."""
        return [self._details(verdict) for verdict in self.vote.verdicts]

    def _details(self, verdict: Verdict) -> JsonValue:
        question, replicate = self.asked.question, (verdict.judge, verdict.replicate)
        calls = [call for call in self.judged.calls if (call.judge, call.replicate) == replicate]
        said: dict[str, JsonValue] = {"judge": verdict.judge, question.field: None}
        reason, reply = verdict.explanation, calls[-1].reply if calls else None
        if isinstance(verdict, RatingVerdict) and verdict.grade is not None:
            said[question.field] = question.scale.word(verdict.grade)
            said |= {flag: flag in verdict.flags for flag in question.flags}
        else:
            said["failed_because"] = verdict.unassessed
            reason = calls[-1].message if calls else None
        return said | {"reason": reason, "reply": reply}


async def opinions(
    sample: Sample, asked: Asked, judges: tuple[Judge, ...], families: Families, executor: Executor
) -> Opinions:
    """Ask every judge and vote; where the answer's family is excluded, its judges are not asked."""
    own = families.same_family_judges(((judge.name, judge.model) for judge in judges), sample.generator)
    context = JudgingContext(judges, asked.panel, executor, own)
    return Opinions(await judge(RatingQuestion(sample, asked), [_WholeAnswer()], context), asked, own)
