"""Cues that a sentence which shares the words of a claim says something else: a negation, an opposite, another name.

Each looks at a claim and the one sentence that has most of it, and gives the words that differ, the claim's before the
sentence's, or nothing. They are meant for nearly equal texts; the caller sees to it that most words are shared.
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
    """The negation of a shared word that only one side denies.

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
    """The negation of each key, empty if it is ever said without one; and the number of negations."""
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
    """A word that the sentence lacks and its opposite that the claim lacks, beside the same word."""
    claimed, stated = _spelt(claim), _spelt(sentence)
    places: dict[str, list[int]] = defaultdict(list)
    for place, key in enumerate(stated):
        places[key].append(place)
    known = set(claimed)
    for here, key in enumerate(claimed):
        for opposite in () if key in places else words.antonyms(key) - known:
            for there in places.get(opposite, ()):
                if _has_same_neighbour(claimed, here, stated, there):
                    return claim[here].text, sentence[there].text
    return ()


def _spelt(tokens: Sequence[Word]) -> list[str]:
    """The keys, and the stem of a function word for it has none."""
    return [token.key or words.stem(token.text.lower()) for token in tokens]


def _has_same_neighbour(one: Sequence[str], here: int, other: Sequence[str], there: int) -> bool:
    before = here > 0 and there > 0 and one[here - 1] == other[there - 1]
    return before or (here + 1 < len(one) and one[here + 1 : here + 2] == other[there + 1 : there + 2])


def other_name(claim: Sequence[Word], sentence: Sequence[Word]) -> tuple[str, ...]:
    """A name that the sentence lacks and the one that it has instead, beside the same content word."""
    return _instead(claim, sentence, words.names(claim, openings=True), words.names(sentence, openings=True))


def other_number(claim: Sequence[Word], sentence: Sequence[Word]) -> tuple[str, ...]:
    """A number that the sentence lacks and the one that it has instead, beside the same content word."""
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
    """Whether the sentence has the names of the claim in another order; not for a list of names or a passive ("by")."""
    shared = words.names(claim, openings=True) & words.names(sentence, openings=True)
    claimed, stated = (
        list(dict.fromkeys(token.key for token in tokens if token.key in shared)) for tokens in (claim, sentence)
    )
    is_list = [named for named, _ in groupby(token.key in shared for token in claim if token.key)].count(True) < 2
    return claimed != stated and not is_list and all(token.text != "by" for token in (*claim, *sentence))
