"""The way of one document: a judge writes questions about it, rules and a second look sort out what is of no use.

What a written question must be before a judge is asked about it; each rule says in words why one is rejected.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import NamedTuple

from rapidfuzz import fuzz

from claimeval.evaluation.ask import CallAddress, ask_until_read
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import check_query, write_query
from claimeval.judging.prompts import Prompt
from claimeval.judging.replies import WrittenQuery
from claimeval.types.records import Call, Document, Reason, Record
from claimeval.types.requests import Failure, Judge


class WritingPlan(NamedTuple):
    """What is asked about every document."""

    writer: Judge
    checker: Judge
    write_prompt: Prompt
    check_prompt: Prompt
    per_document: int


class Query(Record):
    """A question that was written, whether it is kept or not."""

    id: str
    question: str
    answer: str
    passage: str
    rejected: tuple[str, ...] = ()
    """Why it is not kept: a rule, or what the checker says it is not."""
    explanation: str | None = None
    """The checker's own words."""
    unchecked_because: Reason | None = None
    """Why the checker gave no opinion; such a question is not kept."""

    @property
    def kept(self) -> bool:
        return not self.rejected and self.unchecked_because is None


class Written(Record):
    """What was found out about one document; a line of `written.jsonl`."""

    document: str
    queries: tuple[Query, ...] = ()
    failed_because: Reason | None = None
    """Set when the writer gave no usable reply."""
    calls: tuple[Call, ...] = ()


class _Checked(NamedTuple):
    query: Query
    calls: tuple[Call, ...]


async def write(document: Document, plan: WritingPlan, executor: Executor) -> Written:
    """The questions about one document, those of no use with the reason."""
    reply = await ask_until_read(
        lambda attempt: write_query.ask(plan.write_prompt, plan.writer, document, plan.per_document, attempt=attempt),
        write_query.read,
        executor,
        CallAddress("queries", "document"),
        document.id,
    )
    if isinstance(reply.value, Failure):
        return Written(document=document.id, failed_because=reply.value.reason, calls=reply.calls)
    checked: list[_Checked] = await gather_all(
        [_check(query, document, plan, executor) for query in reply.value[: plan.per_document]]
    )
    return Written(
        document=document.id,
        queries=tuple(one.query for one in checked),
        calls=(*reply.calls, *(call for one in checked for call in one.calls)),
    )


async def _check(written: WrittenQuery, document: Document, plan: WritingPlan, executor: Executor) -> _Checked:
    name = sha256(f"{document.id}\n{written.question}".encode("utf-8", "surrogatepass")).hexdigest()[:12]
    query = Query(id=f"q-{name}", question=written.question, answer=written.answer, passage=written.passage)
    if why := rejected(written, document):
        return _Checked(query.model_copy(update={"rejected": (why,)}), ())
    reply = await ask_until_read(
        lambda attempt: check_query.ask(
            plan.check_prompt, plan.checker, written.question, written.answer, document, attempt=attempt
        ),
        check_query.read,
        executor,
        CallAddress("screen", "document"),
        document.id,
    )
    if isinstance(reply.value, Failure):
        return _Checked(query.model_copy(update={"unchecked_because": reply.value.reason}), reply.calls)
    not_so = tuple(f"not {name}" for name in reply.value.failed)
    return _Checked(query.model_copy(update={"rejected": not_so, "explanation": reply.value.explanation}), reply.calls)


VERBATIM = 90.0
"""From which `rapidfuzz.fuzz.partial_ratio` on, of 100, a question is a copy of its document's own words."""
WORDS = (3, 60)
"""A question has at least and at most so many words; scripts without spaces are not counted."""

_POINTS = re.compile(
    r"\b(?:(?:this|the|that|given|provided|above|following)\s+(?:document|passage|text|excerpt|article|paragraph|"
    r"section|page|context|table|figure|chapter|snippet)|(?:mentioned|described|stated|listed|shown|discussed)\s+"
    r"(?:above|here|below))\b",
    re.IGNORECASE,
)


def rejected(query: WrittenQuery, document: Document) -> str | None:
    """Why the question is of no use; None where every rule is kept."""
    text = _folded(document.text)
    words = len(query.question.split())
    if query.question.isascii() and not WORDS[0] <= words <= WORDS[1]:
        return "too short or too long"
    if _folded(query.passage) not in text:
        return "passage not in the document"
    if _POINTS.search(query.question):
        return "points at the document"
    if _folded(query.answer) in _folded(query.question):
        return "gives its answer away"
    asked = _folded(query.question).rstrip("?!. ")
    if fuzz.partial_ratio(asked, text, score_cutoff=VERBATIM):
        return "copied from the document"
    return None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
