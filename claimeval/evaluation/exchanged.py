"""Find replies that belong to other requests: claims that are in none of the texts that they were
extracted from, but in those of another sample.

A batch with wrong ids, a gateway that mixes up its connections or a table that was joined by row
number gives replies that can be read and scores that mean nothing. A model that invents claims
gives claims that are nowhere; only others' texts show an exchange.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from claimeval.judging.grounding import numbers
from claimeval.lexical.words import is_unspaced_script
from claimeval.types.errors import StoppedEarly
from claimeval.types.records import Claim, SampleResult

STRAY_SHARE = 0.1
"""Share of the claims that are in none of their texts, or of the samples of which most are, from
which on others' texts are searched. Six of 60 replies may have fewer than a tenth of the claims."""
FOUND_SHARE = 0.25
"""Share of these claims that has to be in texts of others. After an exchange it is a third and
more, also of claims that are short and reworded; of claims that a model invents it is 0 to 5%."""
LEAST_FOUND = 3
"""Number of claims found elsewhere below which a chance resemblance is more likely."""
_INSIDE = 0.6
_ELSEWHERE = 0.9
"""Share of its words that a claim has at most in texts that it is not from, and at least in the one
that it is from. Claims of 5,280 triplets that people checked have a median of 1 in their own
texts."""
_FEWEST_WORDS = 3
"""Words of a claim below which it may be in any text, such as `Yes.`."""
_KEPT = 300
"""Claims that are searched for, drawn evenly if there are more."""
_STEM = 6
"""Letters of a word that are compared, so that most endings do not matter."""
_TOKEN = re.compile(r"\w+")


class _Stray(NamedTuple):
    """A claim that is in none of its texts."""

    sample: str
    question: str
    claim: str
    words: frozenset[str]
    inside: int
    """How many of its words its own texts have."""


class ExchangeCheck:
    """Compares the claims of a run with the texts that they were extracted from, one sample at a
    time."""

    def __init__(self) -> None:
        self._claims = 0
        self._strays = 0
        self._samples = 0
        self._stray_samples = 0
        """Samples of which most claims are in none of their texts."""
        self._kept: list[_Stray] = []
        self._questions: set[str] = set()
        """The first two different questions."""
        self._random = random.Random(0)

    def add(self, result: SampleResult) -> None:
        """Add a sample. Claims that a quote or their own words locate in their text are not looked
        at again."""
        if len(self._questions) < 2:
            self._questions.add(_folded(result.sample.question))
        claims = self._claims
        strays = self._strays
        texts: dict[str, str] = {}
        for claim in result.claims:
            if claim.grounding == "given":
                continue
            if claim.of not in texts:
                own = result.sample.text(claim.of)
                texts[claim.of] = f"{own}\n{result.sample.full_question}" if own else ""
            if texts[claim.of]:
                self._add(result, claim, texts[claim.of])
        added = self._claims - claims
        self._samples += added > 0
        self._stray_samples += 2 * (self._strays - strays) > added

    def _add(self, result: SampleResult, claim: Claim, own: str) -> None:
        if claim.grounding in ("exact", "fuzzy"):
            self._claims += 1
            return
        words = _words(claim.text)
        # "It closed." is in many texts, and would count as found elsewhere.
        if len(words) < _FEWEST_WORDS:
            return
        self._claims += 1
        inside = len(words & _words(own))
        has_numbers = numbers(claim.text) <= numbers(own)
        if inside >= _INSIDE * len(words) and has_numbers:
            return
        self._strays += 1
        sample = result.sample
        stray = _Stray(sample.id, _folded(sample.question), claim.text, words, inside)
        if len(self._kept) < _KEPT:
            self._kept.append(stray)
            return
        place = self._random.randrange(self._strays)  # each stray claim is as likely to be kept
        if place < _KEPT:
            self._kept[place] = stray

    def check(self, results: Iterable[SampleResult]) -> None:
        """Raise StoppedEarly if the claims are those of other samples.

        Args:
            results: The results that were added. They are read only if a tenth of the claims, or
                most claims of a tenth of the samples, are in none of their texts.
        """
        are_few = self._strays < STRAY_SHARE * self._claims
        if not self._strays or (are_few and self._stray_samples < STRAY_SHARE * self._samples):
            return
        found: dict[int, str] = {}
        for result in results:
            self._search(result, found)
        if len(found) < max(LEAST_FOUND, FOUND_SHARE * len(self._kept)):
            return
        first = min(found)
        stray = self._kept[first]
        raise StoppedEarly(
            f"{self._strays:,} of {self._claims:,} claims are in none of the texts that they were"
            " extracted from, and others' texts have them: the replies belong to other requests, as"
            " in a batch with wrong ids, a gateway that mixes up replies, or a file whose rows were"
            f" shifted. The first: {stray.claim[:120]!r} of sample {stray.sample!r} is in sample"
            f" {found[first]!r}. No score is computed; use another --cache to ask again"
        )

    def _search(self, result: SampleResult, found: dict[int, str]) -> None:
        """Note which of the stray claims are in the texts of another sample.

        If there are several questions, it has to have another one: an extractor that knows the
        answer adds what other answers to the question say.
        """
        sample = result.sample
        texts = _texts_with_claims(result)
        words = frozenset[str]().union(*map(_words, texts))
        several = len(self._questions) > 1
        question = _folded(sample.question) if several else ""
        for number, stray in enumerate(self._kept):
            if number in found or sample.id == stray.sample:
                continue
            if question and question == stray.question:
                continue
            if _is_from(stray, words, texts):
                found[number] = sample.id


def _is_from(stray: _Stray, words: frozenset[str], texts: Iterable[str]) -> bool:
    """Return whether a claim is from these texts, which have these words."""
    shared = len(stray.words & words)
    # A claim that its own text has as well as another's is reworded, not exchanged.
    if shared < _ELSEWHERE * len(stray.words) or shared <= stray.inside:
        return False
    # Answers about other years share nearly all words: "It opened in 1902" and "It opened in 1931".
    return any(numbers(stray.claim) <= numbers(text) for text in texts)


def _texts_with_claims(result: SampleResult) -> list[str]:
    """Return the texts that claims were extracted from; the answer, if it has none."""
    parts = {claim.of for claim in result.claims} or {"answer"}
    return [text for part in parts if (text := result.sample.text(part))]


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _words(text: str) -> frozenset[str]:
    """Return the beginnings of the words of a text; of scripts without spaces, pairs of signs."""
    words: set[str] = set()
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold()):
        if len(token) > 2 and is_unspaced_script(token):
            words.update(token[start : start + 2] for start in range(len(token) - 1))
        else:
            words.add(token[:_STEM])
    return frozenset(words)
