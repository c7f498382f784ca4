"""One question about one answer: every judge is asked, and the panel votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue

from claimeval.evaluation.ask import ask_until_read
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import panel, rate
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt
from claimeval.judging.replies import Rating
from claimeval.types.answer_questions import AnswerQuestion
from claimeval.types.families import Families
from claimeval.types.records import ASKED, Assessment, Evidence, Sample, Verdict
from claimeval.types.requests import Failure, Judge


class Asked(NamedTuple):
    """A question with its prompt and how the opinions on it are counted."""

    question: AnswerQuestion
    prompt: Prompt
    panel: Panel


class Opinion(NamedTuple):
    """What one judge said about one answer."""

    verdict: Verdict
    rating: Rating | None
    """None where it gave none; the verdict says why."""
    reply: str | None
    """Its last words as they came."""


class Opinions(NamedTuple):
    """What all judges said about one answer."""

    said: tuple[Opinion, ...]
    asked: Asked
    same_family: frozenset[str]
    """The judges of the family that wrote the answer."""

    @property
    def vote(self) -> Assessment:
        """The panel's label, and its grade where the panel votes for grades."""
        return self._vote([one.verdict for one in self.said], self.asked.panel)

    def vote_on(self, flag: str) -> Assessment:
        """The majority on a flag among those who gave a rating: `not_found` where it is raised, else `supported`."""
        verdicts = [
            one.verdict.model_copy(
                update={"label": "not_found" if flag in one.rating.flags else "supported", "grade": None}
            )
            if one.rating
            else one.verdict
            for one in self.said
        ]
        return self._vote(verdicts, self.asked.panel.model_copy(update={"vote": "majority", "grades": None}))

    def _vote(self, verdicts: Sequence[Verdict], settings: Panel) -> Assessment:
        evidence = Evidence(part=self.asked.question.against or ASKED)
        return panel.vote("answer", evidence, verdicts, settings, same_family=self.same_family)

    @property
    def details(self) -> list[JsonValue]:
        """What each judge said, for the row of the sample."""
        return [_details(one, self.asked.question) for one in self.said]


def _details(one: Opinion, question: AnswerQuestion) -> JsonValue:
    said: dict[str, JsonValue] = {"judge": one.verdict.judge, question.field: one.rating.word if one.rating else None}
    if one.rating:
        said |= {flag: flag in one.rating.flags for flag in question.flags}
    else:
        said["failed_because"] = one.verdict.unassessed_because
    return said | {"reason": one.verdict.reason, "reply": one.reply}


async def opinions(
    sample: Sample, asked: Asked, judges: Sequence[Judge], families: Families, executor: Executor
) -> Opinions:
    """Asks every judge, as often as the panel says; where the answer's family is excluded, its judges are not asked."""
    own = families.own(((judge.name, judge.model) for judge in judges), sample.generator)
    excluded = own if asked.panel.on_same_family == "exclude" else frozenset()
    said: list[Opinion] = await gather_all(
        [
            _excluded(judge, n) if judge.name in excluded else _opinion(sample, asked, judge, n, executor)
            for judge in judges
            for n in range(asked.panel.replicates)
        ]
    )
    return Opinions(tuple(said), asked, own)


async def _excluded(judge: Judge, replicate: int) -> Opinion:
    verdict = Verdict(
        claim_id="answer",
        judge=judge.name,
        label="unassessed",
        unassessed_because="same_family",
        replicate=replicate,
    )
    return Opinion(verdict, None, None)


async def _opinion(sample: Sample, asked: Asked, judge: Judge, replicate: int, executor: Executor) -> Opinion:
    question, prompt = asked.question, asked.prompt
    heard = await ask_until_read(
        prompt.step,
        lambda attempt: rate.ask(prompt, judge, question, sample, attempt=attempt, replicate=replicate),
        lambda completion, request: rate.read(completion, request, question),
        executor,
        part="answer",
        about=sample.id,
    )
    said = heard.said
    if isinstance(said, Failure):
        hole = Verdict(
            claim_id="answer",
            judge=judge.name,
            label="unassessed",
            unassessed_because=said.reason,
            replicate=replicate,
            reason=said.message,
        )
        return Opinion(hole, None, heard.reply)
    grade, label = question.scale.grade(said.word), question.scale.label(said.word)
    assert label is not None, "a reply is read by the words of its scale"
    verdict = Verdict(
        claim_id="answer",
        judge=judge.name,
        label=label,
        grade=grade,
        replicate=replicate,
        reason=said.reason,
    )
    return Opinion(verdict, said, heard.reply)
