"""Draws views as plain text, for what a result prints at a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from claimeval.runs.views import Block, Entries, Line, Table, through
from claimeval.types.errors import escaped

LINES = 12
"""The most lines of a result at a prompt."""
WIDTH = 100
"""The most characters of a line."""


def text(blocks: Iterable[Block], lines: int = LINES) -> str:
    """Return the first lines of views; the last says if there are more."""
    drawn = list(islice(_lines(blocks), lines + 1))
    if len(drawn) > lines:
        drawn[lines - 1 :] = ["..."]
    return "\n".join(drawn)


def _lines(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match through(block, escaped):
            case Line(parts):
                words = "".join(parts)
                if words:
                    yield _cut(words)
            case Table() as table:
                yield from _table(table)
            case Entries(title, entries):
                yield title
                for entry in entries:
                    yield _cut(f"  {entry.name}")


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"


def _table(table: Table) -> Iterator[str]:
    """Yield a table with its texts to the left and its numbers to the right. Columns that do not
    fit are left out, those of the highest rank first."""
    columns = list(range(len(table.columns)))
    lines = [[column.name for column in table.columns], *map(list, table.rows)]
    while len(columns) > 1 and sum(_widths(lines, columns)) + 2 * len(columns) > WIDTH:
        # Of equal ranks the last goes first: `max` takes the first that it meets.
        columns.remove(max(reversed(columns), key=lambda at: table.columns[at].rank))
    if table.title:
        yield _cut(table.title)
    widths = _widths(lines, columns)
    for line in lines:
        cells = []
        for at, width in zip(columns, widths, strict=True):
            is_text = table.columns[at].kind in ("text", "metric")
            cells.append(line[at].ljust(width) if is_text else line[at].rjust(width))
        yield _cut("  ".join(cells).rstrip())


def _widths(lines: Iterable[list[str]], columns: Iterable[int]) -> list[int]:
    rows = list(lines)
    return [max(len(row[at]) for row in rows) for at in columns]
