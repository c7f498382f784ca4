"""Document -> questions that it answers, each with its answer and the passage it rests on."""

from __future__ import annotations

import json

from claimeval.judging import replies
from claimeval.judging.prompts import Prompt, quoted
from claimeval.judging.replies import WrittenQuery, reply_text, shown
from claimeval.judging.reply_values import Unparsable
from claimeval.types.records import Document
from claimeval.types.requests import Completion, Failure, Judge, Request

_FIELDS = {name: {"type": "string"} for name in ("question", "answer", "passage")}
_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "questions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": _FIELDS,
                    "required": list(_FIELDS),
                    "additionalProperties": False,
                },
            }
        },
        "required": ["questions"],
        "additionalProperties": False,
    },
    separators=(",", ":"),
)


def ask(prompt: Prompt, judge: Judge, document: Document, number: int, *, attempt: int = 0) -> Request:
    """The request for at most `number` questions about a document."""
    text = f"{document.title}\n{document.text}" if document.title else document.text
    return Request(
        judge=judge,
        messages=prompt.render({"document": quoted(text), "number": number}),
        reply_format=prompt.reply,
        response_schema=_SCHEMA,
        max_tokens=judge.max_tokens * (2 if attempt else 1),
        attempt=attempt,
        prompt=prompt.digest,
    )


def read(completion: Completion, request: Request) -> tuple[WrittenQuery, ...] | Failure:
    """The questions in the reply; none is a valid reply."""
    text = reply_text(completion, request)
    if isinstance(text, Failure):
        return text
    try:
        return replies.queries_json(text, shown(request))
    except Unparsable as error:
        return Failure(reason="unparsable", message=str(error))
