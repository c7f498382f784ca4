"""Whole answers rated: what is asked, what the words count, and what becomes of gaps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from claimeval.evaluation.forecast import forecast
from claimeval.evaluation.kinds import Judging
from claimeval.evaluation.rate import PutQuestion, RateJob, RateOptions, count_words, make_job
from claimeval.judging import prompts
from claimeval.judging.panel import Panel
from claimeval.types.errors import DataError, UsageError
from claimeval.types.options import PanelOptions
from claimeval.types.records import Document, Sample, SampleResult
from claimeval.types.requests import Failure, Request
from claimeval.types.scales import ANSWER_QUESTIONS
from tests.sample_runs import reasons, values
from tests.scripted import FAILED, Replies, judge

SAMPLE = Sample(
    id="s",
    question="How high?",
    answer="63 m.",
    contexts=(Document(id="a", text="It is 63 m high."),),
    reference_answers=("63 metres.",),
    generator="openai:gpt-5",
)
ALL = ("relevance", "faithfulness", "correctness")


def says(rating: str, **flags: bool) -> str:
    return json.dumps({"reason": "why", "rating": rating, **flags})


def plan(*ask: str, judges: tuple[str, ...] = ("j0",), **settings: object) -> RateJob:
    asked = [
        PutQuestion(
            question := ANSWER_QUESTIONS[name],
            prompts.load(question.step, question.prompt),
            Panel.model_validate(
                {
                    "vote": "median" if name == "relevance" else "majority",
                    **settings,
                    "scale": question.scale,
                }
            ),
        )
        for name in ask
    ]
    models = {"own": "openai:gpt-5-mini"}
    found = tuple(judge(name, model=models.get(name, f"scripted:{name}")) for name in judges)
    return RateJob(found, tuple(asked))


def calls(made: RateJob) -> tuple[int, int]:
    return asyncio.run(forecast([SAMPLE], made, None)).calls


def rated(
    made: RateJob, *replies: tuple[str | Failure, ...], sample: Sample = SAMPLE
) -> tuple[SampleResult, list[Request]]:
    executor = Replies(
        **dict(zip((one.name for one in made.judges), replies, strict=True)) if replies else {}
    )
    return asyncio.run(made.evaluate(sample, executor)), executor.requests


@pytest.mark.parametrize(("word", "value"), [("fully", 1.0), ("partly", 0.5), ("no", 0.0)])
def test_relevance_counts_by_its_word_and_the_flag_apart(word: str, value: float) -> None:
    row, _ = rated(plan("relevance"), (says(word, noncommittal=True),))
    assert values(row) == {"rated_relevance": value, "noncommittal": 1.0}
    row, _ = rated(plan("relevance"), (says(word, noncommittal=False),))
    assert values(row) == {"rated_relevance": value, "noncommittal": 0.0}


@pytest.mark.parametrize(
    ("ask", "metric"),
    [("faithfulness", "rated_faithfulness"), ("correctness", "rated_correctness")],
)
def test_yes_is_one_and_no_is_zero(ask: str, metric: str) -> None:
    for word, value in (("yes", 1.0), ("no", 0.0)):
        row, _ = rated(plan(ask), (says(word),))
        assert values(row) == {metric: value}
        assert reasons(row) == {}


def test_each_question_shows_what_the_answer_is_held_against() -> None:
    _, requests = rated(plan(*ALL), (says("fully", noncommittal=False), says("yes"), says("yes")))
    relevance, faithful, correct = (request.messages[-1].content for request in requests)
    assert '"63 m."' in relevance
    assert "It is 63 m high." not in relevance
    assert "63 metres." not in relevance
    assert 'd1: "It is 63 m high."' in faithful
    assert "63 metres." not in faithful
    assert 'r1: "63 metres."' in correct
    assert "It is 63 m high." not in correct


@pytest.mark.parametrize(
    "reply", [says("yes and no"), says("maybe"), "yes", '{"rating": true}', says("fully")]
)
def test_a_reply_in_another_form_is_asked_again_and_then_a_hole(reply: str) -> None:
    row, requests = rated(plan("faithfulness"), (reply, says("no")))
    assert values(row) == {"rated_faithfulness": 0.0}
    assert [request.attempt for request in requests] == [0, 1]
    row, _ = rated(plan("faithfulness"), (reply, reply))
    assert (values(row), reasons(row)) == (
        {"rated_faithfulness": None},
        {"rated_faithfulness": "unparsable"},
    )


def test_relevance_without_its_flag_is_no_rating() -> None:
    row, _ = rated(plan("relevance"), (says("fully"), says("fully", noncommittal=False)))
    assert values(row)["rated_relevance"] == 1.0
    row, _ = rated(
        plan("relevance"),
        (says("fully"), json.dumps({"rating": "fully", "noncommittal": "a little"})),
    )
    assert reasons(row) == {"rated_relevance": "unparsable", "noncommittal": "unparsable"}


def test_words_and_flags_are_read_in_other_spellings() -> None:
    row, requests = rated(plan("relevance"), ('Here: {"rating": "Fully", "noncommittal": "No"}',))
    assert values(row) == {"rated_relevance": 1.0, "noncommittal": 0.0}
    assert len(requests) == 1


def test_a_provider_that_fails_leaves_a_hole_and_is_not_asked_again_here() -> None:
    row, requests = rated(plan("faithfulness"), (FAILED,))
    assert reasons(row) == {"rated_faithfulness": "provider_error"}
    assert len(requests) == 1
    (rating,) = row.assessments
    assert (rating.subject, rating.question, rating.unassessed) == (
        "answer",
        "rated_faithfulness",
        "provider_error",
    )
    assert [(v.judge, v.unassessed) for v in rating.verdicts] == [("j0", "provider_error")]
    assert [(call.reply, call.message) for call in row.calls] == [(None, "status 503: overloaded")]


def test_a_judge_that_failed_is_no_vote_and_divided_judges_are_a_tie() -> None:
    judges = ("a", "b", "c")
    row, _ = rated(plan("faithfulness", judges=judges), (says("yes"),), (says("yes"),), (FAILED,))
    assert values(row) == {"rated_faithfulness": 1.0}
    row, _ = rated(plan("faithfulness", judges=judges), (says("yes"),), (says("no"),), (FAILED,))
    assert reasons(row) == {"rated_faithfulness": "tie"}
    row, _ = rated(plan("faithfulness", judges=judges), (says("yes"),), (FAILED,), (FAILED,))
    assert reasons(row) == {"rated_faithfulness": "no_quorum"}


def test_relevance_takes_the_lower_median_and_the_flag_the_majority() -> None:
    said = [("fully", False), ("no", True), ("partly", True)]
    row, _ = rated(
        plan("relevance", judges=("a", "b", "c")), *((says(w, noncommittal=f),) for w, f in said)
    )
    assert values(row) == {"rated_relevance": 0.5, "noncommittal": 1.0}
    row, _ = rated(
        plan("relevance", judges=("a", "b")), *((says(w, noncommittal=f),) for w, f in said[:2])
    )
    assert (values(row)["rated_relevance"], reasons(row)) == (0.0, {"noncommittal": "tie"})


def test_a_conservative_tie_is_noncommittal() -> None:
    made = plan("relevance", judges=("a", "b"), tie="conservative")
    row, _ = rated(made, (says("fully", noncommittal=False),), (says("fully", noncommittal=True),))
    assert values(row) == {"rated_relevance": 1.0, "noncommittal": 1.0}


@pytest.mark.parametrize(
    ("sample", "undefined"),
    [
        (
            SAMPLE.model_copy(update={"answer": None}),
            dict.fromkeys(plan(*ALL).manifest.names, "missing_input"),
        ),
        (SAMPLE.model_copy(update={"contexts": None, "reference_answers": ()}), None),
        (SAMPLE.model_copy(update={"answer": " "}), {"rated_faithfulness": "no_claims"}),
    ],
)
def test_what_a_sample_cannot_feed_is_not_asked(
    sample: Sample, undefined: dict[str, str] | None
) -> None:
    replies = () if undefined else ((says("fully", noncommittal=False),),)
    row, _ = rated(plan(*ALL), *replies, sample=sample)
    assert reasons(row) == (
        undefined or dict.fromkeys(("rated_faithfulness", "rated_correctness"), "missing_input")
    )


def test_an_answer_after_which_nothing_was_retrieved_is_rated_all_the_same() -> None:
    row, [request] = rated(
        plan("faithfulness"), (says("no"),), sample=SAMPLE.model_copy(update={"contexts": ()})
    )
    assert values(row) == {"rated_faithfulness": 0.0}
    assert "<evidence>\n</evidence>" in request.messages[-1].content


@pytest.mark.parametrize("answer", ["", "..."])
def test_an_empty_answer_is_irrelevant_noncommittal_and_incorrect_without_a_call(
    answer: str,
) -> None:
    row, requests = rated(plan(*ALL), sample=SAMPLE.model_copy(update={"answer": answer}))
    assert requests == []
    assert values(row) == {
        "rated_relevance": 0.0,
        "noncommittal": 1.0,
        "rated_faithfulness": None,
        "rated_correctness": 0.0,
    }


def test_a_judge_of_the_answers_family_is_left_alone_where_that_is_said() -> None:
    made = plan("faithfulness", judges=("own", "other"), on_same_family="skip")
    row, requests = rated(made, (), (says("no"),))
    assert values(row) == {"rated_faithfulness": 0.0}
    assert [request.judge.name for request in requests] == ["other"]
    assert calls(made) == (1, 1)
    made = plan("faithfulness", judges=("own", "other"), on_same_family="no-vote")
    row, requests = rated(made, (says("yes"),), (says("no"),))
    assert (values(row), len(requests)) == ({"rated_faithfulness": 0.0}, 2)


def test_replicates_are_asked_one_by_one_and_are_one_vote() -> None:
    row, requests = rated(
        plan("faithfulness", replicates=3), (says("yes"), says("no"), says("yes"))
    )
    assert values(row) == {"rated_faithfulness": 1.0}
    assert sorted(request.replicate for request in requests) == [0, 1, 2]


def test_ratings_are_voted_on_with_weights() -> None:
    made = plan("faithfulness", judges=("a", "b"), vote="weighted", weights={"a": 0.5, "b": 2.0})
    row, _ = rated(made, (says("yes"),), (says("no"),))
    assert values(row) == {"rated_faithfulness": 0.0}


def asked(samples: Sequence[Sample], *ask: str) -> list[str]:
    job = make_job(Judging(["openai:m"]), RateOptions(ask=ask or None), samples)
    return [put.question.name for put in job.questions]


def test_questions_that_no_sample_can_feed_are_left_out_unless_they_are_named() -> None:
    bare = SAMPLE.model_copy(update={"reference_answers": ()})
    assert asked([SAMPLE]) == list(ALL)
    assert asked([bare]) == ["relevance", "faithfulness"]
    assert asked([bare.model_copy(update={"is_answerable": True})]) == [
        "relevance",
        "faithfulness",
        "abstention",
    ]
    assert asked([bare], "abstention") == ["abstention"]
    with pytest.raises(UsageError, match="'correctness' needs: an answer and reference"):
        asked([bare], "faithfulness", "correctness")
    with pytest.raises(UsageError, match="no sample has an answer"):
        asked([SAMPLE.model_copy(update={"answer": None})])
    with pytest.raises(DataError, match="Duplicate sample id"):
        asked([SAMPLE, SAMPLE])
    with pytest.raises(DataError, match="no samples"):
        asked([])


@pytest.mark.parametrize(
    ("judges", "ask", "settings", "message"),
    [
        (["local:lexical"], ALL, {}, "cannot answer relevance, correctness; name a language model"),
        (["openai:m"], ("faithfull",), {}, "Did you mean 'faithfulness'"),
        (["openai:m"], (), {}, "name what to ask"),
        (["openai:m"], ALL, {"quorum": 2}, "can never be met"),
    ],
)
def test_what_cannot_rate_is_refused_before_any_call(
    judges: list[str], ask: tuple[str, ...], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        make_job(Judging(judges, PanelOptions(**settings)), RateOptions(ask=ask), [SAMPLE])


def test_judges_of_the_answers_family_can_be_an_error() -> None:
    judging = Judging(["openai:gpt-5-mini"], PanelOptions(on_same_family="error"))
    with pytest.raises(UsageError, match="is of the family of 'openai:gpt-5'"):
        make_job(judging, RateOptions(), [SAMPLE])


def test_the_words_are_counted() -> None:
    made = plan("relevance", "faithfulness")
    results = [
        rated(made, (says("fully", noncommittal=False), says("no")))[0],
        rated(made, (says("partly", noncommittal=True), FAILED))[0],
    ]
    assert count_words(results, made.manifest) == {
        "rated_relevance": {"fully": 1, "partly": 1, "no": 0, "noncommittal": 1},
        "rated_faithfulness": {"yes": 0, "no": 1},
    }
