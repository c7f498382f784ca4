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
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, NoReturn

from claimeval.judging.grounding import numbers
from claimeval.lexical.words import is_unspaced_script
from claimeval.types.errors import StoppedEarly
from claimeval.types.records import Claim, Part, Sample, SampleResult

STRAY_SHARE = 0.1
"""Share of the claims that are in none of their texts, or of the samples of which most are, from
which on others' texts are searched. Six of 60 replies may have fewer than a tenth of the claims."""
FOUND_SHARE = 0.25
"""Share of these claims that has to be in texts of others. After an exchange it is a third and
more, also of claims that are short and reworded; of claims that a model invents it is 0 to 5%."""
LEAST_FOUND = 3
"""Number of claims found elsewhere below which a chance resemblance is more likely, unless two
samples have each other's claims: two replies of twenty with one claim each."""
NAMED_SHARE = 0.1
"""Share of all claims from which those count as exchanged that have most of their words in their
own texts, and the others in those of one other question alone: “The capital of Spain is Madrid.”
under “The capital of France is Paris.” Of claims in their place it is at most 1%."""
_INSIDE = 0.6
_ELSEWHERE = 0.9
"""Share of its words that a claim has at most in texts that it is not from, and at least in the one
that it is from. Claims of 5,280 triplets that people checked have a median of 1 in their own
texts."""
_FEWEST_WORDS = 3
"""Words of a claim below which it may be in any text, such as `Yes.`."""
_RARE = 0.05
_RARE_TEXTS = 3
"""Share and number of the texts of a run up to which a word is rare in them. Only if a claim lacks
one, another text may be the only one that has what it lacks."""
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
    missing: frozenset[str]
    """Those of its words that its own texts lack."""

    @property
    def inside(self) -> int:
        """How many of its words its own texts have."""
        return len(self.words) - len(self.missing)


class _OwnText:
    """What a claim is extracted from: its text, and the question."""

    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def of(cls, sample: Sample, part: Part) -> _OwnText:
        """Return the text of a part of a sample with its question; empty without the part."""
        text = sample.text(part)
        return cls(f"{text}\n{sample.full_question}" if text else "")

    @cached_property
    def words(self) -> frozenset[str]:
        """The beginnings of its words."""
        return _words(self.text)

    @property
    def is_read(self) -> bool:
        """Whether its words were asked for."""
        return "words" in vars(self)


class _StraySample:
    """Claims of which `_KEPT` are kept, each one as likely as any other."""

    def __init__(self, seed: int) -> None:
        self.count = 0
        self.kept: list[_Stray] = []
        self._random = random.Random(seed)

    def add(self, stray: _Stray) -> None:
        """Add a claim."""
        self.count += 1
        if len(self.kept) < _KEPT:
            self.kept.append(stray)
            return
        place = self._random.randrange(self.count)
        if place < _KEPT:
            self.kept[place] = stray

    def share(self, kept: int, of: int) -> float:
        """Return the share of so many of the kept claims among all claims."""
        if not self.kept or not of:
            return 0.0
        standing_for = self.count / len(self.kept)
        return kept * standing_for / of


class ExchangeCheck:
    """Compares the claims of a run with the texts that they were extracted from, one sample at a
    time."""

    def __init__(self) -> None:
        self._claims = 0
        self._strays = _StraySample(0)
        """Claims that are in none of their texts."""
        self._partial = _StraySample(1)
        """Claims of which only some words are not in their texts."""
        self._samples = 0
        self._stray_samples = 0
        """Samples of which most claims are in none of their texts."""
        self._questions: set[str] = set()
        """The first two different questions."""
        self._texts = 0
        self._frequency = Counter[str]()
        """In how many texts a word is, of those that were compared with a claim."""

    def add(self, result: SampleResult) -> None:
        """Add a sample. Claims that a quote or their own words locate in their text are not looked
        at again."""
        if len(self._questions) < 2:
            self._questions.add(_folded(result.sample.question))
        claims = self._claims
        strays = self._strays.count
        texts: dict[str, _OwnText] = {}
        for claim in result.claims:
            if claim.grounding == "given":
                continue
            if claim.of not in texts:
                texts[claim.of] = _OwnText.of(result.sample, claim.of)
            if texts[claim.of].text:
                self._add(result, claim, texts[claim.of])
        for own in texts.values():
            if own.is_read:
                self._texts += 1
                self._frequency.update(own.words)
        added = self._claims - claims
        self._samples += added > 0
        self._stray_samples += 2 * (self._strays.count - strays) > added

    def _add(self, result: SampleResult, claim: Claim, own: _OwnText) -> None:
        if claim.grounding in ("exact", "fuzzy"):
            self._claims += 1
            return
        words = _words(claim.text)
        # "It closed." is in many texts, and would count as found elsewhere.
        if len(words) < _FEWEST_WORDS:
            return
        self._claims += 1
        missing = words - own.words
        has_numbers = numbers(claim.text) <= numbers(own.text)
        if not missing and has_numbers:
            return
        sample = result.sample
        stray = _Stray(sample.id, _folded(sample.question), claim.text, words, missing)
        is_inside = stray.inside >= _INSIDE * len(words) and has_numbers
        (self._partial if is_inside else self._strays).add(stray)

    def check(self, results: Iterable[SampleResult]) -> None:
        """Raise StoppedEarly if the claims are those of other samples.

        Args:
            results: The results that were added. They are read only if a tenth of the claims, or
                most claims of a tenth of the samples, are in none of their texts, or lack words
                there that few of the other texts have.
        """
        rare = sum(map(self._may_be_named, self._partial.kept))
        elsewhere = self._strays.share(len(self._strays.kept), self._claims)
        elsewhere += self._partial.share(rare, self._claims)
        many_samples = bool(self._stray_samples) and self._many_samples
        if elsewhere < STRAY_SHARE and not many_samples:
            return
        several = len(self._questions) > 1
        strays, partial = (
            _ElsewhereSearch(drawn.kept, several) for drawn in (self._strays, self._partial)
        )
        for result in results:
            strays.add(result)
            partial.add(result)
        named = partial.named
        elsewhere = self._strays.share(len(strays.found), self._claims)
        elsewhere += self._partial.share(len(named), self._claims)
        if self._are_exchanged(strays):
            self._stop(strays, strays.found)
        # Under the texts of another row of a table, answers of one form share all but their names.
        if partial.are_enough(named) and elsewhere >= NAMED_SHARE:
            self._stop(partial, named)

    @property
    def _many_samples(self) -> bool:
        """Whether most claims of a tenth of the samples are in none of their texts."""
        return self._stray_samples >= STRAY_SHARE * self._samples

    def _may_be_named(self, stray: _Stray) -> bool:
        """Return whether one other text alone may have what a claim's own texts lack."""
        rarest = min(self._frequency[word] for word in stray.missing)
        # A text whose claims are all quoted was not counted.
        if not rarest:
            return self._texts < self._samples
        return rarest <= max(_RARE_TEXTS, _RARE * self._texts)

    def _are_exchanged(self, search: _ElsewhereSearch) -> bool:
        """Return whether enough of the claims that are in none of their texts are in others'."""
        strays = self._strays
        many_claims = strays.count >= STRAY_SHARE * self._claims
        if not many_claims and not self._many_samples:
            return False
        are_many = len(search.found) >= FOUND_SHARE * len(strays.kept)
        return are_many and search.are_enough(search.found)

    def _stop(self, search: _ElsewhereSearch, found: Mapping[int, str]) -> NoReturn:
        first = min(found)
        stray = search.strays[first]
        count = self._strays.count
        if search.strays is not self._strays.kept:
            count += round(self._partial.share(len(found), 1))
        raise StoppedEarly(
            f"{count:,} of {self._claims:,} claims are in none of the texts that they were"
            " extracted from, and others' texts have them: the replies belong to other requests, as"
            " in a batch with wrong ids, a gateway that mixes up replies, or a file whose rows were"
            f" shifted. The first: {stray.claim[:120]!r} of sample {stray.sample!r} is in sample"
            f" {found[first]!r}. No score is computed; use another --cache to ask again"
        )


class _ElsewhereSearch:
    """Looks for claims in the texts of other samples."""

    def __init__(self, strays: Sequence[_Stray], several: bool) -> None:
        """`several`: whether the run has several questions. Then the other sample has to have
        another one: an extractor that knows the answer adds what other answers to the question
        say."""
        self.strays = strays
        self.found: dict[int, str] = {}
        """The sample that has the claim, by number of the claim."""
        self._several = several
        self._holders: list[set[str]] = [set() for _ in strays]
        """The questions whose texts have all that the claim's own texts lack."""

    @property
    def named(self) -> dict[int, str]:
        """Those claims of which one other question alone has what their own texts lack. A word
        that several have, such as “located”, is one that the extractor put in."""
        return {
            number: sample
            for number, sample in self.found.items()
            if len(self._holders[number]) == 1
        }

    def are_enough(self, found: Mapping[int, str]) -> bool:
        """Return whether claims that were found elsewhere are no chance resemblance: they are
        several, or two samples have each other's."""
        if len(found) >= LEAST_FOUND:
            return True
        moves = {(self.strays[number].sample, sample) for number, sample in found.items()}
        return any((sample, other) in moves for other, sample in moves)

    def add(self, result: SampleResult) -> None:
        """Look at another sample."""
        if not self.strays:
            return
        sample = result.sample
        texts = _texts_with_claims(result)
        words = frozenset[str]().union(*map(_words, texts))
        question = _folded(sample.question) if self._several else ""
        for number, stray in enumerate(self.strays):
            if sample.id == stray.sample or (question and question == stray.question):
                continue
            if stray.missing <= words:
                self._holders[number].add(question or sample.id)
            if number not in self.found and _is_from(stray, words, texts):
                self.found[number] = sample.id


def _is_from(stray: _Stray, words: frozenset[str], texts: Iterable[str]) -> bool:
    """Return whether a claim is from these texts, which have these words."""
    shared = len(stray.words & words)
    # A claim that its own text has as well as another's is reworded, not exchanged.
    if shared < _ELSEWHERE * len(stray.words) or shared <= stray.inside:
        return False
    # Answers about other years share nearly all words: "It opened in 1902" and "It opened in 1931".
    return any(numbers(stray.claim) <= numbers(text) for text in texts)


def _texts_with_claims(result: SampleResult) -> list[str]:
    """Return the texts that claims were extracted from, each with the question; the answer, if it
    has none."""
    parts = {claim.of for claim in result.claims} or {"answer"}
    question = result.sample.full_question
    return [f"{text}\n{question}" for part in parts if (text := result.sample.text(part))]


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
