"""Questions made from documents: what the rules reject, what becomes of the rest."""

from __future__ import annotations

import asyncio
import json

import pytest

from claimeval.evaluation.write_queries import (
    WriteQueriesJob,
    draw,
    make_job,
    queries_of,
    reject_repeated,
    rejected,
)
from claimeval.judging import prompts
from claimeval.judging.replies import WrittenQuery
from claimeval.types.errors import DataError, UsageError
from claimeval.types.records import Document, SampleResult
from claimeval.types.requests import Failure
from tests.scripted import FAILED, Replies, judge

PAGE = Document(
    id="page",
    text="The tower  was built in 1889 by the firm of Gustave Eiffel for the world's fair.",
)
GOOD = WrittenQuery(
    "When was the Eiffel tower of Paris built?", "In 1889.", "The tower was built in 1889"
)


def test_a_good_question_keeps_every_rule() -> None:
    assert rejected(GOOD, PAGE) is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"question": "When?"}, "too short or too long"),
        ({"passage": "The tower was built in 1890"}, "passage not in the document"),
        ({"question": "When was the tower in this passage built?"}, "points at the document"),
        ({"question": "Which fair is mentioned above by name?"}, "points at the document"),
        ({"question": "Was the tower of Paris built in 1889. or later?"}, "gives its answer away"),
        (
            {"question": "The tower was built in 1889 by the firm of?", "answer": "Eiffel."},
            "copied from the document",
        ),
    ],
)
def test_the_rules_say_why_a_question_is_rejected(change: dict[str, str], why: str) -> None:
    assert rejected(GOOD._replace(**change), PAGE) == why


def listed(*queries: WrittenQuery) -> str:
    return json.dumps({"questions": [query._asdict() for query in queries]})


def opinion(**said: object) -> str:
    return json.dumps(
        {"reason": "why", "answerable": True, "self_contained": True, "realistic": True, **said}
    )


JOB = WriteQueriesJob(
    judge("writer"),
    judge("checker"),
    prompts.load("queries", "plain"),
    prompts.load("screen", "plain"),
    1,
)


def written(*replies: str | Failure) -> tuple[SampleResult, Replies]:
    executor = Replies(*replies)
    return asyncio.run(JOB.evaluate(PAGE, executor)), executor


def counts(result: SampleResult) -> tuple[float | None, ...]:
    return tuple(score.value for score in result.scores.values())


def test_a_question_that_passes_rules_and_the_second_look_is_kept() -> None:
    found, executor = written(listed(GOOD), opinion())
    (query,) = queries_of(found)
    assert query.kept
    assert (query.question, query.answer, query.passage) == GOOD
    assert counts(found) == (1, 1)
    assert [call.step for call in found.calls] == ["queries", "screen"]
    assert [request.judge.name for request in executor.requests] == ["writer", "checker"]


def test_what_a_rule_rejects_is_not_looked_at_again() -> None:
    found, executor = written(listed(GOOD._replace(passage="elsewhere")))
    assert queries_of(found)[0].rejected == ("passage not in the document",)
    assert counts(found) == (1, 0)
    assert len(executor.requests) == 1


def test_the_second_look_says_what_a_question_is_not() -> None:
    (query,) = queries_of(written(listed(GOOD), opinion(realistic=False, answerable=False))[0])
    assert query.rejected == ("not answerable", "not realistic")
    assert query.explanation == "why"


def test_no_opinion_is_no_yes() -> None:
    (query,) = queries_of(written(listed(GOOD), opinion(realistic="rather"), "fine")[0])
    assert (query.kept, query.unassessed) == (False, "unparsable")


def test_an_empty_list_is_a_reply_and_a_failure_is_none() -> None:
    assert counts(written(listed())[0]) == (0, 0)
    failed = written(FAILED)[0]
    assert counts(failed) == (None, None)
    assert failed["kept_queries"].because == "provider_error"
    assert failed.details == {}


def test_of_questions_that_are_nearly_the_same_the_first_is_kept() -> None:
    found = written(listed(GOOD), opinion())[0]
    revised = reject_repeated()
    first = revised(found)
    second = revised(found)
    assert first == found
    assert queries_of(second)[0].rejected == ("nearly the same as another",)
    assert counts(second) == (1, 0)


def test_documents_are_drawn_alike_whatever_their_order() -> None:
    corpus = [Document(id=f"d{i}", text="x" if i else " ") for i in range(50)]
    first = draw(corpus, 5, seed=1)
    assert len({d.id for d in first}) == 5
    assert draw(reversed(corpus), 5, seed=1) == first
    assert draw(corpus, 5, seed=2) != first
    assert len(draw(corpus, 100, seed=1)) == 49
    with pytest.raises(DataError, match="no document with a text"):
        draw(corpus[:1], 5, seed=1)


def test_local_judges_write_no_questions() -> None:
    with pytest.raises(UsageError, match="questions are written by a language model"):
        make_job("local:lexical")
