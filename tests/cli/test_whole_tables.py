"""Tables in narrow terminals: words fold, numbers stay whole."""

from __future__ import annotations

import io

import pytest
from claimeval.cli.whole_tables import print_whole
from rich.console import Console
from rich.table import Table


def shown(width: int, name: str = "faithfulness") -> list[str]:
    table = Table(box=None, padding=(0, 1))
    table.add_column("metric", no_wrap=True)
    table.add_column("mean", justify="right")
    table.add_column("95 % interval", justify="right")
    table.add_row(f"[bold]{name}[/]", "0.753", "0.55 to 0.88")
    console = Console(file=io.StringIO(), width=width)
    print_whole(console, table)
    assert console.width == width
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [10, 40, 200])
def test_numbers_are_whole_at_any_width(width: int) -> None:
    assert shown(width)[1] == " faithfulness  0.753   0.55 to 0.88"


def test_long_words_fold_to_what_room_there_is_and_no_further() -> None:
    name = "openai:model@http://127.0.0.1:8000/v1"
    assert shown(80, name)[1].startswith(f" {name}  0.753")
    # 48 less 5 and 13 for the numbers and 6 for the padding are 24
    assert [line.split("  ")[0].strip() for line in shown(48, name)[1:]] == [name[:24], name[24:]]
    assert "".join(line[:18].strip() for line in shown(20, name)[1:]) == name
