"""What local models read: a file with a header comment and one line of text with places for the data.

These models were trained on one exact form of input, so there is nothing to decide in it: the files are Jinja2 with
plain variables only, and the data is put in as it is.

A text as one or several sources of a sequence-to-sequence model, none longer than its window.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from claimeval.judging.prompts import folder
from claimeval.providers.local.tokenizing import Ids, Tokenizing
from claimeval.types.errors import PromptError, UsageError, unknown_name

VARIABLES = {
    "question_given_text": frozenset({"text"}),
    "claim_given_document": frozenset({"document", "claim", "separator"}),
}
"""The shipped files, and what each kind offers to the files that a user puts in its place."""

_FILE = re.compile(r"\s*\{#(?P<header>.*?)#\}\n?(?P<text>.*?)\n?", re.DOTALL)
_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_FIELDS = {"purpose", "source", "variables", "supported", "not_supported"}


class SourcePrompt:
    """A file that was loaded and checked."""

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
        """The text with the values in their places."""
        return "".join(values[part] if index % 2 else part for index, part in enumerate(self._parts))


def load(kind: str, path: str | None = None) -> SourcePrompt:
    """The shipped prompt of that kind, or the one in the file."""
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


class ReadText(NamedTuple):
    """A text in the model's tokens, with the prompt around it."""

    sources: list[Ids]
    cut: int
    """Tokens of the text that are in none of them."""


class SourceWindows:
    """Cuts texts to a window of so many tokens, prompt and end token included."""

    def __init__(self, tokens: Tokenizing, prompt: SourcePrompt, window: int, long: str) -> None:
        self._tokens = tokens
        self._prompt = prompt
        self._window = window
        self._slides = long == "window"
        self._room = window - len(self._source(""))
        if self._room < 1:
            raise UsageError(f"a window of {window} tokens has no room beside the prompt; give at least {window + 8}")

    def read(self, text: str) -> ReadText:
        """The sources of a text: one, or windows that overlap by half where it is too long and windows are wanted."""
        data = self._tokens.data(text)
        whole = self._source(data)
        if len(whole) <= self._window:
            return ReadText([whole], 0)
        starts = [*self._tokens.starts(data), len(data)]
        last = len(starts) - 1
        if not self._slides:
            source, end = self._longest(data, starts, 0)
            return ReadText([source], last - end)
        return ReadText(list(self._windows(data, starts)), 0)

    def _windows(self, data: str, starts: list[int]) -> Iterator[Ids]:
        first, last = 0, len(starts) - 1
        while True:
            source, end = self._longest(data, starts, first)
            yield source
            if end == last:
                return
            first += max((end - first) // 2, 1)

    def _longest(self, data: str, starts: list[int], first: int) -> tuple[Ids, int]:
        """The source from the token `first` on, as far as the window goes, and the token that it ends before."""
        end = min(first + self._room, len(starts) - 1)
        source = self._source(data[starts[first] : starts[end]])
        while len(source) > self._window and end > first + 1:
            end = max(end - (len(source) - self._window), first + 1)
            source = self._source(data[starts[first] : starts[end]])
        return source, end

    def _source(self, data: str) -> Ids:
        (ids,) = self._tokens.ids([self._prompt.render({"text": data})])
        return ids
