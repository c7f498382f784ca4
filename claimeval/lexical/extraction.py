"""Quality of extracted claims by their words alone: what of a text they lose, and how they compare
with gold claims.

`examine` compares the claims of a text with its sentences. `MEASURES` is the table of its counts,
each with the number of items it is counted over, so that counts of many texts can be added up. The
rules are for English; numbers and months are also recognized in other languages. Only a judge can
find roles that are swapped within a sentence, wrongly resolved pronouns, and negations or hedges
that changed.

`match` compares the claims of an extractor with gold claims, written by people, of the same text:
one to one, with the maximum sum of token F1 over pairs of at least `PAIR`. A pair must have the
same numbers, and either both claims or neither must be negated. The threshold separates human
claims of the same sentence (right) from those of other sentences (wrong) on the visible half of
FActScore (Min et al. 2023), and accepts about one in ten of the wrong ones. Words are those of the
lexical support score: stems, and numbers by value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from claimeval.lexical import content_words as words
from claimeval.lexical import unspaced
from claimeval.lexical.citations import masked
from claimeval.lexical.claims import SentenceKind, sentence_kinds
from claimeval.lexical.sentences import untagged
from claimeval.lexical.words import is_unspaced_script

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]


MEASURES: Mapping[str, str] = {
    "claims_per_sentence": "claims a sentence",
    "words_per_claim": "words a claim",
    "statements_lost": "sentences that assert something and have no claim",
    "numbers_lost": "numbers of the text that no claim has",
    "dates_lost": "years and months of the text that no claim has",
    "names_lost": "names of the text that no claim has",
}
"""The counts with their descriptions. `claims_per_sentence` is claims over sentences,
`words_per_claim` words over claims; the losses are counted over what there is to lose."""


class Statement(NamedTuple):
    """A claim to be counted."""

    text: str
    sentences: tuple[int, ...] | None = None
    """Its sentences, counted from 0. If None, the sentence with most of its words is used."""
    repeats: int = 0
    """Number of further times that the extractor returned it."""


@dataclass
class ExtractionCounts:
    """The counts of one text."""

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By measure, the count and the number of items it is counted over."""
    kinds: dict[SentenceKind, int] = field(default_factory=dict)
    """Number of sentences without a claim, by kind."""
    sentences: dict[str, list[int]] = field(default_factory=dict)
    """By measure, the positions of the affected sentences."""


_YEAR = re.compile(r"#1[5-9]\d\d|#20\d\d")


class _Words(NamedTuple):
    """The words and features of a sentence."""

    words: frozenset[str]
    content: frozenset[str]
    numbers: frozenset[str]
    dates: frozenset[str]
    names: frozenset[str]


def examine(text: str, claims: Sequence[Statement]) -> ExtractionCounts:
    """Compare the claims of a text with its sentences.

    >>> claims = [Statement("She was born.", (0,))]
    >>> result = examine("She was born in 1931. She never married.", claims)
    >>> result.counts["numbers_lost"], result.counts["statements_lost"]
    ((1, 1), (1, 2))
    >>> result.sentences["statements_lost"]
    [1]

    Citations, list markers and code do not count as words.
    """
    plain = masked(untagged(text))
    spans = list(sentence_kinds(text))
    sentences = [_words(plain[start:end]) for (start, end), _ in spans]
    counts = ExtractionCounts()
    _count_claims(counts, claims, sentences)
    _count_sentences(counts, claims, sentences, [kind for _, kind in spans])
    counts.counts = {name: counts.counts[name] for name in MEASURES}
    return counts


def _nearest(text: str, sentences: Sequence[_Words]) -> tuple[int, ...]:
    claim = claim_words(text)
    shared = [
        (len(claim.content & one.content), len(one.words.intersection(claim.words)))
        for one in sentences
    ]
    best = max(shared, default=(0, 0))
    return (shared.index(best),) if best[0] else ()


def _words(sentence: str) -> _Words:
    tokens = words.tokens(sentence)
    of_sentence = claim_words(sentence)
    months = frozenset(
        token.key
        for token in tokens
        if words.is_month(token.key) and token.text not in ("may", "march")
    )
    return _Words(
        frozenset(of_sentence.words),
        of_sentence.content,
        of_sentence.numbers,
        months | frozenset(number for number in of_sentence.numbers if _YEAR.fullmatch(number)),
        words.names(tokens),
    )


def _count_claims(
    counts: ExtractionCounts, claims: Sequence[Statement], sentences: Sequence[_Words]
) -> None:
    words = [claim_words(claim.text) for claim in claims]
    counts.counts["claims_per_sentence"] = (
        len(claims) + sum(claim.repeats for claim in claims),
        len(sentences),
    )
    counts.counts["words_per_claim"] = (sum(len(of_claim.words) for of_claim in words), len(claims))
    of_claims = frozenset[str]().union(*(of_claim.content for of_claim in words))
    for name in ("numbers", "dates", "names"):
        of_text = frozenset[str]().union(*(getattr(sentence, name) for sentence in sentences))
        counts.counts[f"{name}_lost"] = (len(of_text - of_claims), len(of_text))


def _count_sentences(
    counts: ExtractionCounts,
    claims: Sequence[Statement],
    sentences: Sequence[_Words],
    kinds: Sequence[SentenceKind],
) -> None:
    claimed: set[int] = set()
    for claim in claims:
        named = claim.sentences
        claimed.update(_nearest(claim.text, sentences) if named is None else named)
    without = [i for i in range(len(sentences)) if i not in claimed]
    counts.kinds = dict(Counter(kinds[i] for i in without))
    counts.sentences = {"statements_lost": [i for i in without if kinds[i] == "statement"]}
    counts.counts["statements_lost"] = (
        len(counts.sentences["statements_lost"]),
        kinds.count("statement"),
    )


PAIR = 0.55
"""Minimum token F1 of a pair of claims."""


class MatchedClaims(NamedTuple):
    """The result of a matching."""

    right: tuple[bool, ...]
    """For each claim, whether it is among the gold claims."""
    found: tuple[bool, ...]
    """For each gold claim, whether it is among the claims."""


class ClaimWords(NamedTuple):
    """The words of one claim, for comparison."""

    words: tuple[str, ...]
    """All words in order: function words in lower case, others as keys."""
    content: frozenset[str]
    """The keys of content words and numbers; the function words if there are none."""
    numbers: frozenset[str]
    """The keys of numbers in digits."""
    negations: int


@lru_cache(maxsize=1 << 14)
def claim_words(text: str) -> ClaimWords:
    """Return the words of a claim, without citations."""
    tokens = words.tokens(text)
    keys = tuple(token.key or token.text.lower() for token in tokens)
    content = frozenset(token.key for token in tokens if token.key)
    negations = sum(words.is_negation(token.text.lower()) for token in tokens)
    if is_unspaced_script(text):
        negations = unspaced.negations(text)
    numbers = frozenset(
        token.key for token in tokens if token.text[0].isdecimal() and token.key[:1] == "#"
    )
    return ClaimWords(keys, content or frozenset(keys), numbers, negations)


def match(claims: Sequence[str], gold: Sequence[str]) -> MatchedClaims:
    """Compare the claims of an extractor with gold claims of the same text. Nothing matches if a
    list is empty.

    >>> match(["He won in 1990."], ["He won in 1991."])
    MatchedClaims(right=(False,), found=(False,))
    """
    import numpy as np

    right = [False] * len(claims)
    found = [False] * len(gold)
    if claims and gold:
        likeness = token_f1(claims, gold)
        allowed = likeness >= PAIR
        for i, j in np.argwhere(allowed):
            a = claim_words(claims[i])
            b = claim_words(gold[j])
            allowed[i, j] = a.numbers == b.numbers and a.negations % 2 == b.negations % 2
        for i, j in assignment(np.where(allowed, likeness, 0.0)):
            right[i] = found[j] = bool(allowed[i, j])
    return MatchedClaims(tuple(right), tuple(found))


def assignment(weights: Matrix) -> list[tuple[int, int]]:
    """Return the pairs of rows and columns, one to one, with the greatest sum of weights.

    Each row of the shorter side is added in turn, along the shortest path that changes earlier
    pairs. Source: Jonker & Volgenant 1987, "A shortest augmenting path algorithm for dense and
    sparse linear assignment problems". The sum equals that of
    `scipy.optimize.linear_sum_assignment`.
    """
    import numpy as np

    if weights.shape[0] > weights.shape[1]:
        return sorted((row, column) for column, row in assignment(weights.T))
    rows, columns = weights.shape
    row_price = np.zeros(rows)
    column_price = np.zeros(columns)
    row_of = np.full(columns, -1)
    for row in range(rows):
        length = np.full(columns, np.inf)
        before = np.full(columns, -1)
        done = np.zeros(columns, dtype=bool)
        column = -1
        here = row
        shortest = 0.0
        while here >= 0:
            through = shortest - weights[here] - row_price[here] - column_price
            shorter = ~done & (through < length)
            length[shorter] = through[shorter]
            before[shorter] = column
            column = int(np.where(done, np.inf, length).argmin())
            shortest = float(length[column])
            here = int(row_of[column])
            done[column] = True
        row_price[row] += shortest
        reached = done & (row_of >= 0)
        row_price[row_of[reached]] += shortest - length[reached]
        column_price[done] -= shortest - length[done]
        while column >= 0:
            earlier = int(before[column])
            row_of[column] = row_of[earlier] if earlier >= 0 else row
            column = earlier
    return sorted((int(row), column) for column, row in enumerate(row_of) if row >= 0)


def token_f1(claims: Sequence[str], gold: Sequence[str]) -> Matrix:
    """Return the token F1 of each pair: twice the number of shared words over the number of words
    of both."""
    import numpy as np

    rows, columns = ([_counted(text) for text in texts] for texts in (claims, gold))
    sizes = np.array([[float(len(row) + len(column)) for column in columns] for row in rows])
    shared = np.array([[2.0 * len(row & column) for column in columns] for row in rows])
    f1: Matrix = np.divide(shared, sizes, out=np.zeros_like(shared), where=sizes > 0)
    return f1


@lru_cache(maxsize=1 << 14)
def _counted(text: str) -> frozenset[tuple[str, int]]:
    """Return the words of a text, with a separate item for each occurrence of a word."""
    counts: Counter[str] = Counter()
    items = []
    for word in claim_words(text).words:
        items.append((word, counts[word]))
        counts[word] += 1
    return frozenset(items)
