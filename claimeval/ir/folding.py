"""Passages folded into their documents: parts of ids are cut out, and of what then is the same the best stays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from claimeval.types.errors import DataError, UsageError

Number = TypeVar("Number", int, float)


def fold(by_query: Mapping[str, Mapping[str, Number]], pattern: str) -> dict[str, dict[str, Number]]:
    """A run or qrels without what the pattern (a regular expression) matches in ids of documents.

    Of documents whose ids then are equal the highest score or grade stays, in the place of the one that had it: MaxP
    (Dai & Callan 2019).

    >>> fold({"q": {"a#p7": 3.0, "b#p1": 2.0, "a#p1": 1.0}}, "#.*")
    {'q': {'a': 3.0, 'b': 2.0}}
    """
    cut = compiled(pattern)
    return {query: _fold_query(documents, cut) for query, documents in by_query.items()}


def fold_names(names: Iterable[str], pattern: str) -> list[str]:
    """A ranked list of ids without what the pattern matches in them; each stays where it stands first."""
    cut = compiled(pattern)
    return list(dict.fromkeys(_folded(name, cut) for name in names))


def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression; UsageError where it is none."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is no regular expression: {error}; as in '#.*' for all from a # on") from None


def _fold_query(documents: Mapping[str, Number], cut: re.Pattern[str]) -> dict[str, Number]:
    found: dict[str, Number] = {}
    for name, number in documents.items():
        if number != number:
            raise DataError(f"the score of document {name!r} is NaN, so it has no rank")
        whole = _folded(name, cut)
        if whole not in found:
            found[whole] = number
        elif number > found[whole]:
            del found[whole]
            found[whole] = number
    return found


def _folded(name: str, cut: re.Pattern[str]) -> str:
    whole = cut.sub("", name)
    if not whole:
        raise DataError(f"{cut.pattern!r} leaves nothing of the document id {name!r}")
    return whole
