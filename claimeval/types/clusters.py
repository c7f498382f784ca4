"""Clusters of samples. Answers to one question are not independent, so intervals and tests resample
clusters."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from hashlib import blake2b
from unicodedata import normalize

from pydantic import JsonValue

from claimeval.types.errors import unknown_name
from claimeval.types.records import Sample

CONVERSATION = "conversation"
FIELDS = ("question", CONVERSATION, "answer", "generator", "reference_author")
"""Fields of a sample to cluster by. Any other name is a field of the metadata, as in `topic` or
`metadata.topic`."""
METADATA = "metadata."


def cluster_of(sample: Sample, field: str | None = None) -> int:
    """Return the number of a sample's cluster: samples with the same value of `field`.

    By default, the turns of one conversation are a cluster, and so are samples with the same
    question. White space and Unicode normal forms are ignored. A sample without a value is a
    cluster by itself.
    """
    value = _value(sample, field or CONVERSATION)
    return single_cluster(sample.id) if value is None else _number("together", value)


def single_cluster(name: str) -> int:
    """Return the number of a cluster of one sample."""
    return _number("alone", name)


def check_cluster(field: str | None, samples: Iterable[Sample]) -> None:
    """Raise UsageError if no sample has the field. Stops at the first sample that has it."""
    if field is None or field in FIELDS:
        return
    seen: dict[str, None] = {}
    for sample in samples:
        if _of_metadata(sample, field) is not None:
            return
        seen.update(dict.fromkeys(f"{METADATA}{name}" for name in sample.metadata))
    raise unknown_name("field of the samples to cluster by:", field, (*FIELDS, *seen))


def sample_count(samples: int, clusters: int, field: str | None) -> str:
    """Return the number of samples as text, with the number of clusters if there are fewer."""
    text = f"{samples:,} sample{'' if samples == 1 else 's'}"
    return text if clusters >= samples else f"{text}, {clusters:,} {cluster_noun(field, clusters)}"


def cluster_noun(field: str | None, count: int = 2) -> str:
    """Return the noun for `count` clusters."""
    end = "" if count == 1 else "s"
    if field == CONVERSATION:
        return f"conversation{end}"
    return f"question{end}" if field in (None, "question") else f"cluster{end} by {field}"


class Openings:
    """Counts conversations without a name that begin with the same words of the user, such as a
    greeting, and are one cluster by that alone.

    The second message of the user is the same in all later turns of one conversation, so that
    conversations in which it differs are not one.
    """

    def __init__(self, field: str | None = None) -> None:
        """Start with none; with a field that clusters have in common, none is counted."""
        self._field = field
        self._second = defaultdict[int, set[int]](set)
        """Numbers of the second messages, by cluster."""

    def add(self, sample: Sample, cluster: int) -> None:
        """Take a sample with the number of its cluster."""
        if self._field is not None:
            return
        if _name_of_conversation(sample) is not None:
            return
        said = [turn.content for turn in sample.history if turn.role == "user"]
        if said:
            second = [*said, sample.question][1]
            self._second[cluster].add(_number("second", " ".join(second.split())))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of intervals must know: nothing if no conversations are taken for one."""
        joined = [len(apart) for apart in self._second.values() if len(apart) > 1]
        if not joined:
            return ()
        note = (
            f"{sum(joined):,} conversations begin with the same words of the user and count as"
            f" {len(joined):,} in intervals: --cluster question counts each question by itself, and"
            " a column conversation_id says which turns belong together"
        )
        return (note,)


def _name_of_conversation(sample: Sample) -> JsonValue:
    for field in (CONVERSATION, "conversation_id"):
        name = sample.metadata.get(field)
        if name is not None:
            return name
    return None


def _value(sample: Sample, field: str) -> str | None:
    value: JsonValue
    if field == CONVERSATION:
        value = _name_of_conversation(sample)
        if value is None:
            value = first_words(sample)
    else:
        value = getattr(sample, field) if field in FIELDS else _of_metadata(sample, field)
    if isinstance(value, str):
        return " ".join(normalize("NFC", value).split()) or None
    return None if value is None else json.dumps(value, sort_keys=True)


def _of_metadata(sample: Sample, field: str) -> JsonValue:
    """Return the value of a field of the metadata, whose name may begin with `metadata.`; None
    without one."""
    if field in sample.metadata:
        return sample.metadata[field]
    return sample.metadata.get(field.removeprefix(METADATA))


def first_words(sample: Sample) -> str:
    """Return the first message of the user in a sample's conversation, which all its turns
    share."""
    return next((turn.content for turn in sample.history if turn.role == "user"), sample.question)


def _number(kind: str, text: str) -> int:
    digest = blake2b(
        text.encode("utf-8", "surrogatepass"),
        digest_size=8,
        person=kind.encode(),
    ).digest()
    return int.from_bytes(digest, "big", signed=True)
