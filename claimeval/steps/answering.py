"""Question + answer -> whether the answer answers it, answers a part of it, or declines to."""

from __future__ import annotations

import json

from claimeval import replies
from claimeval.calls import Completion, Failure, Judge, Request
from claimeval.prompting import Prompt, quoted
from claimeval.replies import KINDS, Answering
from claimeval.steps.reply_text import reply_text

_FIELDS = {"reason": {"type": "string"}, "kind": {"type": "string", "enum": list(KINDS)}}
_SCHEMA = json.dumps(
    {"type": "object", "properties": _FIELDS, "required": list(_FIELDS), "additionalProperties": False},
    separators=(",", ":"),
)


def ask(prompt: Prompt, judge: Judge, question: str, answer: str, *, attempt: int = 0) -> Request:
    """The request for the kind of an answer."""
    return Request(
        judge=judge,
        messages=prompt.render({"question": quoted(question), "answer": quoted(answer)}),
        reply_format=prompt.reply,
        response_schema=_SCHEMA,
        max_tokens=judge.max_tokens * (2 if attempt else 1),
        attempt=attempt,
        prompt=prompt.digest,
    )


def read(completion: Completion, request: Request) -> Answering | Failure:
    """The kind in the reply, exactly as offered."""
    text = reply_text(completion, request.judge)
    if isinstance(text, Failure):
        return text
    try:
        return replies.answering_json(text)
    except replies.Unparsable as error:
        return Failure(reason="unparsable", message=str(error))
