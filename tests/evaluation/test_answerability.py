"""Refusals told apart from answers, and held against what can be answered."""

from __future__ import annotations

import asyncio
import json

import pytest

from claimeval.evaluation.kinds import Judging
from claimeval.evaluation.rate import PutQuestion, RateJob, RateOptions, make_job, outcomes
from claimeval.judging import prompts
from claimeval.judging.panel import Panel
from claimeval.types.errors import UsageError
from claimeval.types.records import Sample, SampleResult, Score
from claimeval.types.requests import Failure
from claimeval.types.scales import ABSTENTION
from tests.sample_runs import reasons, values
from tests.scripted import FAILED, Replies, judge


def kind(word: str) -> str:
    return json.dumps({"reason": "why", "kind": word})


def sort(
    *replies: str | Failure,
    answer: str | None = "A.",
    is_answerable: bool | None = True,
    judges: int = 1,
) -> tuple[SampleResult, int]:
    asked = PutQuestion(
        ABSTENTION, prompts.load("answering", "plain"), Panel(scale=ABSTENTION.scale)
    )
    job = RateJob(tuple(judge(str(n)) for n in range(judges)), (asked,))
    executor = Replies(*replies)
    sample = Sample(id="s", question="Q?", answer=answer, is_answerable=is_answerable)
    return asyncio.run(job.evaluate(sample, executor)), len(executor.requests)


@pytest.mark.parametrize(
    ("word", "is_answerable", "answered", "right"),
    [
        ("answers", True, 1.0, 1.0),
        ("partly", True, 1.0, 1.0),
        ("declines", True, 0.0, 0.0),
        ("answers", False, 1.0, 0.0),
        ("declines", False, 0.0, 1.0),
    ],
)
def test_answering_is_right_where_the_question_can_be_answered(
    word: str, is_answerable: bool, answered: float, right: float
) -> None:
    row, _ = sort(kind(word), is_answerable=is_answerable)
    assert values(row) == {"answered": answered, "abstention_accuracy": right}


def test_without_is_answerable_only_the_share_of_answers_is_known() -> None:
    row, _ = sort(kind("answers"), is_answerable=None)
    assert values(row) == {"answered": 1.0, "abstention_accuracy": None}
    assert reasons(row) == {"abstention_accuracy": "missing_input"}


def test_an_empty_answer_declines_without_a_call_and_none_has_no_value() -> None:
    row, calls = sort(answer=" ", is_answerable=False)
    assert (values(row)["abstention_accuracy"], calls) == (1.0, 0)
    row, calls = sort(answer=None)
    assert (values(row)["answered"], reasons(row)["answered"], calls) == (None, "missing_input", 0)


def test_an_unknown_kind_is_asked_again_and_then_a_hole() -> None:
    row, calls = sort(kind("refuses"), kind("answers"))
    assert (values(row)["answered"], calls) == (1.0, 2)
    row, calls = sort(kind("refuses"), "It declines.")
    assert (values(row)["answered"], reasons(row)["answered"], calls) == (None, "unparsable", 2)
    row, calls = sort(FAILED)
    assert (reasons(row)["answered"], calls) == ("provider_error", 1)


def test_judges_who_are_divided_are_a_tie() -> None:
    row, _ = sort(kind("answers"), kind("declines"), judges=2)
    assert reasons(row)["answered"] == "tie"
    row, _ = sort(kind("partly"), kind("declines"), kind("answers"), judges=3)
    assert values(row)["answered"] == 1.0


def test_the_four_outcomes_are_counted() -> None:
    samples = [Sample(id=str(i), question="Q", answer="A", is_answerable=i < 2) for i in range(3)]
    results = [
        SampleResult.of(s, scores={"answered": Score.share(v, because=None if v else "tie")})
        for s, v in zip(samples, (1.0, 0.0, None), strict=True)
    ]
    assert outcomes(results) == {
        "answerable_answered": 1,
        "answerable_declined": 1,
        "unanswerable_answered": 0,
        "unanswerable_declined": 0,
    }


def test_local_judges_cannot_sort_answers() -> None:
    with pytest.raises(UsageError, match="cannot answer abstention; name a language model"):
        make_job(
            Judging(["local:lexical"]),
            RateOptions(ask=["abstention"]),
            [Sample(id="s", question="Q", answer="A")],
        )
