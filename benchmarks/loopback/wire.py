"""HTTP/1.1 as far as two SDKs need it: requests are read, answers are written well or badly on purpose."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

HEAD_END = b"\r\n\r\n"

Manner = Literal["whole", "then_close", "reset", "eof", "cut", "reset_in_body", "hang", "drip", "garbage"]
"""How an answer leaves: complete; complete and the connection then closed unannounced; connection reset or closed
before a byte; closed or reset half way through the body; never; byte by byte; as bytes that are not HTTP."""

COMPLETE: frozenset[Manner] = frozenset({"whole", "then_close", "drip"})
NO_STATUS: frozenset[Manner] = frozenset({"reset", "eof", "hang", "garbage"})
"""Manners in which all bytes leave, and in which not even the status line does."""

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
    """One request as it was read; header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back, and in what manner."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    manner: Manner = "whole"
    fault: str | None = None
    """The name of the fault that made it, None for an honest answer."""
    paid: bool = False
    """Whether a provider would charge for it: a completion was generated, read or not."""
    tokens: int = 0
    """Tokens a provider would charge."""
    delay: float = 0.0
    """Seconds before the first byte."""

    def encode(self) -> bytes:
        """Head and body as they go over the wire."""
        headers = {"content-type": "application/json", **self.headers}
        lines = [f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Unknown')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines.append(f"content-length: {len(self.body)}")
        return "\r\n".join(lines).encode("latin-1") + HEAD_END + self.body


def encode(value: object) -> bytes:
    """JSON as providers write it: compact, non-English letters unescaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def take(buffer: bytearray) -> Request | None:
    """Removes the first complete request from ``buffer``, None if none is. ValueError on bad HTTP."""
    end = buffer.find(HEAD_END)
    if end < 0:
        return None
    start, *lines = bytes(buffer[:end]).decode("latin-1").split("\r\n")
    method, path, _ = start.split(" ", 2)
    headers = {name.lower(): value.strip() for name, colon, value in (line.partition(":") for line in lines) if colon}
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
    """The body of a chunked request that begins at ``at`` and where it stops; None while it is incomplete."""
    if not buffer.endswith(b"0\r\n\r\n"):  # looked at first, so that a long body is not walked for every packet
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
