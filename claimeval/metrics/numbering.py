"""What a number in a citation stands for: the rank of a context, or what is printed before it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from claimeval.lexical.citations import printed_label
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
    """Return the numbers that are printed before the texts or titles of all contexts; None if one
    has none, or two the same."""
    labels = [printed_label(each.text) or printed_label(each.title or "") for each in contexts]
    found = [label for label in labels if label is not None]
    if len(found) < len(contexts):
        return None
    is_certain = not any(label.is_item for label in found)
    return _distinct([label.number for label in found], is_certain=is_certain)


def id_numbers(contexts: Sequence[Document]) -> Numbers | None:
    """Return the numbers in the ids of all contexts, the last of each; None if one has none, or two
    the same."""
    numbers: list[str] = []
    for context in contexts:
        digits = re.findall(r"\d+", context.id)
        if not digits:
            return None
        numbers.append(str(int(digits[-1])))
    return _distinct(numbers, is_certain=all(context.id.isdecimal() for context in contexts))


def _distinct(numbers: Sequence[str], *, is_certain: bool) -> Numbers | None:
    if not numbers or len(set(numbers)) < len(numbers):
        return None
    ranks = {number: rank for rank, number in enumerate(numbers, 1)}
    return Numbers(ranks, is_certain)
