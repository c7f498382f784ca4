"""Question, answer and document -> whether the question is fit for a test."""

from __future__ import annotations

import json

from claimeval.judging import replies
from claimeval.judging.prompts import Prompt, quoted
from claimeval.judging.replies import SCREENED, QueryCheck, reply_text, shown
from claimeval.judging.reply_values import Unparsable
from claimeval.types.records import Document
from claimeval.types.requests import Completion, Failure, Judge, Request

_FIELDS = {"reason": {"type": "string"}, **{name: {"type": "boolean"} for name in SCREENED}}
_SCHEMA = json.dumps(
    {"type": "object", "properties": _FIELDS, "required": list(_FIELDS), "additionalProperties": False},
    separators=(",", ":"),
)


def ask(prompt: Prompt, judge: Judge, question: str, answer: str, document: Document, *, attempt: int = 0) -> Request:
    """The request for an opinion on a question that was written for a document."""
    text = f"{document.title}\n{document.text}" if document.title else document.text
    return Request(
        judge=judge,
        messages=prompt.render({"document": quoted(text), "question": quoted(question), "answer": quoted(answer)}),
        reply_format=prompt.reply,
        response_schema=_SCHEMA,
        max_tokens=judge.max_tokens * (2 if attempt else 1),
        attempt=attempt,
        prompt=prompt.digest,
    )


def read(completion: Completion, request: Request) -> QueryCheck | Failure:
    """The opinion in the reply; all of it or none."""
    text = reply_text(completion, request)
    if isinstance(text, Failure):
        return text
    try:
        return replies.screening_json(text, shown(request))
    except Unparsable as error:
        return Failure(reason="unparsable", message=str(error))
