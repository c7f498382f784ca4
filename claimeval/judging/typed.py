"""Typed questions about answers and documents, for judges that read no prompts, and their answers.

A question that asks whether documents support a text also has that form, which every judge of
claims can answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from claimeval.judging import checkers, replies
from claimeval.judging.prompts import Prompt
from claimeval.judging.replies import ParsedVerdict, reply_text
from claimeval.judging.reply_values import ParsedReply, Unparsable
from claimeval.judging.requests import build_request, read_reply, unassessed, verdict_of
from claimeval.types.checkers import SUPPORTED
from claimeval.types.records import Claim, Document, Evidence, ReadVerdict
from claimeval.types.requests import (
    AssessTask,
    Completion,
    Failure,
    Judge,
    Request,
    TypedTask,
)
from claimeval.types.scales import Scale


class ClaimAndDocument(NamedTuple):
    """A claim and a single document, which is one of several in the request."""

    id: str
    subject: Any
    evidence: Evidence
    document: Document


def support(
    text: str,
    documents: Sequence[Document],
    scale: Scale,
    *,
    alternatives: bool = False,
) -> AssessTask:
    """Return the question whether documents support a text.

    Args:
        text: The text, as a claim.
        documents: The documents.
        scale: The scale of the question, of whose two words one is positive.
        alternatives: Whether one document that supports the text is enough.
    """
    claim = Claim(id="c1", of="answer", text=text, grounding="given")
    positive = next(word for word in scale.words if scale.positive(word))
    negative = next(word for word in scale.words if not scale.positive(word))
    words = Scale(
        name=scale.name,
        words=("supported", "not_found"),
        replies=(positive, negative),
        values=(1, 0),
    )
    return AssessTask((claim,), tuple(documents), words, alternatives)


def ask(prompt: Prompt, judge: Judge, task: TypedTask, question: str = "") -> Request:
    """Return the request of a judge that reads no prompts.

    Args:
        prompt: The prompt of the question, which a run records.
        judge: An engine, or a checker, which is asked about support.
        task: The task.
        question: The question of the sample, which a checker may read.
    """
    if not judge.asks:
        return build_request(prompt, judge, None, "", task)
    assert task.support is not None, "checkers are asked about support only"
    (claim,) = task.support.claims
    asked = checkers.question(judge, claim.text, task.support.documents, question)
    return Request(
        judge=judge,
        messages=asked.messages,
        reply_format="json",
        max_tokens=judge.max_tokens,
        top_logprobs=judge.top_logprobs,
        prompt=prompt.digest,
        task=task,
        chat_template=asked.chat_template,
    )


def read(completion: Completion, request: Request) -> ParsedReply[ParsedVerdict]:
    """Return the answers to the questions by name (c1, c2, ...), or why there is none."""
    task = request.task
    assert isinstance(task, TypedTask)
    if request.judge.asks:
        return _read_checker(completion, request, task)
    text = reply_text(completion, request)
    if isinstance(text, Failure):
        return ParsedReply(failure=text)
    names = [f"c{number}" for number in range(1, len(task.questions) + 1)]
    values = {}
    unread = {}
    # Each question has its own words, so that the reply is read once for each scale.
    for name, scale in zip(names, task.scales, strict=True):
        try:
            entries = replies.verdicts_json(text, names, scale, computed=True)
        except Unparsable as error:
            return ParsedReply(failure=Failure(reason="unparsable", message=str(error)))
        if name in entries.values:
            values[name] = entries.values[name]
        elif name in entries.unread:
            unread[name] = entries.unread[name]
    return ParsedReply(values, None, unread)


def read_by_subject(
    completion: Completion, request: Request
) -> ParsedReply[tuple[ReadVerdict, ...]]:
    """Return the verdict on the subject of each question."""
    task = request.task
    assert isinstance(task, TypedTask)
    answers = read(completion, request)
    questions = {f"c{number}": each for number, each in enumerate(task.questions, 1)}
    values = {}
    for name, answer in answers.values.items():
        question = questions[name]
        values[question.subject] = (verdict(completion, request, question.scale, answer),)
    unread = {questions[name].subject: why for name, why in answers.unread.items()}
    return ParsedReply(values, answers.failure, unread)


def verdict(
    completion: Completion,
    request: Request,
    scale: Scale,
    answer: ParsedVerdict,
) -> ReadVerdict:
    """Return the verdict of an answer on a scale.

    Args:
        completion: The reply.
        request: The request.
        scale: The scale of the question.
        answer: The answer to it.
    """
    return verdict_of(
        completion,
        request,
        **scale.labeled(answer.label),
        unassessed=unassessed(answer),
        probability=answer.probability,
        explanation=answer.explanation,
    )


def _read_checker(
    completion: Completion, request: Request, task: TypedTask
) -> ParsedReply[ParsedVerdict]:
    rule = request.judge.reply
    (scale,) = task.scales
    assert rule is not None, "checkers are resolved with a rule"

    def parse(text: str) -> ParsedVerdict:
        """Read the verdict in the checker's form."""
        reading = checkers.read(text, rule)
        positive = reading.label == SUPPORTED
        word = next(word for word in scale.words if scale.positive(word) == positive)
        probability = checkers.probability(completion, text, reading, rule)
        return ParsedVerdict(word, None, (), probability)

    answer = read_reply(completion, request, parse)
    if isinstance(answer, Failure):
        return ParsedReply(failure=answer)
    return ParsedReply({"c1": answer})
