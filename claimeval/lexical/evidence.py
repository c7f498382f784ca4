"""The sentence that a verdict rests on, found by the words of its reason and of the claim.

A contradiction shares few words with what it contradicts: "designed by Edwin Pell" is nearest to a
sentence on when the tower was built. The reason of the judge names what it saw ("the plans came
from Thomas Garrow"), so its words come first.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from claimeval.lexical.sentences import sentences

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
        self._of_text: dict[int, _DocumentWords] = {}

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
        named = sorted(among)
        found = self._best(claim, reason, named) or self._only(named)
        if found or (named and not reason):
            return found
        return self._best(claim, reason, range(len(self._texts)))

    def _only(self, places: Collection[int]) -> EvidenceSentence | None:
        """Return the sentence of these documents if they have one only: "Closed on Mondays." can
        contradict a claim of which it has no word."""
        known = list(chain.from_iterable(self._words(place).sentences for place in places))
        return known[0] if len(known) == 1 else None

    def _best(self, claim: str, reason: str, places: Collection[int]) -> EvidenceSentence | None:
        documents = [self._words(place) for place in places]
        known = sum(len(document.sentences) for document in documents)
        shared = defaultdict[tuple[int, int], float](float)
        """Weight of the words that a sentence has, by its document and its place there."""
        total = 0.0
        for word, weight in _sought(claim, reason).items():
            having = list[tuple[int, int]]()
            for number, document in enumerate(documents):
                having += [(number, place) for place in document.places.get(word, ())]
            of_word = weight * _rarity(word, len(having), known)
            total += of_word
            for sentence in having:
                shared[sentence] += of_word
        least = (LEAST_OF_REASON if reason else LEAST) * total
        best: EvidenceSentence | None = None
        highest = 0.0
        for (number, place), weight in sorted(shared.items()):
            document = documents[number]
            # A long sentence shares words by its length alone, so length counts a little.
            score = weight / math.log(8 + document.sizes[place])
            if weight >= least and score > highest:
                best = document.sentences[place]
                highest = score
        return best

    def _words(self, place: int) -> _DocumentWords:
        if place not in self._of_text:
            text = self._texts[place]
            found = [EvidenceSentence(place, start, end) for start, end in sentences(text)]
            sizes = list[int]()
            places = defaultdict[str, list[int]](list)
            for number, sentence in enumerate(found):
                words = set(stems(text[sentence.start : sentence.end]))
                sizes.append(len(words))
                for word in words:
                    places[word].append(number)
            self._of_text[place] = _DocumentWords(found, sizes, places)
        return self._of_text[place]


class _DocumentWords(NamedTuple):
    """The words of a document."""

    sentences: list[EvidenceSentence]
    sizes: list[int]
    """The number of different words of each sentence."""
    places: Mapping[str, list[int]]
    """The sentences that have a word."""


def _sought(claim: str, reason: str) -> Mapping[str, float]:
    """Return the words to look for, with their weights."""
    of_claim = dict.fromkeys(stems(claim), OF_CLAIM if reason else 1.0)
    return of_claim | dict.fromkeys(stems(reason), 1.0)


def _rarity(word: str, count: int, known: int) -> float:
    """Return how much a word says: little if most sentences have it, most if none has."""
    rare = math.log(1 + known / max(count, 1))
    if word[0].isdigit():
        return rare * NUMBER
    return rare * SHORT if len(word) <= 3 and word.isascii() else rare


def stems(text: str) -> list[str]:
    """Return the words of a text without case and ending, numbers whole; pairs of characters where
    a script writes no spaces."""
    found = list[str]()
    is_spaced = text.isascii()
    for word in _WORD.findall(text.casefold()):
        if not is_spaced and _UNSPACED.search(word):
            found += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        elif word[0].isdigit():
            found.append(word.replace(",", ""))
        else:
            found.append(word[:STEM])
    return found
