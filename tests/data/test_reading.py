"""Samples from files: the formats, the names in use, and what is said about bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import claimeval
from claimeval.data import reading
from claimeval.data.cells import read_cell
from claimeval.data.mapping import parse_mapping
from claimeval.data.reading import Problems, read_samples, sample
from claimeval.data.rows import SourceRow
from claimeval.types.errors import DataError, UsageError
from claimeval.types.records import Document, Sample
from tests.shared_data import shared_data


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    if name.endswith("jsonl"):
        assert isinstance(content, list)
        path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    else:
        path.write_text(
            content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
        )
    return path


def numbered(rank: str, text: str) -> Document:
    return Document(id=rank, text=text, id_is_rank=True)


def one(folder: Path, row: dict[str, object], **fields: str) -> Sample:
    (sample,) = read_samples(write(folder, "one.jsonl", [row]), mapping=parse_mapping(fields))
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
        (
            {"contexts": ["x", "y"]},
            "contexts",
            (numbered("1", "x"), numbered("2", "y")),
        ),
        ({"contexts": ["x"], "contexts_id": ["p9"]}, "contexts", (Document(id="p9", text="x"),)),
        ({"contexts": ["x"], "context_ids": [9]}, "contexts", (Document(id="9", text="x"),)),
        ({"retrieved_contexts": ["x"]}, "contexts", (numbered("1", "x"),)),
        (
            {"retrieved_context": [{"doc_id": "d", "text": "x"}]},
            "contexts",
            (Document(id="d", text="x"),),
        ),
        ({"contexts": []}, "contexts", ()),
        ({"reference": "R"}, "reference_answers", ("R",)),
        ({"reference_answer": "R"}, "reference_answers", ("R",)),
        ({"gt_answer": "R"}, "reference_answers", ("R",)),
        ({"reference_answers": ["R", "S"]}, "reference_answers", ("R", "S")),
        ({"reference_context_ids": [1, "b"]}, "reference_context_ids", ("1", "b")),
        ({"is_answerable_label": "UNANSWERABLE"}, "is_answerable", False),
        ({"is_answerable_label": True}, "is_answerable", True),
        ({"metadata_field": {"a": 1}, "source": "web"}, "metadata", {"a": 1, "source": "web"}),
        ({"metadata_field": "x"}, "metadata", {"metadata_field": "x"}),
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
        (
            {
                "results": [
                    {"query_id": "7", "query": "Q?", "gt_answer": "R", "retrieved_context": []}
                ]
            },
            ["7"],
        ),
    ],
)
def test_json_files_of_other_tools_are_recognised_by_shape(
    tmp_path: Path, content: object, ids: list[str]
) -> None:
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


def test_the_index_that_pandas_writes_is_left_out_of_a_csv(tmp_path: Path) -> None:
    (sample,) = read_samples(write(tmp_path, "data.csv", ",id,question,topic\n0,a,Q?,art\n"))
    assert (sample.id, sample.metadata) == ("a", {"topic": "art"})


@pytest.mark.parametrize("first", ["", "sep=;\n", "SEP=;\r\n"])
def test_a_csv_of_excel_may_say_its_separator_and_pad_its_names(tmp_path: Path, first: str) -> None:
    rows = "id; question ;answer\n7;Q, and?;A,1,2\n8;R\n"
    problems = Problems(skip=True, quiet=True)
    (sample,) = read_samples(write(tmp_path, "data.csv", first + rows), problems=problems)
    assert (sample.id, sample.question, sample.answer) == ("7", "Q, and?", "A,1,2")
    assert f"line {4 if first else 3}: the row does not have 3 columns" in str(problems.errors[0])


def test_maps_of_texts_are_read_if_they_hold_questions_and_answers(tmp_path: Path) -> None:
    by_question = '{"How high?": "58 m", "Who built it?": "Ana Souto"}'
    by_id = (
        '{"questions": {"q1": "How high?", "q2": "Who?"}, "answer": {"q1": "58 m", "q2": "Ana"}}'
    )
    samples = list(read_samples(write(tmp_path, "a.json", by_question)))
    assert [(each.question, each.answer) for each in samples] == [
        ("How high?", "58 m"),
        ("Who built it?", "Ana Souto"),
    ]
    path = write(tmp_path, "b.json", by_id.replace("questions", "question"))
    assert [(each.id, each.answer) for each in read_samples(path)] == [
        ("q1", "58 m"),
        ("q2", "Ana"),
    ]


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
        ("a.csv", b"question\nit\x92s \xe9\n", "iconv -f CP1252 -t UTF-8"),
        ("a.csv", b"question\n\x90 \xe9\n", "iconv -f ISO-8859-1 -t UTF-8"),
        (
            "a.csv",
            "question\nCaf\xe9\n".encode("cp1252"),
            "By a guess, it is CP1252 (it then reads '\xe9'",
        ),
        ("a.csv", "question\nМост был\n".encode("cp1251"), "CP1251 (it then reads 'Мост был') or"),
        (
            "a.csv",
            "question\nこの塔の高さ\n".encode("shift_jis"),
            "SHIFT_JIS (it then reads 'この塔",
        ),
        (
            "a.json",
            b'{"q1": "The tower.", "q2": "A mill."}',
            "has texts by ids, as for",
        ),
        ("a.json", b'{"-02": "58 m", "-17": "1802"}', "'.answer = $answers[0][.id | tostring]'"),
        (
            "a.jsonl",
            b'{"id": NaN, "question": "Q?", "answer": "A."}',
            "line 1, id: nothing; give every row an id",
        ),
        (
            "a.csv",
            b"question_id,question\n7,Q?\n,Q?\n",
            "line 3, question_id: nothing; give every row an id",
        ),
        (
            "a.json",
            b'[["a", "Q?"]]',
            'not list; of a DataFrame, write to_json(orient="records", lines=True)',
        ),
        ("a.jsonl", b"\xff\xfe{\x00", "line 1: not JSON"),
        ("a.jsonl", b"", "has no samples"),
        (
            "a.jsonl",
            b'{"question": ["Q"]}',
            "question: a list; give one text: add --field question='question[0]'",
        ),
        (
            "a.jsonl",
            b'{"question": "Q", "id": 1.5}',
            "line 1, id: expected a text or a whole number, got '1.5'",
        ),
        (
            "a.jsonl",
            b'{"question": "Q", "answer": "A", "response": "B"}',
            "both 'answer' and 'response'",
        ),
        (
            "a.jsonl",
            b'{"question": "Q", "contexts": 5}',
            "line 1, contexts: a number; give a list of texts",
        ),
        (
            "a.jsonl",
            b'{"question": "Q", "contexts": [5]}',
            "contexts: item 1: a number; give a text or an object",
        ),
        (
            "a.jsonl",
            b'{"question": "Q", "contexts": [{"txt": "x"}]}',
            "no text; add --field contexts='contexts[*].txt'",
        ),
        ("a.jsonl", b'{"question": "Q", "contexts": [{"id": "a"}]}', "contexts: item 1: no text"),
        (
            "a.jsonl",
            b'{"question": "Q", "contexts": ["x"], "context_ids": []}',
            "1 contexts but 0 context ids",
        ),
        (
            "a.jsonl",
            b'{"question": "Q", "contexts": ["x", "y"], "context_ids": ["a", "a"]}',
            "duplicate document id (to number them, add --field context_ids=''), got 'a'",
        ),
        (
            "a.jsonl",
            b'{"question": "Q", "is_answerable": "maybe"}',
            "expected true or false, got 'maybe'",
        ),
        (
            "a.jsonl",
            b'{"question": "Q", "evidence": {"law.2": ["x"]}}',
            "'law.2' looks like document 2 of 'law'",
        ),
        (
            "a.jsonl",
            b'{"question": "Q", "evidence": {"law~1": ["x"]}}',
            "'law~1' looks like order 1 of 'law'",
        ),
        (
            "a.jsonl",
            b'{"question": "Q", "evidence": {"contexts": ["x"]}}',
            "'contexts' is a part of every sample",
        ),
        ("a.jsonl", b'{"question": ' + b"[" * 100_000, "line 1: not JSON"),
        ("a.json", b'{"things": []}', "no list of samples under one of examples"),
        ("a.json", b"[1]", "item 1: expected a JSON object"),
        ("a.json", b"5", "expected a list of samples"),
        ("a.csv", b"question,answer\nQ\n", "line 2: the row does not have 2 columns"),
        ("a.csv", b'question\n"Q', "not CSV"),
        (
            "a.csv",
            b'question,contexts\nQ,"[""x"""\n',
            "line 2, contexts: looks like a list and cannot be read; write [",
        ),
        (
            "a.csv",
            b'question,contexts\nQ,"[a, b]"\n',
            "line 2, contexts: looks like a list and cannot be read",
        ),
        (
            "a.csv",
            b'id,question,contexts\n1,"Q\nR",x\n2,Q,"[\'a"\n',
            "line 4, contexts: looks like a list",
        ),
        (
            "a.json",
            b'{"question": ["Q", "R"], "answer": ["A"]}',
            "columns of different lengths (question 2, answer 1)",
        ),
        ("a.txt", b"", "unknown file extension '.txt'. Known: .jsonl"),
    ],
)
def test_bad_input_is_one_line_that_says_where(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as raised:
        list(read_samples(path))
    assert words in str(raised.value)
    assert str(path) in str(raised.value)


def test_the_files_of_a_run_are_not_offered_as_data(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(DataError, match="is the folder of a run") as raised:
        list(read_samples(tmp_path))
    assert "manifest.json" not in str(raised.value)


def test_a_directory_or_a_missing_file_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a directory"):
        list(read_samples(tmp_path))
    with pytest.raises(DataError, match="does not exist"):
        list(read_samples(tmp_path / "none.jsonl"))


def test_an_unknown_field_to_name_gets_the_closest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'answer'"):
        one(tmp_path, {"question": "Q?"}, anwser="x")
    with pytest.raises(DataError, match="no row has 'x', which was given for answer"):
        one(tmp_path, {"question": "Q?"}, answer="x")


def test_bad_rows_can_be_left_out_and_are_listed_once(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(GOOD + b"{broken\n" + b'{"answer": ["A"]}\n' + GOOD)
    problems = Problems(skip=True)
    with pytest.warns(UserWarning, match="2 malformed rows left out") as warned:
        assert len(list(read_samples(path, problems=problems))) == 2
    assert [str(error).partition("data.jsonl, ")[2][:6] for error in problems.errors] == [
        "line 2",
        "line 3",
    ]
    assert "line 3, answer: a list; give one text" in str(warned[0].message)
    assert len(list(read_samples(path, problems=problems))) == 2
    assert problems.count == 2


@pytest.mark.parametrize("known", ["answer", "note"])
def test_of_many_bad_rows_all_are_counted_and_twenty_are_kept(tmp_path: Path, known: str) -> None:
    path = write(tmp_path, "data.jsonl", [*[{known: ["A"]}] * 50, {"answer": "B"}])
    problems = Problems(skip=True)
    with pytest.warns(
        UserWarning, match=r"50 malformed rows left out(.|\n)*line 20(.|\n)*\.\.\. and 30 more"
    ):
        assert [sample.answer for sample in read_samples(path, problems=problems)] == ["B"]
    assert (problems.count, len(problems.errors)) == (50, 20)
    with pytest.raises(DataError, match=r"line 1.*49 more rows like it"):
        list(read_samples(path))


def test_a_repeated_id_is_a_problem_where_rows_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "data.jsonl", [{"id": "a", "answer": "1"}, {"id": "a", "answer": "2"}])
    problems = Problems(skip=True, unique_ids=True, quiet=True)
    assert [sample.answer for sample in read_samples(path, problems=problems)] == ["1"]
    assert "line 2, id: 'a' is the id of an earlier row" in str(problems.errors[0])


def test_the_first_error_counts_the_rows_that_share_it(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(GOOD + b'{"answer": ["A"]}\n{"answer": ["B", "C"]}\n{"answer": []}\n{\n')
    with pytest.raises(DataError) as raised:
        list(read_samples(path))
    assert (
        str(raised.value)
        == f"{path}, line 2, answer: a list; give one text, or if these are gold answers, add"
        " --field reference_answers=answer --field answer=''. 2 more rows like it. 1 row with"
        " other problems. --skip-malformed leaves malformed rows out"
    )


def test_after_an_error_a_large_file_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_FURTHER", 3)
    path = write(tmp_path, "data.jsonl", [{"answer": ["A"]}] * 9)
    with pytest.raises(
        DataError,
        match=r"line 1, answer: a list; give one text, .* 3 more rows like it up to row 4",
    ):
        list(read_samples(path))


def test_a_file_without_a_known_column_is_one_line_with_options_that_fit(tmp_path: Path) -> None:
    rows = "Question,Model Output,Retrieved Chunks,Ground Truth\nQ,A,C,R\nQ,A,C,R\n"
    with pytest.raises(DataError) as raised:
        claimeval.read_samples(write(tmp_path, "business.csv", rows))
    assert (
        str(raised.value)
        == f"{tmp_path / 'business.csv'}: no column is known; it has Question, Model Output,"
        " Retrieved Chunks, Ground Truth: add --field question=Question --field answer='Model"
        " Output' --field contexts='Retrieved Chunks' --field reference_answers='Ground Truth'"
    )


LISTS = [
    ('["a", "b"]', ["a", "b"]),
    ("['a', 'b']", ["a", "b"]),
    ("['a' 'b']", ["a", "b"]),
    ("['a'\n 'it\\'s'\n \"b's\"]", ["a", "it's", "b's"]),
    ("['a,\n b']", ["a,\n b"]),
    ("['a' nan None]", ["a", None, None]),
    ("[np.str_('a'), np.str_('b')]", ["a", "b"]),
    ("[array(['a', 'b'], dtype=object)]", [["a", "b"]]),
    (
        "[{'id': 'x', 'text': 'y'}\n {'id': 'z', 'text': 'w'}]",
        [{"id": "x", "text": "y"}, {"id": "z", "text": "w"}],
    ),
    ("array(['a', 'b'], dtype=object)", ["a", "b"]),
    ("np.array(['a',\n       'b'], dtype='<U1')", ["a", "b"]),
    ("array([], dtype=float64)", []),
    ("('a', 'b')", ["a", "b"]),
    ("('a',)", ["a"]),
    ("(np.str_('a'), None)", ["a", None]),
    ("[1 2]", [1, 2]),
    ("[0.5 1. -2e-3]", [0.5, 1.0, -0.002]),
    ("[]", []),
    ("{'a': [1, True]}", {"a": [1, True]}),
]


@pytest.mark.parametrize(("text", "value"), LISTS)
def test_lists_are_read_as_programs_print_them(text: str, value: object) -> None:
    assert read_cell(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "[sic] a",
        "[1] x [2]",
        "[a, b]",
        "['a",
        "[open('x')]",
        "{x}",
        "[" * 5000,
        "['a'] b",
        "('a')",
        "('a') b",
        "array(1)",
        "(a, b)",
    ],
)
def test_what_is_no_list_stays_a_text(text: str) -> None:
    assert read_cell(text) == text


def test_what_numpy_and_pandas_print_is_read_back() -> None:
    import numpy as np

    texts = ['It\'s "fifty"\n metres, high [1]', "b" * 200, "", "naïve \\ 'x' 'y'", "c"]
    assert read_cell(str(np.array(texts, dtype=object))) == texts
    assert read_cell(str(texts)) == texts
    assert read_cell(str(np.array([{"text": text} for text in texts]))) == [
        {"text": text} for text in texts
    ]


@given(
    st.lists(
        st.text(alphabet=st.sampled_from("ab'\"\\\n ,[](){}:…é\x1b😀0.nu#"), max_size=12),
        min_size=1,
        max_size=4,
    )
)
def test_every_list_of_texts_is_read_back_from_what_python_and_numpy_print(
    texts: list[str],
) -> None:
    import numpy as np

    for printed in (str(texts), repr(tuple(texts)), json.dumps(texts)):
        assert read_cell(printed) == texts
    assert read_cell(str(np.array(texts, dtype=object))) == texts
    assert read_cell(repr(np.array(texts, dtype=object))) == texts


@pytest.mark.parametrize(
    ("fields", "field", "value"),
    [
        ({"answer": 42}, "answer", "42"),
        ({"answer": 0.5}, "answer", "0.5"),
        ({"answer": True}, "answer", "true"),
        ({"answer": float("nan")}, "answer", None),
        ({"id": 7.0}, "id", "7"),
        ({"reference_answers": [42, False]}, "reference_answers", ("42", "false")),
        ({"reference_answer": 42}, "reference_answers", ("42",)),
        ({"reference_answer": "[1, 2]"}, "reference_answers", ("[1, 2]",)),
        ({"reference_answers": "['a', 'b']"}, "reference_answers", ("a", "b")),
        ({"answer": "['a', 'b']"}, "answer", "['a', 'b']"),
        (
            {"contexts": "['a' 'b']"},
            "contexts",
            (numbered("1", "a"), numbered("2", "b")),
        ),
        (
            {"contexts": ["a", None]},
            "contexts",
            (numbered("1", "a"), numbered("2", "")),
        ),
        (
            {"contexts": [{"page_content": "a", "metadata": {"x": 1}}]},
            "contexts",
            (numbered("1", "a"),),
        ),
        (
            {"source_nodes": [{"node": {"id_": "n", "text": "a", "metadata": {}}, "score": 0.5}]},
            "contexts",
            (Document(id="n", text="a", score=0.5),),
        ),
        ({"contexts": ["a"], "context_ids": "['x']"}, "contexts", (Document(id="x", text="a"),)),
        (
            {"answer": "A", "note": float("inf"), "more": [float("nan")]},
            "metadata",
            {"note": None, "more": [None]},
        ),
    ],
)
def test_values_are_read_as_they_are_meant(
    fields: dict[str, object], field: str, value: object
) -> None:
    assert getattr(sample(SourceRow("row 1", 1, {"question": "Q", **fields}), {}), field) == value


def test_a_number_of_many_digits_is_text(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"answer": 1' + "0" * 5000 + "}\n", encoding="utf-8")
    assert next(read_samples(path)).answer == "1" + "0" * 5000


@pytest.mark.parametrize("orient", ["records", "columns", "split", "index", "table"])
def test_every_form_of_a_frame_as_json_is_read(
    tmp_path: Path, orient: Literal["records", "columns"]
) -> None:
    import pandas as pd

    rows = [{"id": f"q{i}", "question": "Q", "contexts": [f"a{i}", "b"]} for i in range(12)]
    path = tmp_path / "data.json"
    pd.DataFrame(rows).to_json(path, orient=orient)
    samples = list(read_samples(path))
    assert [(s.id, s.metadata) for s in samples] == [(f"q{i}", {}) for i in range(12)]
    assert [[d.text for d in s.contexts or ()] for s in samples] == [
        [f"a{i}", "b"] for i in range(12)
    ]


@pytest.mark.parametrize(
    "content", ['{"question": "Q", "contexts": ["a"]}', '{"question": ["Q"], "contexts": [["a"]]}']
)
def test_one_object_and_an_object_of_columns_are_rows(tmp_path: Path, content: str) -> None:
    (record,) = read_samples(write(tmp_path, "data.json", content))
    assert (record.question, record.contexts) == ("Q", (numbered("1", "a"),))


def test_json_lines_may_be_called_json(tmp_path: Path) -> None:
    assert (
        len(list(read_samples(write(tmp_path, "data.json", '{"answer": "A"}\n{"answer": "B"}\n'))))
        == 2
    )


@pytest.mark.parametrize("mark", [";", "\t", "|", ","])
def test_columns_are_separated_as_the_header_is(tmp_path: Path, mark: str) -> None:
    text = "".join(
        mark.join(cells) + "\r\n"
        for cells in [("question", "answer", "contexts"), ("Q", "A", "['a']")]
    )
    (record,) = read_samples(write(tmp_path, "data.csv", "\ufeff" + text))
    assert (record.question, record.answer, record.contexts) == (
        "Q",
        "A",
        (numbered("1", "a"),),
    )


def test_a_cell_may_be_long_and_empty_cells_of_a_named_column_are_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "data.csv", f"question,Out\nQ,{'x' * 200_000}\nR,\n")
    assert [
        len(s.answer or "") for s in read_samples(path, mapping=parse_mapping({"answer": "Out"}))
    ] == [200_000, 0]


def test_parquet_reads_like_json(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    path = tmp_path / "data.parquet"
    parquet.write_table(
        pyarrow.table({"question": ["Q?"], "answer": [None], "contexts": [["x"]]}), path
    )
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
