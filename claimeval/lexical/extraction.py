"""What claims lose of their text, and what is wrong with them: counts from the words alone, without gold and judge.

`examine` compares the claims of a text with its sentences. `MEASURES` is the table of what it counts: of each, how
many there are and of how many, so that counts of many texts can be added up. The word rules are English; numbers,
months and negations are read in other languages too.

Blind spots are roles that are swapped within a sentence, repetition in other words, a pronoun that is resolved wrongly,
and one hedge in place of another: these take a judge.

`match` tells how two lists of claims of one text correspond: which claims are right, and which of the other list
are found.

The claims of an extractor are held against those of people. No single matching orders extractors reliably, so two
stand side by side in what is printed:

* `guarded`: one to one, with the greatest sum of token F1 over pairs of at least `PAIR`; only pairs with the same
  numbers, and both or neither denied, count;
* `pairs`: the same without that guard;
* `contain`: many to one. A gold claim is found if one claim holds `CONTAINED` of its content words; a claim is right
  if the gold claims that hold it or that it holds explain `CONTAINED` of its words;
* `support`: the lexical support score of each claim by the other list as one text, at least `SUPPORTED`.

The thresholds separate human claims of the same sentence (right) from those of other sentences (wrong) on the visible
half of FActScore (Min et al. 2023); each finds about one in ten of the wrong ones. Words are those of the lexical
support score: stems, and numbers by value. English.
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
    """One count."""

    name: str
    of: str
    """What it is counted over."""
    description: str
    fault: bool = True
    """Whether it is a share of what went wrong; the others describe the claims."""


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
"""A claim with a larger share of content words that are in neither text nor question is foreign."""
ELSEWHERE = 0.34
"""By how much more of a claim's words another sentence has than the claim's own, for it to be misplaced."""
FRAGMENT = 3
"""Words of a fragment, at most."""
REPEATED = 95.0
"""From which `rapidfuzz.fuzz.ratio` of their sorted words on, of 100, a claim repeats one of the same numbers."""


class Statement(NamedTuple):
    """A claim, as it is counted."""

    text: str
    sentences: tuple[int, ...] | None = None
    """The sentences that it names, counted from 0; None where nobody says: then the sentence with most of its words
    stands in, and the claim is not checked for being misplaced."""
    repeats: int = 0
    """How many more times the extractor gave it."""


Where = Literal["claims", "sentences"]


@dataclass
class ExtractionCounts:
    """What was counted over one text."""

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By measure, how many, and of how many."""
    kinds: dict[SentenceKind, int] = field(default_factory=dict)
    """Sentences without a claim, by what they are."""
    claims: dict[str, list[int]] = field(default_factory=dict)
    """By measure, the positions of the claims concerned."""
    sentences: dict[str, list[int]] = field(default_factory=dict)
    """By measure, the positions of the sentences concerned."""


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
    """What is looked for in a sentence."""

    every: frozenset[str]
    content: frozenset[str]
    numbers: frozenset[str]
    dates: frozenset[str]
    names: frozenset[str]
    negated: bool
    hedged: bool


def examine(text: str, claims: Sequence[Statement], question: str = "") -> ExtractionCounts:
    """Compare the claims of a text with its sentences.

    >>> found = examine("She was born in 1931. She never married.", [Statement("She was born.", (0,))])
    >>> found.counts["numbers_lost"], found.counts["statements_lost"], found.sentences["statements_lost"]
    ((1, 1), (1, 2), [1])

    Args:
        text: The text. Its citations, list marks and code are no words of it.
        claims: The claims that were taken from it.
        question: What the text answers; claims may have its words and numbers.

    Returns:
        The counts by measure, and which claims and sentences they concern; of 0 where there is nothing to count.
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
    """Return the sentences of each claim: those that it names and that exist, else the one with most of its words."""
    return [
        tuple(i for i in claim.sentences if 0 <= i < len(sentences))
        if claim.sentences is not None
        else _nearest(claim.text, sentences)
        for claim in claims
    ]


def _nearest(text: str, sentences: Sequence[_Words]) -> tuple[int, ...]:
    content = claim_words(text).content
    every = frozenset(claim_words(text).words)
    shared = [(len(content & sentence.content), len(every & sentence.every)) for sentence in sentences]
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
    everything = range(len(claims))
    repeats = sum(claim.repeats for claim in claims)
    counts.claims = {name: [i for i in everything if is_faulty(i)] for name, is_faulty in faults.items()}
    counts.claims["doubled"] = _doubled([claim.text for claim in claims])
    placed = [i for i in everything if claims[i].sentences]
    counts.claims["misplaced"] = [i for i in placed if _is_misplaced(words[i].content, of_sentence[i], sentences)]
    counts.counts = {name: (len(where), len(claims)) for name, where in counts.claims.items()}
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
    """Return the positions of claims that repeat an earlier one, in the same or another order of words."""
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
    """What a matching finds."""

    right: tuple[bool, ...]
    """Of each claim, whether the gold claims have it."""
    found: tuple[bool, ...]
    """Of each gold claim, whether the claims have it."""


class ClaimWords(NamedTuple):
    """The words of one claim, as they are compared."""

    words: tuple[str, ...]
    """All of them in order; function words in lower case, others as keys."""
    content: frozenset[str]
    """The keys of content words and numbers; of a claim without any, its function words."""
    numbers: frozenset[str]
    """The keys of numbers in digits."""
    denied: bool
    """Whether the number of its negations is odd."""
    negations: int


@lru_cache(maxsize=1 << 14)
def claim_words(text: str) -> ClaimWords:
    """Return the words of a claim; citations have none."""
    tokens = words.tokens(text)
    keys = tuple(token.key or token.text.lower() for token in tokens)
    content = frozenset(token.key for token in tokens if token.key)
    negations = sum(words.is_negation(token.text.lower()) for token in tokens)
    numbers = frozenset(token.key for token in tokens if token.text[0].isdecimal() and token.key[:1] == "#")
    return ClaimWords(keys, content or frozenset(keys), numbers, negations % 2 == 1, negations)


def match(claims: Sequence[str], gold: Sequence[str], matching: Matching = "guarded") -> MatchedClaims:
    """Hold claims against gold claims.

    >>> match(["He won in 1990."], ["He won in 1991."])
    MatchedClaims(right=(False,), found=(False,))

    Args:
        claims: The claims of an extractor.
        gold: Those of people, about the same text.
        matching: How they are compared.

    Returns:
        Which claims are right and which gold claims are found; nothing is where one list is empty.

    Raises:
        UsageError: The matching does not exist.
    """
    if matching not in _MATCHERS:
        raise unknown_name("matching", matching, MATCHINGS)
    if not claims or not gold:
        return MatchedClaims((False,) * len(claims), (False,) * len(gold))
    return _MATCHERS[matching](claims, gold)


def alike(claim: str, other: str) -> bool:
    """Return whether two claims have the same numbers, and both or neither are denied."""
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
    """Return the token F1 of each pair: twice the shared words, repetitions included, over all words of both."""
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
    """Return the words of a text, each occurrence of a word being another item."""
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
    sides = (claims, gold), (gold, claims)
    right, covered = (_supported(texts, " ".join(changed_texts)) for texts, changed_texts in sides)
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
