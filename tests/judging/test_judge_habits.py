"""Judges that never err but write in a way of their own: true scores at no extra call, over
loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.loopback import Body, Reply, claim_judge
from claimeval.types.records import Document, Sample
from tests.conftest import StartServer
from tests.providers.asking import judge_at
from tests.sample_runs import RIGHT, run
from tests.scripted import bare, labels

SAMPLES = tuple(
    Sample(
        id=f"{n}",
        question=f"Question {n}?",
        answer="The tower is high. The WRONG king built it. A MISSING priest prayed. It stands.",
        contexts=(Document(id="page", text="The tower is high and stands."),),
    )
    for n in range(3)
)
"""Of the four claims of each, two are supported, one is contradicted and one not found:
faithfulness .5."""
CALLS = 2 * len(SAMPLES)
"""An extraction and an assessment each."""


def ids(change: Callable[[str], object]) -> Callable[[str], str]:
    """A reply with its ids changed; `change` gets the number."""
    return lambda text: re.sub(
        r'(?<="id": )"c(\d+)"', lambda match: json.dumps(change(match[1])), text
    )


HABITS: dict[str, Callable[[str], str]] = {
    "as asked": str,
    "labels with spaces": labels(lambda word: word.replace("_", " ")),
    "labels with hyphens": labels(lambda word: word.replace("_", "-")),
    "labels with capitals": labels(lambda word: word.replace("_", " ").title()),
    "labels in camel case": labels(lambda word: word.replace("not_found", "NotFound")),
    "ids without their letter": ids(str),
    "ids as numbers": ids(int),
    "ids in words": ids(lambda number: f"claim {number}"),
    "ids in capitals": ids(lambda number: f"C{number}"),
    "a bare list": bare,
    "an introduction": lambda text: f"Sure! Here is the JSON:\n{text}",
    "an introduction and a fence": lambda text: f"Sure! Here is the JSON:\n\n```json\n{text}\n```",
    "a closing remark": lambda text: f"{text}\n\nI hope this helps!",
    "reasoning": lambda text: f"<think>\nThe evidence [d1] says so.\n</think>\n\n{text}",
    "reasoning without its opening tag": lambda text: (
        f"The evidence [d1] says so.\n</think>\n\n{text}"
    ),
    "reasoning with a draft": lambda text: (
        f"<think>{text.replace('supported', 'not_found')}</think>{text}"
    ),
    "a draft that is kept": lambda text: f"{text}\nFinal answer:\n{text}",
}


def says(habit: Callable[[str], str]) -> Callable[[Body], Reply]:
    def judge(body: Body) -> Reply:
        content = claim_judge.answer(body).content
        assert isinstance(content, str)
        return Reply(habit(content))

    return judge


@pytest.mark.parametrize("habit", HABITS)
def test_a_habit_of_writing_costs_neither_score_nor_calls(
    start_server: StartServer, tmp_path: Path, habit: str
) -> None:
    server = start_server(judge=says(HABITS[habit]))
    ran = run([judge_at(server, "openai", structured=False)], tmp_path / "store", SAMPLES)
    assert ran.values == [RIGHT] * 3 == [0.5] * 3
    assert [score.judged for result in ran.results for score in result.scores.values()] == [4] * 3
    assert len(server.exchanges()) == CALLS


def test_a_judge_that_writes_not_found_with_a_space_does_not_score_what_it_supports_alone(
    start_server: StartServer, tmp_path: Path
) -> None:
    """One of two claims is supported: .5. Of those that such a judge labels as asked, all are
    supported: 1."""
    server = start_server(judge=says(labels(lambda word: word.replace("_", " "))))
    sample = SAMPLES[0].model_copy(update={"answer": "The tower is high. A MISSING priest prayed."})
    assert run([judge_at(server, "openai")], tmp_path / "store", [sample]).values == [0.5]


LINES: dict[str, Callable[[str], str]] = {
    "as asked": str,
    "an introduction": lambda text: f"Here they are:\n{text}",
    "a fence": lambda text: f"```\n{text}\n```",
    "a closing remark": lambda text: f"{text}\n\nI hope this helps!",
    "reasoning": lambda text: f"<think>\n- Is it?\n</think>\n{text}",
    "reasoning without its opening tag": lambda text: f"- Is it?\n</think>\n{text}",
    "marks in small letters": lambda text: text.replace("SUPPORTED=", "supported="),
    "emphasis": lambda text: re.sub(r"SUPPORTED=\d", r"**\g<0>**", text),
}


@pytest.mark.parametrize("habit", LINES)
def test_the_same_holds_for_bullets_and_marks(
    start_server: StartServer, tmp_path: Path, habit: str
) -> None:
    server = start_server(judge=says(LINES[habit]))
    judges = [judge_at(server, "openai")]
    ran = run(judges, tmp_path / "store", SAMPLES, extract_prompt="bullets", assess_prompt="tags")
    assert ran.values == [0.5] * 3
    assert len(server.exchanges()) == CALLS


def test_an_unknown_label_is_unparsable_and_named_in_the_record(
    start_server: StartServer, tmp_path: Path
) -> None:
    """The claim that is not found gets the label "mostly true": supported, contradicted, unread,
    supported are 2 of 3.

    It is asked about once more, alone, and stays open.
    """
    server = start_server(judge=says(labels(lambda word: word.replace("not_found", "mostly true"))))
    ran = run([judge_at(server, "openai")], tmp_path / "store", SAMPLES[:1])
    (result,) = ran.results
    open_claims = [a for a in result.assessments if a.label is None]
    assert [(a.subject, a.unassessed) for a in open_claims] == [("answer-3", "unparsable")]
    messages = [call.message for call in result.calls]
    assert messages == [None, *["answer-3: unknown label 'mostly true'"] * 2]
    assert [call.failed for call in result.calls] == [None] * 3
    assert ran.values == [pytest.approx(2 / 3)]
    assert result["faithfulness"].bounds == (0.5, 0.75)


def test_a_claim_that_a_reply_leaves_out_is_incomplete(
    start_server: StartServer, tmp_path: Path
) -> None:
    def without_the_third(text: str) -> str:
        reply = json.loads(text)
        kept = [
            entry
            for entry in reply.get("verdicts", ())
            if "MISSING" not in entry["reason"] and entry["label"] != "not_found"
        ]
        return json.dumps({"verdicts": kept} if "verdicts" in reply else reply)

    server = start_server(judge=says(without_the_third))
    ran = run([judge_at(server, "openai")], tmp_path / "store", SAMPLES[:1])
    (result,) = ran.results
    assert [a.unassessed for a in result.assessments] == [None, None, "incomplete", None]
    assert [call.message for call in result.calls] == [None] * 3
