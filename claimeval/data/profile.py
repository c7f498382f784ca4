"""What the paths of a file's first rows lead to: texts, lists of texts, documents or messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from claimeval.data import documents
from claimeval.data.conversations import Exchange, exchanges, messages_in, turns_of
from claimeval.data.paths import opened, values_at

Kind = Literal["text", "texts", "documents", "messages"]

_DEPTH = 6
"""Keys of a path at most."""
_OF_A_MESSAGE = frozenset(
    (
        *("role", "from", "type", "name", "id", "tool_call_id"),
        *("content", "value", "text", "parts", "data", "kwargs", "additional_kwargs"),
        *("tool_calls", "function_call", "invalid_tool_calls", "refusal", "annotations"),
        *("reasoning_content", "thinking", "response_metadata", "usage_metadata"),
    )
)
"""Keys of a message that belong to the conversation; under any other key it may carry
documents."""


@dataclass(frozen=True)
class PathValues:
    """A path and what it leads to, in each row that has it."""

    path: str
    keys: tuple[str, ...]
    kind: Kind
    values: dict[int, Any] = field(default_factory=dict)
    """The value in each row, by the number of the row among the rows looked at."""

    def texts(self, row: int) -> list[str]:
        """Return the texts that the path leads to in a row."""
        value = self.values.get(row)
        if value is None:
            return []
        if self.kind == "text":
            return [value]
        if self.kind == "texts":
            return list(value)
        if self.kind == "messages":
            return [turn.content for turn in turns_of(messages_in(value) or ())]
        listed = map(documents.document, documents.listed(value))
        return [each["text"] for each in listed if each]

    def last_exchanges(self) -> dict[int, Exchange]:
        """Return the last question of conversations, in each row in which it has an answer."""
        found: dict[int, Exchange] = {}
        for row, value in self.values.items():
            last = exchanges(messages_in(value) or ())[-1:]
            if last and last[0].answer:
                found[row] = last[0]
        return found


def profile(rows: Sequence[Mapping[str, Any]]) -> dict[str, PathValues]:
    """Return the paths in rows, in the order of their names, so that the order of columns never
    matters."""
    paths: dict[str, PathValues] = {}
    mixed = set[str]()
    for number, row in enumerate(rows):
        for at, keys, kind, value in _walk(row):
            known = paths.setdefault(at, PathValues(at, keys, kind))
            if known.kind != kind:
                mixed.add(at)
            known.values[number] = value
    for at in mixed & paths.keys():
        paths[at] = _unified(paths[at])
    for path in _under_any_key(paths, len(rows)):
        paths.setdefault(path.path, path)
    result: dict[str, PathValues] = {}
    for at in sorted(paths):
        if paths[at].values:
            result[at] = paths[at]
            if short := _one_item(paths[at], rows):
                result[short.path] = short
    return result


def _under_any_key(paths: Mapping[str, PathValues], rows: int) -> Iterator[PathValues]:
    """Yield the paths that rows have under keys which differ from row to row, such as the names of
    systems: `answers.*.text`, where no `answers.gpt.text` is in most rows."""
    alike: dict[tuple[str, Kind], list[PathValues]] = {}
    for path in paths.values():
        if "[" in path.path or 2 * len(path.values) > rows:
            continue
        keys = path.keys
        # neither the column nor the last key, which says what the text is
        for at in range(1, len(keys) - 1):
            name = ".".join((*keys[:at], "*", *keys[at + 1 :]))
            alike.setdefault((name, path.kind), []).append(path)
    for (name, kind), each in alike.items():
        values = _of_one_a_row(each)
        if len(each) > 1 and 2 * len(values) > rows:
            keys = tuple(key for key in name.split(".") if key != "*")
            yield PathValues(name, keys, kind, values)


def _of_one_a_row(paths: Iterable[PathValues]) -> dict[int, Any]:
    """Return the values of paths, of which a row has one each; nothing if one has several."""
    values: dict[int, Any] = {}
    for path in paths:
        if not values.keys().isdisjoint(path.values):
            return {}
        values |= path.values
    return values


def _unified(path: PathValues) -> PathValues:
    """Return a path whose values are of different kinds, with those of the more frequent kind."""
    kinds = [_kind(value) for value in path.values.values()]
    kind = max(dict.fromkeys(kinds), key=kinds.count)
    values = {row: value for row, value in path.values.items() if _kind(value) == kind}
    return PathValues(path.path, path.keys, kind, values)


def _kind(value: Any) -> Kind:
    if isinstance(value, str):
        return "text"
    if is_conversation(value):
        return "messages"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "texts"
    return "documents"


def _one_item(path: PathValues, rows: Sequence[Mapping[str, Any]]) -> PathValues | None:
    """Return the path of the one text in lists of which every row has one item, such as
    `choices[0].text`; None if a row has more."""
    alone = path.kind == "texts" and all(len(texts) == 1 for texts in path.values.values())
    return first_item(path, rows) if alone else None


def first_item(path: PathValues, rows: Sequence[Mapping[str, Any]]) -> PathValues | None:
    """Return the path of the first text of lists; None if no path leads to it in every row.

    The first text under `steps[*].output` is not in `steps[0]` if only later steps have an output.
    """
    values = {row: texts[0] for row, texts in path.values.items()}
    name = path.path if "[*]" in path.path else f"{path.path}[*]"
    for item in ("[0]", "[-1]"):
        at = name.replace("[*]", item)
        for row, text in values.items():
            if next(values_at(rows[row], at), None) != text:
                break
        else:
            return PathValues(at, path.keys, "text", values)
    return None


def is_conversation(value: Any) -> bool:
    """Return whether a value is a list of messages, each of them an object."""
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        return False
    return bool(messages_in(value))


_Walked = tuple[str, tuple[str, ...], Kind, Any]


def _walk(value: Any, path: str = "", keys: tuple[str, ...] = ()) -> Iterator[_Walked]:
    value = opened(value)
    if isinstance(value, str):
        if value.strip() and path:
            yield path, keys, "text", value
    elif len(keys) > _DEPTH or not value:
        return
    elif isinstance(value, Mapping):
        # An object of lists, `{"ids": [...], "documents": [...]}`, is several documents.
        if path and documents.listed(value) != [value]:
            yield path, keys, "documents", value
        for key, inner in value.items():
            yield from _walk(inner, f"{path}.{key}" if path else str(key), (*keys, str(key)))
    elif isinstance(value, (list, tuple)):
        yield from _walk_list(list(value), path, keys)


def _walk_list(items: list[Any], path: str, keys: tuple[str, ...]) -> Iterator[_Walked]:
    if all(isinstance(item, str) for item in items):
        yield path, keys, "texts", items
        return
    if is_conversation(items):
        yield path, keys, "messages", items
        # The last message carries documents and settings beside its text; of earlier ones these
        # would be taken for those of the last answer.
        beside = {key: value for key, value in items[-1].items() if key not in _OF_A_MESSAGE}
        yield from _of_items([beside], f"{path}[-1]", keys)
        return
    if all(documents.document(item) for item in items):
        yield path, keys, "documents", items
    elif len(items) == 1 and isinstance(items[0], (list, tuple)):
        yield from _walk(items[0], f"{path}[0]", keys)
    objects = [item for item in map(opened, items) if isinstance(item, Mapping)]
    yield from _of_items(objects, f"{path}[*]", keys)


def _of_items(
    items: Sequence[Mapping[str, Any]],
    path: str,
    keys: tuple[str, ...],
) -> Iterator[_Walked]:
    """Walk the keys of the objects in a list; of a key that several have, all texts together."""
    gathered: dict[str, tuple[tuple[str, ...], list[Any]]] = {}
    for item in items:
        for key, inner in item.items():
            for at, inner_keys, kind, value in _walk(inner, f"{path}.{key}", (*keys, str(key))):
                together = gathered.setdefault(f"{kind} {at}", (inner_keys, []))[1]
                together += value if kind == "texts" else [value]
    for name, (inner_keys, values) in gathered.items():
        holds, _, at = name.partition(" ")
        if holds == "text" and "[*]" not in at:
            yield at, inner_keys, "text", values[0]
        elif holds in ("text", "texts"):
            yield at, inner_keys, "texts", values
        elif holds == "documents":
            listed: list[Any] = []
            for value in values:
                listed += documents.listed(value)
            yield at, inner_keys, "documents", listed
        elif len(values) == 1:
            yield at, inner_keys, "messages", values[0]
