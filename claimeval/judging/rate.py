"""Ask a judge to rate a whole answer with one word, and read the rating."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from claimeval.judging import replies
from claimeval.judging.prompts import Prompt, Value, quoted
from claimeval.judging.replies import shown
from claimeval.judging.reply_values import ParsedReply
from claimeval.judging.requests import (
    REASON,
    YES_OR_NO,
    build_request,
    numbered,
    object_schema,
    read_reply,
    schema_text,
    verdict_of,
)
from claimeval.types.records import Document, ReadVerdict, Sample
from claimeval.types.requests import Completion, Failure, Judge, Request
from claimeval.types.scales import FLAG, RatingQuestion


@lru_cache(maxsize=16)
def _schema(question: RatingQuestion) -> str:
    word = {"type": "string", "enum": list(question.scale.words)}
    flags = dict.fromkeys(question.flags, YES_OR_NO)
    return schema_text(object_schema({"reason": REASON, question.field: word, **flags}))


def ask(
    prompt: Prompt,
    judge: Judge,
    question: RatingQuestion,
    sample: Sample,
    documents: Sequence[Document],
) -> Request:
    """Return the request for a rating of a sample's answer.

    Args:
        prompt: The prompt.
        judge: The judge.
        question: The rating question, with its words.
        sample: The sample.
        documents: The documents of the part that the answer is rated against.
    """
    parts = {part: sample.documents(part) or () for part in ("contexts", "reference")}
    if question.criterion:
        parts = dict.fromkeys(parts, ())
    if question.against:
        parts[question.against] = tuple(documents)
    variables: dict[str, Value] = {
        "question": quoted(sample.full_question),
        "answer": quoted(sample.answer or ""),
        "contexts": numbered("d", parts["contexts"]),
        "references": numbered("r", parts["reference"]),
        "criterion": quoted(question.criterion),
    }
    return build_request(prompt, judge, variables, _schema(question))


def read(
    completion: Completion, request: Request, question: RatingQuestion, subject: str
) -> ParsedReply[tuple[ReadVerdict, ...]]:
    """Return the verdicts in the reply: one for the rating and one for each flag.

    Args:
        completion: The reply.
        request: The request.
        question: The rating question, with its words.
        subject: Id of the answer.
    """
    parsed = read_reply(
        completion,
        request,
        lambda text: replies.rating_json(
            text, question.field, question.scale.words, question.flags, shown(request)
        ),
    )
    if isinstance(parsed, Failure):
        return ParsedReply(failure=parsed)
    flags = [FLAG.labeled("yes" if flag in parsed.flags else "no") for flag in question.flags]
    verdicts = [
        verdict_of(completion, request, explanation=parsed.explanation, **labeled)
        for labeled in (question.scale.labeled(parsed.word), *flags)
    ]
    return ParsedReply({subject: tuple(verdicts)})
