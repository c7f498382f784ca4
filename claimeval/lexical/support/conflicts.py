"""Cues that a sentence with the words of a claim differs in meaning: a negation, an opposite, another name.

Each looks at a claim and the one sentence that has most of it, and gives the words that differ, the claim's before the
sentence's, or nothing. They are meant for nearly equal texts; the caller ensures that most words are shared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby, pairwise

from claimeval.lexical.support import words
from claimeval.lexical.support.words import Word

_NEGATION_REACH = 3
"""Words after a negation among which the content word that it denies is looked for."""


def negation(claim: Sequence[Word], sentence: Sequence[Word]) -> tuple[str, ...]:
    """Return the negation of a shared word that only one side denies.

    Nothing where the negations of both sides, with words such as "unlikely", are even in number, and for "not only".
    """
    claimed, claim_count = _denied(claim)
    stated, stated_count = _denied(sentence)
    if (claim_count + stated_count) % 2 == 0:
        return ()
    for one, other in ((claimed, stated), (stated, claimed)):
        for key, denial in one.items():
            if denial and other.get(key, denial) == "":
                return (denial,)
    return ()


def _denied(tokens: Sequence[Word]) -> tuple[dict[str, str], int]:
    """Return the negation of each key, empty if it also occurs without one; and the number of negations."""
    denials: dict[str, str] = {}
    count = reach = 0
    denial = ""
    for token in tokens:
        word = token.text.lower()
        if token.opens:
            reach = 0
        if words.is_negation(word) or words.is_near_negation(word):
            count, reach, denial = count + 1, _NEGATION_REACH, token.text
        elif word == "only" and reach == _NEGATION_REACH:
            count, reach = count - 1, 0
        elif token.key:
            denials[token.key] = denial if reach and denials.get(token.key, denial) else ""
            reach = 0
        else:
            reach = max(0, reach - 1)
    return denials, count


def antonym(claim: Sequence[Word], sentence: Sequence[Word]) -> tuple[str, ...]:
    """Return a word that the sentence lacks and its opposite that the claim lacks, next to the same word."""
    claimed, stated = _spelt(claim), _spelt(sentence)
    places: dict[str, list[int]] = defaultdict(list)
    for index, key in enumerate(stated):
        places[key].append(index)
    known = set(claimed)
    for i, key in enumerate(claimed):
        for opposite in () if key in places else words.antonyms(key) - known:
            for j in places.get(opposite, ()):
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
    """Return a name that the sentence lacks and the one that it has instead, next to the same content word."""
    return _instead(claim, sentence, words.names(claim, openings=True), words.names(sentence, openings=True))


def other_number(claim: Sequence[Word], sentence: Sequence[Word]) -> tuple[str, ...]:
    """Return a number that the sentence lacks and the one that it has instead, next to the same content word."""
    return _instead(claim, sentence, _numbers(claim), _numbers(sentence))


def _numbers(tokens: Sequence[Word]) -> set[str]:
    return {token.key for token in tokens if token.key[:1] in "#+" and token.key}


def _instead(
    claim: Sequence[Word], sentence: Sequence[Word], of_claim: set[str], of_sentence: set[str]
) -> tuple[str, ...]:
    claimed, stated = ([token for token in tokens if token.key] for tokens in (claim, sentence))
    beginnings = {words.beginning(token.key) for token in stated}
    missing = {key for key in of_claim if words.beginning(key) not in beginnings}
    strangers = of_sentence - {token.key for token in claimed}
    if not (missing and strangers):
        return ()
    pairs = list(pairwise(stated))
    after = {first.key: second.text for first, second in pairs if second.key in strangers}
    before = {second.key: first.text for first, second in pairs if first.key in strangers}
    runs = [(absent, list(run)) for absent, run in groupby(claimed, lambda token: token.key in missing)]
    for (_, left), (absent, run), (_, right) in zip([(False, []), *runs], runs, [*runs[1:], (False, [])], strict=False):
        instead = (left and after.get(left[-1].key)) or (right and before.get(right[0].key))
        if absent and instead:
            return " ".join(token.text for token in run), instead
    return ()


def role_swap(claim: Sequence[Word], sentence: Sequence[Word]) -> bool:
    """Return whether the sentence has the claim's names in another order; not for lists of names or passives ("by")."""
    shared = words.names(claim, openings=True) & words.names(sentence, openings=True)
    claimed, stated = (
        list(dict.fromkeys(token.key for token in tokens if token.key in shared)) for tokens in (claim, sentence)
    )
    is_list = [named for named, _ in groupby(token.key in shared for token in claim if token.key)].count(True) < 2
    return claimed != stated and not is_list and all(token.text != "by" for token in (*claim, *sentence))
