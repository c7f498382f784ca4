"""Question + whole answer, with what it is held against -> one word about it."""

from __future__ import annotations

import json
from functools import lru_cache

from claimeval.judging import replies
from claimeval.judging.prompts import Prompt, Value, quoted
from claimeval.judging.replies import Rating, reply_text, shown
from claimeval.judging.reply_values import Unparsable
from claimeval.types.answer_questions import AnswerQuestion
from claimeval.types.records import Document, Sample
from claimeval.types.requests import Completion, Failure, Judge, Request


@lru_cache(maxsize=16)
def _schema(question: AnswerQuestion) -> str:
    fields = {
        "reason": {"type": "string"},
        question.field: {"type": "string", "enum": list(question.scale.words)},
        **{flag: {"type": "boolean"} for flag in question.flags},
    }
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return json.dumps(schema, separators=(",", ":"))


def ask(
    prompt: Prompt, judge: Judge, question: AnswerQuestion, sample: Sample, *, attempt: int = 0, replicate: int = 0
) -> Request:
    """The request for one word about a sample's answer."""
    return Request(
        judge=judge,
        messages=prompt.render(
            {
                "question": quoted(sample.question),
                "answer": quoted(sample.answer or ""),
                "contexts": _listed("d", sample.documents("contexts") or ()),
                "references": _listed("r", sample.documents("reference") or ()),
            }
        ),
        reply_format=prompt.reply,
        response_schema=_schema(question),
        max_tokens=judge.max_tokens * (2 if attempt else 1),
        replicate=replicate,
        attempt=attempt,
        prompt=prompt.digest,
    )


def _listed(letter: str, documents: tuple[Document, ...]) -> list[Value]:
    return [
        {"id": f"{letter}{i}", "text": quoted(f"{d.title}\n{d.text}" if d.title else d.text)}
        for i, d in enumerate(documents, 1)
    ]


def read(completion: Completion, request: Request, question: AnswerQuestion) -> Rating | Failure:
    """The word in the reply, exactly as offered, with its flags."""
    text = reply_text(completion, request)
    if isinstance(text, Failure):
        return text
    try:
        return replies.rating_json(text, question.field, question.scale.words, question.flags, shown(request))
    except Unparsable as error:
        return Failure(reason="unparsable", message=str(error))
