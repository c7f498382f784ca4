"""The way of one question's documents: each judge grades them, gaps are asked about once more, the panel votes.

Which documents are graded for which question: those that samples retrieved, or a pool of runs and judgments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from claimeval.evaluation.ask import CallAddress
from claimeval.evaluation.judgment import JudgingContext, judge
from claimeval.execution import Executor
from claimeval.ir import Qrels, TrecRun
from claimeval.judging import grade as rate
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt
from claimeval.judging.replies import Reading
from claimeval.types.errors import DataError
from claimeval.types.records import ASKED, Assessment, Call, Document, Evidence, Reason, Record, Sample, Verdict
from claimeval.types.requests import Completion, Judge, Request
from claimeval.types.scales import Scale

PER_CALL = 1
"""Documents in one request unless said otherwise."""


class GradingPlan(NamedTuple):
    """What is asked of every pair of question and document."""

    judges: tuple[Judge, ...]
    prompt: Prompt
    scale: Scale
    panel: Panel
    per_call: int = PER_CALL


class Graded(Record):
    """What was found out about one question and one document; a line of `grades.jsonl`."""

    query: str
    document: str
    grade: int | None = None
    """The panel's grade; None is a hole, never a 0."""
    ungraded_because: Reason | None = None
    """Set exactly when there is no grade."""
    agreement: float | None = None
    """Share of the judges with a grade who gave this one; None for a single judge."""
    verdicts: tuple[Verdict, ...] = ()
    """Of each judge, with its reason in its own words; `subject` is the document."""
    calls: tuple[Call, ...] = ()
    """A call about several documents stands with the first of them."""


@dataclass(frozen=True)
class RelevanceQuestion:
    """How relevant documents are to a question."""

    question: str
    prompt: Prompt
    scale: Scale
    per_call: int
    name = "grade"
    evidence = Evidence(part=ASKED)
    address = CallAddress("rate", "documents")
    singles = ()

    def concerns(self, judge: Judge, subject: Document) -> bool:
        """Every judge is asked."""
        return True

    def ask(
        self, judge: Judge, subjects: Sequence[Document], evidence: Evidence, *, attempt: int, replicate: int
    ) -> Request:
        """Return the request for verdicts on the documents."""
        return rate.ask(self.prompt, judge, self.question, subjects, self.scale, attempt=attempt, replicate=replicate)

    def read(self, completion: Completion, request: Request, subjects: Sequence[Document]) -> Reading[Verdict]:
        """Read the verdicts on the documents."""
        return rate.read(completion, request, subjects, self.scale)


async def grade(item: Candidates, plan: GradingPlan, executor: Executor) -> tuple[Graded, ...]:
    """The grades of some documents, in their order. Pairs without a text are not asked about."""
    documents = [document for document in item.documents if gradable(item.question, document)]
    question = RelevanceQuestion(item.question, plan.prompt, plan.scale, plan.per_call)
    judged = await judge(question, documents, JudgingContext(plan.judges, plan.panel, executor))
    votes = {vote.subject: vote for vote in judged.assessments}
    return tuple(_graded(item.query, document.id, votes.get(document.id), judged.calls) for document in item.documents)


def _graded(query: str, document: str, vote: Assessment | None, calls: Sequence[Call]) -> Graded:
    if vote is None:
        return Graded(query=query, document=document, ungraded_because="missing_input")
    return Graded(
        query=query,
        document=document,
        grade=None if vote.label is None else int(vote.label),
        ungraded_because=vote.unassessed,
        agreement=vote.agreement,
        verdicts=vote.verdicts,
        calls=tuple(call for call in calls if call.subjects[0] == document),
    )


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
    """The documents of a pool. Queries and documents without a text stay in, so that they are counted as missing."""
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
