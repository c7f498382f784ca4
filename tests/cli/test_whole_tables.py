"""Tables in narrow terminals: words fold, numbers stay whole; what does not fit is a block of lines a row."""

from __future__ import annotations

import pytest

from claimeval.cli.printer import Output


@pytest.fixture(params=[36, 40, 200])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def shown(capsys: pytest.CaptureFixture[str], name: str = "faithfulness") -> list[str]:
    Output().table(("metric", "mean", "95 % interval"), [(name, "0.753", "0.55 to 0.88")])
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_numbers_are_whole_at_any_width(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys)[1] == " faithfulness  0.753   0.55 to 0.88"


def test_long_words_fold_to_what_room_there_is_and_no_further(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "openai:model@http://127.0.0.1:8000/v1"
    monkeypatch.setenv("COLUMNS", "80")
    assert shown(capsys, name)[1].startswith(f" {name}  0.753")
    # 48 less 5 and 13 for the numbers and 6 for the padding are 24
    monkeypatch.setenv("COLUMNS", "48")
    assert [line.split("  ")[0].strip() for line in shown(capsys, name)[1:]] == [name[:24], name[24:]]


@pytest.mark.parametrize("columns", [28, 35])
def test_a_table_that_does_not_fit_a_narrow_terminal_is_a_block_a_row(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert shown(capsys) == ["faithfulness", " mean          0.753", " 95 % interval 0.55 to 0.88"]


def test_a_table_wider_than_a_usual_terminal_runs_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    Output().table(("a", *("x" * 30,) * 2), [("1", "2" * 30, "3" * 30)])
    assert capsys.readouterr().out.splitlines()[1].split() == ["1", "2" * 30, "3" * 30]


def test_text_folds_at_a_hundred_columns_at_the_latest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    Output().line("word " * 40, wrap=True)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100


def test_cells_are_texts_and_no_markup(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "[bold]x[/]" in shown(capsys, "[bold]x[/]")[1]
