"""Tables in narrow terminals: words fold, numbers stay whole."""

from __future__ import annotations

import pytest

from claimeval.cli.printer import Output


@pytest.fixture(params=[10, 40, 200])
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
    monkeypatch.setenv("COLUMNS", "20")
    assert "".join(line[:18].strip() for line in shown(capsys, name)[1:]) == name


def test_cells_are_texts_and_no_markup(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "[bold]x[/]" in shown(capsys, "[bold]x[/]")[1]
