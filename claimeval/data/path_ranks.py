"""How well a path fits a field of a sample, by its name and by what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from claimeval.data.field_names import (
    Words,
    describes,
    is_generic,
    is_gold,
    is_singular,
    names_a_gold_text,
    names_documents,
    rank_of_text,
    speaks_of_documents,
    words_of,
)
from claimeval.data.path_texts import are_passages, are_sentences, has_letters, mean_length
from claimeval.data.profile import PathValues, profile

REFERENCES = ("reference_answers", "reference_contexts")
"""Fields that are offered and never asked for."""
_OF_DOCUMENTS = frozenset(
    {"page_content", "pageContent", "node", "document.content", "kwargs", "_source"}
)
"""Names that only documents have."""
UNNAMED = 2
"""The rank of a list of documents whose name does not say that these are documents."""


def inside(value: object, column: str, field: str) -> str | None:
    """Return the path of a field within the value of a column; None if it has no text."""
    return path_within(profile([{column: value}]), column, field)


def path_within(paths: Mapping[str, PathValues], column: str, field: str) -> str | None:
    """Return the path of a field within a column: a named one, else that of the longest texts."""
    within = [
        path
        for path in paths.values()
        if path.kind == "text" and path.path.startswith((f"{column}.", f"{column}["))
    ]
    named = [(rank, path.path) for path in within if (rank := rank_of(field, path)) is not None]
    if named:
        return min(named)[1]
    # An address or a date is no text to ask or to judge.
    texts = [path for path in within if not describes(words_of(path.keys[-1]))]
    longest = max(texts, key=mean_length, default=None)
    return longest.path if longest else None


def rank_of(field: str, path: PathValues) -> tuple[int, ...] | None:
    """Return how well a path fits a field, lower is better; None if it cannot be one."""
    keys = [words_of(key) for key in path.keys]
    if field in REFERENCES:
        return _rank_of_references(field, path)
    if field == "contexts":
        return rank_of_documents(path)
    if path.kind != "text" or not has_letters(path):
        return None
    return rank_of_text(field, keys)


def words_of_path(path: PathValues) -> set[str]:
    """Return the words of all keys of a path."""
    return set(chain.from_iterable(map(words_of, path.keys)))


def _rank_of_references(field: str, path: PathValues) -> tuple[int, ...] | None:
    last = words_of(path.keys[-1])
    words = words_of_path(path)
    about = speaks_of_documents(words - {"reference"}) == (field == "reference_contexts")
    fits = path.kind in ("text", "texts") or field == "reference_contexts"
    golds = path.kind == "texts" and last == ("answer",)
    if (not is_gold(words) and not golds) or not about or not fits or describes(last):
        return None
    return (not names_a_gold_text(words), len(path.keys), len(last))


def rank_of_documents(path: PathValues) -> tuple[int, ...] | None:
    """Return how well a path fits contexts: documents go before lists of texts, and these before
    one text."""
    if path.kind == "messages" or _is_gold_evidence(path):
        return None
    if path.kind == "text":
        return _rank_of_one_text(path)
    last = words_of(path.keys[-1])
    depth = len(path.keys)
    telling = speaks_of_documents(_telling(path), listed=True)
    named = telling or speaks_of_documents(words_of_path(path))
    if path.kind == "texts":
        return (1, depth) if named and are_passages(path) and not describes(last) else None
    if speaks_of_documents(last, listed=True):
        return (0, depth)
    return (1 if named or _is_typed(path) else UNNAMED, depth)


def _is_gold_evidence(path: PathValues) -> bool:
    """Return whether a path leads to references. A list `references` may be documents, while
    `referenceResponses` and a text `reference` are gold answers."""
    words = words_of_path(path)
    last = _telling(path)
    may_be_documents = path.kind != "text" and last[-1:] == ("reference",)
    if may_be_documents:
        words -= set(last)
    return is_gold(words)


def _is_typed(path: PathValues) -> bool:
    """Return whether the first document has a key that only documents have."""
    first = next(iter(path.values.values()))
    first = first[0] if isinstance(first, (list, tuple)) else first
    return isinstance(first, Mapping) and not _OF_DOCUMENTS.isdisjoint(first)


def _rank_of_one_text(path: PathValues) -> tuple[int, ...] | None:
    name = path.keys[-1]
    if describes(words_of(name)) or words_of(name) == ("search",) or not has_letters(path):
        return None  # a search is asked, and its hits are documents
    depth = len(path.keys)
    long = are_sentences(path)
    several = not is_singular(name) and "[" not in path.path
    if names_documents(name, in_sentences=False) and (long or several):
        return (3, depth)
    return (4, depth) if long and names_documents(name, in_sentences=True) else None


def _telling(path: PathValues) -> Words:
    """Return the words of the last key that says something: of `facts[*].text`, fact."""
    last = words_of(path.keys[-1])
    if len(path.keys) > 1 and is_generic(last):
        return words_of(path.keys[-2])
    return last
