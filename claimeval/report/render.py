"""Draws views in Markdown, as JSON for pages and as CSV; `cli/printer.py` and
`runs/views/notebook.py` have the others.

Each form has one door that every text passes first: a text of the data can neither end a row, nor
be markup or a formula, nor move the cursor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from claimeval.runs.views import Block, Column, Data, Entries, Line, Sentence, Table, through
from claimeval.statistics.formatting import UNDEFINED
from claimeval.types.errors import escaped, visible

ENDS = ("ends", "signed_ends", "percent_ends")
"""Kinds of columns with both ends of an estimate."""
WIDTH = 1000
"""Characters of a text in Markdown."""
STARTS = {"heading": "### ", "caution": "> **Caution:** ", "note": "> **Note:** "}
"""What lines of these kinds begin with."""


def code(text: str, width: int | None = None) -> str:
    """Return a text as a code span that can be used in a table cell."""
    line = visible(text, width).replace("|", "\\|")
    # A code span ends at as many backticks as it began with, so that it begins with one more than
    # the text has in a row.
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    padded = f" {line} " if line.startswith("`") or line.endswith("`") else line
    return f"{fence}{padded}{fence}" if line else "(empty)"


def plain(text: str) -> str:
    """Return a text with Markdown's special characters escaped; blanks at its ends stay."""
    return re.sub(r"([\\`*_\[\]<>&|])", r"\\\1", escaped(text))


def _markdown_door(text: str) -> str:
    if isinstance(
        text, Sentence
    ):  # quotes, and words that would be a mention or a link, are code spans
        parts = re.split(r"(“[^”]*”|\S*(?:[@#/]|www\.)\S*)", text)
        return "".join(
            _markdown_door(Data(part) if i % 2 else part) for i, part in enumerate(parts)
        )
    if not isinstance(text, Data):
        return plain(text)
    return code(text, WIDTH) if text else ""


def markdown(blocks: Iterable[Block]) -> str:
    """Return views in Markdown: names and texts of the data are code spans, without mentions, links
    or HTML."""
    return "\n\n".join(
        filter(None, (_markdown(through(block, _markdown_door)) for block in blocks))
    )


def _markdown(block: Block) -> str:
    match block:
        case Line(parts, kind):
            return STARTS.get(kind, "") + "".join(parts)
        case Entries(title, entries):
            lines = [f"**{title}**", ""]
            for entry in entries:
                lines.append(f"- {entry.name}")
                lines += [f"  - {name}: {words}" for name, words in entry.fields]
            return "\n".join(lines)
        case Table():
            return _table(block)


def _table(table: Table) -> str:
    kinds = [column.kind for column in table.columns]
    names = [column.name for column in table.columns]
    rule = ["---" if kind in ("text", "metric") else "---:" for kind in kinds]
    lines = [f"| {' | '.join(row)} |" for row in (names, rule, *table.rows)]
    title = [f"**{table.title}**"] if table.title else []
    return "\n\n".join((*title, "\n".join(lines), *table.notes))


def as_json(table: Table) -> dict[str, Any]:
    """Return a table for a page: each cell as the text that all forms show, numbers in columns of
    their own kind."""
    shown = through(table, str)
    return {
        "name": table.name,
        "title": table.title,
        "columns": [{"name": column.name, "kind": column.kind} for column in table.columns],
        "rows": shown.rows,
        "notes": table.notes,
    }


def cells(table: Table) -> Iterator[list[str | float | None]]:
    """Yield the rows of a table for a CSV, the names of its columns first; both ends have columns
    of their own, and a row inside another one has the name of that row before its own."""
    yield list(chain.from_iterable(map(_names, table.columns)))
    outer: tuple[Any, ...] = ()
    for number, row in enumerate(table.rows):
        if number in table.indented:
            first = next(i for i, cell in enumerate(row) if cell)
            row = (*row[:first], f"{outer[first]}: {row[first]}", *row[first + 1 :])
        else:
            outer = row
        values = [_values(cell, column) for cell, column in zip(row, table.columns, strict=True)]
        yield list(chain.from_iterable(values))


def _names(column: Column) -> tuple[str, ...]:
    if column.kind in ENDS:
        return "low", "high", "ends"
    if column.kind == "range":
        return f"{column.name} low", f"{column.name} high"
    if column.kind == "estimate":
        return column.name, f"{column.name} low", f"{column.name} high"
    return (column.name,)


def _values(cell: Any, column: Column) -> tuple[Any, ...]:
    low, high = getattr(cell, "reported", None) or (None, None)
    if column.kind in ENDS:
        return low, high, getattr(cell, "ends", None)
    if column.kind == "estimate":
        return getattr(cell, "value", None), low, high
    if column.kind == "range":
        return cell or (None, None)
    return (None if cell == UNDEFINED else cell,)
