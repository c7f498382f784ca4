"""ROUGE-L: the longest common subsequence of two texts (Lin 2004, section 3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence of two word lists.

    Bit-parallel: one integer holds a whole row of the usual table, a 0 bit where the row steps up by one
    (Hyyrö 2004, "Bit-parallel LCS-length computation revisited").
    """
    places: defaultdict[str, int] = defaultdict(int)
    for index, word in enumerate(first):
        places[word] |= 1 << index
    every = (1 << len(first)) - 1
    row = every
    for word in second:
        matches = row & places.get(word, 0)
        row = ((row + matches) | (row - matches)) & every
    return len(first) - row.bit_count()


def f_measure(answer: Sequence[str], reference: Sequence[str]) -> float:
    """ROUGE-L F (beta 1): harmonic mean of LCS/|answer| and LCS/|reference|; 0 where either is empty, both included.

    Equal to `rougeL` of the rouge-score package, given the same words.
    """
    common = lcs_length(answer, reference)
    if common == 0:
        return 0.0
    precision, recall = common / len(answer), common / len(reference)
    return 2 * precision * recall / (precision + recall)
