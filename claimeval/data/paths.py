"""Paths into rows of an export: `output.answer`, `docs[*].text`, `spans[type=RETRIEVER].output`,
`context_*`.

A key that has the whole text of a path goes before anything else, at every level: keys with dots
need no quotes. Lists and objects in texts are opened on the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from claimeval.data.cells import read_cell

LISTS = frozenset(
    (
        "contexts",
        "context_ids",
        "history",
        "messages",
        "reference_answers",
        "reference_contexts",
        "reference_context_ids",
    )
)
"""Fields of a sample that take all values at a path; the others take one."""
_SELECTED = re.compile(r"\[(\*|-?\d+|[^\[\]=]+=[^\[\]]*)\]\.?")
_OF_TEXT = re.compile(r"\[(lines|paragraphs|numbered)\]")
"""A step into a text."""
_NUMBER = re.compile(r"(?:^|(?<=\s))\[(\d+)\](?=\s|$)")
"""The number before a passage: `[1] ... [2] ...`."""
_DIGITS = re.compile(r"(\d+)")


def is_path(text: str) -> bool:
    """Return whether a column name may be a path; an empty one leads nowhere."""
    return not text or any(sign in text for sign in ".[*")


def is_pattern(path: str) -> bool:
    """Return whether a path is a pattern of the names of columns."""
    return "*" in path and "[" not in path


def values_at(value: Any, path: str) -> Iterator[Any]:
    """Yield the values at a path, without nulls.

    Args:
        value: A row, or a value in it.
        path: Names with dots; `[*]` for all items of a list, `[0]` and `[-1]` for one,
            `[name=value]` for those with this value; `[lines]`, `[paragraphs]` and `[numbered]` for
            the passages in a text; in a name of columns, `*` for any text, in the
            order of the numbers in the names. A name after a list is looked for in all its items,
            and a number is that of an item.
    """
    value = opened(value)
    if isinstance(value, dict):
        if path in value:
            yield from () if value[path] is None else (value[path],)
        elif is_pattern(path) and (names := [name for name in value if fnmatchcase(name, path)]):
            names.sort(key=_natural)
            yield from (value[name] for name in names if value[name] not in (None, ""))
        else:
            ends = [match.start() for match in re.finditer(r"[.\[]", path)]
            for end in reversed(ends):  # the longest key first
                if path[:end] in value:
                    yield from values_at(value[path[:end]], path[end:].removeprefix("."))
                    return
    elif isinstance(value, list):
        selector, rest = _first_step(path)
        for item in _items(value, selector):
            if rest:
                yield from values_at(item, rest)
            elif item is not None:
                yield item
    elif isinstance(value, str) and (step := _OF_TEXT.fullmatch(path)):
        yield from passages(value, step[1])


def has(value: Any, path: str) -> bool | None:
    """Return whether a value has a path, also if it leads to a null; None if a null or an empty
    list on the way leaves it open."""
    value = opened(value)
    if value is None or value == []:
        return None if path else True
    if isinstance(value, dict):
        return _has_key(value, path)
    if isinstance(value, list):
        item, rest = _first_step(path)
        found = [has(inner, rest) if rest else True for inner in _items(value, item)]
        if any(found):
            return True
        return None if None in found else False
    return not path or bool(_OF_TEXT.fullmatch(path))


def passages(text: str, step: str) -> list[str]:
    """Return the passages in a text: its lines, its paragraphs, or those after the numbers `[1]`,
    `[2]` and so on. Blank ones are left out."""
    if step == "lines":
        parts = text.splitlines()
    elif step == "paragraphs":
        parts = re.split(r"\n\s*\n", text.replace("\r\n", "\n"))
    else:
        parts = [text]
        starts = numbers(text)
        if len(starts) > 1:
            ends = [*(start for start, _ in starts[1:]), len(text)]
            parts = [text[: starts[0][0]]]
            parts += [text[begin:end] for (_, begin), end in zip(starts, ends, strict=True)]
    return [part.strip() for part in parts if part.strip()]


def numbers(text: str) -> list[tuple[int, int]]:
    """Return where the numbers before passages begin and end; those that do not count up are a part
    of a passage, such as a mark of a citation."""
    found: list[tuple[int, int]] = []
    following: int | None = None
    for match in _NUMBER.finditer(text):
        number = int(match[1])
        if following is None or number == following:
            found.append(match.span())
            following = number + 1
    return found


def _has_key(value: dict[str, Any], path: str) -> bool | None:
    if path in value or (is_pattern(path) and any(fnmatchcase(name, path) for name in value)):
        return True
    ends = [match.start() for match in re.finditer(r"[.\[]", path)]
    for end in reversed(ends):  # the longest key first
        if path[:end] in value:
            return has(value[path[:end]], path[end:].removeprefix("."))
    return False


def _first_step(path: str) -> tuple[str, str]:
    """Return which items of a list a path is about, and the path within them."""
    if selected := _SELECTED.match(path):
        return selected[1], path[selected.end() :]
    name, _, after = path.partition(".")
    return (name, after) if name.isdecimal() else ("*", path)


def flat(values: Iterable[Any]) -> list[Any]:
    """Return the values with those of lists in them."""
    flattened: list[Any] = []
    for value in values:
        flattened += flat(value) if isinstance(value, (list, tuple)) else [value]
    return flattened


def _items(values: list[Any], selector: str) -> list[Any]:
    name, equals, wanted = selector.partition("=")
    if equals:
        return [
            item for item in values if any(str(found) == wanted for found in values_at(item, name))
        ]
    if selector == "*":
        return values
    number = int(selector)
    return values[number:][:1] if -len(values) <= number < len(values) else []


def opened(value: Any) -> Any:
    """Return the list or object in a text; other values stay."""
    return read_cell(value) if isinstance(value, str) else value


def _natural(name: str) -> list[Any]:
    return [int(part) if part.isdecimal() else part for part in _DIGITS.split(name)]


@lru_cache(maxsize=256)
def roots(names: tuple[str, ...], path: str) -> tuple[str, ...]:
    """Return the columns that a path leads into."""
    if path in names:
        return (path,)
    if is_pattern(path) and (matching := tuple(name for name in names if fnmatchcase(name, path))):
        return matching
    starts = [path[: match.start()] for match in re.finditer(r"[.\[]", path)]
    return tuple(name for name in reversed(starts) if name in names)[:1]
