"""The format of a stored reply: a line with its origin, then the body as it was received."""

from __future__ import annotations

import json
import time
from typing import NamedTuple

from claimeval.types.chat_format import read_chat
from claimeval.types.requests import Completion, Request


class ReplyOrigin(NamedTuple):
    """The origin of a stored reply. Nothing in it can change what the reply says."""

    model: str
    endpoint: str | None
    prompt: str
    """Digest of the prompt that asked."""
    at: float
    """Seconds since 1970."""
    latency: float | None


def pack(request: Request, completion: Completion) -> bytes:
    """Return the value to store for a reply that was just received."""
    origin = ReplyOrigin(request.judge.model, request.judge.endpoint, request.prompt, time.time(), completion.latency)
    return join(origin, completion.body)


def join(origin: ReplyOrigin, body: bytes) -> bytes:
    """Return the value to store for a reply whose origin is known."""
    return json.dumps(origin._asdict(), separators=(",", ":")).encode() + b"\n" + body


def unpack(value: bytes) -> tuple[ReplyOrigin, bytes]:
    """Split a stored value into origin and body."""
    line, _, body = value.partition(b"\n")
    return ReplyOrigin(**json.loads(line)), body


def completion(value: bytes) -> Completion:
    """Return the completion in a stored value, marked as cached. Its latency is that of the paid call."""
    _, _, body = value.partition(b"\n")
    return read_chat(body, cached=True)
