"""The sentence that a verdict rests on, found by the words of its reason and of the claim.

A contradiction shares few words with what it contradicts: "designed by Edwin Pell" is nearest to a
sentence on when the tower was built. The reason of the judge names what it saw ("the plans came
from Thomas Garrow"), so its words come first.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from claimeval.lexical.sentences import Span, sentences

STEM = 6
"""Characters by which forms of a word are the same: `design`, `designed`, `designer`."""
OF_CLAIM = 0.5
"""Weight of a word of the claim, where a reason is given."""
LEAST = 0.3
"""Least share of the weight of the words of a claim that a sentence must have."""
LEAST_OF_REASON = 0.2
"""The same with a reason, which has words of its own, as "the text says"."""
NUMBER = 2.0
"""Weight of a number, compared with a word that is as rare."""
SHORT = 0.2
"""Weight of a word of up to three letters, as articles and prepositions are."""

_WORD = re.compile(r"[^\W_]+(?:[.,:]\d+)*")
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:[.,:][0-9]+)*")
"""The same in a text in lower case and ASCII, in three quarters of the time."""
# Scripts that write no spaces: a run of them is one word, so pairs of characters are compared.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")


class EvidenceSentence(NamedTuple):
    """A sentence of a document: `text[start:end]` of the document at this position."""

    document: int
    start: int
    end: int


class EvidenceFinder:
    """Finds sentences in the documents of one sample."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._of_text: dict[int, _TextSentences] = {}

    def find(
        self, claim: str, reason: str = "", among: Collection[int] = ()
    ) -> EvidenceSentence | None:
        """Return the sentence that has most of the words; None if none has enough of them.

        Args:
            claim: The claim.
            reason: What the judge wrote to justify its verdict; its words count more.
            among: Positions of the documents that the judge named. If these are one sentence, it is
                that one, in whatever words. Where no sentence of these has enough of the words,
                others are searched by a reason only: the nearest sentence of a document that the
                judge did not name says nothing of its verdict.
        """
        if named := sorted(among):
            # "Closed on Mondays." can contradict a claim of which it has no word.
            found = self._best(claim, reason, named) or self._only_sentence(named)
            if found or not reason:
                return found
        return self._best(claim, reason, range(len(self._texts)))

    def _best(self, claim: str, reason: str, places: Collection[int]) -> EvidenceSentence | None:
        read = [self._read(place) for place in places]
        known = list(chain.from_iterable([text.words for text in read]))
        of_claim = dict.fromkeys(stems(claim), OF_CLAIM if reason else 1.0)
        sought = of_claim | dict.fromkeys(stems(reason), 1.0)
        words = frozenset(sought)
        shared = [one & words for one in known]
        counts = Counter(chain.from_iterable(shared))
        weights = {
            word: weight * _rarity(word, counts[word], len(known))
            for word, weight in sought.items()
        }
        # Exact sums, as the order of words in a set differs from process to process.
        least = (LEAST_OF_REASON if reason else LEAST) * math.fsum(weights.values())
        best: int | None = None
        highest = 0.0
        for number, found in enumerate(shared):
            if not found:  # most sentences have none of the words
                continue
            weight = math.fsum(map(weights.__getitem__, found))
            if weight < least:
                continue
            # A long sentence shares words by its length alone, so length counts a little.
            score = weight / math.log(8 + len(known[number]))
            if score > highest:
                best = number
                highest = score
        return None if best is None else _sentence_at(best, places, read)

    def _only_sentence(self, places: Collection[int]) -> EvidenceSentence | None:
        """Return the sentence of these documents if they have one; None if they have several."""
        read = [self._read(place) for place in places]
        if sum(len(text.spans) for text in read) != 1:
            return None
        return _sentence_at(0, places, read)

    def _read(self, place: int) -> _TextSentences:
        if place not in self._of_text:
            text = self._texts[place]
            spans = sentences(text)
            # One set a sentence, as lists of the sentences of each word are ten times as many
            # objects, which take longer to make than a claim saves by them.
            words = [frozenset(stems(text[start:end])) for start, end in spans]
            self._of_text[place] = _TextSentences(spans, words)
        return self._of_text[place]


class _TextSentences(NamedTuple):
    """The sentences of a text."""

    spans: list[Span]
    words: list[frozenset[str]]
    """The words of each sentence."""


def _sentence_at(
    number: int, places: Collection[int], read: Sequence[_TextSentences]
) -> EvidenceSentence:
    """Return the sentence with a number, from 0, among those of several texts at these places."""
    for place, text in zip(places, read, strict=True):
        if number < len(text.spans):
            return EvidenceSentence(place, *text.spans[number])
        number -= len(text.spans)
    raise AssertionError("the number is that of a sentence of these texts")


def _rarity(word: str, count: int, known: int) -> float:
    """Return how much a word says: little if most sentences have it, most if none has."""
    rare = math.log(1 + known / max(count, 1))
    if word[0].isdigit():
        return rare * NUMBER
    return rare * SHORT if len(word) <= 3 and word.isascii() else rare


def stems(text: str) -> Iterator[str]:
    """Yield the words of a text without case and ending, numbers whole; pairs of characters where
    a script writes no spaces."""
    return chain.from_iterable(map(_stems_between_spaces, text.split()))


@lru_cache(maxsize=1 << 14)
def _stems_between_spaces(text: str) -> tuple[str, ...]:
    """Return the stems of a text without white space. Most are words that other texts have too: the
    sentences of a document are read in a quarter of the time."""
    if text.isascii():
        words = _ASCII_WORD.findall(text.lower())
        return tuple(
            [word.replace(",", "") if word[0].isdigit() else word[:STEM] for word in words]
        )
    found = list[str]()
    for word in _WORD.findall(text.casefold()):
        if _UNSPACED.search(word):
            found += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        elif word[0].isdigit():
            found.append(word.replace(",", ""))
        else:
            found.append(word[:STEM])
    return tuple(found)
