"""A text as one or several sources of a sequence-to-sequence model, none longer than its window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from claimeval.errors import UsageError
from claimeval.local.source_prompts import SourcePrompt
from claimeval.local.tokenizing import Ids, Tokenizing


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
