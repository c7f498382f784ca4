"""Export and import of cached replies as JSON Lines.

A line is one reply: its key, its origin, the body as received, and the SHA-256 of key and body. The
first lines are the lessons about judges' servers, without which the keys of later replies cannot be
computed. An import reads text, checks it line by line and stores each reply; the database of
another program is never opened.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import IO, BinaryIO, Literal, NamedTuple, TypeVar

from pydantic import Field, ValidationError

from claimeval.store.lessons import Lessons
from claimeval.store.stats import LATEST, read_origin
from claimeval.store.store import ReplyOrigin, Store, StoredRow, digest, join, unpack
from claimeval.types.chat_format import read_chat
from claimeval.types.errors import DataError, first_problem
from claimeval.types.records import Record
from claimeval.types.requests import CallError, Learned
from claimeval.types.usage import MOST_TOKENS

LONGEST_LINE = 64 * 2**20
"""Maximum number of bytes of a line."""
SHOWN = 5
"""Maximum number of conflicting keys that are listed."""

_Line = TypeVar("_Line", bound=Record)
Refusable = Literal[
    "maxLength",
    "maxItems",
    "response_format",
    "temperature",
    "max_tokens",
    "max_completion_tokens",
    "system",
    "enable_thinking",
]
"""Parameters that `Judge.without` can leave out."""


class ExportCounts(NamedTuple):
    """The result of an export."""

    replies: int
    left_out: int
    """Number of damaged or unreadable rows, which `claimeval cache verify` counts, and of keys
    without a reply."""


class TransferCounts(NamedTuple):
    """The result of an import."""

    added: int
    present: int
    """Number of replies that were already stored, byte for byte."""
    conflicts: int
    """Number of keys with a different stored reply, which is kept."""
    conflicting: tuple[str, ...]
    """The first of these keys."""


class _ExportedReply(Record):
    key: str = Field(pattern=r"^[0-9a-f]{64}$")
    origin: ReplyOrigin
    sha256: str
    body: str | None = None
    body_base64: str | None = None


class _ExportedLesson(Record):
    judge: str = Field(pattern=r"^[0-9a-f]{8}$")
    """The id of a judge."""
    refused: tuple[Refusable, ...] = ()
    context_tokens: int | None = Field(default=None, gt=0, le=MOST_TOKENS)
    max_tokens: int | None = Field(default=None, gt=0, le=MOST_TOKENS)
    parameters: int | None = Field(default=None, gt=0)


def write(store: Store, file: BinaryIO, keys: Iterable[str] | None = None) -> ExportCounts:
    """Write the lessons of a reply cache, then its replies, one per line. `keys` selects replies;
    None for all."""
    replies = left_out = 0
    for judge, learned in Lessons(store.folder).known.items():
        fields = {
            "judge": judge,
            **learned.model_dump(exclude_defaults=True, exclude={"schema_honoured"}),
        }
        file.write(json.dumps(fields, separators=(",", ":")).encode() + b"\n")
    rows = (
        store.rows()
        if keys is None
        else (StoredRow(0, key, store.get(key)) for key in dict.fromkeys(keys))
    )
    for row in rows:
        if row.value is None or read_origin(row.value) is None:
            left_out += 1
            continue
        origin, body = unpack(row.value)
        file.write(_line(row.key, origin, body))
        replies += 1
    return ExportCounts(replies, left_out)


def _line(key: str, origin: ReplyOrigin, body: bytes) -> bytes:
    fields: dict[str, object] = {
        "key": key,
        "origin": origin._asdict(),
        "sha256": digest(key, body).hex(),
    }
    try:
        fields["body"] = body.decode()
    except UnicodeDecodeError:
        fields["body_base64"] = base64.b64encode(body).decode()
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read(file: IO[bytes], name: str, store: Store) -> TransferCounts:
    """Add the replies of a file to a reply cache. Reading the file again changes nothing.

    If the cache has a different reply to the same request, it is kept and the conflict is counted.
    Raises DataError with the number of the first invalid line, after the lines before it have been
    added.
    """
    added = present = conflicts = number = 0
    conflicting: list[str] = []
    lessons = Lessons(store.folder)
    # A file without line ends would be read into memory whole.
    while line := file.readline(LONGEST_LINE):
        number += 1
        try:
            if line.startswith(b'{"judge"'):
                lesson = _validated(_ExportedLesson, line)
                lessons.add(
                    lesson.judge,
                    Learned(
                        refused=lesson.refused,
                        context_tokens=lesson.context_tokens,
                        max_tokens=lesson.max_tokens,
                        parameters=lesson.parameters,
                    ),
                )
                continue
            key, origin, body = _checked(line)
        except _InvalidExport as error:
            raise DataError(
                f"{name}, line {number}: {error} (replies added before it: {added})"
            ) from error
        stored = store.get(key)
        if stored is None:
            store.put(key, join(origin, body))
            added += 1
        elif stored.partition(b"\n")[2] == body:
            present += 1
        else:
            conflicts += 1
            if len(conflicting) < SHOWN:
                conflicting.append(key)
    return TransferCounts(added, present, conflicts, tuple(conflicting))


class _InvalidExport(ValueError):
    """A line that is not an intact reply."""


def _validated(kind: type[_Line], line: bytes) -> _Line:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        if not line.endswith(b"\n"):
            raise _InvalidExport("the line is cut short; export the store again") from error
        field, problem, _ = first_problem(error)
        noun = "lesson" if kind is _ExportedLesson else "reply"
        raise _InvalidExport(
            f"not an exported {noun}: {f'{field}: ' if field else ''}{problem}"
        ) from error


def _checked(line: bytes) -> tuple[str, ReplyOrigin, bytes]:
    """Return key, origin and body of an unchanged line of an export."""
    # People hand over cache.db itself, which could hold rows that name files.
    if line.startswith(b"SQLite format 3\0"):
        raise _InvalidExport(
            "this is a database; only files of `claimeval cache export` can be imported"
        )
    if len(line) >= LONGEST_LINE:
        raise _InvalidExport(f"longer than {LONGEST_LINE} bytes")
    reply = _validated(_ExportedReply, line)
    if not 0 <= reply.origin.at <= LATEST:
        raise _InvalidExport(f"not an exported reply: origin.at: {reply.origin.at} is no time")
    if (reply.body is None) == (reply.body_base64 is None):
        raise _InvalidExport("not an exported reply: exactly one of body and body_base64 is needed")
    try:
        body = (
            base64.b64decode(reply.body_base64, validate=True)
            if reply.body_base64
            else (reply.body or "").encode()
        )
    except ValueError as error:
        raise _InvalidExport(f"not an exported reply: body_base64: {error}") from error
    if digest(reply.key, body).hex() != reply.sha256:
        raise _InvalidExport(
            "the body is not the one that was exported with this key: the SHA-256 differs"
        )
    try:
        # A line may be intact and hold no reply: an error page that a patched program stored.
        read_chat(body)
    except CallError as error:
        raise _InvalidExport(f"the body holds no reply: {error.message}") from error
    return reply.key, reply.origin, body
