"""A key that every test runs with, and the forms in which it must not be found anywhere."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

KEY_VARIABLES = ("OPENAI_API_KEY", "MISTRAL_API_KEY", "ANTHROPIC_API_KEY", "CLAIMEVAL_ENDPOINT_KEY")
CANARY = f"sk-CANARY/{uuid.uuid4()}+=&%"
"""Made anew for every session, with characters that URLs, JSON and base64 write in ways of their
own."""


def _forms() -> Iterator[bytes]:
    """The key as it is, a part of it, URL-encoded, escaped for JSON once and twice, and in base64
    at every offset."""
    for text in (
        CANARY,
        CANARY[10:30],
        quote(CANARY),
        quote(CANARY, safe=""),
        CANARY.replace("/", "\\/"),
    ):
        yield text.encode()
    for backslash in ("\\", "\\\\"):
        yield "".join(f"{backslash}u{ord(one):04x}" for one in CANARY).encode()
    for offset in range(3):
        yield base64.b64encode(b"x" * offset + CANARY.encode())[4:-4]


FORMS = tuple(_forms())
BLOCK = 2**24
"""Bytes of a file that are read at once."""


def holds_a_key(content: bytes | str) -> bool:
    """Whether the key stands there in any form."""
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    # One search for each form takes a seventh of the time of one pattern of all: the tests leave
    # gigabytes behind.
    return any(form in content for form in FORMS)


def files_with_a_key(folder: Path) -> list[Path]:
    """The files under a folder that hold it."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and _in_file(path)
    ]


def _in_file(path: Path) -> bool:
    """Whether a file holds it, also across two blocks."""
    end = b""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            if holds_a_key(end + block):
                return True
            end = block[-max(map(len, FORMS)) :]
    return False
