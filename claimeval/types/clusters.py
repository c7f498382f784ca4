"""Which samples belong together: answers to one question are not independent, so intervals and tests draw questions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b

from claimeval.types.errors import unknown_name
from claimeval.types.records import Sample

FIELDS = ("question", "answer", "generator", "reference_author")
"""Fields of a sample that can be named; any other name is one of its metadata."""


def cluster_of(sample: Sample, field: str | None = None) -> int:
    """The samples with this number belong together: those of one question, or with one value of the named field.

    White space in a text does not count. A sample without the text or the value belongs to no other.
    """
    value = _value(sample, field or "question")
    return own_cluster(sample.id) if value is None else _number("together", value)


def cluster_of_question(question: str, name: str) -> int:
    """The same for a question that is no sample's; `name` is its id, for where it has no text."""
    text = " ".join(question.split())
    return _number("together", text) if text else own_cluster(name)


def own_cluster(name: str) -> int:
    """The number of a sample that belongs to no other."""
    return _number("alone", name)


def check_cluster(field: str | None, samples: Iterable[Sample]) -> None:
    """UsageError where none of the samples has the field; looks no further than to the first that has."""
    if field is None or field in FIELDS:
        return
    seen: dict[str, None] = {}
    for sample in samples:
        if field in sample.metadata:
            return
        seen.update(dict.fromkeys(sample.metadata))
    raise unknown_name("field of the samples to cluster by:", field, (*FIELDS, *seen))


def counted(samples: int, clusters: int, field: str | None) -> str:
    """How many samples there are, and of how many questions (or values of the field) where these are fewer."""
    said = f"{samples} samples"
    if clusters >= samples:
        return said
    return f"{said}, {clusters} {clusters_named(field)}"


def clusters_named(field: str | None) -> str:
    """What samples are drawn by, in words."""
    return "questions" if field in (None, "question") else f"clusters by {field}"


def _value(sample: Sample, field: str) -> str | None:
    value = getattr(sample, field) if field in FIELDS else sample.metadata.get(field)
    if isinstance(value, str):
        return " ".join(value.split()) or None
    return None if value is None else json.dumps(value, sort_keys=True)


def _number(kind: str, text: str) -> int:
    """Eight bytes of a hash, so that a sample costs no more."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=kind.encode()).digest()
    return int.from_bytes(digest, "big", signed=True)
