"""Which documents are graded for which question: those that samples retrieved, or a pool of runs and judgments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from claimeval.ir import Qrels, TrecRun
from claimeval.types.errors import DataError
from claimeval.types.records import Document, Sample


class Candidates(NamedTuple):
    """Documents of one question that are graded together; a text that is not known is empty."""

    query: str
    """Id of the question."""
    question: str
    documents: tuple[Document, ...]


def of_samples(samples: Iterable[Sample], per_call: int) -> Iterator[Candidates]:
    """What each sample retrieved, in runs of at most `per_call` documents."""
    for sample in samples:
        yield from _chunks(sample.id, sample.question, sample.contexts or (), per_call)


def of_pool(
    pool: Mapping[str, Sequence[str]], queries: Mapping[str, str], documents: Mapping[str, Document], per_call: int
) -> Iterator[Candidates]:
    """Yield the documents of a pool, query by query.

    Queries and documents without a text are kept, so that they are counted as missing.

    Args:
        pool: Ids of the documents of each query.
        queries: Text of each query.
        documents: The documents by id.
        per_call: Number of documents in one request.

    Yields:
        The candidates of each query.
    """
    for query, ids in pool.items():
        found = tuple(documents.get(name) or Document(id=name, text="") for name in ids)
        yield from _chunks(query, queries.get(query, ""), found, per_call)


def _chunks(query: str, question: str, documents: tuple[Document, ...], size: int) -> Iterator[Candidates]:
    for start in range(0, len(documents), size):
        yield Candidates(query, question, documents[start : start + size])


def pool(runs: Iterable[TrecRun], depth: int, judged: Qrels | None = None) -> dict[str, list[str]]:
    """Query to documents: what people judged, then the first `depth` of each run as trec_eval orders them.

    Judgments below 0 mean pooled but not judged and are left out.
    """
    found: dict[str, dict[str, None]] = {}
    for query, grades in (judged or {}).items():
        found.setdefault(query, {}).update(dict.fromkeys(name for name, grade in grades.items() if grade >= 0))
    for run in runs:
        for query, scores in run.items():
            ranked = sorted(scores, key=lambda name: (scores[name], name), reverse=True)
            found.setdefault(query, {}).update(dict.fromkeys(ranked[:depth]))
    return {query: list(names) for query, names in found.items() if names}


class PoolCounts(NamedTuple):
    """What there is to grade."""

    queries: int
    pairs: int
    items: int
    """Calls for each judge."""
    without_text: int
    """Pairs whose question or document has no text; they cannot be graded."""


def survey(items: Iterable[Candidates]) -> PoolCounts:
    """Counts, and makes sure before any call that the grades can be written; DataError where they cannot."""
    queries: dict[str, set[str]] = {}
    pairs = count = without = 0
    for item in items:
        count += 1
        documents = queries.setdefault(item.query, set())
        for document in item.documents:
            check_name(item.query, "question")
            check_name(document.id, "document")
            if document.id in documents:
                raise DataError(
                    f"document {document.id!r} stands twice under question {item.query!r}; ids of questions and of the "
                    "documents of a question must be unique"
                )
            documents.add(document.id)
            pairs += 1
            without += not gradable(item.question, document)
    if not pairs:
        raise DataError("there is nothing to grade: no question has a document")
    if without == pairs:
        raise DataError("no question and document have both a text; check that the ids of the files are the same")
    return PoolCounts(len(queries), pairs, count, without)


def gradable(question: str, document: Document) -> bool:
    """Whether there are two texts to compare."""
    return bool(question.strip() and (document.text.strip() or (document.title or "").strip()))


def check_name(name: str, kind: str) -> None:
    """DataError for an id that cannot stand in a TREC file."""
    if name.split() != [name] or name.startswith("#"):
        raise DataError(
            f"the {kind} id {name!r} cannot stand in a qrels file: ids are not empty, hold no blanks and do not begin "
            "with #"
        )
