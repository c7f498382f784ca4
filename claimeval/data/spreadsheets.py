"""Read the cells of spreadsheets: Excel's and OpenDocument's files."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claimeval.data.field_names import rank_of_text, words_of
from claimeval.types.errors import DataError, not_installed


def cells_of(path: Path, sheet: str | None) -> Iterator[tuple[int, list[Any]]]:
    """Yield the rows of a sheet with their numbers, those without a value left out.

    A cell is a text, a number, true or false; an empty one is an empty text. Whole numbers are
    integers, dates are texts. A cell that is merged over several rows is in each of them.

    Args:
        path: The file.
        sheet: The name of the sheet. None: the only one that has values.

    Raises:
        DataError: The file cannot be read, there are several sheets, or not this one.
        UsageError: The reader is not installed.
    """
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise not_installed(f"reading {path.suffix} needs python-calamine", "excel") from error
    try:
        workbook = CalamineWorkbook.from_path(path)
        name = _chosen(path, workbook, sheet)
        # rows are counted from the top of the sheet, as its program shows them
        table = workbook.get_sheet_by_name(name)
        rows = table.to_python(skip_empty_area=False)
        # Excel keeps the value of merged cells in the first of them alone.
        for (top, left), (bottom, _) in table.merged_cell_ranges or ():
            for row in rows[top + 1 : bottom + 1]:
                row[left] = rows[top][left]
    except CalamineError as error:
        raise DataError(
            f"{path} is not a readable spreadsheet ({error}). If it opens in Excel, save it there"
            " as .xlsx or CSV"
        ) from error
    for number, row in enumerate(rows, 1):
        cells = [_plain(cell) for cell in row]
        if any(cell != "" for cell in cells):
            yield number, cells


def _chosen(path: Path, workbook: Any, sheet: str | None) -> str:
    names: list[str] = workbook.sheet_names
    if sheet in names:
        return str(sheet)
    filled = [name for name in names if workbook.get_sheet_by_name(name).to_python()]
    if sheet is None and len(filled) == 1:
        return filled[0]
    if not filled:
        raise DataError(f"{path} has no values in a sheet")
    ordered = sorted(filled, key=lambda name: not _has_answers(workbook, name))
    options = " or ".join(f"--sheet {shlex.quote(name)}" for name in ordered)
    if sheet is None:
        raise DataError(
            f"{path} has {len(filled)} sheets with values: add {options}; a command"
            " without --sheet takes the sheet as a file of its own"
        )
    raise DataError(f"{path} has no sheet {sheet!r}: add {options}")


def _has_answers(workbook: Any, sheet: str) -> bool:
    """Return whether a sheet has columns with questions and answers by their names: a cover, a
    summary and a list of documents have not."""
    header: list[str] = []
    for row in workbook.get_sheet_by_name(sheet).to_python():
        cells = [str(cell) for cell in row]
        if header:
            pairs = zip(header, cells, strict=False)
            filled = [words_of(name) for name, cell in pairs if cell]
            names = list(filter(None, filled))
            asked = any(rank_of_text("question", [words]) for words in names)
            answered = any(rank_of_text("answer", [words]) for words in names)
            return asked and answered
        # the first row of several cells, since a title may stand above it
        if sum(map(bool, cells)) > 1:
            header = cells
    return False


def _plain(cell: Any) -> Any:
    if isinstance(cell, str):
        return cell if cell.strip() else ""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, (datetime.date, datetime.time)):
        return cell.isoformat()
    return str(cell) if isinstance(cell, datetime.timedelta) else cell
