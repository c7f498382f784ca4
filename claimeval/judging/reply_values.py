"""What stands in a judge's text: words of a closed list, numbers, ids, reasoning, and JSON of a known shape.

Each of these is read in every spelling that can mean only one thing, and in no other. A judge may quote what it was
shown, so a text that holds JSON in the shape of a reply could speak in its place. Where a shown text holds such JSON,
only a message that is nothing but the JSON is read, and where one holds `</think>`, nothing is set aside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from claimeval.types.errors import ClaimevalError

T = TypeVar("T")


class Unparsable(ClaimevalError):
    """The reply is not in the agreed format; the message says how."""


class Readings(NamedTuple, Generic[T]):
    """What a list of entries says, by id."""

    by_id: dict[str, T]
    unread: dict[str, str]
    """Why an id that the list names has no reading. An id in neither was left out."""


# Words, numbers and ids


_AROUND = re.compile(r"""^(?:[\s_.,;:"'*`“‘]|-(?!\d))+|[\s_.,;:!"'*`”’-]+$""")
_SEPARATORS = re.compile(r"(?<=\w)[\s_\-\u2010-\u2015]+(?=\w)")
_WHOLE = re.compile(r"([+-]?[0-9]{1,9})(?:\.0+)?")
_ID = re.compile(r"([a-z]*)([0-9]{1,9})")
_ID_WORDS = {"c": ("", "claim", "claimc"), "d": ("", "doc", "document", "documentd")}
"""What stands for the letter of an id."""


def fold(words: str) -> str:
    """Return the words without case, without marks around them, and without space, hyphen and underscore between them.

    `Not Found`, `not-found` and `**NOT_FOUND**` are all `notfound`. A minus before a digit stays.
    """
    return _SEPARATORS.sub("", _AROUND.sub("", words.casefold()))


def chosen(value: object, words: Sequence[str]) -> str | None:
    """Return the one of a closed list of words that a value spells (see `fold`); None for any other value."""
    spelling = str(value) if type(value) is int else value
    if not isinstance(spelling, str):
        return None
    if spelling in words:
        return spelling
    folded = fold(spelling)
    return next((word for word in words if fold(word) == folded), None)


def whole_number(value: object) -> int | None:
    """Return the whole number that a value is or spells: 3, 3.0, "3" or "3.0"; None for any other, also for true."""
    if isinstance(value, str):
        match = _WHOLE.fullmatch(value.strip())
        return int(match[1]) if match else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if type(value) is int else None


def true_or_false(value: object) -> bool | None:
    """Return what a flag says as true, false, or as one of the words true, yes, false, no; None for any other value."""
    if isinstance(value, bool):
        return value
    word = chosen(value, ("true", "yes", "false", "no"))
    return None if word is None else word in ("true", "yes")


def meant(value: object, ids: Sequence[str]) -> str | None:
    """Return the one of `ids` (c1, c2, ... or d1, d2, ...) that a value names: c1 for "C1", "claim 1", "1" or 1."""
    if isinstance(value, str) and value in ids:
        return value
    number = value if isinstance(value, str) else whole_number(value)
    match = _ID.fullmatch(fold(str(number)).strip("[]()#")) if number is not None else None
    letter = ids[0][0] if ids else ""
    if not match or match[1] not in (letter, *_ID_WORDS.get(letter, ())):
        return None
    name = f"{letter}{int(match[2])}"
    return name if name in ids else None


def by_id(
    entries: Sequence[dict[str, object]],
    ids: Sequence[str],
    what: str,
    read: Callable[[Mapping[str, object]], tuple[object, T]],
) -> Readings[T]:
    """Return the readings of entries with an `id`.

    Ids without our letter count only in a list that names every item, because otherwise they may be counted from 0. An
    item that is named twice has its reading if all its entries choose the same.

    Args:
        entries: The entries of the reply.
        ids: The ids that were asked about.
        what: What an entry is, for messages.
        read: Returns the choice and the reading of an entry; raises Unparsable.

    Returns:
        The reading of each id, and why others cannot be read.

    Raises:
        Unparsable: If an id was not asked about; the list is then not about these items.
    """
    choices: dict[str, dict[object, T]] = {}
    unread: dict[str, list[str]] = {}
    numbered = False
    for entry in entries:
        value = entry.get("id")
        name = meant(value, ids) if value is not None or len(ids) > 1 or len(entries) > 1 else ids[0]
        if name is None:
            raise Unparsable(f"{what} for the id {str(value)[:40]!r}, which was not asked about")
        numbered = numbered or (value != name and fold(str(value)) != name)
        try:
            choice, reading = read(entry)
        except Unparsable as error:
            unread.setdefault(name, []).append(str(error))
        else:
            choices.setdefault(name, {}).setdefault(choice, reading)
    if numbered and len(choices.keys() | unread.keys()) < len(ids):
        raise Unparsable("the list leaves items out, and its ids may be counted from 0 or from 1")
    for name, several in choices.items():
        if len(several) > 1:
            unread.setdefault(name, []).append(f"given as {' and as '.join(repr(choice) for choice in several)}")
    single = {name: next(iter(several.values())) for name, several in choices.items() if name not in unread}
    return Readings(single, {name: "; ".join(dict.fromkeys(why)) for name, why in unread.items()})


# Reasoning


_REASONED = re.compile(r"</think\s*>", re.IGNORECASE)
_REASONS = re.compile(r"\s*<think\s*>", re.IGNORECASE)
_REASONED_IN_DATA = re.compile(r"(?:u003c|&lt;)\s*/\s*think", re.IGNORECASE)
"""In the data of a prompt, where `<` is escaped."""


def after_reasoning(text: str, shown: Iterable[str] = ()) -> str:
    """Return the text after the last `</think>`.

    All of it where there is none, where it is JSON as a whole, and where the data in `shown` hold such a mark. Raises
    Unparsable for reasoning that begins and does not end.
    """
    ends = [match.end() for match in _REASONED.finditer(text)] if "<" in text else []
    if not ends:
        if _REASONS.match(text):
            raise Unparsable("the reply is reasoning that does not end: no </think>")
        return text
    if any(_REASONED_IN_DATA.search(content) for content in shown):
        return text
    try:
        _DECODER.decode(unfenced(text))
    except (ValueError, RecursionError, Unparsable):
        return text[ends[-1] :]
    return text


# JSON


_FENCE = re.compile(r"```(?:\w+)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise Unparsable("not one JSON value: an object has the same key twice")
    return value


def _no_constant(name: str) -> object:
    raise Unparsable(f"not one JSON value: {name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
_OPENING = re.compile(r"[\[{]")
_ODD_QUOTE = r"""(?:\\+["'/]?|['“”„‘’«»]|&(?:quot|apos|\#3[49]|\#x2[27]);|u00(?:22|27))"""
_QUOTE = rf"(?:{_ODD_QUOTE}|[\"`])"


def unfenced(text: str) -> str:
    """Return the text without a byte order mark and a code fence around it."""
    body = text.strip().removeprefix("\ufeff").strip()
    fence = _FENCE.fullmatch(body)
    return fence[1] if fence else body


def json_object(text: str) -> dict[str, object]:
    """Return the one JSON object that the text is; duplicate keys, NaN and text around it are refused."""
    try:
        value = _DECODER.decode(unfenced(text))
    except RecursionError as error:
        raise Unparsable("the JSON is nested too deeply") from error
    except ValueError as error:
        raise Unparsable(f"not one JSON value: {error}") from error
    if not isinstance(value, dict):
        raise Unparsable(f"a JSON object was asked for, not {type(value).__name__}")
    return value


class Shape(NamedTuple, Generic[T]):
    """What a reply in JSON looks like."""

    names: tuple[str, ...]
    """The fields by which it is known."""
    part: Callable[[object], T]
    """The part of a value that is read; Unparsable for a value of another shape."""


def find(text: str, shape: Shape[T], shown: Iterable[str]) -> T:
    """Return the one value of the shape in the text: the whole text, or one that stands in other words."""
    body = unfenced(text)
    try:
        return shape.part(_DECODER.decode(body))
    except RecursionError as error:
        raise Unparsable("the JSON is nested too deeply") from error
    except ValueError as error:
        not_whole = f"not one JSON value: {error}"
    if any(names_in_data(shape.names).search(content) for content in shown):
        raise Unparsable(f"{not_whole}; what the judge was shown holds such JSON too, so it may quote it here")
    parts: list[T] = []
    rest, end = "", 0
    for value, start, stop in _values(text):
        try:
            part = shape.part(value or None)  # an empty list in other words is no reply
        except Unparsable:
            continue
        rest += text[end:start]
        if rest[-1:] in tuple("\"'“‘«"):
            raise Unparsable("the JSON is in quotation marks")
        if rest.count("{") > rest.count("}") or rest.count("[") > rest.count("]"):
            raise Unparsable(f"{not_whole}; the JSON is inside other, broken JSON")
        parts.append(part)
        end = stop
    if not parts:
        raise Unparsable(not_whole)
    if any(part != parts[0] for part in parts):
        raise Unparsable("the reply holds two JSON values of the right shape that differ")
    if other := _names_in_json(shape.names).search(rest + text[end:]):
        raise Unparsable(f"{other.group().strip()[:40]!r} is outside the JSON too")
    return parts[0]


def _values(text: str) -> Iterator[tuple[object, int, int]]:
    """Yield the JSON objects and lists in a text, outermost and in order, with where they begin and end."""
    position = 0
    while opening := _OPENING.search(text, position):
        try:
            value, position = _DECODER.raw_decode(text, opening.start())
        except RecursionError as error:
            raise Unparsable("the JSON is nested too deeply") from error
        except ValueError:
            position = opening.end()
        else:
            yield value, opening.start(), position


@lru_cache(maxsize=32)
def _names_in_json(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a field of the shape as a key, in any kind of quotation marks, or behind a brace without them."""
    return re.compile(rf"(?:{_QUOTE}|\{{[^{{}}]*?\b)(?:{'|'.join(names)})\s*{_QUOTE}*\s*:", re.IGNORECASE)


@lru_cache(maxsize=32)
def names_in_data(names: tuple[str, ...]) -> re.Pattern[str]:
    """The same in the data of a prompt, where no quotation mark is without a backslash, unlike in its own example."""
    key = "|".join(names)
    return re.compile(rf"(?:{_ODD_QUOTE}\s*(?:{key})\s*{_QUOTE}*|(?:{key})\s*{_ODD_QUOTE}+)\s*:", re.IGNORECASE)


def list_of(field: str, key: str, *, texts: bool = False) -> Shape[list[dict[str, object]]]:
    """`{FIELD: [{KEY, ...}]}`, the bare list, or one entry alone; with `texts`, also texts for entries.

    For a list also an object of entries by id: `{FIELD: {ID: {KEY, ...}}}`.
    """

    def part(value: object) -> list[dict[str, object]]:
        entries = value.get(field, value) if isinstance(value, dict) else value
        if isinstance(entries, dict) and key in entries:
            return [entries]
        bare = entries is value
        if isinstance(entries, dict) and entries and all(key in one for one in _objects_of(entries)):
            by_name = dict(zip(entries, _objects_of(entries), strict=True))
            if other := next(
                (name for name, one in by_name.items() if fold(str(one.get("id", name))) != fold(name)), None
            ):
                raise Unparsable(f"the entry {other!r} has another id")
            return [{**one, "id": name} for name, one in by_name.items()]
        if not isinstance(entries, list) or (bare and entries and not any(key in entry for entry in _objects(entries))):
            raise Unparsable(f"no list {field!r}")
        if texts and not bare:
            entries = [{key: entry} if isinstance(entry, str) else entry for entry in entries]
        objects = _objects(entries)
        if len(objects) < len(entries):
            raise Unparsable(f"an entry of {field!r} is not an object")
        return objects

    return Shape((field, key), part)


def _objects_of(entries: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the values of an object; an empty one in place of what is none."""
    return [value if isinstance(value, dict) else {} for value in entries.values()]


def _objects(values: Sequence[object]) -> list[dict[str, object]]:
    return [value for value in values if isinstance(value, dict)]


def object_with(*names: str) -> Shape[dict[str, object]]:
    """`{NAME: ..., NAME: ...}`."""

    def part(value: object) -> dict[str, object]:
        one = value[0] if isinstance(value, list) and len(value) == 1 else value
        if not isinstance(one, dict):
            raise Unparsable(f"a JSON object was asked for, not {type(value).__name__}")
        if names[0] not in one:
            raise Unparsable(f"no {names[0]!r}")
        return one

    return Shape(names, part)
