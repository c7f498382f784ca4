"""HTTP/1.1 as far as the two SDKs need it: reads requests, and writes correct or faulty answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

HEAD_END = b"\r\n\r\n"

Manner = Literal[
    "whole", "then_close", "reset", "eof", "cut", "reset_in_body", "hang", "drip", "garbage"
]
"""How an answer is sent: complete; complete before an unannounced close; connection reset or closed
before any byte; closed or reset in the middle of the body; never; byte by byte; as bytes that are
not HTTP."""

COMPLETE: frozenset[Manner] = frozenset({"whole", "then_close", "drip"})
NO_STATUS: frozenset[Manner] = frozenset({"reset", "eof", "hang", "garbage"})
"""Manners that send all bytes, and manners that do not even send the status line."""

REASONS = {
    200: "OK",
    302: "Found",
    307: "Temporary Redirect",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    408: "Request Timeout",
    409: "Conflict",
    413: "Payload Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Entity",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
    529: "Site Overloaded",
}


@dataclass(frozen=True, slots=True)
class Request:
    """A request. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, and how it is sent."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    manner: Manner = "whole"
    fault: str | None = None
    """Name of its fault; None for no fault."""
    paid: bool = False
    """Whether a provider would charge for it because a completion was generated, even if nobody
    reads it."""
    tokens: int = 0
    """Number of tokens that a provider would charge."""
    delay: float = 0.0
    """Seconds before the first byte."""

    def encode(self) -> bytes:
        """Return the bytes of head and body."""
        headers = {"content-type": "application/json", **self.headers}
        lines = [f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Unknown')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines.append(f"content-length: {len(self.body)}")
        return "\r\n".join(lines).encode("latin-1") + HEAD_END + self.body


def encode(value: object) -> bytes:
    """Return JSON as providers write it: compact, without escapes for non-ASCII letters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def take(buffer: bytearray) -> Request | None:
    """Remove the first complete request from ``buffer``; None if there is none. Raises ValueError
    for invalid HTTP."""
    end = buffer.find(HEAD_END)
    if end < 0:
        return None
    start, *lines = bytes(buffer[:end]).decode("latin-1").split("\r\n")
    method, path, _ = start.split(" ", 2)
    headers = {
        name.lower(): value.strip()
        for name, colon, value in (line.partition(":") for line in lines)
        if colon
    }
    begin = end + len(HEAD_END)
    if headers.get("transfer-encoding", "").lower() == "chunked":
        chunked = _take_chunks(buffer, begin)
        if chunked is None:
            return None
        body, stop = chunked
    else:
        stop = begin + int(headers.get("content-length", "0"))
        if len(buffer) < stop:
            return None
        with memoryview(buffer) as whole:
            body = bytes(whole[begin:stop])
    del buffer[:stop]
    return Request(method, path, headers, body)


def _take_chunks(buffer: bytearray, at: int) -> tuple[bytes, int] | None:
    """Return the body of a chunked request that starts at ``at``, and its end; None while it is
    incomplete."""
    if not buffer.endswith(
        b"0\r\n\r\n"
    ):  # checked first, so that a long body is not parsed for every packet
        return None
    parts: list[bytes] = []
    while (line_end := buffer.find(b"\r\n", at)) >= 0:
        size = int(bytes(buffer[at:line_end]).split(b";")[0], 16)
        begin = line_end + 2
        if len(buffer) < begin + size + 2:
            return None
        if size == 0:
            return b"".join(parts), begin + 2
        parts.append(bytes(buffer[begin : begin + size]))
        at = begin + size + 2
    return None
