"""Workbooks, read back by calamine, which is another program's reader."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("xlsxwriter", reason="the extra excel is not installed")

import claimeval as ce
from claimeval.report import workbook
from claimeval.report.workbook import Sheet
from claimeval.testing import samples
from claimeval.types.errors import UsageError
from tests.command_line import call


def sheets(path: Path) -> dict[str, list[list[Any]]]:
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_path(path)
    return {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}


def written(path: Path, *tables: Sheet) -> dict[str, list[list[Any]]]:
    file = io.BytesIO()
    workbook.write(file, tables)
    path.write_bytes(file.getvalue())
    return sheets(path)


@pytest.fixture
def run(tmp_path: Path) -> ce.Run:
    return ce.score(samples(), judges="local:lexical", out=tmp_path / "runs/a")


def test_a_workbook_has_the_scores_samples_and_claims_of_a_run(run: ce.Run, tmp_path: Path) -> None:
    path = tmp_path / "run.xlsx"
    assert run.report(path) == ""
    found = sheets(path)
    assert list(found)[:4] == ["about", "scores", "samples", "claims"]
    head, *rows = found["scores"]
    means = {row[0]: row[head.index("mean")] for row in rows}
    assert means["faithfulness"] == pytest.approx(run["faithfulness"].mean)
    head, *rows = found["samples"]
    assert [row[head.index("id")] for row in rows] == [result.sample.id for result in run]
    claims = sum(len(result.assessments) for result in run)
    assert len(found["claims"]) == claims + 1
    assert run.headline in [row[0] for row in found["about"]]


def test_two_runs_and_three_are_a_workbook_too(run: ce.Run, tmp_path: Path) -> None:
    other = run.save(tmp_path / "runs/b")
    ce.compare(run, other).report(tmp_path / "two.xlsx")
    assert "differences" in sheets(tmp_path / "two.xlsx")
    ce.compare(run, other, run).report(tmp_path / "three.xlsx")
    assert "series-faithfulness" in sheets(tmp_path / "three.xlsx")


def test_texts_stay_texts_and_undefined_values_are_empty(tmp_path: Path) -> None:
    texts = ["=1+1", "https://example.com", "12", "a\nb", "\x01", "", "'=A1", "@x", "é🙂"]
    rows: list[list[object]] = [["text", "number"], *([text, 0.5] for text in texts)]
    rows.append([None, float("nan")])
    read = written(tmp_path / "a.xlsx", Sheet("t", rows))["t"]
    assert [row[0] for row in read[1:10]] == texts
    assert {row[1] for row in read[1:10]} == {0.5}
    assert read[10:] in ([], [["", ""]])


def test_a_text_that_a_cell_cannot_hold_is_cut_and_says_so(tmp_path: Path) -> None:
    read = written(tmp_path / "a.xlsx", Sheet("t", [["text"], ["x" * 40_000]]))["t"]
    assert len(read[1][0]) == workbook.MAX_TEXT
    assert read[1][0].endswith(workbook.CUT)


def test_names_of_sheets_are_short_plain_and_unique(tmp_path: Path) -> None:
    names = ["a/b:c", "A-b-c", "x" * 40, "x" * 45, ""]
    read = written(tmp_path / "a.xlsx", *(Sheet(name, [["h"], [1]]) for name in names))
    assert list(read) == ["a-b-c", "A-b-c 2", "x" * 31, "x" * 29 + " 2", "table"]


def test_more_rows_than_a_sheet_has_are_refused_with_the_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook, "MAX_ROWS", 2)
    with pytest.raises(UsageError, match=r"more than 2 rows.*--format csv --rows claims"):
        written(tmp_path / "a.xlsx", Sheet("claims", [["h"], [1], [2], [3]]))


@pytest.mark.parametrize("name", ["r.docx", "r.txt", "r.csvv", "r"])
def test_an_ending_that_is_not_written_is_refused(run: ce.Run, tmp_path: Path, name: str) -> None:
    done = call("report", run.path, "-o", name, folder=tmp_path, exits=2)
    assert "unknown ending of a report" in done.stderr
    assert "Known: .csv, .html, .json, .md, .xlsx" in done.stderr
    assert not (tmp_path / name).exists()


def test_a_workbook_goes_to_a_file_and_not_to_the_terminal(run: ce.Run, tmp_path: Path) -> None:
    done = call("report", run.path, "-f", "xlsx", folder=tmp_path)
    assert done.stdout == f"Report: {run.path}/report.xlsx\n"
    with pytest.raises(UsageError, match="give its name"):
        run.report(format="xlsx")
