"""Document -> questions that it answers, each with its answer and the passage it rests on."""

from __future__ import annotations

from claimeval.judging import replies
from claimeval.judging.prompts import Prompt, Value
from claimeval.judging.replies import WrittenQuery, shown
from claimeval.judging.requests import TEXT, build_request, document_text, list_schema, read_reply, schema_text
from claimeval.types.records import Document
from claimeval.types.requests import Completion, Failure, Judge, Request

_SCHEMA = schema_text(list_schema("questions", dict.fromkeys(WrittenQuery._fields, TEXT)))


def ask(prompt: Prompt, judge: Judge, document: Document, number: int, *, attempt: int = 0) -> Request:
    """Return the request for questions about a document.

    Args:
        prompt: The prompt.
        judge: The model that writes.
        document: The document.
        number: Greatest number of questions.
        attempt: Number of earlier attempts.

    Returns:
        The request.
    """
    variables: dict[str, Value] = {"document": document_text(document), "number": number}
    return build_request(prompt, judge, variables, _SCHEMA, attempt=attempt)


def read(completion: Completion, request: Request) -> tuple[WrittenQuery, ...] | Failure:
    """The questions in the reply; none is a valid reply."""
    return read_reply(completion, request, lambda text: replies.queries_json(text, shown(request)))
