"""Paths into rows of an export: `output.answer`, `docs[*].text`, `spans[type=RETRIEVER].output`, `context_*`.

A key that has the whole text of a path goes before anything else, at every level: keys with dots need no quotes.
JSON in a text is opened on the way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from claimeval.data.rows import SourceRow

LISTS = frozenset(
    (
        "contexts",
        "context_ids",
        "reference_answers",
        "reference_contexts",
        "reference_context_ids",
        "history",
        "messages",
    )
)
"""Fields of a sample that take all values at a path; the others take one."""
_SELECTED = re.compile(r"\[(\*|-?\d+|[^\[\]=]+=[^\[\]]*)\]\.?")
_DIGITS = re.compile(r"(\d+)")


def is_path(text: str) -> bool:
    """Return whether a column name may be a path."""
    return any(sign in text for sign in ".[*")


def values_at(value: Any, path: str) -> Iterator[Any]:
    """Yield the values at a path, without nulls.

    Args:
        value: A row, or a value in it.
        path: Names with dots; `[*]` for all items of a list, `[0]` and `[-1]` for one, `[name=value]` for those with
            this value; in a name of columns, `*` for any text, in the order of the numbers in the names.
    """
    value = _opened(value)
    if isinstance(value, dict):
        if path in value:
            yield from () if value[path] is None else (value[path],)
        elif "*" in path and not re.search(r"[.\[]", path):
            names = sorted((name for name in value if fnmatchcase(str(name), path)), key=_natural)
            yield from (value[name] for name in names if value[name] not in (None, ""))
        else:
            ends = [match.start() for match in re.finditer(r"[.\[]", path)]
            for end in reversed(ends):  # the longest key first
                if path[:end] in value:
                    yield from values_at(value[path[:end]], path[end:].removeprefix("."))
                    return
    elif isinstance(value, list) and (selected := _SELECTED.match(path)):
        rest = path[selected.end() :]
        for item in _items(value, selected[1]):
            yield from values_at(item, rest) if rest else (() if item is None else (item,))


def _items(values: list[Any], selector: str) -> list[Any]:
    name, equals, wanted = selector.partition("=")
    if equals:
        return [item for item in values if any(str(found) == wanted for found in values_at(item, name))]
    if selector == "*":
        return values
    number = int(selector)
    return values[number:][:1] if -len(values) <= number < len(values) else []


def _opened(value: Any) -> Any:
    """Return the JSON object or list in a text; other values stay."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _natural(name: str) -> list[Any]:
    return [int(part) if part.isdecimal() else part for part in _DIGITS.split(name)]


def with_paths(row: SourceRow, columns: Mapping[str, str]) -> SourceRow:
    """Return the row with a column for each path, and without the columns that it leads into.

    Args:
        row: The row.
        columns: Sample field to column name or path. A path whose first key the row lacks is left for the error of an
            unknown column.
    """
    fields, led_into = dict(row.fields), set[str]()
    for field, path in columns.items():
        if path in row.fields or not is_path(path) or not (roots := _roots(tuple(row.fields), path)):
            continue
        found = list(values_at(row.fields, path))
        if not found:
            fields[path] = [] if field in LISTS and _is_empty_list(row.fields, path) else None
        else:
            fields[path] = found[0] if len(found) == 1 else found
        led_into.update(roots)
    return row._replace(fields={name: value for name, value in fields.items() if name not in led_into})


def _is_empty_list(row: Mapping[str, Any], path: str) -> bool:
    """Return whether a path without values leads through an empty list: nothing was retrieved, rather than recorded."""
    before, every, _ = path.partition("[*]")
    return bool(every) and any(_opened(value) == [] for value in values_at(row, before))


@lru_cache(maxsize=256)
def _roots(names: tuple[str, ...], path: str) -> tuple[str, ...]:
    """Return the columns that a path leads into."""
    if "*" in path and not re.search(r"[.\[]", path):
        return tuple(name for name in names if fnmatchcase(name, path))
    starts = [path[: match.start()] for match in re.finditer(r"[.\[]", path)]
    return tuple(name for name in reversed(starts) if name in names)[:1]
