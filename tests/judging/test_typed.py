"""Ratings, grades and weights of claims by judges that read no prompts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import claimeval as ce
from claimeval.testing import serve
from claimeval.types.errors import UsageError

Record = dict[str, Any]


class Decisions:
    """The Decisions API: `choose` says which choice is right, at .7; the others share the rest."""

    def __init__(self) -> None:
        self.bodies: list[Record] = []
        self.choose: Callable[[Record, str], str] = lambda question, text: str(
            question["choices"][0]["value"]
        )
        self.alter: Callable[[list[Record]], list[Record]] = lambda answers: answers
        self.url = ""

    def respond(self, path: str, headers: Any, content: bytes) -> tuple[int, bytes]:
        body = json.loads(content)
        self.bodies.append(body)
        answers = []
        for question in body["questions"]:
            values = [choice["value"] for choice in question["choices"]]
            right = self.choose(question, body["input"])
            rest = 0.3 / (len(values) - 1)
            answers.append(
                {
                    "type": "choice",
                    "name": question["name"],
                    "choice": right,
                    "confidence": 0.7,
                    "probabilities": [
                        {"value": value, "probability": 0.7 if value == right else rest}
                        for value in values
                    ],
                }
            )
        reply = {"model": body["model"], "answers": self.alter(answers)}
        return 200, json.dumps(reply).encode()


@pytest.fixture
def server() -> Iterator[Decisions]:
    fake = Decisions()
    with serve(fake.respond) as url:
        fake.url = url
        yield fake


SAMPLE: Record = {
    "id": "s1",
    "question": "When was Berlin founded?",
    "answer": "Berlin was founded in 1237.",
    "reference_answers": ["In 1237."],
    "contexts": ["Berlin was founded in 1237.", "Paris is old."],
    "is_answerable": True,
}


def judge(server: Decisions) -> str:
    return f"decisions:gpt-6-luna@{server.url}"


def test_a_decision_model_rates_answers(server: Decisions) -> None:
    run = ce.rate([SAMPLE], judges=judge(server))
    (result,) = run
    scores = {name: score.value for name, score in result.scores.items()}
    assert scores == {
        "rated_relevance": 1.0,
        "noncommittal": 0.0,
        "rated_faithfulness": 1.0,
        "rated_correctness": 1.0,
        "answered": 1.0,
        "abstention_accuracy": 1.0,
    }
    assert len(server.bodies) == 4, "one request a question, with its flags"
    relevance = next(body for body in server.bodies if len(body["questions"]) == 2)
    assert [len(question["choices"]) for question in relevance["questions"]] == [3, 2]
    assert all(choice["description"] for choice in relevance["questions"][0]["choices"])
    assert "When was Berlin founded?" in relevance["input"]
    assert "Berlin was founded in 1237." in relevance["input"]


def test_the_probability_of_a_rating_is_that_of_its_favorable_words(server: Decisions) -> None:
    server.choose = lambda question, text: str(question["choices"][-1]["value"])
    run = ce.rate([SAMPLE], judges=judge(server), ask=["relevance", "faithfulness"])
    (result,) = run
    found = {each.question: each.verdicts[0].probability for each in result.assessments}
    assert found["rated_relevance"] == pytest.approx(0.3), "fully and partly are favorable"
    assert found["rated_faithfulness"] == pytest.approx(0.3)


def test_a_flag_is_the_second_question(server: Decisions) -> None:
    server.choose = lambda question, text: str(question["choices"][-1]["value"])
    (result,) = ce.rate([SAMPLE], judges=judge(server), ask=["relevance"])
    assert result.scores["rated_relevance"].value == 0.0
    assert result.scores["noncommittal"].value == 1.0


def test_a_decision_model_judges_a_criterion(server: Decisions) -> None:
    server.choose = lambda question, text: "partly" if "stays polite" in text else "no"
    run = ce.rate([SAMPLE], judges=judge(server), criteria={"polite": "The answer stays polite."})
    assert run["polite"].mean == 0.5


def test_a_question_without_an_answer_fails_the_rating(server: Decisions) -> None:
    server.alter = lambda answers: answers[:1]
    (result,) = ce.rate([SAMPLE], judges=judge(server), ask=["relevance"])
    assert result.scores["rated_relevance"].because == "incomplete"
    assert len(server.bodies) > 1, "it is asked again"


def test_a_decision_model_grades_documents(server: Decisions) -> None:
    server.choose = lambda question, text: "3" if "1237" in text else "0"
    run = ce.grade([SAMPLE], judges=judge(server))
    (result,) = run
    assert [each.label for each in result.assessments] == ["3", "0"]
    found = [each.verdicts[0].probability for each in result.assessments]
    assert found == pytest.approx([0.8, 0.2]), "the grades 2 and 3 are relevant"
    assert [len(body["questions"]) for body in server.bodies] == [1, 1]
    assert [choice["value"] for choice in server.bodies[0]["questions"][0]["choices"]] == [
        "0",
        "1",
        "2",
        "3",
    ]


def test_several_documents_are_questions_of_one_request(server: Decisions) -> None:
    server.choose = lambda question, text: "3" if "d1" in question["instructions"] else "1"
    (result,) = ce.grade([SAMPLE], judges=judge(server), documents_per_call=2)
    assert [each.label for each in result.assessments] == ["3", "1"]
    assert len(server.bodies) == 1


def test_a_decision_model_weighs_claims(server: Decisions) -> None:
    server.choose = lambda question, text: (
        "off_topic" if "Paris" in question["instructions"] else "on_topic"
    )
    data = {**SAMPLE, "answer": "Berlin was founded in 1237. Paris has a tower."}
    run = ce.score([data], metrics=["on_topic"], judges=judge(server), extractor="local:lexical")
    assert run["on_topic"].mean == 0.5
    (body,) = server.bodies
    assert body["input"].startswith("<question>\nWhen was Berlin founded?")
    assert [question["instructions"] for question in body["questions"]] == [
        "Claim: Berlin was founded in 1237.",
        "Claim: Paris has a tower.",
    ]


def test_words_say_whether_an_answer_is_faithful() -> None:
    wrong = {**SAMPLE, "id": "s2", "answer": "Rome won seven medals in 1936."}
    run = ce.rate([SAMPLE, wrong], judges="local:lexical", ask=["faithfulness"])
    assert [result.scores["rated_faithfulness"].value for result in run] == [1.0, 0.0]


def test_without_a_choice_a_judge_of_support_is_asked_what_it_can_say() -> None:
    run = ce.rate([SAMPLE], judges="local:lexical")
    assert [*run.results[0].scores] == ["rated_faithfulness"]


def test_a_question_that_a_judge_cannot_answer_is_refused_before_a_call() -> None:
    with pytest.raises(UsageError, match="cannot answer relevance; name a language model"):
        ce.rate([SAMPLE], judges="local:lexical", ask=["relevance"])
    with pytest.raises(UsageError, match="cannot answer polite; name a language model"):
        ce.rate([SAMPLE], judges="local:lexical", criteria={"polite": "It is polite."})
    with pytest.raises(UsageError, match="not how well documents answer a question"):
        ce.grade([SAMPLE], judges="local:lexical")


@pytest.mark.parametrize("documents_per_call", [1, 5])
def test_words_match_documents_with_references(documents_per_call: int) -> None:
    data = {
        "id": "s1",
        "question": "When?",
        "answer": "1237",
        "contexts": ["Berlin was founded in the year 1237, it says.", "Paris is old."],
        "reference_contexts": ["Berlin was founded in 1237."],
    }
    (result,) = ce.grade(
        [data],
        judges="local:lexical",
        against="reference_contexts",
        documents_per_call=documents_per_call,
    )
    assert [each.label for each in result.assessments] == ["1", "0"]


def test_a_rating_is_stored_by_its_question_and_asked_once(
    server: Decisions, tmp_path: Any
) -> None:
    options = ce.RunOptions(cache=tmp_path)
    for _ in range(2):
        ce.rate([SAMPLE], judges=judge(server), ask=["relevance"], options=options)
    ce.rate(
        [SAMPLE],
        judges=judge(server),
        criteria={"brief": "It is brief.", "kind": "It is kind."},
        options=options,
    )
    assert len(server.bodies) == 3
