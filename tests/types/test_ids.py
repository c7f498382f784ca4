"""Ids are text, and whole floats are whole numbers, everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import claimeval as ce
from claimeval import ir
from claimeval.data.labels import label, label_rows
from claimeval.types.errors import DataError
from claimeval.types.ids import as_floats, id_text

ROW = {"question": "Q?", "answer": "A.", "contexts": ["A."]}


@given(st.integers())
def test_a_whole_number_has_one_text_in_every_form(number: int) -> None:
    assert id_text(number, "row 1") == str(number) == id_text(str(number), "row 1")
    if abs(number) < 2**53:
        assert id_text(float(number), "row 1") == str(number)


@given(st.sampled_from([None, float("nan"), float("inf"), True, 0.5, "", [], {}]))
def test_what_is_no_id_is_an_error_that_begins_with_its_place(value: Any) -> None:
    with pytest.raises(DataError, match=r"^run, row 7: "):
        id_text(value, "run, row 7")


def test_samples_tables_and_dicts_agree() -> None:
    (sample,) = ce.read_samples([{**ROW, "id": 10.0, "context_ids": [7.0]}])
    assert (sample.id, [document.id for document in sample.contexts or ()]) == ("10", ["7"])
    forms: list[Any] = [[(10.0, 7.0, 1)], {10: {7.0: 1}}, {"10": {"7": 1}}]
    for qrels in forms:
        assert ir.evaluate(qrels, {"10": {"7": 1.0}}, "map").mean == {"map": 1.0}


def test_labels_and_samples_agree(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text('{"id": 10.0, "label": "supported"}\n')
    (row,) = label_rows(tmp_path / "labels.jsonl")
    read = label(row)
    assert read is not None
    assert read.sample == "10"


def test_a_text_with_decimals_stays_and_is_noticed_beside_the_number() -> None:
    assert id_text("10.0", "row 1") == "10.0"
    assert as_floats(["1.0", "10.0"], ["10", "2"]) == "10.0"
    assert as_floats(["1.0", "2.0"], ["1.0", "3"]) is None
