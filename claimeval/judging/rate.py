"""Question + whole answer, with what it is held against -> one word about it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from claimeval.judging import replies
from claimeval.judging.prompts import Prompt, quoted
from claimeval.judging.replies import ParsedReply, shown
from claimeval.judging.requests import (
    REASON,
    YES_OR_NO,
    build_request,
    numbered,
    object_schema,
    read_reply,
    schema_text,
)
from claimeval.types.records import Document, Sample, Verdict
from claimeval.types.requests import Completion, Failure, Judge, Request
from claimeval.types.scales import FLAG, RatingQuestion


@lru_cache(maxsize=16)
def _schema(question: RatingQuestion) -> str:
    word = {"type": "string", "enum": list(question.scale.words)}
    flags = dict.fromkeys(question.flags, YES_OR_NO)
    return schema_text(object_schema({"reason": REASON, question.field: word, **flags}))


def ask(
    prompt: Prompt, judge: Judge, question: RatingQuestion, sample: Sample, documents: Sequence[Document]
) -> Request:
    """Return the request for one word about a sample's answer.

    Args:
        prompt: The prompt.
        judge: The judge that is asked.
        question: The question about the answer, with its words.
        sample: The sample.
        documents: What the answer is held against, of the part that the question names.

    Returns:
        The request.
    """
    parts = {part: sample.documents(part) or () for part in ("contexts", "reference")}
    if question.against:
        parts[question.against] = tuple(documents)
    return build_request(
        prompt,
        judge,
        {
            "question": quoted(sample.full_question),
            "answer": quoted(sample.answer or ""),
            "contexts": numbered("d", parts["contexts"]),
            "references": numbered("r", parts["reference"]),
        },
        _schema(question),
    )


def read(
    completion: Completion, request: Request, question: RatingQuestion, subject: str
) -> ParsedReply[tuple[Verdict, ...]]:
    """Return the verdicts on the subject: the word in the reply, exactly as offered, and one for each flag.

    Args:
        completion: The reply.
        request: The request it replies to.
        question: The question about the answer, with its words.
        subject: Id of the answer.

    Returns:
        The verdicts, or the reason why there are none.
    """
    parsed = read_reply(
        completion,
        request,
        lambda text: replies.rating_json(text, question.field, question.scale.words, question.flags, shown(request)),
    )
    if isinstance(parsed, Failure):
        return ParsedReply(failure=parsed)
    flags = [FLAG.labeled("yes" if flag in parsed.flags else "no") for flag in question.flags]
    verdicts = [
        Verdict(
            judge=request.judge.name,
            **labeled,
            replicate=request.replicate,
            explanation=parsed.explanation,
            prompt=request.prompt_id,
            call=request.key,
        )
        for labeled in (question.scale.labeled(parsed.word), *flags)
    ]
    return ParsedReply({subject: tuple(verdicts)})
