"""Question, answer and document -> whether the question is fit for a test."""

from __future__ import annotations

from claimeval.judging import replies
from claimeval.judging.prompts import Prompt, quoted
from claimeval.judging.replies import SCREENED, QueryCheck, shown
from claimeval.judging.requests import (
    REASON,
    YES_OR_NO,
    build_request,
    document_text,
    object_schema,
    read_reply,
    schema_text,
)
from claimeval.types.records import Document
from claimeval.types.requests import Completion, Failure, Judge, Request

_SCHEMA = schema_text(object_schema({"reason": REASON, **dict.fromkeys(SCREENED, YES_OR_NO)}))


def ask(prompt: Prompt, judge: Judge, question: str, answer: str, document: Document, *, attempt: int = 0) -> Request:
    """Return the request for an opinion on a question that was written for a document.

    Args:
        prompt: The prompt.
        judge: The judge that is asked.
        question: The written question.
        answer: Its answer.
        document: The document.
        attempt: Number of earlier attempts.

    Returns:
        The request.
    """
    variables = {"document": document_text(document), "question": quoted(question), "answer": quoted(answer)}
    return build_request(prompt, judge, variables, _SCHEMA, attempt=attempt)


def read(completion: Completion, request: Request) -> QueryCheck | Failure:
    """The opinion in the reply; all of it or none."""
    return read_reply(completion, request, lambda text: replies.screening_json(text, shown(request)))
