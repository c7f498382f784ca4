"""Human labels are read from files, in the words people use."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval.data.labels import HumanLabel, LabelFile
from claimeval.types.errors import DataError
from claimeval.types.records import Evidence


def labels(tmp_path: Path, text: str, name: str = "labels.jsonl") -> list[HumanLabel]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return list(LabelFile(path))


@pytest.mark.parametrize(
    ("said", "label", "grade"),
    [
        ('"supported"', "supported", None),
        ('"Yes"', "supported", None),
        ('"No"', "not_found", None),
        ('"Contradiction"', "contradicted", None),
        ('"partially supported"', "not_found", None),
        ("true", "supported", None),
        ("false", "not_found", None),
        ("1", "supported", 1),
        ('"0"', "not_found", 0),
        ("3", None, 3),
        ("1.0", "supported", 1),
        ('"0.0"', "not_found", 0),
    ],
)
def test_labels_in_words_and_numbers(
    tmp_path: Path, said: str, label: str | None, grade: int | None
) -> None:
    (found,) = labels(tmp_path, f'{{"id": 7, "claim_id": "answer-1", "label": {said}}}\n')
    assert (found.sample, found.claim_id, found.label, found.grade) == (
        "7",
        "answer-1",
        label,
        grade,
    )


def test_a_label_and_its_grade_may_stand_side_by_side(tmp_path: Path) -> None:
    (found,) = labels(tmp_path, '{"id": "q", "claim_id": "d", "label": "not_found", "grade": 1}')
    assert (found.label, found.grade) == ("not_found", 1)
    (found,) = labels(tmp_path, '{"id": "q", "claim_id": "d", "grade": "0"}')
    assert (found.label, found.grade) == ("not_found", 0)


def test_blank_and_undecided_labels_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(
        "id,claim_id,label\na,answer-1,\na,answer-2,  \na,answer-3,unsure\na,answer-4,yes\n"
    )
    read = LabelFile(path)
    assert [found.claim_id for found in read] == ["answer-4"]
    assert (read.blank, read.undecided) == (2, 1)


@pytest.mark.parametrize(
    ("rows", "said"), [("", "0 rows are blank"), ("a,\nb,\n", "2 rows are blank, 0 undecided")]
)
def test_a_file_without_a_label_is_refused(tmp_path: Path, rows: str, said: str) -> None:
    with pytest.raises(DataError, match=f"has no labels: {said}"):
        labels(tmp_path, "id,label\n" + rows, "labels.csv")


def test_a_file_whose_labels_have_another_name_is_refused_with_its_columns(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"has no labels: its columns are id, claim, mine\. Fill the column `label`"
    ):
        labels(tmp_path, "id,claim,mine\na,It is.,yes\n", "labels.csv")


def test_a_csv_from_a_spreadsheet_is_read(tmp_path: Path) -> None:
    (found,) = labels(
        tmp_path, "id,text,against,label,annotator\ns1,It rained.,contexts,no,ann\n", "labels.csv"
    )
    assert found == HumanLabel(
        sample="s1",
        text="It rained.",
        evidence=Evidence(part="contexts"),
        label="not_found",
        says_no=True,
        annotator="ann",
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"label": "yes"}', "line 1: a label needs the id"),
        ('{"id": "a", "label": "perhaps"}', "unknown label 'perhaps'"),
    ],
)
def test_bad_rows_are_refused_in_words(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        labels(tmp_path, row + "\n")


@pytest.mark.parametrize(
    ("said", "says_no"),
    [
        ('"no"', True),
        ("0", True),
        ('"0.0"', True),
        ("false", True),
        ('"Not supported"', True),
        ('"not_found"', False),
        ('"contradicted"', False),
        ('"yes"', False),
    ],
)
def test_a_plain_no_does_not_say_whether_the_evidence_contradicts(
    tmp_path: Path, said: str, says_no: bool
) -> None:
    (found,) = labels(tmp_path, f'{{"id": 7, "claim_id": "answer-1", "label": {said}}}\n')
    assert found.says_no is says_no


def test_the_key_for_unsure_is_undecided_in_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id,text,label\n1,a,yes\n1,b,?\n1,c,unsure\n", encoding="utf-8")
    file = LabelFile(path)
    assert (len(list(file)), file.undecided) == (1, 2)


def test_a_space_behind_the_name_of_an_annotator_makes_no_second_person(tmp_path: Path) -> None:
    rows = "id,text,label,annotator\n1,a,yes,ada\n1,b,no,ada \n1,c,no, \n"
    names = [label.annotator for label in labels(tmp_path, rows, "labels.csv")]
    assert names == ["ada", "ada", None]


@pytest.mark.parametrize(
    ("rows", "column"),
    [
        # Three claims of each answer, in a column of another name.
        ([(q, claim, "") for q in "pqr" for claim in ("It rained.", "It is May.")], "statement"),
        # One label of each answer by each of two people.
        ([(q, "", name) for q in "pqr" for name in ("ada", "ben")], "rater"),
        # A second label of few answers.
        ([("p", "", "mon"), ("p", "", "tue"), ("q", "", "mon"), ("r", "", "mon")], None),
        # The same value in all rows of an answer.
        ([(q, f"about {q}", "") for q in "ppqqrr"], None),
    ],
)
def test_labels_of_whole_answers_that_differ_in_an_unread_column_are_told(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    rows: list[tuple[str, str, str]],
    column: str | None,
) -> None:
    text = "".join(f"{name},{statement},{rater},yes\n" for name, statement, rater in rows)
    labels(tmp_path, f"id,statement,rater,label\n{text}", "labels.csv")
    expected = [f"differ in the column {column!r}"] if column else []
    assert len(caplog.messages) == len(expected)
    assert all(words in caplog.text for words in expected)
