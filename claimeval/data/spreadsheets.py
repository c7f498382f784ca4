"""Read the cells of spreadsheets: Excel's and OpenDocument's files."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claimeval.types.errors import DataError, not_installed


def cells_of(path: Path, sheet: str | None) -> Iterator[tuple[int, list[Any]]]:
    """Yield the rows of a sheet with their numbers, those without a value left out.

    A cell is a text, a number, true or false; an empty one is an empty text. Whole numbers are
    integers, dates are texts.

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
        rows = workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
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
    options = " or ".join(f"--sheet {shlex.quote(name)}" for name in filled)
    if sheet is None:
        raise DataError(
            f"{path} has {len(filled)} sheets with values: add {options}; where data are no"
            " samples, save the sheet as a file of its own"
        )
    raise DataError(f"{path} has no sheet {sheet!r}: add {options}")


def _plain(cell: Any) -> Any:
    if isinstance(cell, str):
        return cell if cell.strip() else ""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, (datetime.date, datetime.time)):
        return cell.isoformat()
    return str(cell) if isinstance(cell, datetime.timedelta) else cell
