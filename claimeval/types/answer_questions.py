"""What judges are asked about a whole answer."""

from __future__ import annotations

from typing import Literal

from claimeval.types.errors import unknown_name
from claimeval.types.records import Part, Record
from claimeval.types.scales import ANSWERING_OR_NOT, FULLY_PARTLY_NO, YES_NO, Scale


class AnswerQuestion(Record):
    """One question about a whole answer, to which a judge replies with one word of a scale."""

    name: str
    metric: str
    """The score, and the name of the question in assessments and manifests."""
    scale: Scale
    field: str = "rating"
    """Under which the word stands in the reply."""
    flags: tuple[str, ...] = ()
    """Further fields of the reply that are true or false."""
    against: Part | None = None
    """What the answer is held against besides its question."""
    step: str = "answers"
    """The step of its prompts."""
    prompt: str
    """The shipped prompt."""
    vote: Literal["majority", "median"] = "majority"
    """The vote if none is named."""


RELEVANCE = AnswerQuestion(
    name="relevance",
    metric="rated_relevance",
    scale=FULLY_PARTLY_NO,
    flags=("noncommittal",),
    prompt="relevance",
    vote="median",
)
"""Does the answer answer the question? Whether it is true does not matter."""

FAITHFULNESS = AnswerQuestion(
    name="faithfulness", metric="rated_faithfulness", scale=YES_NO, against="contexts", prompt="faithful"
)
"""Is all that the answer says supported by what was retrieved? The baseline of faithfulness by claims."""

CORRECTNESS = AnswerQuestion(
    name="correctness", metric="rated_correctness", scale=YES_NO, against="reference", prompt="correct"
)
"""Does the answer say what a reference answer says? The baseline of correctness by claims."""

ABSTENTION = AnswerQuestion(
    name="abstention",
    metric="abstention",
    scale=ANSWERING_OR_NOT,
    field="kind",
    step="answering",
    prompt="plain",
)
"""What the answer does with its question."""

ANSWER_QUESTIONS = {question.name: question for question in (RELEVANCE, FAITHFULNESS, CORRECTNESS, ABSTENTION)}
"""What can be asked by name."""


def answer_question(name: str) -> AnswerQuestion:
    """The question of that name; UsageError with the closest name otherwise."""
    if name not in ANSWER_QUESTIONS:
        raise unknown_name("question about answers", name, ANSWER_QUESTIONS)
    return ANSWER_QUESTIONS[name]
