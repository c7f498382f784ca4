"""What the lexical support score measures: which words of a claim a document has, and how close together.

Sets of the claim's words are bit masks, bit i for `claim.keys[i]`, so that counting and joining them is one operation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from claimeval.local import lexical_words as words
from claimeval.local.lexical_numbers import rounded, significant
from claimeval.local.lexical_words import Token
from claimeval.local.sentence_splitting import Span, sentences

FEATURES = (
    "in_one_sentence",
    "in_two_neighbours",
    "in_three_sentences",
    "all_in_one_sentence",
    "pairs",
    "function_words",
    "longest_gap",
    "number_missing",
    "name_missing",
    "names_missing_in_two_neighbours",
)
"""Each in [0, 1]; the last four count against the claim.

The share of the claim's distinct content words that stand in the best sentence, in the best two neighbours, and in
three sentences chosen greedily; whether one sentence has them all; the share of its adjacent content words that are
adjacent in the document too; the share of its function words that the document has. Then the longest run of content
words that the best two neighbours lack, over their number; whether a number or month is nowhere in the document;
whether a name is; and the share of its names that the best two neighbours lack. None is a length: with lengths, a
regression learns to tell data sets apart.
"""

_LONGEST_SENTENCE = 600
"""Characters: evidence without full stops is cut at spaces, or everything would stand in one sentence."""
_BEGINNING = 5
"""Letters: words that begin alike may be forms of one word."""


class Claim(NamedTuple):
    """A claim by its distinct keys."""

    tokens: list[Token]
    keys: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    function_words: frozenset[str]
    digits: int
    """Numbers."""
    numbers: int
    """Numbers and months."""
    names: int

    @property
    def every(self) -> int:
        """All content words."""
        return (1 << len(self.keys)) - 1

    def spelt(self, mask: int) -> tuple[str, ...]:
        """The words in `mask` as the claim writes them; a number of several words in digits."""
        texts = {token.key: token.text for token in reversed(self.tokens)}
        return tuple(texts.get(key, key[1:]) for bit, key in enumerate(self.keys) if mask >> bit & 1)


def read_claim(text: str) -> Claim:
    """Reads a claim; one without a content word has no keys."""
    found, function_words = words.read(text)
    tokens = words.tokens(text)
    named = words.names(tokens)
    keys = tuple(dict.fromkeys(found))
    return Claim(
        tokens,
        keys,
        frozenset(pairwise(found)),
        frozenset(word.lower() for word in function_words),
        _mask(key[0] == "#" for key in keys),
        _mask(words.is_number(key) for key in keys),
        _mask(key in named for key in keys),
    )


def _mask(bits: Iterable[bool]) -> int:
    return int("".join("01"[bit] for bit in bits)[::-1] or "0", 2)


class Document:
    """The sentences of a text by the keys they contain; reading it is linear in its length."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.spans = [piece for sentence in sentences(text) for piece in _pieces(text, sentence)]
        self.sentences_with: defaultdict[str, list[int]] = defaultdict(list)
        self.pairs: set[tuple[str, str]] = set()
        function_words: set[str] = set()
        for number, span in enumerate(self.spans):
            keys, others = words.read(text[span.start : span.end])
            for key in set(keys):
                self.sentences_with[key].append(number)
            self.pairs.update(pairwise(keys))
            function_words.update(others)
        self.function_words = frozenset(word.lower() for word in function_words)
        self._rounded: dict[int, frozenset[tuple[str, int]]] = {}

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """How its words begin."""
        return frozenset(key[:_BEGINNING] for key in self.sentences_with)

    @cached_property
    def _figures(self) -> list[tuple[str, int]]:
        return [figure for key in self.sentences_with if key[0] == "#" and (figure := significant(key))]

    def has_alike(self, key: str) -> bool:
        """Whether a word begins like `key`, or a number rounds to it.

        Numbers round to keys that look rounded themselves, with a decimal point or three final zeros; from three digits
        on, powers of a thousand do not matter, as tables give "in millions" once for all.
        """
        if key[0] != "#":
            return len(key) >= _BEGINNING - 1 and key[:_BEGINNING] in self.beginnings
        figure = significant(key) if "." in key or key.endswith("000") else None
        if figure is None or (places := len(figure[0])) < 2:
            return False
        if places not in self._rounded:
            self._rounded[places] = frozenset(rounded(*other, places) for other in self._figures)
        shifts = range(-9, 10, 3) if places > 2 else (0,)
        return any((figure[0], figure[1] + shift) in self._rounded[places] for shift in shifts)


def _pieces(text: str, sentence: Span) -> Iterator[Span]:
    start, end = sentence
    while end - start > _LONGEST_SENTENCE:
        space = text.rfind(" ", start + 1, start + _LONGEST_SENTENCE)
        cut = space if space > 0 else start + _LONGEST_SENTENCE
        yield Span(start, cut)
        start = cut
    yield Span(start, end)


class Found(NamedTuple):
    """Which content words of a claim a document has."""

    alike: int
    """Anywhere, or another form of the word, or a number that rounds to it."""
    sentence: int
    """In the best sentence."""
    neighbours: int
    """In the best two sentences in a row."""
    three: int
    """In the best sentence and the two that add most to it."""
    best: int
    """The index of the best sentence, the first where several have as many."""


def find(claim: Claim, document: Document) -> Found | None:
    """Where the content words of the claim are; None if the document has none of them."""
    by_sentence: defaultdict[int, int] = defaultdict(int)
    alike = 0
    for position, key in enumerate(claim.keys):
        bit = 1 << position
        if key in document.sentences_with:
            alike |= bit
            for number in document.sentences_with[key]:
                by_sentence[number] |= bit
        elif document.has_alike(key):
            alike |= bit
    if not by_sentence:
        return None
    masks = set(by_sentence.values())
    sentence = max(sorted(masks), key=int.bit_count)
    neighbours = max((mask | by_sentence.get(number + 1, 0) for number, mask in by_sentence.items()), key=int.bit_count)
    three = sentence
    for _ in range(2):
        three = max((three | mask for mask in masks), key=int.bit_count)
    best = min(number for number, mask in by_sentence.items() if mask == sentence)
    return Found(alike, sentence, neighbours, three, best)


def features(claim: Claim, document: Document, found: Found) -> tuple[float, ...]:
    """The values of `FEATURES`."""
    count = len(claim.keys)
    in_neighbours = found.neighbours.bit_count() / count
    lacking = claim.every & ~found.neighbours
    adjacent = sum(pair in document.pairs or pair[::-1] in document.pairs for pair in claim.pairs)
    function_words = claim.function_words & document.function_words
    return (
        found.sentence.bit_count() / count,
        in_neighbours,
        found.three.bit_count() / count,
        float(found.sentence == claim.every),
        adjacent / len(claim.pairs) if claim.pairs else in_neighbours,
        len(function_words) / len(claim.function_words) if claim.function_words else 1.0,
        _longest_run(lacking) / count,
        float(claim.numbers & ~found.alike != 0),
        float(claim.names & ~found.alike != 0),
        (claim.names & lacking).bit_count() / max(1, claim.names.bit_count()),
    )


def _longest_run(mask: int) -> int:
    """The length of the longest run of set bits."""
    length = 0
    while mask:
        mask &= mask >> 1
        length += 1
    return length
