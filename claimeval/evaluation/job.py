"""The protocol of jobs, and the items of runs.

A job defines the requests and the scores of an item: a sample, an earlier result, or a document.
Each item gives one result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from claimeval.evaluation.manifest import Manifest
from claimeval.execution import ItemJob
from claimeval.types.records import Sample, SampleResult
from claimeval.types.requests import Judge

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Job(ItemJob[T_contra, SampleResult], Protocol[T_contra]):
    """The requests and scores of items. Jobs can be pickled."""

    @property
    def name(self) -> str:
        """The job's name in the manifest: `score`, `rate`, `grade`, ..."""

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The judges whose verdicts count."""

    @property
    def manifest(self) -> Manifest:
        """All settings that affect numbers: metrics, prompts, judges, panel, settings."""


def sample_of(item: Any) -> Sample:
    """Return the sample of an item of a job that judges samples."""
    return item.sample if isinstance(item, SampleResult) else item


class Reiterable(Generic[T]):
    """An iterable that can be iterated more than once; each pass reads the items from the start.

    With `hold`, the items of the first complete pass are kept, and later passes read nothing.
    """

    identity: Callable[[], str] | None = None
    """Return a text that identifies the items, whatever their order, if that is known without
    reading them."""

    def __init__(self, begin: Callable[[], Iterator[T]], *, hold: bool = False) -> None:
        self._begin = begin
        self._hold = hold
        self._items: list[T] | None = None

    def __iter__(self) -> Iterator[T]:
        if self._items is not None:
            return iter(self._items)
        return self._read_and_keep() if self._hold else self._begin()

    def count(self) -> int:
        """Return the number of items."""
        return sum(1 for _ in self)

    def part(self, indices: range) -> Reiterable[T]:
        """Return the items at these indices, from 0."""
        return Reiterable(lambda: islice(iter(self), indices.start, indices.stop))

    def _read_and_keep(self) -> Iterator[T]:
        items = []
        for item in self._begin():
            items.append(item)
            yield item
        self._items = items


def run_identity(record: Manifest, items: Iterable[object]) -> str:
    """Return a digest of the questions and items of a run, whatever the order of the items.

    Commands with the same digest are one run, for which a budget applies.
    """
    if isinstance(items, Reiterable) and items.identity:
        return hashlib.sha256(f"{record.identity} {items.identity()}".encode()).hexdigest()
    # A sum does not depend on the order: a file that is sorted anew is the same run.
    total = 0
    for item in items:
        total += int.from_bytes(
            hashlib.sha256(repr(sample_of(item)).encode("utf-8", "surrogatepass")).digest()
        )
    return hashlib.sha256(f"{record.identity} {total}".encode()).hexdigest()
