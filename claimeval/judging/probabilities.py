"""The probability of support from the log-probabilities of a token.

It is the sum of e^lp over alternatives that begin a word of support, divided by the sum over
alternatives that begin any word of the scale. Spellings that differ in case, quotation marks or
leading space are added up. There is no probability if less than half of the mass is on words, or
if the word's token cannot be located. G-Eval and Verdict do the same, but neither after the
explanation nor normalized.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import TypeVar

from claimeval.types.chat_format import TokenLogprobs, read_tokens
from claimeval.types.requests import Completion

LEAST_MASS = 0.5
"""Minimum share of the token's probability that is on words."""
MOST_LOGPROB = 1e-3
"""Largest log-probability: 0 up to rounding. Servers that report more give scores of another kind,
such as logits."""
_WORD = re.compile(r"[\s\"'*]*([A-Za-z0-9_]+)")
S = TypeVar("S")


def of_tokens(
    completion: Completion,
    places: Iterable[tuple[S, int]],
    positive: Callable[[str], bool | None],
) -> dict[S, float]:
    """Return the probability of support by subject, of those whose token can be located.

    Args:
        completion: The reply, whose body may have log-probabilities.
        places: Subjects, each with the position of its word in the text.
        positive: Whether a spelling of a token begins a word of support (True) or another word
            (False); None if neither or both.
    """
    text = completion.text
    tokens = read_tokens(completion.body) if text else None
    if (
        not text
        or not tokens
        or b"".join(token.content for token in tokens) != text.encode("utf-8", "replace")
    ):
        return {}
    # Bytes and not characters: an emoji may be three tokens, none of which is a character.
    starts = [0, *accumulate(len(token.content) for token in tokens)]
    probabilities = {}
    for subject, position in places:
        token = tokens[bisect_right(starts, len(text[:position].encode("utf-8", "replace"))) - 1]
        probability = _of_token(token, positive)
        if probability is not None:
            probabilities[subject] = probability
    return probabilities


def _of_token(token: TokenLogprobs, positive: Callable[[str], bool | None]) -> float | None:
    mass = {True: 0.0, False: 0.0}
    for spelling, logprob in token.alternatives:
        if logprob > MOST_LOGPROB:
            return None
        support = positive(spelling)
        if support is not None:
            mass[support] += math.exp(logprob)
    total = math.fsum(mass.values())
    return min(1.0, mass[True] / total) if total >= LEAST_MASS else None


def begun(spelling: str, words: Mapping[str, bool]) -> bool | None:
    """Return whether the word that a token begins, or contains, is one of support.

    Args:
        spelling: The token's text.
        words: Whether each word means support.

    Returns:
        None if it begins no word, or words of both kinds.
    """
    match = _WORD.match(spelling)
    if not match:
        return None
    start = match.group(1).casefold()
    fitting = {
        support
        for word, support in words.items()
        if word.startswith(start) or start.startswith(word)
    }
    return fitting.pop() if len(fitting) == 1 else None
