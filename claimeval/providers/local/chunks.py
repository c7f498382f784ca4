"""Evidence in pieces that fit a model's window: whole sentences while they fit, and the best ones for a joint look."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from claimeval.lexical.sentences import Span, sentences
from claimeval.providers.local.tokenizing import Tokenizing
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
        """How many tokens the stretch has."""
        return bisect_left(self.starts, end) - bisect_left(self.starts, start)


class _DocumentSpan(NamedTuple):
    """A stretch of a document."""

    document: int
    span: Span


class EvidenceChunks:
    """Cuts documents for one model. What was read is kept for the claims that follow."""

    def __init__(self, tokens: Tokenizing) -> None:
        self._tokens = tokens
        self._read = lru_cache(maxsize=256)(self._read_once)

    def chunks(self, documents: Sequence[Document], room: int) -> list[Chunk]:
        """All documents in pieces of at most `room` tokens, in order; a document without a word gives none."""
        texts = self._texts(documents)
        return [
            Chunk(self._tokens.fit(texts[index].text[span.start : span.end], room), (index,))
            for index, span in _pieces(texts, room)
        ]

    def joined(self, claim: str, documents: Sequence[Document], room: int) -> Chunk | None:
        """The sentences of all documents that have most of the claim's words, in order, as far as there is room.

        Rare words count more. None where all of them stand in one piece, which was looked at anyway.
        """
        texts = self._texts(documents)
        found = [_DocumentSpan(index, span) for index, text in enumerate(texts) for span in text.sentences]
        words = [_words(texts[place.document].text[place.span.start : place.span.end]) for place in found]
        spread = Counter(word for own in words for word in own)
        worth = [sum(1 / spread[word] for word in own & _words(claim)) for own in words]
        chosen: list[_DocumentSpan] = []
        left = room
        for number in sorted(range(len(found)), key=lambda n: (-worth[n], n)):
            size = texts[found[number].document].tokens(*found[number].span) + 1
            if worth[number] > 0 and size <= left:
                chosen.append(found[number])
                left -= size
        if any(all(_inside(place, piece) for place in chosen) for piece in _pieces(texts, room)):
            return None
        text = " ".join(texts[index].text[span.start : span.end] for index, span in sorted(chosen))
        return Chunk(self._tokens.fit(text, room), tuple(sorted({place.document for place in chosen})))

    def _texts(self, documents: Sequence[Document]) -> list[_TokenizedDocument]:
        """The documents as other judges see them, with their titles."""
        return [self._read(f"{d.title}\n{d.text}" if d.title else d.text) for d in documents]

    def _read_once(self, text: str) -> _TokenizedDocument:
        data = self._tokens.data(text)
        return _TokenizedDocument(data, self._tokens.starts(data), sentences(data))


def _pieces(texts: Sequence[_TokenizedDocument], room: int) -> Iterator[_DocumentSpan]:
    for index, text in enumerate(texts):
        yield from (_DocumentSpan(index, span) for span in _runs(text, room - SLACK))


def _runs(text: _TokenizedDocument, room: int) -> Iterator[Span]:
    """Runs of whole sentences within the room; a longer sentence is cut where a token begins."""
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


def _inside(place: _DocumentSpan, piece: _DocumentSpan) -> bool:
    return (
        place.document == piece.document and piece.span.start <= place.span.start and place.span.end <= piece.span.end
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
