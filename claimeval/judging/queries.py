"""Questions for a test set: document -> questions that it answers; question, answer, document -> is it fit for a test.

A written question comes with its answer and the passage it rests on.
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
        number: Greatest number of questions.

    Returns:
        The request.
    """
    variables: dict[str, Value] = {"document": document_text(document), "number": number}
    return build_request(prompt, judge, variables, _WRITTEN)


def read_written(completion: Completion, request: Request) -> tuple[WrittenQuery, ...] | Failure:
    """Return the questions in the reply; none is a valid reply."""
    return read_reply(completion, request, lambda text: replies.queries_json(text, shown(request)))


def ask_to_check(prompt: Prompt, judge: Judge, question: str, answer: str, document: Document) -> Request:
    """Return the request for an opinion on a question that was written for a document.

    Args:
        prompt: The prompt.
        judge: The judge that is asked.
        question: The written question.
        answer: Its answer.
        document: The document.

    Returns:
        The request.
    """
    variables = {"document": document_text(document), "question": quoted(question), "answer": quoted(answer)}
    return build_request(prompt, judge, variables, _CHECKED)


def read_checked(completion: Completion, request: Request) -> QueryCheck | Failure:
    """Return the opinion in the reply; all of it or none."""
    return read_reply(completion, request, lambda text: replies.screening_json(text, shown(request)))
