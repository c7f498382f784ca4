"""Question + documents -> grades of relevance: asks a judge about documents by id and reads one grade per id."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from claimeval.judging import replies
from claimeval.judging.prompts import Prompt, quoted
from claimeval.judging.replies import ParsedGrade, Reading, shown
from claimeval.judging.requests import TEXT, build_request, list_schema, numbered, read_entries, schema_text
from claimeval.types.records import Document, Verdict
from claimeval.types.requests import Completion, Judge, Request
from claimeval.types.scales import Scale


@lru_cache(maxsize=16)
def _schema(scale: Scale) -> str:
    grade = {"type": "integer", "enum": list(scale.steps)}
    return schema_text(list_schema("grades", {"id": TEXT, "reason": TEXT, "grade": grade}))


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
    return build_request(
        prompt,
        judge,
        {
            "question": quoted(question),
            "documents": numbered("d", documents),
            "scale": scale.shown,
        },
        _schema(scale),
        attempt=attempt,
        replicate=replicate,
    )


def read(completion: Completion, request: Request, documents: Sequence[Document], scale: Scale) -> Reading[Verdict]:
    """The grades in the reply, by document."""
    ids = {f"d{i}": document.id for i, document in enumerate(documents, 1)}
    settings = request.judge.id

    def verdict(name: str, said: ParsedGrade) -> Verdict:
        return Verdict(
            subject=ids[name],
            judge=request.judge.name,
            **scale.labeled(scale.of_step(said.grade)),
            replicate=request.replicate,
            explanation=said.explanation,
            prompt=request.prompt_id,
            settings=settings,
        )

    return read_entries(
        completion,
        request,
        ids,
        lambda text: replies.grades_json(text, tuple(ids), scale.steps, shown(request)),
        verdict,
    )
