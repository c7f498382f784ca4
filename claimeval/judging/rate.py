"""Ask a judge to rate a whole answer with one word, and read the rating."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from claimeval.judging import replies, typed
from claimeval.judging.prompts import Prompt, Value, quoted
from claimeval.judging.replies import shown
from claimeval.judging.reply_values import ParsedReply
from claimeval.judging.requests import (
    REASON,
    YES_OR_NO,
    build_request,
    document_plain,
    numbered,
    object_schema,
    read_reply,
    schema_text,
    verdict_of,
)
from claimeval.types.records import Document, ReadVerdict, Sample
from claimeval.types.requests import (
    Completion,
    Failure,
    Judge,
    Request,
    TypedQuestion,
    TypedTask,
)
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
    if judge.is_engine or judge.asks:
        return typed.ask(prompt, judge, _task(question, sample, documents), sample.full_question)
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


_HEADINGS = {"contexts": "Document", "reference": "Reference answer"}


def _task(question: RatingQuestion, sample: Sample, documents: Sequence[Document]) -> TypedTask:
    """Return the question as a typed task, with a question for each flag."""
    answer = sample.answer or ""
    heading = _HEADINGS.get(question.against or "", "Document")
    inputs = [("Question", sample.full_question)]
    inputs += [(heading, document_plain(document)) for document in documents]
    inputs.append(("Answer", answer))
    if question.criterion:
        inputs.append(("Criterion", question.criterion))
    scale = question.scale.model_copy(update={"meanings": question.meanings})
    questions = [TypedQuestion(question.asks, scale)]
    for flag, meanings in zip(question.flags, question.flag_meanings, strict=True):
        flagged = FLAG.model_copy(update={"meanings": meanings})
        questions.append(TypedQuestion(f"Is the answer {flag}?", flagged))
    support = typed.support(answer, documents, question.scale) if question.is_support else None
    return TypedTask(tuple(inputs), tuple(questions), support)


def _read_typed(
    completion: Completion,
    request: Request,
    task: TypedTask,
    subject: str,
) -> ParsedReply[tuple[ReadVerdict, ...]]:
    """Return the verdicts in the reply to a typed task, which has an answer to every question."""
    answers = typed.read(completion, request)
    verdicts = []
    for number, scale in enumerate(task.scales, 1):
        name = f"c{number}"
        answer = answers.values.get(name)
        if answer is None:
            unread = {subject: answers.unread[name]} if name in answers.unread else {}
            return ParsedReply({}, answers.failure, unread)
        verdicts.append(typed.verdict(completion, request, scale, answer))
    return ParsedReply({subject: tuple(verdicts)})


def read(
    completion: Completion,
    request: Request,
    question: RatingQuestion,
    subject: str,
) -> ParsedReply[tuple[ReadVerdict, ...]]:
    """Return the verdicts in the reply: one for the rating and one for each flag.

    Args:
        completion: The reply.
        request: The request.
        question: The rating question, with its words.
        subject: Id of the answer.
    """
    if isinstance(request.task, TypedTask):
        return _read_typed(completion, request, request.task, subject)
    parsed = read_reply(
        completion,
        request,
        lambda text: replies.rating_json(
            text,
            question.field,
            question.scale.words,
            question.flags,
            shown(request),
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
