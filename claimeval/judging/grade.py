"""Question + documents -> grades of relevance: asks a judge about documents by id and reads one grade per id."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from claimeval.judging import replies
from claimeval.judging.prompts import Prompt, quoted
from claimeval.judging.replies import Reading, reply_text, shown
from claimeval.judging.reply_values import Unparsable
from claimeval.types.records import Document, Verdict
from claimeval.types.requests import Completion, Failure, Judge, Request
from claimeval.types.scales import Scale


@lru_cache(maxsize=16)
def _schema(scale: Scale) -> str:
    grade = {
        "id": {"type": "string"},
        "reason": {"type": "string"},
        "grade": {"type": "integer", "enum": list(scale.steps)},
    }
    items = {"type": "object", "properties": grade, "required": list(grade), "additionalProperties": False}
    schema = {
        "type": "object",
        "properties": {"grades": {"type": "array", "items": items}},
        "required": ["grades"],
        "additionalProperties": False,
    }
    return json.dumps(schema, separators=(",", ":"))


def ask(
    prompt: Prompt,
    judge: Judge,
    question: str,
    documents: Sequence[Document],
    scale: Scale,
    *,
    attempt: int = 0,
    replicate: int = 0,
) -> Request:
    """The request for grades of `documents`, which the judge sees as d1, d2, ..."""
    messages = prompt.render(
        {
            "question": quoted(question),
            "documents": [
                {"id": f"d{i}", "text": quoted(f"{d.title}\n{d.text}" if d.title else d.text)}
                for i, d in enumerate(documents, 1)
            ],
            "scale": scale.shown,
        }
    )
    return Request(
        judge=judge,
        messages=messages,
        reply_format=prompt.reply,
        response_schema=_schema(scale),
        max_tokens=judge.max_tokens * (2 if attempt else 1),
        replicate=replicate,
        attempt=attempt,
        prompt=prompt.digest,
    )


def read(completion: Completion, request: Request, documents: Sequence[Document], scale: Scale) -> Reading[Document]:
    """The grades in the reply. `missing` are the documents without one."""
    text = reply_text(completion, request)
    if isinstance(text, Failure):
        return Reading((), tuple(documents), text)
    by_id = {f"d{i}": document for i, document in enumerate(documents, 1)}
    try:
        found = replies.grades_json(text, tuple(by_id), scale.steps, shown(request))
    except Unparsable as error:
        return Reading((), tuple(documents), Failure(reason="unparsable", message=str(error)))
    verdicts = tuple(
        Verdict(
            claim_id=by_id[short].id,
            judge=request.judge.name,
            label=scale.grade_label(said.grade),
            grade=said.grade,
            replicate=request.replicate,
            reason=said.reason,
        )
        for short, said in found.by_id.items()
    )
    missing = tuple(document for short, document in by_id.items() if short not in found.by_id)
    return Reading(verdicts, missing, None, {by_id[short].id: why for short, why in found.unread.items()})
