"""Which documents are graded for which question: those that samples retrieved, or a pool of runs and judgments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from claimeval.ir import Qrels, TrecRun
from claimeval.types.errors import DataError
from claimeval.types.records import Document, Sample


def samples_of_pool(
    pool: Mapping[str, Sequence[str]], queries: Mapping[str, str], documents: Mapping[str, Document]
) -> Iterator[Sample]:
    """Give a sample a query whose contexts are its documents in the pool.

    Queries and documents without a text stay in, so that they are counted as missing.
    """
    for query, ids in pool.items():
        contexts = tuple(documents.get(name) or Document(id=name, text="") for name in ids)
        yield Sample(id=query, question=queries.get(query, ""), contexts=contexts)


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
    without_text: int
    """Pairs whose question or document has no text; they cannot be graded."""


def survey(samples: Iterable[Sample]) -> PoolCounts:
    """Counts, and makes sure before any call that the grades can be written; DataError where they cannot."""
    queries: dict[str, set[str]] = {}
    pairs = without = 0
    for sample in samples:
        documents = queries.setdefault(sample.id, set())
        for document in sample.contexts or ():
            check_name(sample.id, "question")
            check_name(document.id, "document")
            if document.id in documents:
                raise DataError(
                    f"document {document.id!r} stands twice under question {sample.id!r}; ids of questions and of the "
                    "documents of a question must be unique"
                )
            documents.add(document.id)
            pairs += 1
            without += not gradable(sample.question, document)
    if not pairs:
        raise DataError("there is nothing to grade: no question has a document")
    if without == pairs:
        raise DataError("no question and document have both a text; check that the ids of the files are the same")
    return PoolCounts(len(queries), pairs, without)


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
