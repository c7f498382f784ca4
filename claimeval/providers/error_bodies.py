"""What the body of an error says, in the form of any server.

Gateways put the error of the server behind them into their own: as a field, as a text that is JSON,
or as a part of their sentence. The cause is often only there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from claimeval.types.refusals import unquoted

_SAID = (
    "message",
    "Message",
    "detail",
    "details",
    "msg",
    "error_msg",
    "error_description",
    "status_msg",
    "base_resp",
    "cause",
    "error",
    "errors",
    "metadata",
    "raw",
)
"""Fields with what a server says, or with the record that says it: OpenAI and most others, Amazon,
FastAPI, Qianfan, OAuth, MiniMax, Helicone, Cloudflare, OpenRouter."""
_CODES = ("code", "type")
_DEPTH = 8
"""Records within records that are read, at most."""
_MOST_RECORDS = 3
"""Records of a list that are read: one request may break many rules."""


class ErrorDetails(NamedTuple):
    """What an error body says; empty for what it lacks."""

    message: str
    """All that is said, for people."""
    words: str
    """The same without quoted texts; empty for a web page, which is from a proxy and says nothing
    about the request."""
    codes: frozenset[str] = frozenset()
    """Codes and types of the error, and of those within it."""
    parameter: str = ""
    """The parameter that an error record names."""


def read_error(body: str) -> ErrorDetails:
    """Return what an error body says."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        message = " ".join(body.split())[:500]
        return ErrorDetails(message, "" if message.startswith("<") else unquoted(message))
    if isinstance(content, list) and content and isinstance(content[0], dict):  # Gemini's
        content = content[0]
    said = dict[str, None]()
    codes = set[str]()
    parameter = ""
    for record in _records(content):
        said.update(dict.fromkeys(_texts(record)))
        codes.update(str(record[name]) for name in _CODES if record.get(name))
        parameter = parameter or str(record.get("param") or "")
    error = content.get("error", content) if isinstance(content, dict) else content
    message = ": ".join(said) or (body if isinstance(error, dict) else str(error))
    return ErrorDetails(message, unquoted(message), frozenset(codes), parameter)


def _records(content: object, depth: int = 0) -> Iterator[Mapping[str, object]]:
    """Yield a record and the records within it, also those that are written as a text."""
    if isinstance(content, str):
        content = _parsed(content)
    if isinstance(content, list):
        for part in content[:_MOST_RECORDS]:
            yield from _records(part, depth)
    if isinstance(content, dict) and depth < _DEPTH:
        yield content
        for name in _SAID:
            yield from _records(content.get(name), depth + 1)


def _texts(record: Mapping[str, object]) -> Iterator[str]:
    """Yield what a record itself says, with the place of what it is about."""
    place = record.get("loc")
    where = ".".join(map(str, place)) if isinstance(place, list) else ""
    for name in _SAID:
        value = record.get(name)
        if isinstance(value, str) and value.strip() and _parsed(value) is None:
            yield f"{where}: {value}" if where else value


def _parsed(text: str) -> object:
    """Return the record or list that a text is; None for other texts."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
