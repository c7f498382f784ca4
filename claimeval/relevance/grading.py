"""The way of one question's documents: each judge grades them, gaps are asked about once more, the panel votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from claimeval import panel
from claimeval.assessing import ATTEMPTS
from claimeval.calls import Failure, Judge
from claimeval.execution import Executor
from claimeval.execution.side_by_side import side_by_side
from claimeval.panel import Panel
from claimeval.prompting import Prompt
from claimeval.records import ASKED, Call, Document, Evidence, Reason, Record, Verdict
from claimeval.relevance.pairs import Candidates, gradable
from claimeval.relevance_scales import RelevanceScale
from claimeval.steps import rate
from claimeval.steps.call_record import call_record
from claimeval.steps.reply_text import Reading

PER_CALL = 1
"""Documents in one request unless said otherwise."""


class GradingPlan(NamedTuple):
    """What is asked of every pair of question and document."""

    judges: tuple[Judge, ...]
    prompt: Prompt
    scale: RelevanceScale
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
    """Of each judge, with its reason in its own words; `claim_id` is the document."""
    calls: tuple[Call, ...] = ()
    """A call about several documents stands with the first of them."""


class _Asked(NamedTuple):
    verdicts: tuple[Verdict, ...]
    calls: tuple[Call, ...]


async def grade(item: Candidates, plan: GradingPlan, executor: Executor) -> tuple[Graded, ...]:
    """The grades of some documents, in their order. Pairs without a text are not asked about."""
    documents = tuple(document for document in item.documents if gradable(item.question, document))
    asked: list[_Asked] = await side_by_side(
        [
            _ask_judge(item.question, documents, judge, n, plan, executor)
            for judge in plan.judges
            for n in range(plan.panel.replicates)
            if documents
        ]
    )
    verdicts = [verdict for one in asked for verdict in one.verdicts]
    calls = [call for one in asked for call in one.calls]
    return tuple(_graded(item.query, document, verdicts, calls, plan.panel) for document in item.documents)


def _graded(
    query: str, document: Document, verdicts: Sequence[Verdict], calls: Sequence[Call], settings: Panel
) -> Graded:
    mine = tuple(verdict for verdict in verdicts if verdict.claim_id == document.id)
    if not mine:
        return Graded(query=query, document=document.id, ungraded_because="missing_input")
    vote = panel.vote(document.id, Evidence(part=ASKED), mine, settings)
    return Graded(
        query=query,
        document=document.id,
        grade=vote.grade,
        ungraded_because=vote.unassessed_because or ("tie" if vote.grade is None else None),
        agreement=vote.agreement,
        verdicts=mine,
        calls=tuple(call for call in calls if call.claim_ids[0] == document.id),
    )


async def _ask_judge(
    question: str, documents: tuple[Document, ...], judge: Judge, replicate: int, plan: GradingPlan, executor: Executor
) -> _Asked:
    """One judge's grades; documents that a reply leaves out, or all after a useless one, are asked about once more."""
    found: dict[str, Verdict] = {}
    calls: list[Call] = []
    missing = documents
    reasons: dict[str, Reason] = {}
    for attempt in range(ATTEMPTS):
        request = rate.ask(plan.prompt, judge, question, missing, plan.scale, attempt=attempt, replicate=replicate)
        outcome = await executor.ask(request)
        if isinstance(outcome, Failure):
            reading = Reading((), missing, outcome)
        else:
            reading = rate.read(outcome, request, missing, plan.scale)
        ids = [document.id for document in missing]
        record = call_record(
            "rate", request, outcome, reading.failure, "documents", claim_ids=ids, message=reading.message
        )
        calls.append(record)
        found |= {verdict.claim_id: verdict for verdict in reading.verdicts}
        missing = reading.missing
        reasons = {document.id: reading.reason(document) for document in missing}
        if not set(reasons.values()) & {"incomplete", "unparsable", "truncated"}:
            break
    holes = {document.id: _hole(document, judge, replicate, reasons[document.id]) for document in missing}
    return _Asked(tuple((found | holes)[document.id] for document in documents), tuple(calls))


def _hole(document: Document, judge: Judge, replicate: int, reason: Reason) -> Verdict:
    return Verdict(
        claim_id=document.id, judge=judge.name, label="unassessed", unassessed_because=reason, replicate=replicate
    )
