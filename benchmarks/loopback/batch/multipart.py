"""Reads the multipart form that both SDKs send: a file and a few fields."""

from __future__ import annotations

import re
from typing import NamedTuple

from benchmarks.loopback.wire import HEAD_END, Request


class Upload(NamedTuple):
    """An uploaded file, and the other fields of the form."""

    filename: str
    content: memoryview
    fields: dict[str, str]


def read(request: Request) -> Upload | None:
    """Return the file in a multipart request, without a copy; None if there is none."""
    boundary = re.search(r'boundary="?([^";]+)', request.headers.get("content-type", ""))
    if boundary is None:
        return None
    mark = b"\r\n--" + boundary[1].encode()
    body = request.body
    found: tuple[str, memoryview] | None = None
    fields: dict[str, str] = {}
    start = body.find(mark[2:])
    while start >= 0 and (head_end := body.find(HEAD_END, start)) >= 0:
        begin = head_end + len(HEAD_END)
        end = body.find(mark, begin)
        if end < 0:
            break
        head = body[start:head_end].decode("utf-8", "replace")
        name = re.search(r'\bname="([^"]*)"', head)
        filename = re.search(r'filename="([^"]*)"', head)
        if filename is not None:
            found = (filename[1], memoryview(body)[begin:end])
        elif name is not None:
            fields[name[1]] = body[begin:end].decode("utf-8", "replace")
        start = end
    return None if found is None else Upload(*found, fields)
