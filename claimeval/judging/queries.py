"""Ask a judge to write test questions about a document, and to check a written question.

A written question comes with its answer and the passage that supports it.
"""

from __future__ import annotations

from claimeval.judging import replies
from claimeval.judging.prompts import Prompt, Value, quoted
from claimeval.judging.replies import SCREENED, QueryCheck, WrittenQuery, shown
from claimeval.judging.requests import (
    REASON,
    TEXT,
    YES_OR_NO,
    build_request,
    document_text,
    list_schema,
    object_schema,
    read_reply,
    schema_text,
)
from claimeval.types.records import Document
from claimeval.types.requests import Completion, Failure, Judge, Request

_WRITTEN = schema_text(list_schema("questions", dict.fromkeys(WrittenQuery._fields, TEXT)))
_CHECKED = schema_text(object_schema({"reason": REASON, **dict.fromkeys(SCREENED, YES_OR_NO)}))


def ask_to_write(prompt: Prompt, judge: Judge, document: Document, number: int) -> Request:
    """Return the request for questions about a document.

    Args:
        prompt: The prompt.
        judge: The model that writes.
        document: The document.
        number: Maximum number of questions.
    """
    variables: dict[str, Value] = {"document": document_text(document), "number": number}
    return build_request(prompt, judge, variables, _WRITTEN)


def read_written(completion: Completion, request: Request) -> tuple[WrittenQuery, ...] | Failure:
    """Return the questions in the reply, which may be none."""
    return read_reply(completion, request, lambda text: replies.queries_json(text, shown(request)))


def ask_to_check(
    prompt: Prompt,
    judge: Judge,
    question: str,
    answer: str,
    document: Document,
) -> Request:
    """Return the request to check a question that was written for a document.

    Args:
        prompt: The prompt.
        judge: The judge.
        question: The written question.
        answer: Its answer.
        document: The document.
    """
    variables = {
        "document": document_text(document),
        "question": quoted(question),
        "answer": quoted(answer),
    }
    return build_request(prompt, judge, variables, _CHECKED)


def read_checked(completion: Completion, request: Request) -> QueryCheck | Failure:
    """Return the check in the reply; a reply that lacks one of the criteria is a failure."""
    return read_reply(
        completion, request, lambda text: replies.screening_json(text, shown(request))
    )
