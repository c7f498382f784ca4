"""Features and caps of the lexical support score.

Features measure which words of a claim a document has, and how close together. Sets of the claim's
words are bit masks, with bit i for `claim.keys[i]`, so that counting and joining them is fast.

Caps are signs that a sentence with the words of a claim differs in meaning: a negation, an
opposite, another name. Each function compares a claim with the sentence that has most of its words,
and returns the words that differ, the claim's first, or nothing. The texts must be nearly equal,
which the caller ensures.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from html import unescape
from itertools import groupby, pairwise
from typing import NamedTuple

from claimeval.lexical import content_words as words
from claimeval.lexical.citations import without
from claimeval.lexical.content_words import Word, joined, rounded, significant
from claimeval.lexical.sentences import Span, sentences, untagged
from claimeval.lexical.words import is_unspaced_script

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
"""Each is in [0, 1], and the last four count against the claim. In order:

- the shares of the claim's distinct content words in the best sentence, in the best two neighboring
  sentences, and in three sentences chosen greedily
- whether one sentence has all of them
- the share of pairs of adjacent content words that are also adjacent in the document
- the share of function words that the document has
- the longest run of content words that the best two neighbors lack, divided by the number of
  content words
- whether a number or month is missing from the document, and whether a name is
- the share of names that the best two neighbors lack

No feature is a length, because a regression would use it to distinguish data sets.
"""

_LONGEST_SENTENCE = 600
"""Maximum number of characters of a sentence. Longer ones, in text without full stops, are cut at
spaces."""
_NUMERIC = frozenset("#+*")


class ClaimFeatures(NamedTuple):
    """A claim by its distinct keys."""

    text: str
    """The claim without citations."""
    is_unspaced: bool
    """Whether most of its words are letters of a script without spaces."""
    tokens: tuple[Word, ...]
    """As in `compared`."""
    keys: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    function_words: frozenset[str]
    digits: int
    """Numbers."""
    numbers: int
    """Numbers and months."""
    names: int
    openings: int
    """Names, and first words of sentences that may be names."""

    @property
    def every(self) -> int:
        """The mask of all content words."""
        return (1 << len(self.keys)) - 1

    def spelled(self, mask: int) -> tuple[str, ...]:
        """Return the words in `mask` as the claim spells them. A number of several words is one
        item."""
        texts: dict[str, str] = {}
        for number, run in groupby(self.tokens, key=lambda token: token.key[:1] in _NUMERIC):
            parts = list(run)
            whole = joined([part.key for part in parts]) if number else []
            texts |= {part.key: part.text for part in parts}
            if len(whole) == 1:
                texts[whole[0]] = " ".join(part.text for part in parts)
        return tuple(
            texts.get(key, key[1:]) for bit, key in enumerate(self.keys) if mask >> bit & 1
        )


def read_claim(text: str) -> ClaimFeatures:
    """Return the features of a claim. Without content words, it has no keys."""
    tokens = words.tokens(text)
    joined_keys = joined([token.key for token in tokens if token.key])
    named = words.names(tokens)
    openings = words.names(tokens, openings=True)
    keys = tuple(dict.fromkeys(joined_keys))
    return ClaimFeatures(
        without(text),
        _are_letters(tokens),
        compared(text),
        keys,
        frozenset(pairwise(joined_keys)),
        frozenset(token.text.lower() for token in tokens if not token.key),
        _mask(key[0] == "#" for key in keys),
        _mask(words.is_number(key) for key in keys),
        _mask(key in named for key in keys),
        _mask(key in openings for key in keys),
    )


def _are_letters(tokens: Sequence[Word]) -> bool:
    """Return whether most words are letters of a script without spaces."""
    letters = 0
    for token in tokens:
        if is_unspaced_script(token.text):
            letters += 1
    return 2 * letters > len(tokens)


_ANSWER = re.compile(r"\s*no\s*[,:;.–—]", re.IGNORECASE)


def compared(text: str) -> tuple[Word, ...]:
    """Return the words of a claim or sentence for a comparison, without a "No," that answers the
    question."""
    return tuple(words.tokens(_ANSWER.sub("", text, count=1) if _ANSWER.match(text) else text))


def _mask(bits: Iterable[bool]) -> int:
    return int("".join("01"[bit] for bit in bits)[::-1] or "0", 2)


class SentenceIndex:
    """An index of the sentences of a text by their keys, built in linear time."""

    def __init__(self, text: str) -> None:
        if "&" in text or "<" in text:
            text = untagged(unescape(text))
        self.text = text
        self.spans: list[Span] = []
        for sentence in sentences(text):
            self.spans += _pieces(text, sentence)
        self.sentences_with: defaultdict[str, list[int]] = defaultdict(list)
        self.pairs: set[tuple[str, str]] = set()
        function_words: set[str] = set()
        for number, span in enumerate(self.spans):
            keys, without_key = words.read(text[span.start : span.end])
            for key in set(keys):
                self.sentences_with[key].append(number)
            self.pairs.update(pairwise(keys))
            function_words.update(without_key)
        self.function_words = frozenset(word.lower() for word in function_words)
        self._rounded: dict[int, dict[tuple[str, int], list[int]]] = {}

    @cached_property
    def folded(self) -> str:
        """The text as `folded` writes it."""
        return folded(self.text)

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """The first letters of the text's words."""
        return frozenset(map(words.beginning, self.sentences_with))

    def sentences_rounding_to(self, key: str) -> list[int]:
        """Return the sentences with a number that rounds to `key`.

        Only keys that look rounded count, with a decimal point or three final zeros. From three
        digits on, powers of a thousand are ignored, because tables state "in millions" once for all
        numbers.
        """
        figure = significant(key) if "." in key or key.endswith("000") else None
        if figure is None or (digits := len(figure[0])) < 2:
            return []
        if digits not in self._rounded:
            self._rounded[digits] = self._rounded_to(digits)
        shifts = range(-9, 10, 3) if digits > 2 else (0,)
        indices: list[int] = []
        for shift in shifts:
            indices += self._rounded[digits].get((figure[0], figure[1] + shift), ())
        return indices

    def _rounded_to(self, digits: int) -> dict[tuple[str, int], list[int]]:
        numbers: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        for key, indices in self.sentences_with.items():
            if key[0] == "#" and (figure := significant(key)):
                numbers[rounded(*figure, digits)] += indices
        return dict(numbers)


def _pieces(text: str, sentence: Span) -> Iterator[Span]:
    start, end = sentence
    while end - start > _LONGEST_SENTENCE:
        space = text.rfind(" ", start + 1, start + _LONGEST_SENTENCE)
        cut = space if space > 0 else start + _LONGEST_SENTENCE
        yield Span(start, cut)
        start = cut
    yield Span(start, end)


def is_copied(claim: str, document: SentenceIndex) -> bool:
    """Return whether a document has a claim word for word, between spaces or punctuation.

    Nothing may stand before it, because "not" is written there without a space: `ไม่เปิด`.
    """
    said = folded(without(claim)).strip(" .,;:!?…。、，！？\"'“”‘’()「」")
    text = document.folded
    start = text.find(said) if said else -1
    while start >= 0:
        end = start + len(said)
        if _parts(text, start - 1, before=said) and _parts(text, end, after=said):
            return True
        start = text.find(said, start + 1)
    return False


def _parts(text: str, place: int, *, before: str = "", after: str = "") -> bool:
    """Return whether the character at a place, before or after a quote, is white space or
    punctuation, and no part of a number as in 63.5."""
    if not 0 <= place < len(text):
        return True
    if text[place] in ".,":
        left = text[max(0, place - 1) : place] if before else after[-1:]
        right = before[:1] if before else text[place + 1 : place + 2]
        return not (left.isdecimal() and right.isdecimal())
    return unicodedata.category(text[place])[0] in "ZPS"


def folded(text: str) -> str:
    """Return a text in one form of its characters, in lower case, with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class WordMatch(NamedTuple):
    """Masks of the claim's content words that a document has."""

    anywhere: int
    """Words anywhere in the document, also as another form of the word or as a number that rounds
    to it."""
    sentence: int
    """Words in the best sentence."""
    neighbors: int
    """Words in the best two neighboring sentences."""
    three: int
    """Words in the best sentence and the two that add most to it."""
    best: int
    """Index of the best sentence; of the first one if there are several."""


def match_words(claim: ClaimFeatures, document: SentenceIndex) -> WordMatch | None:
    """Locate the content words of the claim; None if the document has none of them."""
    by_sentence: defaultdict[int, int] = defaultdict(int)
    anywhere = 0
    for position, key in enumerate(claim.keys):
        bit = 1 << position
        locations = document.sentences_with.get(key) or (
            document.sentences_rounding_to(key) if key[0] == "#" else []
        )
        for number in locations:
            by_sentence[number] |= bit
        if locations or (len(key) > 3 and words.beginning(key) in document.beginnings):
            anywhere |= bit
    if not by_sentence:
        return None
    masks = list(dict.fromkeys(by_sentence.values()))
    sentence = max(masks, key=int.bit_count)
    neighbors = max(
        (mask | by_sentence.get(number + 1, 0) for number, mask in by_sentence.items()),
        key=int.bit_count,
    )
    three = sentence
    for _ in range(2):
        three = max((three | mask for mask in masks), key=int.bit_count)
    best = min(number for number, mask in by_sentence.items() if mask == sentence)
    return WordMatch(anywhere, sentence, neighbors, three, best)


def feature_values(
    claim: ClaimFeatures, document: SentenceIndex, match: WordMatch
) -> tuple[float, ...]:
    """Return the values of `FEATURES`."""
    count = len(claim.keys)
    in_neighbours = match.neighbors.bit_count() / count
    missing = claim.every & ~match.neighbors
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
        float(claim.numbers & ~match.anywhere != 0),
        float(claim.names & ~match.anywhere != 0),
        (claim.names & missing).bit_count() / max(1, claim.names.bit_count()),
    )


def _longest_run(mask: int) -> int:
    length = 0
    while mask:
        mask &= mask >> 1
        length += 1
    return length


_NEGATION_REACH = 3
"""Number of words after a negation that are searched for the content word that it negates."""


def negation(claim: Sequence[Word], sentence: Sequence[Word]) -> tuple[str, ...]:
    """Return the negation of a shared word that only one side negates.

    Empty if the number of negations of shared words, with words such as "unlikely", is even: then
    both sides negate them, or one does so twice. Negations of other words do not count, because a
    sentence can say more than the claim. "not only" is no negation. Letters of scripts without
    spaces are compared by `unspaced.one_sided`.
    """
    if _are_letters(claim):
        return ()
    claimed, claim_scopes = _denied(claim)
    stated, stated_scopes = _denied(sentence)
    shared = claimed.keys() & stated.keys()
    if (
        sum(not (scope and shared.isdisjoint(scope)) for scope in (*claim_scopes, *stated_scopes))
        % 2
        == 0
    ):
        return ()
    for denials, counterpart in ((claimed, stated), (stated, claimed)):
        for key, denial in denials.items():
            if denial and counterpart.get(key, denial) == "":
                return (denial,)
    return ()


def _denied(tokens: Sequence[Word]) -> tuple[dict[str, str], list[set[str]]]:
    """Return the negation of each key, empty if it also occurs without one; and the keys that each
    negation negates.

    A negation negates the next content word and those that directly follow it, as in "no grid
    fees".
    """
    denials: dict[str, str] = {}
    scopes: list[set[str]] = []
    reach = 0
    denial = ""
    chain: list[set[str]] = []
    """The keys of the negations that the next content word belongs to: two in "not unlikely"."""
    for token in tokens:
        word = token.text.lower()
        if token.opens:
            reach = 0
        if words.is_negation(word) or words.is_near_negation(word):
            chain = [*chain, set()] if reach and not any(chain) else [set()]
            scopes.append(chain[-1])
            reach = _NEGATION_REACH
            denial = token.text
        elif word == "only" and reach == _NEGATION_REACH:
            scopes.pop()
            reach = 0
        elif token.key:
            denials[token.key] = denial if reach and denials.get(token.key, denial) else ""
            for scope in chain if reach else ():
                scope.add(token.key)
            reach = min(reach, 1)
        else:
            reach = max(0, reach - 1)
    return denials, scopes


def antonym(claim: Sequence[Word], sentence: Sequence[Word]) -> tuple[str, ...]:
    """Return a word of the claim and its opposite in the sentence, if both are next to the same
    word."""
    claimed = _spelt(claim)
    stated = _spelt(sentence)
    positions: dict[str, list[int]] = defaultdict(list)
    for index, key in enumerate(stated):
        positions[key].append(index)
    claimed_words = set(claimed)
    for i, key in enumerate(claimed):
        for opposite in () if key in positions else words.antonyms(key) - claimed_words:
            for j in positions.get(opposite, ()):
                if _has_same_neighbour(claimed, i, stated, j):
                    return claim[i].text, sentence[j].text
    return ()


def _spelt(tokens: Sequence[Word]) -> list[str]:
    """Return the keys, and for function words, which have none, their stems."""
    return [token.key or words.stem(token.text.lower()) for token in tokens]


def _has_same_neighbour(first: Sequence[str], i: int, second: Sequence[str], j: int) -> bool:
    before = i > 0 and j > 0 and first[i - 1] == second[j - 1]
    return before or (i + 1 < len(first) and first[i + 1 : i + 2] == second[j + 1 : j + 2])


def other_name(claim: Sequence[Word], sentence: Sequence[Word]) -> tuple[str, ...]:
    """Return a name of the claim and another name in the sentence, if both are next to the same
    content word."""
    return _instead(
        claim, sentence, words.names(claim, openings=True), words.names(sentence, openings=True)
    )


def other_number(claim: Sequence[Word], sentence: Sequence[Word]) -> tuple[str, ...]:
    """Return a number of the claim and another number in the sentence, if both are next to the same
    content word."""
    return _instead(claim, sentence, _numbers(claim), _numbers(sentence))


def _numbers(tokens: Sequence[Word]) -> set[str]:
    return {token.key for token in tokens if token.key[:1] in "#+" and token.key}


def _instead(
    claim: Sequence[Word], sentence: Sequence[Word], of_claim: Set[str], of_sentence: Set[str]
) -> tuple[str, ...]:
    """Return words of `of_claim` that the sentence lacks, and the one of `of_sentence` that it has
    beside the same word; empty if there are none."""
    claimed = _content(claim)
    stated = _content(sentence)
    # no word of the sentence has an empty key, so that the ends of the claim need no test
    keys = ["", *(token.key for token in claimed), ""]
    missing = _lacking(stated, of_claim)
    unclaimed = of_sentence - set(keys)
    if not (missing and unclaimed):
        return ()
    beside = _Neighbors.of(stated, unclaimed)
    start = 0
    for absent, group in groupby(claimed, lambda token: token.key in missing):
        run = list(group)
        end = start + len(run)
        instead = beside.after.get(keys[start]) or beside.before.get(keys[end + 1])
        if absent and instead:
            return " ".join(token.text for token in run), instead
        start = end
    return ()


def _content(tokens: Iterable[Word]) -> list[Word]:
    return [token for token in tokens if token.key]


def _lacking(tokens: Iterable[Word], keys: Set[str]) -> set[str]:
    """Return the keys that no word has in any of its forms."""
    beginnings = {words.beginning(token.key) for token in tokens}
    return {key for key in keys if words.beginning(key) not in beginnings}


class _Neighbors(NamedTuple):
    """Some words of a sentence as it spells them, by the key of the word beside each."""

    after: Mapping[str, str]
    """By the key of the word before it."""
    before: Mapping[str, str]
    """By the key of the word after it."""

    @classmethod
    def of(cls, tokens: Sequence[Word], keys: Set[str]) -> _Neighbors:
        """Return the words with these keys."""
        pairs = list(pairwise(tokens))
        return cls(
            {first.key: second.text for first, second in pairs if second.key in keys},
            {second.key: first.text for first, second in pairs if first.key in keys},
        )


def role_swap(claim: Sequence[Word], sentence: Sequence[Word]) -> bool:
    """Return whether the sentence has the claim's names in another order, except in lists and
    passives ("by")."""
    shared = words.names(claim, openings=True) & words.names(sentence, openings=True)
    claimed, stated = (
        list(dict.fromkeys(token.key for token in tokens if token.key in shared))
        for tokens in (claim, sentence)
    )
    runs = [named for named, _ in groupby(token.key in shared for token in _content(claim))]
    is_list = runs.count(True) < 2
    return (
        claimed != stated
        and not is_list
        and all(token.text != "by" for token in (*claim, *sentence))
    )
