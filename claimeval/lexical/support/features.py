"""What the lexical support score measures: which words of a claim a document has, and how close together.

Sets of the claim's words are bit masks, bit i for `claim.keys[i]`, so that counting and joining them is one operation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby, pairwise
from typing import NamedTuple

from claimeval.lexical.sentences import Span, sentences
from claimeval.lexical.support import words
from claimeval.lexical.support.words import Word, joined, rounded, significant

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

The share of the claim's distinct content words that are in the best sentence, in the best two neighbours, and in
three sentences chosen greedily; whether one sentence has them all; the share of its adjacent content words that are
adjacent in the document too; the share of its function words that the document has. Then the longest run of content
words that the best two neighbours lack, over their number; whether a number or month is nowhere in the document;
whether a name is; and the share of its names that the best two neighbours lack. None is a length: with lengths, a
regression learns to tell data sets apart.
"""

_LONGEST_SENTENCE = 600
"""Characters: evidence without full stops is cut at spaces, or everything would be one sentence."""
_NUMERIC = frozenset("#+*")


class ClaimFeatures(NamedTuple):
    """A claim by its distinct keys."""

    tokens: list[Word]
    keys: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    function_words: frozenset[str]
    digits: int
    """Numbers."""
    numbers: int
    """Numbers and months."""
    names: int
    openings: int
    """Names, and what may be one because a sentence starts with it."""

    @property
    def every(self) -> int:
        """Return the mask of all content words."""
        return (1 << len(self.keys)) - 1

    def spelt(self, mask: int) -> tuple[str, ...]:
        """Return the words in `mask` as the claim writes them; a number of several words as a whole."""
        texts: dict[str, str] = {}
        for number, run in groupby(self.tokens, key=lambda token: token.key[:1] in _NUMERIC):
            parts = list(run)
            whole = joined([part.key for part in parts]) if number else []
            texts |= {part.key: part.text for part in parts}
            if len(whole) == 1:
                texts[whole[0]] = " ".join(part.text for part in parts)
        return tuple(texts.get(key, key[1:]) for bit, key in enumerate(self.keys) if mask >> bit & 1)


def read_claim(text: str) -> ClaimFeatures:
    """Read a claim; one without a content word has no keys."""
    tokens = words.tokens(text)
    joined_keys = joined([token.key for token in tokens if token.key])
    named, openings = words.names(tokens), words.names(tokens, openings=True)
    keys = tuple(dict.fromkeys(joined_keys))
    return ClaimFeatures(
        tokens,
        keys,
        frozenset(pairwise(joined_keys)),
        frozenset(token.text.lower() for token in tokens if not token.key),
        _mask(key[0] == "#" for key in keys),
        _mask(words.is_number(key) for key in keys),
        _mask(key in named for key in keys),
        _mask(key in openings for key in keys),
    )


def _mask(bits: Iterable[bool]) -> int:
    return int("".join("01"[bit] for bit in bits)[::-1] or "0", 2)


class SentenceIndex:
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
        self._rounded: dict[int, dict[tuple[str, int], list[int]]] = {}

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """Return the first letters of its words."""
        return frozenset(map(words.beginning, self.sentences_with))

    def sentences_rounding_to(self, key: str) -> list[int]:
        """Return the sentences with a number that rounds to `key`.

        Numbers round to keys that look rounded themselves, with a decimal point or three final zeros; from three digits
        on, powers of a thousand do not matter, as tables give "in millions" once for all.
        """
        figure = significant(key) if "." in key or key.endswith("000") else None
        if figure is None or (places := len(figure[0])) < 2:
            return []
        if places not in self._rounded:
            self._rounded[places] = self._rounded_to(places)
        shifts = range(-9, 10, 3) if places > 2 else (0,)
        return [index for shift in shifts for index in self._rounded[places].get((figure[0], figure[1] + shift), ())]

    def _rounded_to(self, places: int) -> dict[tuple[str, int], list[int]]:
        numbers: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        for key, indices in self.sentences_with.items():
            if key[0] == "#" and (figure := significant(key)):
                numbers[rounded(*figure, places)] += indices
        return dict(numbers)


def _pieces(text: str, sentence: Span) -> Iterator[Span]:
    start, end = sentence
    while end - start > _LONGEST_SENTENCE:
        space = text.rfind(" ", start + 1, start + _LONGEST_SENTENCE)
        cut = space if space > 0 else start + _LONGEST_SENTENCE
        yield Span(start, cut)
        start = cut
    yield Span(start, end)


class WordMatch(NamedTuple):
    """The content words of a claim that a document has."""

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


def match_words(claim: ClaimFeatures, document: SentenceIndex) -> WordMatch | None:
    """Locate the content words of the claim; None if the document has none of them."""
    by_sentence: defaultdict[int, int] = defaultdict(int)
    alike = 0
    for position, key in enumerate(claim.keys):
        bit = 1 << position
        places = document.sentences_with.get(key) or (document.sentences_rounding_to(key) if key[0] == "#" else [])
        for number in places:
            by_sentence[number] |= bit
        if places or (len(key) > 3 and words.beginning(key) in document.beginnings):
            alike |= bit
    if not by_sentence:
        return None
    masks = list(dict.fromkeys(by_sentence.values()))
    sentence = max(masks, key=int.bit_count)
    neighbours = max((mask | by_sentence.get(number + 1, 0) for number, mask in by_sentence.items()), key=int.bit_count)
    three = sentence
    for _ in range(2):
        three = max((three | mask for mask in masks), key=int.bit_count)
    best = min(number for number, mask in by_sentence.items() if mask == sentence)
    return WordMatch(alike, sentence, neighbours, three, best)


def feature_values(claim: ClaimFeatures, document: SentenceIndex, match: WordMatch) -> tuple[float, ...]:
    """Return the values of `FEATURES`."""
    count = len(claim.keys)
    in_neighbours = match.neighbours.bit_count() / count
    missing = claim.every & ~match.neighbours
    adjacent = sum(pair in document.pairs or pair[::-1] in document.pairs for pair in claim.pairs)
    function_words = claim.function_words & document.function_words
    return (
        match.sentence.bit_count() / count,
        in_neighbours,
        match.three.bit_count() / count,
        float(match.sentence == claim.every),
        adjacent / len(claim.pairs) if claim.pairs else in_neighbours,
        len(function_words) / len(claim.function_words) if claim.function_words else 1.0,
        _longest_run(missing) / count,
        float(claim.numbers & ~match.alike != 0),
        float(claim.names & ~match.alike != 0),
        (claim.names & missing).bit_count() / max(1, claim.names.bit_count()),
    )


def _longest_run(mask: int) -> int:
    """Return the length of the longest run of set bits."""
    length = 0
    while mask:
        mask &= mask >> 1
        length += 1
    return length
