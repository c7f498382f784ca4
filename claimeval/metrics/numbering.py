"""What a number in a citation stands for: the rank of a context, or what is printed before it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from claimeval.lexical.citations import numbered_heads, printed_label
from claimeval.types.records import Document, Sample


class Numbers(NamedTuple):
    """The numbers of contexts, each of its own."""

    ranks: Mapping[str, int]
    """By number, the rank from 1."""
    is_certain: bool
    """Whether they cannot be anything else: `[2]` before a text, an id that is a number."""


def numbers_of(sample: Sample) -> Mapping[str, int]:
    """Return the rank, from 1, of the context that each number in a citation means.

    A sample whose contexts have no printed numbers, or no numbers in their ids, has ranks.
    """
    contexts = sample.contexts or ()
    ranks = {str(rank): rank for rank in range(1, len(contexts) + 1)}
    if sample.numbering == "zero":
        return {str(rank - 1): rank for rank in ranks.values()}
    if sample.numbering == "printed":
        numbers = printed_numbers(contexts)
    elif sample.numbering == "id":
        numbers = id_numbers(contexts)
    else:
        numbers = None
    return numbers.ranks if numbers else ranks


def printed_numbers(contexts: Sequence[Document]) -> Numbers | None:
    """Return the numbers that are printed before the texts or titles of contexts; None if fewer
    than half have one, or two the same."""
    labels = [printed_label(each.text) or printed_label(each.title or "") for each in contexts]
    found = {rank: label for rank, label in enumerate(labels, 1) if label is not None}
    if len(found) < len(contexts) and (heads := numbered_heads([each.text for each in contexts])):
        return _distinct(dict(enumerate(heads, 1)), is_certain=False)
    # A passage that was added after the others were labelled has no number.
    if len(found) < max(2, len(contexts) / 2) and len(found) < len(contexts):
        return None
    is_certain = len(found) == len(contexts) and not any(label.is_item for label in found.values())
    numbers = {rank: label.number for rank, label in found.items()}
    return _distinct(numbers, is_certain=is_certain)


def id_numbers(contexts: Sequence[Document]) -> Numbers | None:
    """Return the numbers in the ids of all contexts, the last of each; None if one has none, or two
    the same."""
    numbers: dict[int, str] = {}
    for rank, context in enumerate(contexts, 1):
        digits = re.findall(r"\d+", context.id)
        if not digits:
            return None
        numbers[rank] = str(int(digits[-1]))
    return _distinct(numbers, is_certain=all(context.id.isdecimal() for context in contexts))


def _distinct(numbers: Mapping[int, str], *, is_certain: bool) -> Numbers | None:
    """Return the ranks of numbers, which are by rank; None if two are the same."""
    ranks = {number: rank for rank, number in numbers.items()}
    return Numbers(ranks, is_certain) if ranks and len(ranks) == len(numbers) else None
