"""Which judge is asked what: repeats, escalation, judges of the generator's family, verdicts that
are known."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from claimeval.evaluation.claims import ClaimsJob
from claimeval.judging.panel import Panel
from claimeval.testing import claims_reply, verdicts_reply
from claimeval.types.records import Document, Sample, SampleResult
from claimeval.types.requests import AssessTask
from tests.scripted import FAILED, Scripted, judge, plan

CLAIMS = ["The museum opened in 1901.", "It has nine rooms.", "Entry costs 12 euros."]
SAMPLE = Sample(
    id="s1",
    question="What should I know about the museum?",
    answer=" ".join(CLAIMS),
    contexts=(Document(id="page-1", text="About the museum."),),
)
THREE = [judge("one"), judge("two"), judge("three")]
EXTRACTED = [claims_reply(*CLAIMS)]


def said(marks: str) -> str:
    return verdicts_reply(
        [{"+": "supported", "0": "not_found", "-": "contradicted"}[mark] for mark in marks]
    )


def run(
    executor: Scripted,
    settings: Panel,
    judges: Sequence[Any] = THREE,
    item: Sample | SampleResult = SAMPLE,
) -> SampleResult:
    asked: ClaimsJob = replace(plan("faithfulness", judges=judges), panel=settings)
    result = asyncio.run(asked.evaluate(item, executor))
    assert executor.left == 0, "every scripted answer is asked for"
    return result


def questions(executor: Scripted) -> list[tuple[str, int, list[str]]]:
    """Judge, replicate and claims of every assessment that was asked for."""
    return [
        (request.judge.name, request.replicate, [claim.id for claim in request.task.claims])
        for request in executor.requests
        if isinstance(request.task, AssessTask)
    ]


def test_every_repeat_is_a_question_of_its_own() -> None:
    executor = Scripted(EXTRACTED, [said("+++"), said("++0"), said("+00")])
    result = run(executor, Panel(replicates=3), [judge("one")])
    assert [(name, n) for name, n, _ in questions(executor)] == [("one", 0), ("one", 1), ("one", 2)]
    assert len({request.key for request in executor.requests}) == 4
    assert [a.label for a in result.assessments] == ["supported", "supported", "not_found"]
    assert [a.probability for a in result.assessments] == [1.0, 2 / 3, 1 / 3]
    assert [v.replicate for v in result.assessments[0].verdicts] == [0, 1, 2]


def test_a_repeat_that_fails_leaves_the_others() -> None:
    result = run(
        Scripted(EXTRACTED, [said("+++"), FAILED, said("+0+")]), Panel(replicates=3), [judge("one")]
    )
    assert [a.label for a in result.assessments] == ["supported", None, "supported"]
    assert [v.unassessed for v in result.assessments[0].verdicts] == [None, "provider_error", None]


def test_an_outage_of_one_judge_leaves_the_vote_to_the_others() -> None:
    result = run(Scripted(EXTRACTED, [said("++0"), FAILED, said("+00")]), Panel())
    assert [(a.label, a.unassessed) for a in result.assessments] == [
        ("supported", None),
        (None, "tie"),
        ("not_found", None),
    ]


OWN = [judge("one", model="openai:gpt-5"), judge("two"), judge("three")]
BY_GPT = SAMPLE.model_copy(update={"generator": "openai:gpt-4o"})


def test_a_judge_of_the_generators_family_is_not_asked_when_excluded() -> None:
    executor = Scripted(EXTRACTED, [said("+0+"), said("+00")])
    result = run(executor, Panel(on_same_family="skip", quorum=2), OWN, BY_GPT)
    assert [name for name, _, _ in questions(executor)] == ["two", "three"]
    excluded = [v for v in result.assessments[0].verdicts if v.judge == "one"]
    assert [v.unassessed for v in excluded] == ["same_family"]
    assert result.assessments[1].label == "not_found"


def test_it_is_asked_about_answers_of_others() -> None:
    other = SAMPLE.model_copy(update={"generator": "mistral:mistral-small"})
    executor = Scripted(EXTRACTED, [said("+++")] * 3)
    run(executor, Panel(on_same_family="skip"), OWN, other)
    assert len(questions(executor)) == 3


def test_its_verdicts_may_be_kept_without_a_vote() -> None:
    executor = Scripted(EXTRACTED, [said("+++"), said("000"), said("00+")])
    result = run(executor, Panel(vote="any", on_same_family="no-vote"), OWN, BY_GPT)
    assert [a.label for a in result.assessments] == ["not_found", "not_found", "supported"]


def test_the_family_of_the_generator_does_not_matter_where_its_answer_is_not_judged() -> None:
    sample = BY_GPT.model_copy(update={"reference_answers": ("It opened in 1901.",)})
    executor = Scripted([claims_reply("It opened in 1901.")], [said("+")] * 3)
    asked = replace(plan("context_recall", judges=OWN), panel=Panel(on_same_family="skip"))
    asyncio.run(asked.evaluate(sample, executor))
    assert executor.left == 0


def test_claims_and_verdicts_of_an_earlier_result_are_not_asked_for_again() -> None:
    earlier = run(Scripted(EXTRACTED, [said("+0-")]), Panel(), [judge("one")])
    executor = Scripted([], [said("+00"), said("+0+")])
    result = run(executor, Panel(), item=earlier)
    assert [name for name, _, _ in questions(executor)] == ["two", "three"]
    assert [v.judge for v in result.assessments[0].verdicts] == ["one", "two", "three"]
    assert [a.label for a in result.assessments[:2]] == ["supported", "not_found"]
    assert [call.judge for call in result.calls] == ["extractor", "one", "two", "three"]


def test_a_failed_extraction_of_an_earlier_result_is_asked_for_again() -> None:
    earlier = run(Scripted([FAILED]), Panel(), [judge("one")])
    result = run(Scripted(EXTRACTED, [said("+++")]), Panel(), [judge("one")], item=earlier)
    assert result["faithfulness"].value == 1.0
