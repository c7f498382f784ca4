"""Writing a workbook (.xlsx) of the tables of a run or comparison, one sheet each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, islice
from typing import IO, Any, NamedTuple

from claimeval.types.errors import UsageError, not_installed, visible

MAX_ROWS = 1_048_575
"""The most rows of a sheet below its header."""
MAX_TEXT = 32_767
"""The most characters of a cell; a longer text is dropped by spreadsheets, or makes them refuse the
file."""
CUT = " [cut here: a cell holds no more]"
MAX_NAME = 31
"""The most characters of a sheet's name."""
MEASURED = 200
"""Rows by which the widths of columns are chosen."""
WIDTHS = (8, 60)
"""The least and the largest width of a column in characters."""
_NOT_IN_NAMES = re.compile(r"[\[\]:*?/\\']")


class Sheet(NamedTuple):
    """A table with its name."""

    name: str
    rows: Iterable[Iterable[Any]]
    """Cells; the names of the columns come first."""


def write(file: IO[bytes], sheets: Iterable[Sheet]) -> None:
    """Write a workbook. Texts stay texts: none becomes a formula or a link.

    Raises UsageError if XlsxWriter is not installed, or if a table has more rows than a sheet.
    """
    try:
        from xlsxwriter import Workbook
    except ImportError as error:
        raise not_installed("writing .xlsx needs XlsxWriter", "excel") from error

    # Row by row, so that a large run does not stand in memory as cells.
    with Workbook(file, {"constant_memory": True}) as workbook:
        bold = workbook.add_format({"bold": True})
        decimal = workbook.add_format({"num_format": "0.00"})
        for name, rows in _named(sheets):
            sheet = workbook.add_worksheet(name)
            lines = iter(rows)
            first = [list(line) for line in islice(lines, MEASURED)]
            for column, width in enumerate(_widths(first)):
                sheet.set_column(column, column, width)
            sheet.freeze_panes(1, 0)
            count = 0
            for count, cells in enumerate(chain(first, lines)):
                if count > MAX_ROWS:
                    raise UsageError(
                        f"the table {name!r} has more than {MAX_ROWS:,} rows, the most of a sheet;"
                        f" write it as CSV: --format csv --rows {name}"
                    )
                for column, cell in enumerate(cells):
                    _put(sheet, count, column, cell, bold if count == 0 else decimal)
            if first:
                sheet.autofilter(0, 0, count, len(first[0]) - 1)


def _put(sheet: Any, row: int, column: int, cell: Any, style: Any) -> None:
    """Write a cell: a number as a number, anything else as a text."""
    if cell is None:
        return
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        text = str(cell)
        if len(text) > MAX_TEXT:
            text = text[: MAX_TEXT - len(CUT)] + CUT
        sheet.write_string(row, column, text, style if row == 0 else None)
    elif cell == cell and abs(cell) != float("inf"):
        sheet.write_number(row, column, cell, style if isinstance(cell, float) else None)


def _named(sheets: Iterable[Sheet]) -> Iterable[Sheet]:
    """Yield the sheets under names that spreadsheets take: short, without some signs, unique."""
    used: set[str] = set()
    for sheet in sheets:
        plain = _NOT_IN_NAMES.sub("-", visible(sheet.name))[:MAX_NAME] or "table"
        name = plain
        number = 2
        while name.casefold() in used:
            ending = f" {number}"
            name = plain[: MAX_NAME - len(ending)] + ending
            number += 1
        used.add(name.casefold())
        yield sheet._replace(name=name)


def _widths(rows: Iterable[list[Any]]) -> list[int]:
    """Return the width of each column: that of its longest line, within limits."""
    least, most = WIDTHS
    widths: list[int] = []
    for row in rows:
        widths += [least] * (len(row) - len(widths))
        for column, cell in enumerate(row):
            longest = max(map(len, str(cell).splitlines()), default=0)
            widths[column] = max(widths[column], min(longest + 1, most))
    return widths
