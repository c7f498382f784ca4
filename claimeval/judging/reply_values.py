"""Read the parts of a judge's reply: words of a closed list, numbers, ids, reasoning, and JSON of a
known shape.

Every spelling that can mean only one thing is accepted, and no other. A judge may quote a judged
text, and that text may contain JSON in the shape of a reply. If the prompt's data contain such
JSON, the whole reply must be JSON. If they contain `</think>`, no part of the reply is treated as
reasoning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from claimeval.types.errors import ClaimevalError
from claimeval.types.requests import Failure

T = TypeVar("T")


class Unparsable(ClaimevalError):
    """The reply is not in the requested format; the message says how it differs."""


class ParsedReply(NamedTuple, Generic[T]):
    """The values in one reply, by the ids of the subjects."""

    values: Mapping[str, T] = MappingProxyType({})
    failure: Failure | None = None
    """Why the whole reply cannot be read."""
    unread: Mapping[str, str] = MappingProxyType({})
    """Why the value of a subject cannot be read."""

    @property
    def message(self) -> str | None:
        """The problems in `unread` as one line; None if there are none."""
        return (
            "; ".join([f"{name}: {words}" for name, words in self.unread.items()]) or None
            if self.unread
            else None
        )

    def lack(self, subject: str) -> Failure:
        """Return why a subject has no value."""
        if self.failure:
            return self.failure
        return Failure(reason="unparsable" if subject in self.unread else "incomplete", message="")


# A hyphen is a bullet, but "-1" must not read as the grade 1.
_AROUND = re.compile(r"""^(?:[\s_.,;:"'*`“‘]|-(?!\d))+|[\s_.,;:!"'*`”’-]+$""")
_SEPARATORS = re.compile(r"(?<=\w)[\s_\-\u2010-\u2015]+(?=\w)")
_WHOLE = re.compile(r"([+-]?[0-9]{1,9})(?:\.0+)?")
_ID = re.compile(r"([a-z]*)([0-9]{1,9})")
_ID_WORDS = {"c": ("", "claim", "claimc"), "d": ("", "doc", "document", "documentd")}
"""Spellings of the letter of an id."""


def fold(words: str) -> str:
    """Fold case and remove surrounding marks, and spaces, hyphens and underscores between words.

    `Not Found`, `not-found` and `**NOT_FOUND**` all become `notfound`. A minus before a digit is
    kept.
    """
    return _SEPARATORS.sub("", _AROUND.sub("", words.casefold()))


def chosen(value: object, words: Sequence[str]) -> str | None:
    """Return the word of a closed list that the value spells (see `fold`); None if it spells
    none."""
    # A scale may offer 0 and 1, which JSON has as numbers; `true` is an int in Python and no 1.
    spelling = str(value) if type(value) is int else value
    if not isinstance(spelling, str):
        return None
    if spelling in words:
        return spelling
    folded = fold(spelling)
    return next((word for word in words if fold(word) == folded), None)


def whole_number(value: object) -> int | None:
    """Return the whole number that a value is or spells: 3, 3.0, "3" or "3.0". None for other
    values, such as true."""
    if isinstance(value, str):
        match = _WHOLE.fullmatch(value.strip())
        return int(match[1]) if match else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if type(value) is int else None


def true_or_false(value: object) -> bool | None:
    """Return the value of a flag given as a boolean or as true, yes, false or no; None for any
    other value."""
    if isinstance(value, bool):
        return value
    word = chosen(value, ("true", "yes", "false", "no"))
    return None if word is None else word in ("true", "yes")


def meant(value: object, ids: Sequence[str]) -> str | None:
    """Return the id in `ids` (c1, c2, ... or d1, d2, ...) that a value names: c1 for "C1", "claim
    1", "1" or 1."""
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
) -> ParsedReply[T]:
    """Return the values of entries by their `id`.

    Bare numbers as ids are accepted only if the list is complete, because otherwise they may start
    at 0. An id with several entries has a value if all of them make the same choice.

    Args:
        entries: The entries of the reply.
        ids: The ids in the request.
        what: What an entry is, for messages.
        read: Returns the choice and the value of an entry; raises Unparsable.

    Raises:
        Unparsable: If an id is not in the request, or bare numbers may start at 0.
    """
    choices: dict[str, dict[object, T]] = {}
    unread: dict[str, list[str]] = {}
    numbered = False
    is_alone = len(ids) == len(entries) == 1
    for entry in entries:
        value = entry.get("id")
        # Small models leave the id out where they were asked about one claim.
        name = ids[0] if value is None and is_alone else meant(value, ids)
        if name is None:
            raise Unparsable(f"{what} for the id {str(value)[:40]!r}, which was not asked about")
        numbered = numbered or (value != name and fold(str(value)) != name)
        try:
            choice, reading = read(entry)
            choices.setdefault(name, {}).setdefault(choice, reading)
        except Unparsable as error:
            unread.setdefault(name, []).append(str(error))
    # Of three claims, "1" and "2" may be the first two, or, counted from 0, the last two.
    if numbered and len(choices.keys() | unread.keys()) < len(ids):
        raise Unparsable("the list leaves items out, and its ids may be counted from 0 or from 1")
    return _settled(choices, unread)


def _settled(
    choices: Mapping[str, Mapping[object, T]], unread: Mapping[str, Sequence[str]]
) -> ParsedReply[T]:
    """Return the values of ids with one choice.

    Args:
        choices: By id, the value of each choice that an entry made.
        unread: By id, what is wrong with entries that could not be read.
    """
    values: dict[str, T] = {}
    problems = {name: list(why) for name, why in unread.items()}
    for name, several in choices.items():
        if len(several) > 1:
            given = " and as ".join(map(repr, several))
            problems.setdefault(name, []).append(f"given as {given}")
        elif name not in problems:
            values[name] = next(iter(several.values()))
    return ParsedReply(
        values,
        None,
        {name: "; ".join(dict.fromkeys(why)) for name, why in problems.items()},
    )


_REASONING_END = re.compile(r"</think\s*>", re.IGNORECASE)
_REASONING_START = re.compile(r"\s*<think\s*>", re.IGNORECASE)
_REASONING_END_IN_DATA = re.compile(r"(?:u003c|&lt;)\s*/\s*think", re.IGNORECASE)
"""`</think>` in the data of a prompt, where `<` is escaped."""


def after_reasoning(text: str, shown: Iterable[str] = ()) -> str:
    """Return the text after the last `</think>`.

    The whole text is returned if it has no `</think>`, if it is JSON, or if the data in `shown`
    contain `</think>`. Raises Unparsable if the text starts with reasoning that does not end.
    """
    ends = [match.end() for match in _REASONING_END.finditer(text)] if "<" in text else []
    if not ends:
        if _REASONING_START.match(text):
            raise Unparsable("the reply is reasoning that does not end: no </think>")
        return text
    if any(_REASONING_END_IN_DATA.search(content) for content in shown):
        return text
    try:
        # A reason within the JSON may quote `</think>`, and what follows would be half a reply.
        _DECODER.decode(unfenced(text))
    except (ValueError, RecursionError, Unparsable):
        return text[ends[-1] :]
    return text


_FENCE = re.compile(r"```(?:\w+)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # Python keeps the last of two equal keys, so that a second label would win unseen.
    value = dict(pairs)
    if len(value) < len(pairs):
        raise Unparsable("not one JSON value: an object has the same key twice")
    return value


def _no_constant(name: str) -> object:
    # Python's parser takes NaN and Infinity.
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
    """Parse a text that is one JSON object; duplicate keys, NaN and surrounding text are
    refused."""
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
    """The shape of a JSON reply."""

    names: tuple[str, ...]
    """The fields that identify the shape."""
    part: Callable[[object], T]
    """Return the relevant part of a value; raises Unparsable for a value of another shape."""


def find(text: str, shape: Shape[T], shown: Iterable[str]) -> T:
    """Return the only value of the shape: the whole text, or a value within other text."""
    body = unfenced(text)
    try:
        return shape.part(_DECODER.decode(body))
    except RecursionError as error:
        raise Unparsable("the JSON is nested too deeply") from error
    except ValueError as error:
        not_whole = f"not one JSON value: {error}"
    # A page under judgment may hold `{"verdicts": [...]}`, and a judge that explains itself may
    # quote it.
    if any(names_in_data(shape.names).search(content) for content in shown):
        raise Unparsable(
            f"{not_whole}; what the judge was shown holds such JSON too, so it may quote it here"
        )
    return _find_within(text, shape, not_whole)


def _find_within(text: str, shape: Shape[T], not_whole: str) -> T:
    """Return the only value of the shape within other text; `not_whole` is why the text is no such
    value as a whole."""
    parts: list[T] = []
    rest = ""
    end = 0
    for value, start, stop in _values(text):
        try:
            part = shape.part(value or None)  # an empty list within other text is not a reply
        except Unparsable:
            continue
        rest += text[end:start]
        # A judge that puts JSON in quotation marks shows it, as in: the format "{...}" was asked
        # for.
        if rest[-1:] in tuple("\"'“‘«"):
            raise Unparsable("the JSON is in quotation marks")
        if rest.count("{") > rest.count("}") or rest.count("[") > rest.count("]"):
            raise Unparsable(f"{not_whole}; the JSON is inside other, broken JSON")
        parts.append(part)
        end = stop
    if not parts:
        raise Unparsable(not_whole)
    if parts.count(parts[0]) < len(parts):
        raise Unparsable("the reply holds two JSON values of the right shape that differ")
    # A second verdict in broken JSON may contradict the one that can be read.
    if other := _names_in_json(shape.names).search(rest + text[end:]):
        raise Unparsable(f"{other.group().strip()[:40]!r} is outside the JSON too")
    return parts[0]


def _values(text: str) -> Iterator[tuple[object, int, int]]:
    """Yield the outermost JSON objects and lists in a text, in order, each with its start and
    end."""
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
    """Return a pattern for a field of the shape as a key, with quotation marks of any kind, or
    after a brace."""
    return re.compile(
        rf"(?:{_QUOTE}|\{{[^{{}}]*?\b)(?:{'|'.join(names)})\s*{_QUOTE}*\s*:", re.IGNORECASE
    )


@lru_cache(maxsize=32)
def names_in_data(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for a field of the shape as a key in a prompt's data, where quotation marks
    are escaped."""
    key = "|".join(names)
    return re.compile(
        rf"(?:{_ODD_QUOTE}\s*(?:{key})\s*{_QUOTE}*|(?:{key})\s*{_ODD_QUOTE}+)\s*:", re.IGNORECASE
    )


def list_of(field: str, key: str, *, texts: bool = False) -> Shape[list[dict[str, object]]]:
    """Return the shape `{FIELD: [{KEY, ...}]}`; the bare list and a single entry are accepted too.

    Entries may also be an object by id: `{FIELD: {ID: {KEY, ...}}}`, or `{FIELD: {ID: KEY's
    text}}`. With `texts`, an entry of the list may be a text.
    """

    def part(value: object) -> list[dict[str, object]]:
        entries = value.get(field, value) if isinstance(value, dict) else value
        bare = entries is value
        if isinstance(entries, dict):
            if key in entries:
                return [entries]
            by_id = _by_id(entries, key, texts=not bare)
            if by_id:
                return by_id
        if not isinstance(entries, list):
            raise Unparsable(f"no list {field!r}")
        if bare and entries and not any(key in entry for entry in _objects(entries)):
            raise Unparsable(f"no list {field!r}")
        # A bare list of texts may be anything, such as the sentences that the judge read.
        if texts and not bare:
            entries = [{key: entry} if isinstance(entry, str) else entry for entry in entries]
        objects = _objects(entries)
        if len(objects) < len(entries):
            raise Unparsable(f"an entry of {field!r} is not an object")
        return objects

    return Shape((field, key), part)


def _by_id(entries: Mapping[str, Any], key: str, *, texts: bool) -> list[dict[str, object]]:
    """Return the entries of an object by id, `{ID: {KEY, ...}}` or, with `texts`, `{ID: KEY's
    text}`; empty if it is none."""
    values = entries.values()
    if all(isinstance(value, dict) and key in value for value in values):
        for name, entry in entries.items():
            if fold(str(entry.get("id", name))) != fold(name):
                raise Unparsable(f"the entry {name!r} has another id")
        return [{**entry, "id": name} for name, entry in entries.items()]
    if texts and all(isinstance(value, str) for value in values):
        return [{"id": name, key: text} for name, text in entries.items()]
    return []


def _objects(values: Sequence[object]) -> list[dict[str, object]]:
    return [value for value in values if isinstance(value, dict)]


def object_with(*names: str) -> Shape[dict[str, object]]:
    """Return the shape `{NAME: ..., NAME: ...}`; a list with one such object is accepted too."""

    def part(value: object) -> dict[str, object]:
        # Some models wrap a single object in a list, because other questions ask for one.
        item = value[0] if isinstance(value, list) and len(value) == 1 else value
        if not isinstance(item, dict):
            raise Unparsable(f"a JSON object was asked for, not {type(value).__name__}")
        if names[0] not in item:
            raise Unparsable(f"no {names[0]!r}")
        return item

    return Shape(names, part)
