"""What would be read otherwise is refused with options that work when they are typed as printed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from tests.command_line import call

Q = "When does the museum open?"
A = "It opens at ten."
C = ["The museum opens at ten.", "Tickets cost 5 euros."]


def options(message: str) -> list[str]:
    """The first options after "add", as a person copies them."""
    found = re.search(
        r"[aA]dd ((?:--(?:field|group) (?:[\w.]+=)?(?:'[^']*'|[^\s;,)]+) ?)+)", message
    )
    assert found, message
    return shlex.split(found[1])


@pytest.mark.parametrize(
    "row",
    [
        {"question": Q, "answer": A, "retrieval": {"results": [{"content": text} for text in C]}},
        {"question": Q, "answer": A, "contexts": [], "retrieved_docs": C},
        {"question": Q, "answer": json.dumps({"answer": A, "confidence": 0.5}), "contexts": C},
        {"question": Q, "answer": {"text": A, "sources": ["x"]}, "contexts": C},
        {
            "question": Q,
            "response": {"choices": [{"message": {"role": "assistant", "content": A}}]},
            "contexts": C,
        },
        {
            "request": {"user_query": Q},
            "result": {"generation": {"text": A}, "hits": [{"text": text} for text in C]},
        },
        {
            "id": "1",
            "input": json.dumps({"query": Q}),
            "output": json.dumps({"response": A, "contexts": C}),
        },
        {"question": Q, "answer": A, "context_1": C[0], "context_2": C[1]},
        {
            "question": Q,
            "answer": A,
            "steps": [{"kind": "rewrite"}, {"docs": [{"body": text} for text in C]}],
        },
        {"frage": Q, "antwort": A, "belege": C},
        {"question": Q, "answer": A, "contexts": "|".join(C)},
        {"user_input": Q, "response": A, "retrieved_contexts": "|".join(C)},
        {
            "id": "o",
            "traceId": "t",
            "type": "SPAN",
            "input": {"query": Q},
            "output": {"final": A, "contexts": C},
        },
        {
            "run_type": "chain",
            "id": "r",
            "inputs": {"query": Q},
            "outputs": {"reply_text": A, "docs": C},
        },
        {
            "answer_builder": {
                "answers": [{"documents": [{"content": t} for t in C], "completion": A, "query": Q}]
            }
        },
    ],
    ids=str,
)
def test_the_second_command_reads_what_the_first_one_names(
    row: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps(row) + "\n")
    refused = call("doctor", "data.jsonl", folder=tmp_path, exits=None)
    assert refused.returncode in (1, 2)
    typed = options(refused.stdout + refused.stderr)
    call(
        "score",
        "data.jsonl",
        "-j",
        "local:lexical",
        "-m",
        "faithfulness",
        "-o",
        "run",
        *typed,
        folder=tmp_path,
    )
    (result,) = ce.Run.load(tmp_path / "run")
    assert (result.sample.question, result.sample.answer) == (Q, A)
    assert [document.text for document in result.sample.contexts or ()] == C


def test_the_same_file_can_be_read_without_the_field() -> None:
    rows = [{"question": Q, "answer": A, "retrieved_docs": C}]
    with pytest.raises(ce.DataError, match="--field contexts=: read without"):
        ce.doctor(rows)
    assert ce.doctor(rows, mapping={"contexts": ""}).samples == 1
    text = [{"question": Q, "answer": '{"steps": ["a"]}', "contexts": C}]
    with pytest.raises(
        ce.DataError, match=r"answer is JSON text: add .*, or --field answer=answer$"
    ):
        ce.doctor(text)
    assert ce.doctor(text, mapping={"answer": "answer"}).samples == 1


def test_an_answer_under_a_key_that_some_rows_lack_is_offered_with_an_option_that_reads_them_all(
    tmp_path: Path,
) -> None:
    rows = [
        {"question": Q, "contexts": C, "draft": {"reply": A}},
        {"question": "Why?", "contexts": C},
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    refused = call("doctor", "data.jsonl", folder=tmp_path, exits=2)
    offered = "--field answer=draft.reply --field answer=''"
    assert f"add {offered} (" in " ".join(refused.stderr.split())
    assert (
        "1 sample without an answer"
        in call("doctor", "data.jsonl", *shlex.split(offered), folder=tmp_path).stdout
    )
    assert (
        "2 samples without an answer"
        in call("doctor", "data.jsonl", "--field", "answer=", folder=tmp_path).stdout
    )
    with pytest.raises(ce.DataError, match="no row has 'darft', which was given for answer"):
        list(ce.read_samples(rows, mapping={"answer": "darft"}))


def test_a_row_whose_question_has_another_name_is_named() -> None:
    rows = [
        {"question": Q, "answer": A, "contexts": C},
        {"prompt": "Why?", "answer": A, "contexts": C},
    ]
    with pytest.raises(
        ce.DataError,
        match="sample 2: question is in 'prompt': add --field question=question --field",
    ):
        ce.doctor(rows)
    read = ce.read_samples(rows, mapping={"question": ["question", "prompt"]})
    assert [sample.question for sample in read] == [Q, "Why?"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            {"question": Q, "answer": A, "contexts": ["doc_12", "doc_77"]},
            "contexts seem to be names of documents",
        ),
        (
            {"question": Q, "answer": A, "documents": [{"docid": "d1", "score": 1.5}]},
            "but not their texts",
        ),
        (
            {
                "run_id": "r",
                "topic_id": "1",
                "topic": Q,
                "references": ["d1"],
                "answer": [{"text": A, "citations": [0]}],
            },
            "which are in the segments of the track's corpus",
        ),
        ({"record_id": "r", "app_id": "a", "input": Q, "output": A}, "session.get_events().to_csv"),
        (
            {
                "op_name": "weave:///lab/rag/op/Evaluation.evaluate:1",
                "inputs": "{'self': ObjectRef(entity='lab', name='Evaluation', _extra=())}",
                "output": "{'match': {'true_count': 2}}",
            },
            "and write them as JSON Lines: CSV has ObjectRef(...)",
        ),
        (
            {"question": Q, "answer": A, "contexts": [{"id": "d1", "text": ""}]},
            "no text, only id; the texts of the",
        ),
        (
            {"question": Q, "answer": ["A", "B"]},
            "gold answers, add --field reference_answers=answer --field answer=",
        ),
    ],
    ids=str,
)
def test_texts_that_are_not_there_are_asked_for(row: dict[str, Any], words: str) -> None:
    with pytest.raises(ce.DataError, match=re.escape(words)):
        list(ce.read_samples([row]))


def test_gold_answers_are_offered_and_never_as_the_answer() -> None:
    remarks = " ".join(ce.doctor([{"question": Q, "golden_answers": ["At ten."]}]).remarks)
    assert "1 sample without an answer" in remarks
    assert "--field reference_answers=golden_answers" in remarks
    assert "--field answer" not in remarks
    row = {"inputs": {"question": Q}, "outputs": {"answer": "At ten."}, "id": "e1"}
    examples = ce.doctor([{**row, "dataset_id": "d"}])
    assert "outputs of an example are the reference" in " ".join(examples.remarks)


@pytest.mark.parametrize(
    "more",
    [
        {"source": "wiki", "document": "handbook.pdf", "output_tokens": 7, "response_time": "1.2s"},
        {
            "prompt_template": "Answer the question {question}",
            "context_length": 10,
            "expected_topic": "museums",
        },
        {"notes": "The answer is short and right.", "answer_quality": "good", "language": "en"},
    ],
    ids=str,
)
def test_ordinary_columns_beside_a_sample_stop_nothing(more: dict[str, Any]) -> None:
    assert ce.doctor([{"question": Q, "answer": A, "contexts": C, **more}]).samples == 1
