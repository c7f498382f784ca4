"""Tables in narrow terminals: words fold, numbers stay whole; what does not fit is a block of lines
a row."""

from __future__ import annotations

import pytest

from claimeval.cli.printer import Output
from claimeval.runs.views import Column, table
from claimeval.types.estimates import Estimate


@pytest.fixture(params=[35, 40, 200])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def shown(capsys: pytest.CaptureFixture[str], name: str = "faithfulness") -> list[str]:
    estimate = Estimate(value=0.753, low=0.55, high=0.88, ends="interval")
    columns = (Column("metric"), Column("mean", "number"), Column("95% interval", "ends"))
    Output().draw([table("scores", columns, [(name, 0.753, estimate)])])
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_numbers_are_whole_at_any_width(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys)[-1].split("  ", 2)[0:2] == [" faithfulness", "0.75"]
    assert shown(capsys)[-1].endswith(" 0.55 to 0.88")


def test_long_words_fold_to_what_room_there_is_and_no_further(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "openai:model@http://127.0.0.1:8000/v1"
    monkeypatch.setenv("COLUMNS", "80")
    assert shown(capsys, name)[-1].startswith(f" {name}  0.75")
    # 54 less 4 and 12 for the numbers and 6 for the padding are 32
    monkeypatch.setenv("COLUMNS", "54")
    assert [line.split("  ")[0].strip() for line in shown(capsys, name)[-2:]] == [
        name[:32],
        name[32:],
    ]


@pytest.mark.parametrize("columns", [26, 33])
def test_a_table_that_does_not_fit_a_narrow_terminal_is_a_block_a_row(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert shown(capsys) == ["faithfulness", " mean         0.75", " 95% interval 0.55 to 0.88"]


def test_columns_of_a_high_rank_are_left_out_and_named_where_they_do_not_fit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = (
        Column("a"),
        Column("beta", "count"),
        Column("gamma", "count", 1),
        Column("delta", "count", 2),
    )
    view = table("t", columns, [("x", 1, 1_000_000, 3)])
    for width, lines in {
        "31": [" a  beta      gamma  delta ", " x     1  1,000,000      3 "],
        "24": [
            " a  beta      gamma ",
            " x     1  1,000,000 ",
            " not shown below 27",
            " columns: delta",
        ],
        "12": [
            " a  beta ",
            " x     1 ",
            " not shown",
            " below 27",
            " columns:",
            " gamma,",
            " delta",
        ],
    }.items():
        monkeypatch.setenv("COLUMNS", width)
        Output().draw([view])
        assert capsys.readouterr().out.splitlines() == lines


def test_no_line_is_wider_than_a_terminal_and_none_is_folded_without_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "the words of " + "a-path/" * 8
    for width, lines in {"20": 4, "70": 1, None: 1}.items():
        monkeypatch.delenv("COLUMNS", raising=False)
        if width:
            monkeypatch.setenv("COLUMNS", width)
        Output().line(text)
        Output().note(text)
        shown = capsys.readouterr().out.splitlines()
        assert max(map(len, shown)) <= int(width or 75)
        assert len(shown) >= 2 * lines - 1


def test_text_folds_at_a_hundred_columns_at_the_latest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    Output().line("word " * 40, indent=1)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100


def test_cells_are_texts_and_no_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "[bold]x[/]" in shown(capsys, "[bold]x[/]")[-1]
