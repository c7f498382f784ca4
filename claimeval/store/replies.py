"""What the store keeps of one reply: a line that says where it came from, then the body as it was received."""

from __future__ import annotations

import json
import time
from typing import NamedTuple

from claimeval.types.chat_format import read_chat
from claimeval.types.requests import Completion, Request


class ReplyOrigin(NamedTuple):
    """Where a stored reply came from. Nothing in it can change what the reply says."""

    model: str
    endpoint: str | None
    prompt: str
    """Digest of the prompt that asked."""
    at: float
    """Seconds since 1970."""
    latency: float | None


def pack(request: Request, completion: Completion) -> bytes:
    """The value to store for a reply that was just received."""
    origin = ReplyOrigin(request.judge.model, request.judge.endpoint, request.prompt, time.time(), completion.latency)
    return join(origin, completion.body)


def join(origin: ReplyOrigin, body: bytes) -> bytes:
    """The value to store for a reply whose origin is known."""
    return json.dumps(origin._asdict(), separators=(",", ":")).encode() + b"\n" + body


def unpack(value: bytes) -> tuple[ReplyOrigin, bytes]:
    """Origin and body of a stored value."""
    line, _, body = value.partition(b"\n")
    return ReplyOrigin(**json.loads(line)), body


def completion(value: bytes) -> Completion:
    """The completion in a stored value, marked as cached. Its latency is that of the call that was paid."""
    _, _, body = value.partition(b"\n")
    return read_chat(body, cached=True)
