"""Prompts of local models: a file with a header comment and one line of text with places for the data.

These models were trained on one exact form of input, so there is nothing to decide in it: the files are Jinja2 with
plain variables only, and the data is put in as it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from claimeval.judging.prompts import folder
from claimeval.types.errors import PromptError, unknown_name

VARIABLES = {
    "question_given_text": frozenset({"text"}),
    "claim_given_document": frozenset({"document", "claim", "separator"}),
}
"""The shipped files, and what each kind offers to the files that a user puts in its place."""

_FILE = re.compile(r"\s*\{#(?P<header>.*?)#\}\n?(?P<text>.*?)\n?", re.DOTALL)
_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_FIELDS = {"purpose", "source", "variables", "supported", "not_supported"}


class SourcePrompt:
    """A prompt file, loaded and checked."""

    def __init__(self, kind: str, path: Path) -> None:
        try:
            source = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PromptError(f"cannot read prompt {str(path)!r}: {error}") from error
        self.digest = hashlib.sha256(source.encode()).hexdigest()
        match = _FILE.fullmatch(source)
        if not match:
            raise PromptError(f"prompt {str(path)!r} has no header comment {{# purpose: ... #}} at its start")
        self.header = _header(path, match["header"])
        self._parts = _PLACE.split(match["text"])
        literal, names = "".join(self._parts[::2]), set(self._parts[1::2])
        if "{{" in literal or "{%" in literal or "{#" in literal:
            raise PromptError(f"prompt {str(path)!r}: only plain variables such as {{{{ text }}}} can stand in it")
        if extra := names - VARIABLES[kind]:
            raise unknown_name(f"variable in prompt {str(path)!r}:", min(extra), VARIABLES[kind], PromptError)
        if missing := VARIABLES[kind] - names - {"separator"}:
            raise PromptError(f"prompt {str(path)!r} lacks the variable {min(missing)!r}")

    def render(self, values: Mapping[str, str]) -> str:
        """Return the text with the values in their places."""
        return "".join(values[part] if index % 2 else part for index, part in enumerate(self._parts))


def load(kind: str, path: str | Path | None = None) -> SourcePrompt:
    """Load the shipped prompt of that kind, or the one in the file."""
    return SourcePrompt(kind, Path(path) if path else folder() / "local" / f"{kind}.j2")


def _header(path: Path, text: str) -> dict[str, str]:
    try:
        fields: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PromptError(f"prompt {str(path)!r}: the header is not YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(fields, dict) or "purpose" not in fields:
        raise PromptError(f"prompt {str(path)!r}: the header must have the field purpose")
    if extra := fields.keys() - _FIELDS:
        raise unknown_name(f"field in the header of prompt {str(path)!r}:", str(min(extra)), _FIELDS, PromptError)
    return {name: str(value) for name, value in fields.items()}
