"""Grades of documents: what is asked, what is read, and what becomes of gaps."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from claimeval.data.test_collections import relevance_scale
from claimeval.evaluation.grade import GradeJob, GradingOptions, make_job, pool, survey
from claimeval.judging import grade as rate
from claimeval.judging import prompts
from claimeval.judging.panel import Panel
from claimeval.judging.reply_values import ParsedReply
from claimeval.types.errors import DataError, PromptError, UsageError
from claimeval.types.options import PanelOptions
from claimeval.types.records import Call, Document, ReadVerdict, Sample, Verdict
from claimeval.types.requests import Judge
from claimeval.types.scales import RELEVANCE_SCALES, UMBRELA, Scale
from tests.scripted import FAILED, Replies, completion, judge

DOCUMENTS = (Document(id="a", text="About A."), Document(id="b", text="About B.", title="B"))
PROMPT = prompts.load("rate", "steps")


def grades(*entries: tuple[str, object]) -> str:
    return json.dumps(
        {"grades": [{"id": name, "grade": said, "reason": "why"} for name, said in entries]}
    )


def read(text: str) -> ParsedReply[tuple[ReadVerdict, ...]]:
    request = rate.ask(PROMPT, judge(), "Q?", DOCUMENTS, UMBRELA)
    return rate.read(completion(text), request, DOCUMENTS, UMBRELA)


def test_grades_are_read_by_id_with_their_reasons() -> None:
    reading = read(grades(("d2", 0), ("d1", 3)))
    found = {name: (v.label, v.support, v.explanation) for name, (v,) in reading.values.items()}
    assert found == {"b": ("0", "not_found", "why"), "a": ("3", "supported", "why")}
    assert reading.values.keys() == {"a", "b"}
    assert reading.failure is None


@pytest.mark.parametrize("said", [4, -1, 2.5, "2.5", "4", True, None, "relevant"])
def test_what_is_no_grade_of_the_scale_is_no_grade(said: object) -> None:
    reading = read(grades(("d1", said), ("d2", 1)))
    assert list(reading.values) == ["b"]
    assert reading.lack("a").reason == "unparsable"


@pytest.mark.parametrize("said", [2, "2", 2.0, " 2 "])
def test_a_grade_is_read_from_its_spellings(said: object) -> None:
    assert {
        name: v.label for name, (v,) in read(grades(("D1", said), ("2", 1))).values.items()
    } == {"a": "2", "b": "1"}


def test_what_is_wrong_with_a_grade_is_said() -> None:
    assert (
        read(grades(("d1", 7), ("d2", 2.5))).message
        == "a: grade 7 is off the scale 0 to 3; b: grade 2.5 is no whole number"
    )


def test_two_grades_for_one_document_are_none_unless_they_are_the_same() -> None:
    assert read(grades(("d1", 1), ("d1", 2), ("d2", 2))).values.keys() == {"b"}
    assert read(grades(("d1", 1), ("d1", 1), ("d2", 2))).values.keys() == {"a", "b"}


@pytest.mark.parametrize("text", ["3", "##final score: 3", '{"grades": 3}', grades(("d9", 1))])
def test_a_reply_in_another_form_is_a_failure_and_no_grade(text: str) -> None:
    reading = read(text)
    assert reading.failure
    assert reading.failure.reason == "unparsable"
    assert not reading.values


@pytest.mark.parametrize("scale", RELEVANCE_SCALES.values(), ids=RELEVANCE_SCALES)
@pytest.mark.parametrize("name", prompts.shipped("rate"))
def test_every_prompt_shows_every_grade_of_every_scale(scale: Scale, name: str) -> None:
    text = (
        rate.ask(prompts.load("rate", name), judge(), "Q?", DOCUMENTS, scale).messages[-1].content
    )
    for number, meaning in enumerate(scale.meanings):
        assert f"- {number}: {meaning}" in text
    assert 'd2: "B\\nAbout B."' in text


def test_a_prompt_for_grades_must_ask_for_json(tmp_path: Path) -> None:
    path = tmp_path / "mine.j2"
    path.write_text(
        prompts.shipped("rate")["rate/plain"].read_text().replace("reply: json", "reply: bullets")
    )
    with pytest.raises(PromptError, match="a rate prompt asks for replies of the form json"):
        prompts.load("rate", str(path))


def plan(*judges: str, **settings: object) -> GradeJob:
    panel = Panel.model_validate({"vote": "median", "scale": UMBRELA, **settings})
    return GradeJob(tuple(judge(name) for name in judges), PROMPT, UMBRELA, panel, per_call=2)


CANDIDATES = Sample(id="q1", question="Q?", contexts=DOCUMENTS)


class Graded(NamedTuple):
    """What a document was graded."""

    grade: int | None
    ungraded_because: str | None
    verdicts: tuple[Verdict, ...]
    prompts: tuple[str | None, ...]
    """Of the verdicts."""
    calls: tuple[Call, ...]
    """A call about several documents stands with the first of them."""


async def grade(sample: Sample, job: GradeJob, executor: Replies) -> list[Graded]:
    result = await job.evaluate(sample, executor)
    return [
        Graded(
            None if vote.label is None else int(vote.label),
            vote.unassessed,
            vote.verdicts,
            tuple(map(result.prompt_of, vote.verdicts)),
            tuple(call for call in result.calls if call.subjects[0] == vote.subject),
        )
        for vote in result.assessments
    ]


def test_a_document_that_a_reply_leaves_out_is_asked_about_once_more() -> None:
    executor = Replies(one=[grades(("d2", 2)), grades(("d1", 1))])
    first, second = asyncio.run(grade(CANDIDATES, plan("one"), executor))
    assert (first.grade, second.grade) == (1, 2)
    assert [call.subjects for call in (*first.calls, *second.calls)] == [("a", "b"), ("a",)]
    assert executor.requests[1].attempt == 1


def test_a_document_left_out_twice_is_a_hole_and_not_a_zero() -> None:
    executor = Replies(one=[grades(("d2", 2)), grades()])
    first, second = asyncio.run(grade(CANDIDATES, plan("one"), executor))
    assert (first.grade, first.ungraded_because) == (None, "incomplete")
    assert (second.grade, second.ungraded_because) == (2, None)


def test_documents_of_a_truncated_reply_are_asked_about_in_halves() -> None:
    cut = replace(completion(grades(("d1", 1), ("d2", 2))), finish_reason="length")
    executor = Replies(one=[cut, grades(("d1", 1)), grades(("d1", 3))])
    first, second = asyncio.run(grade(CANDIDATES, plan("one"), executor))
    assert (first.grade, second.grade) == (1, 3)
    assert [request.attempt for request in executor.requests] == [0, 1, 1]


def test_verdicts_on_documents_name_the_prompt_whether_they_have_a_grade_or_not() -> None:
    executor = Replies(one=[grades(("d2", 2)), grades()])
    found = asyncio.run(grade(CANDIDATES, plan("one"), executor))
    assert [row.prompts for row in found] == [(PROMPT.id,)] * 2
    assert [verdict.judge for row in found for verdict in row.verdicts] == ["one"] * 2


def test_grades_are_voted_on_with_weights() -> None:
    executor = Replies(one=[grades(("d1", 3), ("d2", 3))], two=[grades(("d1", 0), ("d2", 3))])
    made = plan("one", "two", vote="weighted", weights={"one": 0.5, "two": 2.0})
    assert [row.grade for row in asyncio.run(grade(CANDIDATES, made, executor))] == [0, 3]


def test_a_grade_off_the_scale_is_a_hole_that_says_so() -> None:
    executor = Replies(one=[grades(("d1", 7), ("d2", 2)), grades(("d1", 7))])
    first, second = asyncio.run(grade(CANDIDATES, plan("one"), executor))
    assert (first.grade, first.ungraded_because, second.grade) == (None, "unparsable", 2)
    assert [call.message for call in first.calls] == ["a: grade 7 is off the scale 0 to 3"] * 2


def test_a_provider_that_fails_is_not_asked_again_here() -> None:
    executor = Replies(one=[FAILED])
    found = asyncio.run(grade(CANDIDATES, plan("one"), executor))
    assert [row.ungraded_because for row in found] == ["provider_error", "provider_error"]


def test_a_panel_takes_the_lower_median_of_those_who_graded() -> None:
    executor = Replies(
        one=[grades(("d1", 3), ("d2", 3))], two=[grades(("d1", 0), ("d2", 1))], three=[FAILED]
    )
    first, second = asyncio.run(grade(CANDIDATES, plan("one", "two", "three"), executor))
    assert (first.grade, second.grade) == (0, 1)
    assert [v.label for v in first.verdicts] == ["3", "0", None]


def test_a_majority_with_a_tie_is_a_hole() -> None:
    executor = Replies(one=[grades(("d1", 3), ("d2", 3))], two=[grades(("d1", 3), ("d2", 1))])
    first, second = asyncio.run(grade(CANDIDATES, plan("one", "two", vote="majority"), executor))
    assert (first.grade, second.grade, second.ungraded_because) == (3, None, "tie")


def test_a_document_without_text_is_not_asked_about() -> None:
    executor = Replies(one=[grades(("d1", 1))])
    item = Sample(id="q", question="Q?", contexts=(Document(id="empty", text=" "), DOCUMENTS[0]))
    empty, full = asyncio.run(grade(item, plan("one"), executor))
    assert (empty.grade, empty.ungraded_because, full.grade) == (None, "missing_input", 1)


def test_a_pool_has_judged_documents_and_the_first_of_each_run() -> None:
    run = {"q1": {"x": 3.0, "y": 3.0, "z": 1.0}}
    other = {"q1": {"z": 9.0}, "q2": {"w": 1.0}}
    judged = {"q1": {"j": 0, "pooled": -1}, "q3": {"pooled": -1}}
    # of x and y with equal scores trec_eval sees y first
    assert pool([run, other], 1, judged) == {"q1": ["j", "y", "z"], "q2": ["w"]}
    assert pool([run], 0, judged) == {"q1": ["j"]}


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (
            Sample(id="two words", question="Q", contexts=DOCUMENTS),
            "question id 'two words' cannot be written",
        ),
        (Sample(id="q", question="Q"), "nothing to grade"),
        (
            Sample(id="q", question=" ", contexts=DOCUMENTS),
            "no pair of question and document has both texts",
        ),
        (Sample(id="q", question="Q", contexts=(DOCUMENTS[0], DOCUMENTS[0])), "occurs twice"),
    ],
)
def test_pairs_that_could_not_be_written_are_refused_before_any_call(
    sample: Sample, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        survey([sample])


def test_a_scale_of_ones_own_is_read_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("meanings: [none, a bit, all]\npositive_from: 2\n")
    scale = relevance_scale(str(path))
    assert (scale.name, scale.steps[-1], scale.positive("1")) == ("mine", 2, False)
    path.write_text("meanings: [none, all]\npositive_from: 2\n")
    with pytest.raises(UsageError, match="above its highest grade"):
        relevance_scale(str(path))
    with pytest.raises(UsageError, match="Did you mean 'umbrela'"):
        relevance_scale("umbrella")


@pytest.mark.parametrize(
    ("judges", "panel", "message"),
    [
        (["local:lexical"], {}, "not how well documents answer a question"),
        ([], {}, "no judge named"),
    ],
)
def test_what_cannot_grade_is_refused_before_any_call(
    judges: list[str | Judge], panel: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        make_job(GradingOptions(judges=judges, panel=PanelOptions(**panel)))
