"""Quality of extracted claims by their words alone: faults without a judge, and a comparison with gold claims.

`examine` compares the claims of a text with its sentences. `MEASURES` is the table of its counts, each with the number
of items it is counted over, so that counts of many texts can be added up. The rules are for English; numbers, months
and negations are also recognized in other languages. Only a judge can find roles that are swapped within a sentence,
repetition in other words, wrongly resolved pronouns, and hedges that changed.

`match` compares the claims of an extractor with gold claims, written by people, of the same text. No single matching
ranks extractors reliably, so there are several:

* `guarded`: one to one, with the maximum sum of token F1 over pairs of at least `PAIR`. A pair must have the same
  numbers, and either both claims or neither must be negated.
* `pairs`: the same without the conditions on numbers and negation.
* `contain`: many to one. A gold claim is found if one claim has `CONTAINED` of its content words. A claim is right if
  the gold claims that contain it, or that it contains, have `CONTAINED` of its words.
* `support`: the lexical support score of each claim, with the other list as the document, is at least `SUPPORTED`.

The thresholds separate human claims of the same sentence (right) from those of other sentences (wrong) on the visible
half of FActScore (Min et al. 2023). Each accepts about one in ten of the wrong ones. Words are those of the lexical
support score: stems, and numbers by value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from claimeval.lexical import support
from claimeval.lexical.citations import masked
from claimeval.lexical.claims import SentenceKind, sentence_kinds
from claimeval.lexical.support import words
from claimeval.lexical.words import words_of
from claimeval.types.errors import unknown_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]


class ExtractionMeasure(NamedTuple):
    """A count over the claims or sentences of a text."""

    name: str
    of: str
    """The items that it is counted over."""
    description: str
    fault: bool = True
    """Whether it is a share of faults. The others describe the claims."""


MEASURES = {
    measure.name: measure
    for measure in (
        ExtractionMeasure("claims_per_sentence", "sentences", "claims a sentence", fault=False),
        ExtractionMeasure("words_per_claim", "claims", "words a claim", fault=False),
        ExtractionMeasure(
            "sentences_without_claim", "sentences", "sentences without a claim, refusals and headings included"
        ),
        ExtractionMeasure("statements_lost", "statements", "sentences that assert something and have no claim"),
        ExtractionMeasure("numbers_lost", "numbers of the text", "numbers of the text that no claim has"),
        ExtractionMeasure("dates_lost", "dates of the text", "years and months of the text that no claim has"),
        ExtractionMeasure("names_lost", "names of the text", "names of the text that no claim has"),
        ExtractionMeasure("negations_lost", "negated sentences", "negated sentences none of whose claims is"),
        ExtractionMeasure("hedges_lost", "hedged sentences", "hedged sentences none of whose claims is"),
        ExtractionMeasure("number_nowhere", "claims", "claims with a number that is in neither text nor question"),
        ExtractionMeasure("foreign", "claims", "claims of which over a third of the words are in neither"),
        ExtractionMeasure("open_reference", "claims", 'claims that begin with "he", "it", "the company"'),
        ExtractionMeasure("doubled", "claims", "claims that repeat an earlier one"),
        ExtractionMeasure("fragment", "claims", "claims of three words or less"),
        ExtractionMeasure("compound", "claims", 'claims with "and", a semicolon or a relative clause'),
        ExtractionMeasure("misplaced", "claims with a sentence", "claims whose words are in another sentence"),
    )
}
"""The counts by name. `claims_per_sentence` is claims over sentences, `words_per_claim` words over claims."""
FOREIGN = 1 / 3
"""Maximum share of content words that are in neither text nor question. Claims above it are foreign."""
ELSEWHERE = 0.34
"""A claim is misplaced if another sentence has a share of its words that is higher by this much."""
FRAGMENT = 3
"""Maximum number of words of a fragment."""
REPEATED = 95.0
"""Minimum `rapidfuzz.fuzz.ratio` of sorted words, up to 100, of a claim that repeats one with the same numbers."""


class Statement(NamedTuple):
    """A claim to be counted."""

    text: str
    sentences: tuple[int, ...] | None = None
    """Its sentences, counted from 0. If None, the sentence with most of its words is used, and the claim is not checked
    for being misplaced."""
    repeats: int = 0
    """Number of further times that the extractor returned it."""


Where = Literal["claims", "sentences"]


@dataclass
class ExtractionCounts:
    """The counts of one text."""

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By measure, the count and the number of items it is counted over."""
    kinds: dict[SentenceKind, int] = field(default_factory=dict)
    """Number of sentences without a claim, by kind."""
    claims: dict[str, list[int]] = field(default_factory=dict)
    """By measure, the positions of the affected claims."""
    sentences: dict[str, list[int]] = field(default_factory=dict)
    """By measure, the positions of the affected sentences."""


_HEDGES = words_of(
    "may might could possibly probably perhaps likely unlikely about approximately around roughly reportedly allegedly"
    " apparently presumably estimated nearly almost some suggest suggests suggested appear appears appeared seem seems"
    " seemed believed thought"
)
_OPEN = re.compile(
    r"\W*(?:he|she|it|they|his|hers?|its|theirs?|this|these|that|those|i|we|our"
    r"|the (?:company|latter|former|film|movie|book|band|team|group|city|country|author|study|report|album|song|game"
    r"|series|show|event|process)(?!\s+[A-Z\"“]))\b",
    re.IGNORECASE,
)
_COMPOUND = re.compile(r";|,? and |, (?:which|who|while|but) ")
_YEAR = re.compile(r"#1[5-9]\d\d|#20\d\d")


class _Words(NamedTuple):
    """The words and features of a sentence."""

    all_words: frozenset[str]
    content: frozenset[str]
    numbers: frozenset[str]
    dates: frozenset[str]
    names: frozenset[str]
    negated: bool
    hedged: bool


def examine(text: str, claims: Sequence[Statement], question: str = "") -> ExtractionCounts:
    """Compare the claims of a text with its sentences.

    >>> result = examine("She was born in 1931. She never married.", [Statement("She was born.", (0,))])
    >>> result.counts["numbers_lost"], result.counts["statements_lost"], result.sentences["statements_lost"]
    ((1, 1), (1, 2), [1])

    Citations, list markers and code do not count as words. Claims may have words and numbers of the question.
    """
    plain = masked(text)
    spans = sentence_kinds(text)
    sentences = [_words(plain[start:end]) for (start, end), _ in spans]
    counts = ExtractionCounts()
    of_sentence = _sentences_of(claims, sentences)
    _count_claims(counts, claims, sentences, of_sentence, question)
    _count_sentences(counts, claims, sentences, [kind for _, kind in spans], of_sentence)
    return counts


def _sentences_of(claims: Sequence[Statement], sentences: Sequence[_Words]) -> list[tuple[int, ...]]:
    """Return the existing sentences that each claim names; if it names none, the one with most of its words."""
    return [
        tuple(i for i in claim.sentences if 0 <= i < len(sentences))
        if claim.sentences is not None
        else _nearest(claim.text, sentences)
        for claim in claims
    ]


def _nearest(text: str, sentences: Sequence[_Words]) -> tuple[int, ...]:
    content = claim_words(text).content
    all_words = frozenset(claim_words(text).words)
    shared = [(len(content & sentence.content), len(all_words & sentence.all_words)) for sentence in sentences]
    best = max(shared, default=(0, 0))
    return (shared.index(best),) if best[0] else ()


def _words(sentence: str) -> _Words:
    tokens = words.tokens(sentence)
    of_sentence = claim_words(sentence)
    months = frozenset(
        token.key for token in tokens if words.is_month(token.key) and token.text not in ("may", "march")
    )
    return _Words(
        frozenset(of_sentence.words),
        of_sentence.content,
        of_sentence.numbers,
        months | frozenset(number for number in of_sentence.numbers if _YEAR.fullmatch(number)),
        words.names(tokens),
        of_sentence.negations > 0,
        any(token.text.lower() in _HEDGES and (token.text != "May" or token.opens) for token in tokens),
    )


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)


def _count_claims(
    counts: ExtractionCounts,
    claims: Sequence[Statement],
    sentences: Sequence[_Words],
    of_sentence: Sequence[tuple[int, ...]],
    question: str,
) -> None:
    words = [claim_words(claim.text) for claim in claims]
    question_words = claim_words(question)
    numbers = _union(sentence.numbers for sentence in sentences) | question_words.numbers
    content = _union(sentence.content for sentence in sentences) | question_words.content
    faults: dict[str, Callable[[int], bool]] = {
        "number_nowhere": lambda i: not words[i].numbers <= numbers,
        "foreign": lambda i: len(words[i].content - content) > FOREIGN * len(words[i].content),
        "open_reference": lambda i: _OPEN.match(claims[i].text) is not None,
        "fragment": lambda i: len(words[i].words) <= FRAGMENT,
        "compound": lambda i: _COMPOUND.search(claims[i].text) is not None,
    }
    repeats = sum(claim.repeats for claim in claims)
    counts.claims = {name: [i for i in range(len(claims)) if is_faulty(i)] for name, is_faulty in faults.items()}
    counts.claims["doubled"] = _doubled([claim.text for claim in claims])
    placed = [i for i, claim in enumerate(claims) if claim.sentences]
    counts.claims["misplaced"] = [i for i in placed if _is_misplaced(words[i].content, of_sentence[i], sentences)]
    counts.counts = {name: (len(positions), len(claims)) for name, positions in counts.claims.items()}
    counts.counts["doubled"] = (len(counts.claims["doubled"]) + repeats, len(claims) + repeats)
    counts.counts["misplaced"] = (len(counts.claims["misplaced"]), len(placed))
    counts.counts["claims_per_sentence"] = (len(claims) + repeats, len(sentences))
    counts.counts["words_per_claim"] = (sum(len(of_claim.words) for of_claim in words), len(claims))
    of_claims = _union(of_claim.content for of_claim in words)
    for name in ("numbers", "dates", "names"):
        of_text = _union(getattr(sentence, name) for sentence in sentences)
        counts.counts[f"{name}_lost"] = (len(of_text - of_claims), len(of_text))


def _is_misplaced(content: frozenset[str], cited: Sequence[int], sentences: Sequence[_Words]) -> bool:
    shared = len(content & _union(sentences[i].content for i in cited))
    if len(content) - shared < ELSEWHERE * len(content):
        return False
    best = max((len(content & sentence.content) for sentence in sentences), default=0)
    return best - shared >= ELSEWHERE * len(content)


def _doubled(texts: Sequence[str]) -> list[int]:
    """Return the positions of claims that repeat an earlier one, ignoring the order of words."""
    if len(texts) < 2:
        return []
    from rapidfuzz import fuzz, process

    earlier: dict[tuple[frozenset[str], bool], list[str]] = {}
    doubled = []
    for i, text in enumerate(texts):
        words = claim_words(text)
        in_order = " ".join(sorted(words.words))
        of_same_numbers = earlier.setdefault((words.numbers, words.denied), [])
        if process.extractOne(in_order, of_same_numbers, scorer=fuzz.ratio, score_cutoff=REPEATED):
            doubled.append(i)
        of_same_numbers.append(in_order)
    return doubled


def _count_sentences(
    counts: ExtractionCounts,
    claims: Sequence[Statement],
    sentences: Sequence[_Words],
    kinds: Sequence[SentenceKind],
    of_sentence: Sequence[tuple[int, ...]],
) -> None:
    claimed: dict[int, list[str]] = {}
    for claim, positions in zip(claims, of_sentence, strict=True):
        for i in positions:
            claimed.setdefault(i, []).append(claim.text)
    without = [i for i in range(len(sentences)) if i not in claimed]
    statements = kinds.count("statement")
    counts.kinds = dict(Counter(kinds[i] for i in without))
    counts.sentences = {
        "sentences_without_claim": without,
        "statements_lost": [i for i in without if kinds[i] == "statement"],
    }
    for name, holds in (("negations_lost", "negated"), ("hedges_lost", "hedged")):
        marked = [i for i, sentence in enumerate(sentences) if getattr(sentence, holds)]
        uncovered = [i for i in marked if not any(getattr(_words(text), holds) for text in claimed.get(i, ()))]
        counts.sentences[name] = uncovered
        counts.counts[name] = (len(uncovered), len(marked))
    counts.counts["sentences_without_claim"] = (len(without), len(sentences))
    counts.counts["statements_lost"] = (len(counts.sentences["statements_lost"]), statements)
    counts.counts = {name: counts.counts[name] for name in MEASURES}


Matching = Literal["guarded", "pairs", "contain", "support"]
MATCHINGS: tuple[Matching, ...] = get_args(Matching)
PAIR, CONTAINED, SUPPORTED = 0.55, 0.55, 0.6
"""The thresholds of pairs, of containment, and of the support score."""


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
    denied: bool
    """Whether the number of negations is odd."""
    negations: int


@lru_cache(maxsize=1 << 14)
def claim_words(text: str) -> ClaimWords:
    """Return the words of a claim, without citations."""
    tokens = words.tokens(text)
    keys = tuple(token.key or token.text.lower() for token in tokens)
    content = frozenset(token.key for token in tokens if token.key)
    negations = sum(words.is_negation(token.text.lower()) for token in tokens)
    numbers = frozenset(token.key for token in tokens if token.text[0].isdecimal() and token.key[:1] == "#")
    return ClaimWords(keys, content or frozenset(keys), numbers, negations % 2 == 1, negations)


def match(claims: Sequence[str], gold: Sequence[str], matching: Matching = "guarded") -> MatchedClaims:
    """Compare the claims of an extractor with gold claims of the same text. Nothing matches if a list is empty.

    >>> match(["He won in 1990."], ["He won in 1991."])
    MatchedClaims(right=(False,), found=(False,))
    """
    if matching not in _MATCHERS:
        raise unknown_name("matching", matching, MATCHINGS)
    if not claims or not gold:
        return MatchedClaims((False,) * len(claims), (False,) * len(gold))
    return _MATCHERS[matching](claims, gold)


def alike(claim: str, other: str) -> bool:
    """Return whether two claims have the same numbers, and either both are negated or neither is."""
    a, b = claim_words(claim), claim_words(other)
    return a.numbers == b.numbers and a.denied == b.denied


def _one_to_one(claims: Sequence[str], gold: Sequence[str], *, guarded: bool) -> MatchedClaims:
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    likeness = token_f1(claims, gold)
    allowed = likeness >= PAIR
    if guarded:
        for i, j in np.argwhere(allowed):
            allowed[i, j] = alike(claims[i], gold[j])
    pairs = zip(*linear_sum_assignment(np.where(allowed, likeness, 0.0), maximize=True), strict=True)
    candidates = [(i, j) for i, j in pairs if allowed[i, j]]
    return _flags(len(claims), len(gold), {i for i, _ in candidates}, {j for _, j in candidates})


def token_f1(claims: Sequence[str], gold: Sequence[str]) -> Matrix:
    """Return the token F1 of each pair: twice the number of shared words over the number of words of both."""
    import numpy as np

    rows, columns = ([_counted(text) for text in texts] for texts in (claims, gold))
    sizes = (np.array([len(items) for items in side], dtype=float) for side in (rows, columns))
    of_claims, of_gold = sizes
    total = of_claims[:, None] + of_gold[None, :]
    shared = 2 * _shared(rows, columns)
    f1: Matrix = np.divide(shared, total, out=np.zeros_like(shared), where=total > 0)
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


def _shared(rows: Sequence[frozenset[object]], columns: Sequence[frozenset[object]]) -> Matrix:
    import numpy as np

    number = {item: i for i, item in enumerate(set().union(*rows, *columns))}
    sides = []
    for side in (rows, columns):
        counts = np.zeros((len(side), len(number)))
        for i, items in enumerate(side):
            counts[i, [number[item] for item in items]] = 1
        sides.append(counts)
    shared: Matrix = sides[0] @ sides[1].T
    return shared


def _contain(claims: Sequence[str], gold: Sequence[str]) -> MatchedClaims:
    rows, columns = ([claim_words(text).content for text in texts] for texts in (claims, gold))
    shared = _shared(rows, columns)
    right, covered = set(), set()
    for i, content in enumerate(rows):
        explained: set[str] = set()
        for j, other in enumerate(columns):
            if shared[i, j] >= CONTAINED * len(other):
                covered.add(j)
            elif shared[i, j] < CONTAINED * len(content):
                continue
            explained |= other
        if len(content & explained) >= CONTAINED * len(content):
            right.add(i)
    return _flags(len(claims), len(gold), right, covered)


def _support(claims: Sequence[str], gold: Sequence[str]) -> MatchedClaims:
    right, covered = _supported(claims, " ".join(gold)), _supported(gold, " ".join(claims))
    return _flags(len(claims), len(gold), right, covered)


def _supported(texts: Sequence[str], evidence: str) -> set[int]:
    prepared = support.prepare([evidence])
    return {i for i, text in enumerate(texts) if support.score_claim(text, prepared).score >= SUPPORTED}


def _flags(claims: int, gold: int, right: set[int], covered: set[int]) -> MatchedClaims:
    return MatchedClaims(tuple(i in right for i in range(claims)), tuple(j in covered for j in range(gold)))


_MATCHERS: dict[str, Callable[[Sequence[str], Sequence[str]], MatchedClaims]] = {
    "guarded": lambda claims, gold: _one_to_one(claims, gold, guarded=True),
    "pairs": lambda claims, gold: _one_to_one(claims, gold, guarded=False),
    "contain": _contain,
    "support": _support,
}
