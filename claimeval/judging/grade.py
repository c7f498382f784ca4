"""Ask a judge to grade documents by their relevance to a question, and read one grade per
document."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from claimeval.judging import replies, typed
from claimeval.judging.prompts import Prompt, quoted
from claimeval.judging.replies import ParsedGrade, shown
from claimeval.judging.reply_values import ParsedReply
from claimeval.judging.requests import (
    REASON,
    build_request,
    closed_schema,
    document_plain,
    numbered,
    read_entries,
    schema_text,
    verdict_of,
)
from claimeval.types.records import Document, ReadVerdict
from claimeval.types.requests import Completion, Judge, Request, TypedQuestion, TypedTask
from claimeval.types.scales import MATCH, Scale


@lru_cache(maxsize=256)
def _schema(scale: Scale, documents: int) -> str:
    grade = {"type": "integer", "enum": list(scale.steps)}
    ids = [f"d{i}" for i in range(1, documents + 1)]
    return schema_text(closed_schema("grades", ids, {"reason": REASON, "grade": grade}))


def ask(
    prompt: Prompt,
    judge: Judge,
    question: str,
    documents: Sequence[Document],
    scale: Scale,
) -> Request:
    """Return the request for grades of documents, shown as d1, d2, ...

    Args:
        prompt: The prompt.
        judge: The judge.
        question: The query.
        documents: The documents to grade.
        scale: The scale of the grades.
    """
    if judge.is_engine or judge.asks:
        return typed.ask(prompt, judge, _task(question, documents, scale), question)
    variables = {
        "question": quoted(question),
        "documents": numbered("d", documents),
        "scale": scale.shown,
    }
    return build_request(prompt, judge, variables, _schema(scale, len(documents)))


def _task(question: str, documents: Sequence[Document], scale: Scale) -> TypedTask:
    """Return the question as a typed task."""
    is_match = scale == MATCH
    inputs = [("Passage" if is_match else "Question", question)]
    questions = []
    for number, document in enumerate(documents, 1):
        inputs.append((f"Document d{number}", document_plain(document)))
        asks = f"Does the document d{number} hold what the passage says?"
        if not is_match:
            asks = f"How well does the document d{number} answer the question?"
        questions.append(TypedQuestion(asks, scale, document.id))
    alone = is_match and len(documents) == 1
    support = typed.support(question, documents, scale) if alone else None
    return TypedTask(tuple(inputs), tuple(questions), support)


def read(
    completion: Completion,
    request: Request,
    documents: Sequence[Document],
    scale: Scale,
) -> ParsedReply[tuple[ReadVerdict, ...]]:
    """Return a verdict for each document in the reply, or why there is none.

    Args:
        completion: The reply.
        request: The request.
        documents: The documents of the request, in order.
        scale: The scale of the grades.
    """
    if isinstance(request.task, TypedTask):
        return typed.read_by_subject(completion, request)
    ids = {f"d{i}": document.id for i, document in enumerate(documents, 1)}

    def verdict(name: str, parsed: ParsedGrade) -> tuple[ReadVerdict, ...]:
        """Return the verdict on the document with this name."""
        labeled = scale.labeled(scale.of_step(parsed.grade))
        return (verdict_of(completion, request, explanation=parsed.explanation, **labeled),)

    return read_entries(
        completion,
        request,
        ids,
        lambda text: replies.grades_json(text, tuple(ids), scale.steps, shown(request)),
        verdict,
    )
