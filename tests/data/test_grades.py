"""Tables of grades: which forms are read, and what is refused with its line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from claimeval import ir
from claimeval.data.test_collections import (
    qrels_file,
    read_assessors,
    read_names,
    read_qrels,
    write_assessors,
)
from claimeval.types.errors import DataError, UsageError


def table(folder: Path, *rows: Mapping[str, object]) -> Path:
    path = folder / "grades.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_grades_of_many_are_named_by_an_object_or_by_a_list_of_names(tmp_path: Path) -> None:
    rows: Sequence[Mapping[str, object]] = (
        {"query_id": "q1", "doc_id": "a", "human": 1, "grades": [2, 0]},
        {"query_id": "q1", "doc_id": "b", "human": 0, "grades": [None, 3]},
    )
    path = table(tmp_path, *rows)
    assert read_assessors(path, ("ada", "ben")) == {
        "ada": {"q1": {"a": 2}},
        "ben": {"q1": {"a": 0, "b": 3}},
    }
    assert list(read_assessors(path)) == ["1", "2"]
    assert read_qrels(path) == {"q1": {"a": 1, "b": 0}}
    named = table(tmp_path, {"qid": 7, "docid": "a", "grades": {"ada": 2, "ben": None}})
    assert read_assessors(named) == {"ada": {"7": {"a": 2}}, "ben": {}}


def test_a_table_of_one_assessor_may_be_csv(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("query_id,doc_id,grade\nq1,a,2\nq1,b,\nq2,a,0\n")
    assert read_assessors(path) == {"mine": {"q1": {"a": 2}, "q2": {"a": 0}}}


def test_trec_files_are_read_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("q1 0 a 2\n")
    assert read_qrels(path) == {"q1": {"a": 2}}
    assert read_assessors(path) == {"qrels.txt": {"q1": {"a": 2}}}


def test_what_was_read_is_written_as_qrels_and_reads_back(tmp_path: Path) -> None:
    grades = {"ada": {"q1": {"a": 2}}, "b/../en": {"q1": {"a": 0}}}
    write_assessors(grades, tmp_path / "out")
    paths = [qrels_file(tmp_path / "out", name) for name in grades]
    assert [path.name for path in paths] == ["ada.qrels", "b-..-en.qrels"]
    assert [ir.read_qrels(path) for path in paths] == list(grades.values())
    with pytest.raises(UsageError, match="Rename one"):
        write_assessors({"a b": {}, "a/b": {}}, tmp_path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"doc_id": "b", "grade": 1}, "line 2: no id of the query"),
        ({"query_id": "q1", "grade": 1}, "line 2: no id of the document"),
        (
            {"query_id": "q1", "doc_id": "b", "grade": 1.5},
            "line 2: the grade '1.5' is not an integer",
        ),
        ({"query_id": "q1", "doc_id": "b", "grade": True}, "line 2: the grade 'True'"),
        ({"query_id": "q1", "doc_id": "b", "grade": "inf"}, "line 2: the grade 'inf'"),
        (
            {"query_id": "q1", "doc_id": "a", "grade": 0},
            "already graded for query 'q1' in .*line 1",
        ),
        ({"query_id": "q1", "doc_id": "b", "grades": [1, 2]}, "line 2: 2 grades for 1 names"),
    ],
)
def test_a_row_that_is_no_grade_is_refused_with_its_line(
    tmp_path: Path, row: Mapping[str, object], message: str
) -> None:
    path = table(tmp_path, {"query_id": "q1", "doc_id": "a", "grade": 0}, row)
    with pytest.raises(DataError, match=message):
        read_assessors(path, ("ada",))


def test_a_table_without_a_grade_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no grades"):
        read_qrels(table(tmp_path, {"query_id": "q1", "doc_id": "a"}))


@pytest.mark.parametrize("text", ["[]", '{"a": ["x"], "b": ["y"]}', '["x", "x"]', "3", "no"])
def test_names_are_one_list_of_different_texts(tmp_path: Path, text: str) -> None:
    path = tmp_path / "names.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"names\.json"):
        read_names(path)
    path.write_text('{"judges": ["ada", "ben"], "queries": {"q1": "?"}}')
    assert read_names(path) == ("ada", "ben")
