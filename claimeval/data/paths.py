"""Paths into rows of an export: `output.answer`, `docs[*].text`, `spans[type=RETRIEVER].output`,
`context_*`.

A key that has the whole text of a path goes before anything else, at every level: keys with dots
need no quotes. Lists and objects in texts are opened on the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
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
_OF_TEXT = re.compile(r"\[(lines|paragraphs|numbered|split:.*\S.*)\]", re.DOTALL)
"""A step into a text."""
_SPLIT = "split:"
_TAG = re.compile(r"<([A-Za-z][\w-]*)>")
"""The name of an element between whose tags passages stand, as in `<doc id="1">...</doc>`."""
_NUMBER = re.compile(r"(?:^|(?<=\s))\[(\d+)\](?=\s|$)")
"""The number before a passage: `[1] ... [2] ...`."""
_LABEL = re.compile(r"(?:^|(?<=\n))[^\S\n]*[#*]*[^\S\n]*([^\W\d_]+)[^\S\n]+[\[(]?(\d+)[\])]?:[*]*")
"""The label before a passage, at the beginning of a line: `Document 1:`, `Passage [1]:`."""
_ITEM = re.compile(r"(?:^|(?<=\n))[^\S\n]*\(?(\d+)[.)](?=\s)")
"""The number of an item at the beginning of a line: `1.`, `1)`, `(1)`."""
_DIGITS = re.compile(r"(\d+)")
_ANY_KEY = "*."
"""A step to the values of all keys, such as names of systems that differ from row to row."""


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
            `[name=value]` for those with this value; `[lines]`, `[paragraphs]`, `[numbered]` and
            `[split: ---]` for the passages in a text; in a name of columns, `*` for any text, in
            the order of the numbers in the names; `*.` for any key. A name after a list is looked
            for in all its items, and a number is that of an item.
    """
    value = opened(value)
    if isinstance(value, dict):
        yield from _values_of_object(value, path)
    elif isinstance(value, list):
        selector, rest = _first_step(path)
        for item in _items(value, selector):
            if rest:
                yield from values_at(item, rest)
            elif item is not None:
                yield item
    elif isinstance(value, str) and (step := _OF_TEXT.fullmatch(path)):
        yield from passages(value, step[1])


def _values_of_object(value: dict[str, Any], path: str) -> Iterator[Any]:
    if path in value:
        yield from () if value[path] is None else (value[path],)
    elif names := _matching(value, path):
        yield from (value[name] for name in names if value[name] not in (None, ""))
    elif key := _longest_key(value, path):
        yield from values_at(value[key], path[len(key) :].removeprefix("."))
    elif path.startswith(_ANY_KEY):
        for inner in value.values():
            yield from values_at(inner, path.removeprefix(_ANY_KEY))


def _matching(value: Mapping[str, Any], path: str) -> list[str]:
    """Return the keys that a pattern matches: `context_10` after `context_9`, since the order of
    contexts is their rank."""
    if not is_pattern(path):
        return []
    return sorted((name for name in value if fnmatchcase(name, path)), key=_natural)


def _longest_key(value: Mapping[str, Any], path: str) -> str | None:
    """Return the longest key that a path begins with: OpenTelemetry's `gen_ai.prompt` is one key,
    and may stand beside a key `gen_ai`."""
    ends = [match.start() for match in re.finditer(r"[.\[]", path)]
    return next((path[:end] for end in reversed(ends) if path[:end] in value), None)


def has(value: Any, path: str) -> bool | None:
    """Return whether a value has a path, also if it leads to a null; None if a null or an empty
    list on the way leaves it open."""
    value = opened(value)
    if value in (None, []):
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
    """Return the passages in a text: its lines, its paragraphs, those after numbers that count up,
    such as `[1]`, `Document 1:` and `1.`, or those between separators. Blank ones are left out."""
    if step.startswith(_SPLIT):
        parts = _apart(text, step.removeprefix(_SPLIT).strip())
    elif step == "lines":
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


def _apart(text: str, separator: str) -> list[str]:
    """Return what stands between the lines that are a separator, or else between all places where
    it stands; of a tag such as `<doc>`, what its elements have."""
    tag = _TAG.fullmatch(separator)
    if tag and (elements := elements_in(text, tag[1])):
        return elements
    lines = text.splitlines(keepends=True)
    if not any(line.strip() == separator for line in lines):
        return text.split(separator)
    parts = [""]
    for line in lines:
        if line.strip() == separator:
            parts.append("")
        else:
            parts[-1] += line
    return parts


def elements_in(text: str, name: str) -> list[str]:
    """Return what stands between the tags with a name, as `<doc>` and `</doc>`."""
    inner = re.compile(rf"<{name}(?:\s[^<>]*)?>(.*?)</{name}>", re.DOTALL)
    return [element.strip() for element in inner.findall(text)]


def numbers(text: str) -> list[tuple[int, int]]:
    """Return where the numbers before passages begin and end: in brackets, else in labels such as
    `Document 1:`, else those of a list. Those that do not count up are a part of a passage, such as
    a mark of a citation."""
    for pattern in (_NUMBER, _LABEL, _ITEM):
        found = _counting_up(pattern, text)
        if len(found) > 1:
            return [match.span() for match in found]
    return []


def labels(text: str) -> list[str]:
    """Return the words before the numbers of passages, as in `Document 1:`."""
    return [match[1] for match in _counting_up(_LABEL, text)]


def in_brackets(text: str) -> int:
    """Return how many passages have a number in brackets."""
    return len(_counting_up(_NUMBER, text))


def _counting_up(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    found: list[re.Match[str]] = []
    following: int | None = None
    for match in pattern.finditer(text):
        number = int(match[match.lastindex or 1])
        if following is None or number == following:
            found.append(match)
            following = number + 1
    return found


def _has_key(value: dict[str, Any], path: str) -> bool | None:
    if path in value or _matching(value, path):
        return True
    key = _longest_key(value, path)
    if key:
        return has(value[key], path[len(key) :].removeprefix("."))
    if not path.startswith(_ANY_KEY):
        return False
    found = [has(inner, path.removeprefix(_ANY_KEY)) for inner in value.values()]
    if any(found):
        return True
    return None if None in found else False


def _first_step(path: str) -> tuple[str, str]:
    """Return which items of a list a path is about, and the path within them."""
    if path.startswith(f"[{_SPLIT}"):  # `[split: a=b]` selects no items
        return "*", path
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
