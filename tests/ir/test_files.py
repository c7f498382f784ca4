"""What is written is read back: TREC files and BEIR folders."""

from __future__ import annotations

import gzip
from io import StringIO
from pathlib import Path

import pytest

from claimeval import ir
from claimeval.types.errors import DataError


def test_a_run_is_written_in_the_order_trec_eval_sees_and_read_back() -> None:
    run = {"q2": {"a": 1.5}, "q1": {"b": 0.1, "a": 0.1, "c": 1 / 3}}
    file = StringIO()

    ir.write_run(run, file, tag="mine")

    assert (
        file.getvalue()
        == "q1 Q0 c 1 0.3333333333333333 mine\nq1 Q0 b 2 0.1 mine\nq1 Q0 a 3 0.1 mine\nq2 Q0 a 1"
        " 1.5 mine\n"
    )


def test_written_files_read_back_equal(tmp_path: Path) -> None:
    qrels = {"q": {"é": 2, "b": -1}}
    run = {"q": {"é": 1e-300, "b": -7.25}}
    with open(tmp_path / "qrels", "w", encoding="utf-8") as file:
        ir.write_qrels(qrels, file)
    with open(tmp_path / "run", "w", encoding="utf-8") as file:
        ir.write_run(run, file)

    assert ir.read_qrels(tmp_path / "qrels") == qrels
    assert ir.read_run(tmp_path / "run") == run


@pytest.mark.parametrize("name", ["two words", "", "tab\there"])
def test_names_that_would_not_read_back_are_refused(name: str) -> None:
    for wrong in ({name: {"a": 1}}, {"q": {name: 1}}):
        with pytest.raises(DataError, match="cannot be written to a TREC file"):
            ir.write_qrels(wrong, StringIO())
        with pytest.raises(DataError, match="cannot be written to a TREC file"):
            ir.write_run(wrong, StringIO())
    with pytest.raises(DataError, match="cannot be written to a TREC file"):
        ir.write_run({"q": {"a": 1.0}}, StringIO(), tag=name)


def test_a_query_that_would_read_back_as_a_comment_is_refused() -> None:
    with pytest.raises(
        DataError, match="query '#1' cannot be written to a TREC file: the line would be a comment"
    ):
        ir.write_run({"#1": {"a": 1.0}}, StringIO())
    with pytest.raises(DataError, match="the line would be a comment"):
        ir.write_qrels({"#1": {"#a": 1}}, StringIO())


def beir(folder: Path, split: str = "test") -> Path:
    (folder / "qrels").mkdir()
    path = folder / "qrels" / f"{split}.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n")
    return path


def test_beir_qrels_serve_as_qrels(tmp_path: Path) -> None:
    beir(tmp_path)
    (tmp_path / "run").write_text("q1 Q0 d2 1 2 t\nq1 Q0 d1 2 1 t\n")
    assert ir.evaluate(ir.find_qrels(tmp_path), tmp_path / "run", "mrr").mean["mrr"] == 1 / 2


def test_gzipped_qrels_of_a_split_are_read(tmp_path: Path) -> None:
    path = beir(tmp_path, "dev")
    path.with_name("dev.tsv.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert ir.read_qrels(ir.find_qrels(tmp_path, "dev")) == {"q1": {"d1": 1, "d2": 0}}


def test_a_split_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    beir(tmp_path, "dev")
    with pytest.raises(DataError, match=r"there is no qrels/test\.tsv; .*, here dev\.tsv"):
        ir.find_qrels(tmp_path)
