"""Samples from files: the formats, the names in use, and what is said about bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claimeval.data import read_samples
from claimeval.types.errors import DataError, UsageError
from claimeval.types.records import Document, Sample
from tests.shared_data import shared_data


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    if name.endswith("jsonl"):
        assert isinstance(content, list)
        path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def one(folder: Path, row: dict[str, object], **fields: str) -> Sample:
    (sample,) = read_samples(write(folder, "one.jsonl", [row]), fields=fields)
    return sample


def test_our_own_fields_are_read_as_they_are(tmp_path: Path) -> None:
    sample = Sample(
        id="a",
        question="Q?",
        answer="A.",
        contexts=(Document(id="p", text="T", title="Title", score=0.5),),
        reference_answers=("R.",),
        reference_contexts=("RC",),
        reference_context_ids=("p",),
        is_answerable=True,
        generator="openai:gpt-4.1",
        evidence={"policy": (Document(id="x", text="Y"),)},
        metadata={"subject": "test"},
    )
    assert one(tmp_path, json.loads(sample.model_dump_json())) == sample


@pytest.mark.parametrize(
    ("row", "field", "value"),
    [
        ({"question_id": "q7"}, "id", "q7"),
        ({"query_id": 7}, "id", "7"),
        ({}, "id", "1"),
        ({"response": "A"}, "answer", "A"),
        ({"answer": ""}, "answer", ""),
        ({"answer": None}, "answer", None),
        ({"contexts": ["x", "y"]}, "contexts", (Document(id="1", text="x"), Document(id="2", text="y"))),
        ({"contexts": ["x"], "contexts_id": ["p9"]}, "contexts", (Document(id="p9", text="x"),)),
        ({"contexts": ["x"], "context_ids": [9]}, "contexts", (Document(id="9", text="x"),)),
        ({"retrieved_contexts": ["x"]}, "contexts", (Document(id="1", text="x"),)),
        ({"retrieved_context": [{"doc_id": "d", "text": "x"}]}, "contexts", (Document(id="d", text="x"),)),
        ({"contexts": []}, "contexts", ()),
        ({"reference": "R"}, "reference_answers", ("R",)),
        ({"reference_answer": "R"}, "reference_answers", ("R",)),
        ({"gt_answer": "R"}, "reference_answers", ("R",)),
        ({"reference_answers": ["R", "S"]}, "reference_answers", ("R", "S")),
        ({"reference_context_ids": [1, "b"]}, "reference_context_ids", ("1", "b")),
        ({"is_answerable_label": "UNANSWERABLE"}, "is_answerable", False),
        ({"is_answerable_label": True}, "is_answerable", True),
        ({"metadata_field": {"a": 1}, "source": "web"}, "metadata", {"a": 1, "source": "web"}),
        ({"metadata_field": "x"}, "metadata", {"metadata": "x"}),
    ],
)
def test_the_names_in_common_use_are_understood(
    tmp_path: Path, row: dict[str, object], field: str, value: object
) -> None:
    assert getattr(one(tmp_path, {"question": "Q?", **row}), field) == value


@pytest.mark.parametrize("name", ["question", "query", "user_input"])
def test_the_question_goes_by_three_names(tmp_path: Path, name: str) -> None:
    assert one(tmp_path, {name: "Q?"}).question == "Q?"


def test_a_field_can_be_named(tmp_path: Path) -> None:
    sample = one(tmp_path, {"question": "Q?", "answer": "old", "draft": "new"}, answer="draft")
    assert (sample.answer, sample.metadata) == ("new", {"answer": "old"})


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        ([{"id": "a", "question": "Q?"}, {"id": "b", "question": "Q?"}], ["a", "b"]),
        ({"examples": [{"query": "Q?", "reference_answer": "R"}]}, ["1"]),
        ({"results": [{"query_id": "7", "query": "Q?", "gt_answer": "R", "retrieved_context": []}]}, ["7"]),
    ],
)
def test_json_files_of_other_tools_are_recognised_by_shape(tmp_path: Path, content: object, ids: list[str]) -> None:
    assert [s.id for s in read_samples(write(tmp_path, "data.json", content))] == ids


def test_csv_cells_may_hold_json_lists(tmp_path: Path) -> None:
    rows = ['1,"Why, then?","Line one\nline two","[""x"", ""y""]",1999', "2,Q?,,[sic] z,"]
    text = "\r\n".join(["id,question,answer,contexts,year", *rows, ""])
    first, second = read_samples(write(tmp_path, "data.csv", text))
    assert first.answer == "Line one\nline two"
    assert [d.text for d in first.contexts or ()] == ["x", "y"]
    assert first.metadata == {"year": "1999"}
    assert (second.answer, [d.text for d in second.contexts or ()]) == (None, ["[sic] z"])


def test_a_byte_order_mark_and_empty_lines_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"question": "Q?"}\r\n\r\n{"question": "R?"}')
    assert [s.question for s in read_samples(path)] == ["Q?", "R?"]


def test_a_lone_surrogate_in_a_text_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"question": "Q \\ud800?"}\n', encoding="utf-8")
    assert next(iter(read_samples(path))).question == "Q \ud800?"


GOOD = b'{"question": "Q?"}\n'


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl", GOOD + b"{broken\n", "line 2: not JSON"),
        ("a.jsonl", GOOD + b"[1]\n", "line 2: expected a JSON object, not list"),
        ("a.jsonl", GOOD + b'{"question": "\xe9"}\n', "line 2: not UTF-8 (byte 0xe9 at column 15)"),
        ("a.jsonl", b"\xff\xfe{\x00", "it looks like UTF-16"),
        ("a.jsonl", b"", "has no samples"),
        ("a.jsonl", b'{"answer": "A"}', "line 1: no question"),
        ("a.jsonl", b'{"question": 7}', "line 1, field 'question'"),
        ("a.jsonl", b'{"question": "Q", "id": 1.5}', "line 1, field 'id'"),
        ("a.jsonl", b'{"question": "Q", "answer": "A", "response": "B"}', "both 'answer' and 'response'"),
        ("a.jsonl", b'{"question": "Q", "contexts": 5}', "field 'contexts'"),
        ("a.jsonl", b'{"question": "Q", "contexts": [{"txt": "x"}]}', "Did you mean 'text'?"),
        ("a.jsonl", b'{"question": "Q", "contexts": [{"id": "a"}]}', "field 'text': Field required"),
        ("a.jsonl", b'{"question": "Q", "contexts": ["x"], "context_ids": []}', "1 contexts but 0 context ids"),
        ("a.jsonl", b'{"question": "Q", "contexts": ["x", "y"], "context_ids": ["a", "a"]}', "duplicate document id"),
        ("a.jsonl", b'{"question": "Q", "is_answerable": "maybe"}', "expected true or false, got 'maybe'"),
        ("a.jsonl", b'{"question": "Q", "evidence": ["x"]}', "field 'evidence'"),
        ("a.jsonl", b'{"question": "Q", "evidence": {"law.2": ["x"]}}', "'law.2' reads like document 2 of 'law'"),
        ("a.jsonl", b'{"question": "Q", "evidence": {"law~1": ["x"]}}', "'law~1' reads like order 1 of 'law'"),
        ("a.jsonl", b'{"question": "Q", "evidence": {"contexts": ["x"]}}', "'contexts' is a part of every sample"),
        ("a.jsonl", b'{"question": ' + b"[" * 100_000, "line 1: not JSON"),
        ("a.json", b'{"rows": []}', "no list of samples under one of examples"),
        ("a.json", b"[1]", "item 1: expected a JSON object"),
        ("a.json", b"5", "expected a list of samples"),
        ("a.csv", b"question,answer\nQ\n", "line 2: the row does not have 2 columns"),
        ("a.csv", b'question\n"Q', "not CSV"),
        ("a.csv", b'question,contexts\nQ,"[""x"""\n', "column 'contexts': looks like JSON but is not valid"),
        ("a.txt", b"", "unknown file extension '.txt'. Known: .jsonl"),
    ],
)
def test_bad_input_is_one_line_that_says_where(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as raised:
        list(read_samples(path))
    assert words in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_directory_or_a_missing_file_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a directory"):
        list(read_samples(tmp_path))
    with pytest.raises(DataError, match="does not exist"):
        list(read_samples(tmp_path / "none.jsonl"))


def test_an_unknown_field_to_name_gets_the_closest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'answer'"):
        one(tmp_path, {"question": "Q?"}, anwser="x")
    with pytest.raises(DataError, match="no field 'x', which was given for answer"):
        one(tmp_path, {"question": "Q?"}, answer="x")


def test_bad_rows_can_be_collected_instead(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(GOOD + b"{broken\n" + b'{"answer": "A"}\n' + GOOD)
    problems: list[str] = []
    assert len(list(read_samples(path, on_error=lambda error: problems.append(str(error))))) == 2
    assert [problem.split(":")[0].rsplit(", ", 1)[1] for problem in problems] == ["line 2", "line 3"]


def test_parquet_reads_like_json(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    path = tmp_path / "data.parquet"
    parquet.write_table(pyarrow.table({"question": ["Q?"], "answer": [None], "contexts": [["x"]]}), path)
    (sample,) = read_samples(path)
    assert (sample.answer, (sample.contexts or ())[0].text) == (None, "x")


@pytest.mark.parametrize("name", ["rag_mini.jsonl", "labelled_rag_mini.json"])
def test_the_sec10q_samples_are_read(name: str) -> None:
    samples = list(read_samples(shared_data(f"sec10q/{name}")))
    assert len(samples) == 9
    assert all(sample.reference_answers for sample in samples)


@pytest.mark.parametrize(
    ("said", "author"),
    [
        ({"reference_author": "openai:gpt-4"}, "openai:gpt-4"),
        ({"reference_answer_by": {"model_name": "gpt-4", "type": "ai"}}, "gpt-4"),
        ({"reference_answer_by": {"model_name": "", "type": "human"}}, None),
    ],
)
def test_the_author_of_the_gold_answer_is_known_where_it_is_a_model(
    tmp_path: Path, said: dict[str, object], author: str | None
) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({"question": "q", **said}), encoding="utf-8")
    (sample,) = read_samples(path)
    assert sample.reference_author == author
    assert sample.metadata == {}
