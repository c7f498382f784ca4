"""Paths in rows that may lead to fields of samples, by the words in their names and by what they
lead to."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from claimeval.data import documents
from claimeval.data.paths import opened


def words_of(name: str) -> list[str]:
    """Return the words in a name, in lower case: `userQuery_2` has user and query."""
    return re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower())


_DEPTH = 5
"""Keys of a path at most."""
_GOLD = frozenset(
    words_of("reference references truth gold golden expected ideal target correct gt truths")
)
_DOCUMENTS = frozenset(
    words_of(
        "context chunk passage document doc source retrieved evidence snippet hit retrieval"
        " paragraph node knowledge ctx"
    )
)
_WORDS = {
    "question": words_of("question query prompt input message ask instruction utterance"),
    "answer": words_of(
        "answer response output prediction completion generated generation reply result hypothesis"
        " text completions resps"
    ),
}
"""Words for the texts of a sample, most reliable first."""
_GENERIC = frozenset(words_of("text content value data body message completion"))
"""Names of texts that say nothing of their own; what they are stands in the name above."""
_NO_TEXT = frozenset(
    words_of(
        "id ids uid uuid time timestamp token tokens score latency model type date cost status"
        " count length url file path version language hash role reason ms seconds category format"
        " name title by author start tag tags level topic index reasoning"
    )
)
"""Words in the names of columns that describe something."""
_OF_DOCUMENTS = frozenset(
    {"page_content", "pageContent", "node", "document.content", "kwargs", "_source"}
)
"""Names that only documents have."""
_UNNAMED = 2
"""The rank of a list of texts whose name does not say that these are documents."""


class _Found(NamedTuple):
    """What a path leads to in some rows."""

    keys: tuple[str, ...]
    kind: str
    """`text`, `texts`, `documents` or `messages`."""
    sample: Any
    """The first value."""


def proposals(
    rows: Iterable[Mapping[str, Any]],
    fields: Collection[str],
    taken: Collection[str] = (),
    *,
    certain: bool = False,
) -> dict[str, str]:
    """Return the likely path of each of these fields, the best first.

    Args:
        rows: The first rows.
        fields: The fields.
        taken: Paths that other fields have.
        certain: Whether lists of texts are left out whose names do not say that they are documents.
    """
    found: dict[str, _Found] = {}
    for row in rows:
        for path, each in _paths(row):
            found.setdefault(path, each)
    proposed: dict[str, str] = {}
    for field in fields:
        used = (*taken, *proposed.values())
        free = [
            path
            for path in found
            if not any(path == at or path.startswith((f"{at}.", f"{at}[")) for at in used)
        ]
        ranked = [
            (rank, -_shared(path, used), path)
            for path in free
            if (rank := _rank(field, found[path])) is not None
        ]
        rank, _, path = min(
            ranked, key=lambda each: each[:2], default=((), 0, "")
        )  # of equals the first
        if path and not (certain and field == "contexts" and rank[0] == _UNNAMED):
            proposed[field] = _with_siblings(path, found) if field == "contexts" else path
    return proposed


def _shared(path: str, used: Iterable[str]) -> int:
    """Return how many characters a path has in common with the one of these that begins most like
    it."""
    alike = (takewhile(lambda pair: pair[0] == pair[1], zip(path, at, strict=False)) for at in used)
    return max((sum(1 for _ in pairs) for pairs in alike), default=0)


def by_shape(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the likely path of question, answer and contexts by their values alone."""
    texts: dict[str, list[str]] = {}
    lists: dict[str, None] = {}
    for path, each in (found for row in rows for found in _paths(row)):
        if each.kind == "text" and (" " in each.sample or "?" in each.sample):
            texts.setdefault(path, []).append(each.sample)
        elif each.kind in ("documents", "texts"):
            lists[path] = None
    asked = {
        path: sum(text.rstrip().endswith("?") for text in of_path)
        for path, of_path in texts.items()
    }
    question = max(asked, key=lambda path: asked[path], default="")
    if not asked.get(question):
        return {}
    answer = max(
        (path for path in texts if path != question), key=lambda path: len(texts[path]), default=""
    )
    proposed = {
        "question": question,
        "answer": answer,
        "contexts": next(iter(lists), "") if answer else "",
    }
    return {field: path for field, path in proposed.items() if path}


def options(paths: Mapping[str, str | Sequence[str]]) -> str:
    """Return `--field` options for these paths."""
    pairs = [
        (field, [named] if isinstance(named, str) else named) for field, named in paths.items()
    ]
    return " ".join(
        f"--field {field}={shlex.quote(path)}" for field, named in pairs for path in named
    )


def longest_text(value: Any, path: str) -> str | None:
    """Return the path of the longest text in a value, whose own path is given."""
    texts = {inner: each.sample for inner, each in _paths({path: value}) if each.kind == "text"}
    return max(texts, key=lambda inner: len(texts[inner]), default=None)


def _paths(value: Any, path: str = "", keys: tuple[str, ...] = ()) -> Iterator[tuple[str, _Found]]:
    value = opened(value)
    if isinstance(value, str):
        if value.strip() and path:
            yield path, _Found(keys, "text", value)
        return
    if len(keys) > _DEPTH or not value:
        return
    if isinstance(value, Mapping):
        if path and documents.listed(value) != [value]:
            yield path, _Found(keys, "documents", value)
        for key, inner in value.items():
            yield from _paths(inner, f"{path}.{key}" if path else str(key), (*keys, str(key)))
    elif isinstance(value, (list, tuple)):
        if all(isinstance(item, str) for item in value):
            yield path, _Found(keys, "texts", value)
            if len(value) == 1:
                yield f"{path}[0]", _Found(keys, "text", value[0])
        elif all(isinstance(item, Mapping) and _role(item) for item in value):
            yield f"{path}[-1].content", _Found(keys, "text", str(value[-1].get("content", "")))
        elif all(documents.document(item) for item in value):
            yield path, _Found(keys, "documents", value)
        elif len(value) == 1 and isinstance(value[0], (list, tuple)):
            yield from _paths(value[0], f"{path}[0]", keys)
        items = [item for item in reversed(value) if isinstance(item, Mapping) and not _role(item)]
        for key, inner in {key: inner for item in items for key, inner in item.items()}.items():
            at = (
                f"{path}[*].{key}"
                if len(value) > 1 or isinstance(inner, list)
                else f"{path}[0].{key}"
            )
            yield from _paths(inner, at, (*keys, str(key)))


def _role(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("role"), str)


def _with_siblings(path: str, found: Mapping[str, _Found]) -> str:
    """Return the path of a numbered column as that of all that have another number."""
    stem = path.rstrip("0123456789")
    alike = [other for other in found if other.rstrip("0123456789") == stem != other]
    return (
        f"{stem}*"
        if stem != path and len(alike) > 1 and "." not in path and "[" not in path
        else path
    )


def _rank(field: str, found: _Found) -> tuple[int, ...] | None:
    """Return the rank of a path for a field, lower is better; None if it cannot be one."""
    of_keys = [words_of(key) for key in found.keys]
    last = of_keys[-1]
    everywhere = {word for words in of_keys for word in words}
    gold = bool(_GOLD & everywhere) and "retrieved" not in everywhere
    of_documents = speaks_of_documents(everywhere)
    depth = len(found.keys)
    if field in ("reference_answers", "reference_contexts"):
        about = of_documents == (field == "reference_contexts")
        fits = found.kind in ("text", "texts") or field == "reference_contexts"
        return (depth, len(last)) if gold and about and fits and not describes(last) else None
    if gold:
        return None
    if field == "contexts":
        return _rank_of_documents(found, of_documents, speaks_of_documents(set(last)), depth)
    if found.kind != "text" or describes(last) or found.sample.replace(".", "").isdecimal():
        return None
    words = _WORDS[field]
    matches = [words.index(word) for word in last if word in words]
    if not matches or (last[-1] in _GENERIC and depth > 1):
        above = [
            words.index(word)
            for keys in of_keys[:-1]
            for word in keys
            if word in words and word not in _GENERIC
        ]
        matches = above if last and last[-1] in _GENERIC | {"question", "answer"} else []
    spoken = max(
        (at for at, words in enumerate(of_keys) if {"answer", "question", "query"} & {*words}),
        default=-1,
    )
    retrieved = max(
        (at for at, words in enumerate(of_keys) if speaks_of_documents(words)), default=-1
    )
    if not matches or retrieved > spoken:
        return None
    return (min(matches), depth, len(last))


def describes(words: Sequence[str]) -> bool:
    """Return whether the words of a name are those of a property or of a text for developers."""
    return not words or words[-1] in _NO_TEXT or bool({"error", "system", "log"} & set(words))


def speaks_of_documents(words: Collection[str]) -> bool:
    """Return whether one of these words says that something is a document."""
    return any(word.removesuffix("s") in _DOCUMENTS or word in _DOCUMENTS for word in words)


def _rank_of_documents(
    found: _Found, named: bool, last: bool, depth: int
) -> tuple[int, ...] | None:
    if found.kind == "documents":
        first = found.sample[0] if isinstance(found.sample, (list, tuple)) else found.sample
        typed = isinstance(first, Mapping) and not _OF_DOCUMENTS.isdisjoint(first)
        return (0 if last else 1 if named or typed else _UNNAMED, depth)
    if found.kind == "texts":
        return (1, depth) if named and any(" " in text for text in found.sample) else None
    words = len(found.sample.split()) if found.kind == "text" else 0
    several = any(
        word.endswith("s") for word in words_of(found.keys[-1]) if speaks_of_documents([word])
    )
    return (
        (3, depth)
        if last and (words > 3 or several) and not describes(words_of(found.keys[-1]))
        else None
    )
