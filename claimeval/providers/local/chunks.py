"""Texts cut to fit a model's window: evidence in pieces of whole sentences, and the sources of query likelihood."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from claimeval.lexical.sentences import Span, sentences
from claimeval.providers.local.prompts import SourcePrompt
from claimeval.providers.local.tokenizing import Ids, Tokenizing
from claimeval.types.errors import UsageError
from claimeval.types.options import LongTexts
from claimeval.types.records import Document

SLACK = 4
"""Tokens by which a piece may grow when it is encoded by itself."""
_WORD = re.compile(r"\w+")


class Chunk(NamedTuple):
    """A piece of evidence."""

    text: str
    documents: tuple[int, ...]
    """Indices of the documents it comes from: one, or several where sentences are joined."""


class _TokenizedDocument(NamedTuple):
    """A document in the model's tokens."""

    text: str
    starts: list[int]
    """Where each token begins, in characters."""
    sentences: list[Span]

    def tokens(self, start: int, end: int) -> int:
        """Return how many tokens the stretch has."""
        return bisect_left(self.starts, end) - bisect_left(self.starts, start)


class _DocumentSpan(NamedTuple):
    """A stretch of a document."""

    document: int
    span: Span


class EvidenceChunks:
    """Cuts documents for one model. Documents are tokenized once for all claims."""

    def __init__(self, tokens: Tokenizing) -> None:
        self._tokens = tokens
        self._read = lru_cache(maxsize=256)(self._read_once)

    def chunks(self, documents: Sequence[Document], room: int) -> list[Chunk]:
        """Cut all documents into pieces of at most `room` tokens, in order; a document without a word gives none."""
        texts = self._texts(documents)
        return [
            Chunk(self._tokens.fit(texts[index].text[span.start : span.end], room), (index,))
            for index, span in _pieces(texts, room)
        ]

    def joined(self, claim: str, documents: Sequence[Document], room: int) -> Chunk | None:
        """Join the sentences of all documents that have most of the claim's words, in order, as far as there is room.

        Rare words count more. None if all of them are in one piece, which was assessed anyway.
        """
        texts = self._texts(documents)
        spans = [_DocumentSpan(index, span) for index, text in enumerate(texts) for span in text.sentences]
        words = [_words(texts[stretch.document].text[slice(*stretch.span)]) for stretch in spans]
        frequency = Counter(word for sentence_words in words for word in sentence_words)
        weights = [sum(1 / frequency[word] for word in sentence_words & _words(claim)) for sentence_words in words]
        chosen: list[_DocumentSpan] = []
        free = room
        for number in sorted(range(len(spans)), key=lambda n: (-weights[n], n)):
            size = texts[spans[number].document].tokens(*spans[number].span) + 1
            if weights[number] > 0 and size <= free:
                chosen.append(spans[number])
                free -= size
        if any(all(_inside(stretch, piece) for stretch in chosen) for piece in _pieces(texts, room)):
            return None
        text = " ".join(texts[index].text[span.start : span.end] for index, span in sorted(chosen))
        return Chunk(self._tokens.fit(text, room), tuple(sorted({stretch.document for stretch in chosen})))

    def _texts(self, documents: Sequence[Document]) -> list[_TokenizedDocument]:
        """Return the documents as other judges see them, with their titles."""
        return [self._read(f"{d.title}\n{d.text}" if d.title else d.text) for d in documents]

    def _read_once(self, text: str) -> _TokenizedDocument:
        data = self._tokens.data(text)
        return _TokenizedDocument(data, self._tokens.starts(data), sentences(data))


def _pieces(texts: Sequence[_TokenizedDocument], room: int) -> Iterator[_DocumentSpan]:
    for index, text in enumerate(texts):
        yield from (_DocumentSpan(index, span) for span in _runs(text, room - SLACK))


def _runs(text: _TokenizedDocument, room: int) -> Iterator[Span]:
    """Yield runs of whole sentences within the room; a longer sentence is cut at the start of a token."""
    start: int | None = None
    end = 0
    for sentence in text.sentences:
        if start is not None and text.tokens(start, sentence.end) > room:
            yield Span(start, end)
            start = None
        if start is None:
            start = sentence.start
            while text.tokens(start, sentence.end) > room:
                cut = text.starts[bisect_left(text.starts, start) + room]
                yield Span(start, cut)
                start = cut
        end = sentence.end
    if start is not None:
        yield Span(start, end)


def _inside(stretch: _DocumentSpan, piece: _DocumentSpan) -> bool:
    return (
        stretch.document == piece.document
        and piece.span.start <= stretch.span.start
        and stretch.span.end <= piece.span.end
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


class ReadText(NamedTuple):
    """A text in the model's tokens, with the prompt around it."""

    sources: list[Ids]
    cut: int
    """Tokens of the text that are in none of them."""


class SourceWindows:
    """Cuts texts to a window of so many tokens, prompt and end token included."""

    def __init__(self, tokens: Tokenizing, prompt: SourcePrompt, window: int, long_texts: LongTexts) -> None:
        self._tokens = tokens
        self._prompt = prompt
        self._window = window
        self._slides = long_texts == "window"
        self._room = window - len(self._source(""))
        if self._room < 1:
            raise UsageError(f"a window of {window} tokens has no room next to the prompt; give at least {window + 8}")

    def read(self, text: str) -> ReadText:
        """Return the sources of a text: one, or windows that overlap by half if it is too long."""
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
        """Return the longest source from the token `first` on, and the token that it ends before."""
        end = min(first + self._room, len(starts) - 1)
        source = self._source(data[starts[first] : starts[end]])
        while len(source) > self._window and end > first + 1:
            end = max(end - (len(source) - self._window), first + 1)
            source = self._source(data[starts[first] : starts[end]])
        return source, end

    def _source(self, data: str) -> Ids:
        (ids,) = self._tokens.ids([self._prompt.render({"text": data})])
        return ids
