"""The way of one document: a judge writes questions about it, rules and a second look sort out what is of no use."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from claimeval.calls import Failure, Judge
from claimeval.execution import Executor
from claimeval.execution.side_by_side import side_by_side
from claimeval.hearing import hear
from claimeval.prompting import Prompt
from claimeval.records import Call, Document, Reason, Record
from claimeval.replies import WrittenQuery
from claimeval.steps import screen, write_queries
from claimeval.test_sets.rules import rejected


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
    reason: str | None = None
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
    heard = await hear(
        "queries",
        lambda attempt: write_queries.ask(plan.write_prompt, plan.writer, document, plan.per_document, attempt=attempt),
        write_queries.read,
        executor,
        part="document",
        about=document.id,
    )
    found = heard.said
    if isinstance(found, Failure):
        return Written(document=document.id, failed_because=found.reason, calls=heard.calls)
    checked: list[_Checked] = await side_by_side(
        [_check(query, document, plan, executor) for query in found[: plan.per_document]]
    )
    return Written(
        document=document.id,
        queries=tuple(one.query for one in checked),
        calls=(*heard.calls, *(call for one in checked for call in one.calls)),
    )


async def _check(written: WrittenQuery, document: Document, plan: WritingPlan, executor: Executor) -> _Checked:
    name = sha256(f"{document.id}\n{written.question}".encode("utf-8", "surrogatepass")).hexdigest()[:12]
    query = Query(id=f"q-{name}", question=written.question, answer=written.answer, passage=written.passage)
    if why := rejected(written, document):
        return _Checked(query.model_copy(update={"rejected": (why,)}), ())
    heard = await hear(
        "screen",
        lambda attempt: screen.ask(
            plan.check_prompt, plan.checker, written.question, written.answer, document, attempt=attempt
        ),
        screen.read,
        executor,
        part="document",
        about=document.id,
    )
    said = heard.said
    if isinstance(said, Failure):
        return _Checked(query.model_copy(update={"unchecked_because": said.reason}), heard.calls)
    not_so = tuple(f"not {name}" for name in said.failed)
    return _Checked(query.model_copy(update={"rejected": not_so, "reason": said.reason}), heard.calls)
