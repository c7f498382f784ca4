"""Tables whose numbers are always there, however narrow the terminal."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

WORDS = 16
"""Characters to which a column of words may be folded."""


def print_whole(console: Console, table: Table | str) -> None:
    """Prints a table, or what is said in place of one: words fold, numbers (columns set to the right) never do.

    Where a terminal is too narrow for that, lines run on beyond its width rather than lose a digit.
    """
    if isinstance(table, str):
        console.print(table)
        return
    for column in table.columns:
        column.no_wrap = column.justify == "right"
        column.overflow = "fold"
    before = console.width
    padding = sum(table.padding[1::2]) * len(table.columns)
    console.width = max(before, padding + sum(map(_least, table.columns)))
    console.print(table)
    console.width = before


def _least(column: Column) -> int:
    cells = [Text.from_markup(cell) if isinstance(cell, str) else cell for cell in (column.header, *column.cells)]
    width = max(cell_len(line) for cell in cells for line in str(cell).splitlines() or [""])
    return width if column.no_wrap else min(width, WORDS)
