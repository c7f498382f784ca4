"""Replies out of a store and into one, as JSON Lines: text that can be read, compared, split, joined and sent.

A line is one reply: its key, where it came from, the body as it was received, and the body's SHA-256. What comes in is
read as text, checked line by line, and written anew; the database of another program is never opened.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import BinaryIO, NamedTuple

from pydantic import Field, ValidationError

from claimeval.store.replies import ReplyOrigin, join, unpack
from claimeval.store.stats import LATEST, read_origin
from claimeval.store.store import Store
from claimeval.types.chat_format import read_chat
from claimeval.types.errors import DataError
from claimeval.types.records import Record
from claimeval.types.requests import CallError

LONGEST_LINE = 64 * 2**20
"""Bytes; a longer line is no reply."""
SHOWN = 5


class Exported(NamedTuple):
    replies: int
    left_out: int
    """Damaged or unreadable rows; `claimeval cache verify` counts them."""


class TransferCounts(NamedTuple):
    added: int
    present: int
    """Replies that the store had already, word by word."""
    conflicts: int
    """Keys for which the store has another reply; it keeps its own."""
    conflicting: tuple[str, ...]
    """The first of these keys."""


class _Line(Record):
    key: str = Field(pattern=r"^[0-9a-f]{64}$")
    origin: ReplyOrigin
    sha256: str
    body: str | None = None
    body_base64: str | None = None


def write(store: Store, file: BinaryIO) -> Exported:
    """Writes every reply of a store as a line, in the order they were first stored."""
    replies = left_out = 0
    for row in store.rows():
        if row.value is None or read_origin(row.value) is None:
            left_out += 1
            continue
        origin, body = unpack(row.value)
        file.write(_line(row.key, origin, body))
        replies += 1
    return Exported(replies, left_out)


def _line(key: str, origin: ReplyOrigin, body: bytes) -> bytes:
    fields: dict[str, object] = {"key": key, "origin": origin._asdict(), "sha256": hashlib.sha256(body).hexdigest()}
    try:
        fields["body"] = body.decode()
    except UnicodeDecodeError:
        fields["body_base64"] = base64.b64encode(body).decode()
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read(file: BinaryIO, name: str, store: Store) -> TransferCounts:
    """Adds the replies of a file to a store; reading it again changes nothing.

    DataError with the line for the first one that is not a whole reply; what stands before it has been added. Where
    the store has another reply to the same question, the store's is kept and the conflict counted.
    """
    added = present = conflicts = number = 0
    conflicting: list[str] = []
    while line := file.readline(LONGEST_LINE):
        number += 1
        try:
            key, origin, body = _checked(line)
        except _Unfit as error:
            raise DataError(f"{name}, line {number}: {error} (replies added before it: {added})") from error
        had = store.get(key)
        if had is None:
            store.put(key, join(origin, body))
            added += 1
        elif had.partition(b"\n")[2] == body:
            present += 1
        else:
            conflicts += 1
            if len(conflicting) < SHOWN:
                conflicting.append(key)
    return TransferCounts(added, present, conflicts, tuple(conflicting))


class _Unfit(ValueError):
    """A line that holds no whole reply."""


def _checked(line: bytes) -> tuple[str, ReplyOrigin, bytes]:
    """Key, origin and body of a line that this module wrote and nobody changed."""
    if line.startswith(b"SQLite format 3\0"):
        raise _Unfit("this is a database; only what `claimeval cache export` wrote is read")
    if len(line) >= LONGEST_LINE:
        raise _Unfit(f"longer than {LONGEST_LINE} bytes")
    try:
        found = _Line.model_validate_json(line)
    except ValidationError as error:
        if not line.endswith(b"\n"):
            raise _Unfit("the line is cut short; export the store again") from error
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise _Unfit(f"not an exported reply: {f'{field}: ' if field else ''}{first['msg']}") from error
    if not 0 <= found.origin.at <= LATEST:
        raise _Unfit(f"not an exported reply: origin.at: {found.origin.at} is no time")
    if (found.body is None) == (found.body_base64 is None):
        raise _Unfit("not an exported reply: exactly one of body and body_base64 is needed")
    try:
        body = base64.b64decode(found.body_base64, validate=True) if found.body_base64 else (found.body or "").encode()
    except ValueError as error:
        raise _Unfit(f"not an exported reply: body_base64: {error}") from error
    if hashlib.sha256(body).hexdigest() != found.sha256:
        raise _Unfit("the body is not the one that was exported: its SHA-256 differs")
    try:
        read_chat(body)
    except CallError as error:
        raise _Unfit(f"the body holds no reply: {error.message}") from error
    return found.key, found.origin, body
