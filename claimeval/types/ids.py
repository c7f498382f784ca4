"""Ids of queries, documents and samples as text: read alike in files, tables, dicts and tuples."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable

from claimeval.types.errors import DataError


def id_text(value: object, location: str) -> str:
    """Return an id as text. Whole floats are whole numbers, because a column of pandas with one
    missing value has no integers.

    >>> id_text("d1", "row 1"), id_text(10, "row 1"), id_text(10.0, "row 1")
    ('d1', '10', '10')

    Raises:
        DataError: There is no id, or it is true, false or a number with decimals. The message
            begins with `location`.
    """
    if isinstance(value, str):
        if value:
            return value
        raise DataError(f"{location}: the id is empty; give a text or a whole number")
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        raise DataError(f"{location}: the id is missing; give a text or a whole number")
    whole = _whole(value)
    if whole is not None:
        return str(whole)
    if isinstance(value, (numbers.Real, list, tuple, dict, set)):
        raise DataError(f"{location}: got the id {value!r:.60}; give a text or a whole number")
    return str(value)


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return int(number) if math.isfinite(number) and number.is_integer() else None
    return None


def as_floats(names: Iterable[str], others: Iterable[str]) -> str | None:
    """Return an id such as `10.0` that is `10` among the others; None if there is none.

    Texts stay as they are, since `1.0` may be a version; a file that a table was written to with
    floats has other ids than the one beside it.
    """
    decimal = [name for name in names if name.endswith(".0")]
    known = set(others) if decimal else set()
    return next((name for name in decimal if name not in known and name[:-2] in known), None)
