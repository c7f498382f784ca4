"""Conversations in rows, in the shapes in which people have them."""

from __future__ import annotations

from typing import Any

import pytest

import claimeval as ce
from claimeval.types.clusters import cluster_of, sample_count
from claimeval.types.records import Evidence, Sample, Turn

ASKED = {"role": "user", "content": "Who designed the tower?"}
SAID = {"role": "assistant", "content": "Ana Lind did."}
NOW = {"role": "user", "content": "And how high is it?"}
ANSWER = {"role": "assistant", "content": "It is 63 m high."}
FOUND = {"role": "tool", "content": "The tower is 63 metres high."}
CALL = {"role": "assistant", "tool_calls": [{"id": "1"}]}
NAMES = {"user": "human", "assistant": "gpt"}
EARLIER = (Turn(**ASKED), Turn(**SAID))
REST = {"question": NOW["content"], "answer": ANSWER["content"]}


def renamed(message: dict[str, str]) -> dict[str, str]:
    """The message as ragas has it."""
    return {
        "type": {"user": "human", "assistant": "ai"}[message["role"]],
        "content": message["content"],
    }


def read(row: dict[str, Any], **fields: str) -> Sample:
    (sample,) = ce.read_samples([row], mapping=fields)
    return sample


@pytest.mark.parametrize(
    "row",
    [
        {"history": [ASKED, SAID], **REST},
        {"chat_history": [["Who designed the tower?", "Ana Lind did."]], **REST},
        {"history": str([ASKED, SAID]), **REST},
        {"messages": [ASKED, SAID, NOW, ANSWER]},
        {"chat_history": [{"type": "human", "data": ASKED}, {"type": "ai", "data": SAID}], **REST},
        {"messages": [ASKED, SAID, NOW], "answer": ANSWER["content"]},
        {"messages": [ASKED, SAID], **REST},
        {"messages": {"messages": [ASKED, SAID, NOW, ANSWER]}},
        {
            "conversations": [
                {"from": NAMES[m["role"]], "value": m["content"]}
                for m in (ASKED, SAID, NOW, ANSWER)
            ]
        },
        {
            "user_input": [renamed(ASKED), renamed(SAID), renamed(NOW)],
            "response": ANSWER["content"],
        },
        {
            "messages": [
                ASKED,
                SAID,
                NOW,
                CALL,
                {**ANSWER, "content": [{"type": "text", "text": ANSWER["content"]}]},
            ]
        },
    ],
    ids=[
        "history",
        "pairs",
        "csv",
        "messages",
        "LangChain",
        "no reply",
        "question beside",
        "nested",
        "ShareGPT",
        "ragas",
        "parts",
    ],
)
def test_a_conversation_is_history_question_and_answer_in_every_shape(row: dict[str, Any]) -> None:
    sample = read(row)
    assert (sample.history, sample.question, sample.answer) == (
        EARLIER,
        NOW["content"],
        ANSWER["content"],
    )
    assert sample.metadata == {}


def test_what_tools_returned_after_the_question_are_the_contexts_unless_the_row_has_them() -> None:
    messages = [ASKED, {"role": "tool", "content": "old"}, SAID, NOW, FOUND, ANSWER]
    found = read({"messages": messages}).contexts
    assert found
    assert [document.text for document in found] == [FOUND["content"]]
    own = read({"messages": messages, "contexts": ["own"]}).contexts
    assert own
    assert [document.text for document in own] == ["own"]


def test_results_of_tools_in_a_message_of_the_user_are_contexts_and_no_question() -> None:
    results = [
        {"type": "tool_result", "content": [{"type": "text", "text": text}]}
        for text in ("One.", "Two.")
    ]
    use = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "1", "name": "search", "input": {}}],
    }
    sample = read({"messages": [NOW, use, {"role": "user", "content": results}, ANSWER]})
    assert (sample.question, [one.text for one in sample.contexts or ()]) == (
        NOW["content"],
        ["One.", "Two."],
    )


def test_a_column_that_only_has_the_name_of_a_history_is_metadata() -> None:
    sample = read({"question": "q", "answer": "a", "history": "asthma since 1990", "messages": 3})
    assert sample.history == ()
    assert sample.metadata == {"history": "asthma since 1990", "messages": 3}
    with pytest.raises(
        ce.UsageError, match="no messages; give a list of objects with role and content"
    ):
        read({"question": "q", "turns": "asthma"}, history="turns")


def test_an_answer_beside_messages_that_end_in_another_one_is_refused() -> None:
    with pytest.raises(ce.UsageError, match="'answer' or in the last message of 'messages'"):
        read({"messages": [NOW, ANSWER], "answer": "It is 64 m high."})


def test_judges_read_the_conversation_before_the_question_without_instructions() -> None:
    history = (Turn(role="system", content="Reply in rhymes."), *EARLIER)
    asked = Sample(id="1", question=NOW["content"], history=history).full_question
    assert (
        asked
        == "user: Who designed the tower?\nassistant: Ana Lind did.\nuser: And how high is it?"
    )
    assert Sample(id="1", question="q", history=history[:1]).full_question == "q"


def test_the_turns_are_evidence_beside_the_contexts() -> None:
    sample = read({"history": [ASKED, SAID], "contexts": ["c"], **REST})
    assert [d.id for d in sample.documents("contexts+history") or ()] == ["1", "turn-1", "turn-2"]
    assert [
        (d.title, d.text) for d in sample.documents(Evidence(part="history", document=2)) or ()
    ] == [("assistant", "Ana Lind did.")]
    first = read({"question": "q", "answer": "a", "contexts": ["c"]})
    assert (first.documents("history"), first.has("history"), first.has("contexts+history")) == (
        None,
        False,
        True,
    )


def test_a_claim_from_the_conversation_is_supported_where_the_metric_names_it() -> None:
    row = {
        "history": [ASKED, {"role": "user", "content": "Penguins eat fish in Antarctica."}],
        "contexts": ["Rivers flow slowly towards lakes."],
        "question": "What do they eat?",
        "answer": "Penguins eat fish in Antarctica.",
    }
    (result,) = ce.score(
        [row], judges="local:lexical", metrics="faithfulness,grounded=answer:contexts+history"
    )
    assert (result.faithfulness, result["grounded"].value) == (0.0, 1.0)


def test_turns_of_one_conversation_are_one_cluster() -> None:
    first = Sample(id="1", question=ASKED["content"])
    second = Sample(id="2", question=NOW["content"], history=EARLIER)
    other = Sample(
        id="3", question=NOW["content"], history=(Turn(role="user", content="What is a mast?"),)
    )
    assert cluster_of(first) == cluster_of(second) != cluster_of(other)
    assert (
        cluster_of(second, "question")
        == cluster_of(other, "question")
        != cluster_of(first, "question")
    )
    named = [
        sample.model_copy(update={"metadata": {"conversation_id": 0}}) for sample in (first, other)
    ]
    assert cluster_of(named[0]) == cluster_of(named[1]) != cluster_of(first)


def test_check_judges_a_turn_with_its_history() -> None:
    result = ce.check(
        "Ana Lind designed the tower.",
        judge="local:lexical",
        question="Who?",
        history=[{"role": "assistant", "content": "Ana Lind designed the tower."}],
        metrics="said=answer:history",
    )
    assert result["said"].value == 1.0


def test_one_cluster_is_counted_in_the_singular() -> None:
    assert sample_count(2, 1, "conversation") == "2 samples, 1 conversation"
    assert sample_count(3, 2, "topic") == "3 samples, 2 clusters by topic"
    assert sample_count(2, 1, None) == "2 samples, 1 question"
