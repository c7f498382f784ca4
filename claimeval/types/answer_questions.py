"""What judges are asked about a whole answer."""

from __future__ import annotations

from claimeval.types.errors import unknown_name
from claimeval.types.records import Part, Record
from claimeval.types.scales import ANSWERING_OR_NOT, FULLY_PARTLY_NO, YES_NO, Scale


class AnswerQuestion(Record):
    """One question about a whole answer, to which a judge replies with one word of a scale."""

    name: str
    scale: Scale
    field: str = "rating"
    """Under which the word stands in the reply."""
    flags: tuple[str, ...] = ()
    """Further fields of the reply that are true or false."""
    against: Part | None = None
    """What the answer is held against besides its question."""


RELEVANCE = AnswerQuestion(name="relevance", scale=FULLY_PARTLY_NO, flags=("noncommittal",))
"""Does the answer answer the question? Whether it is true does not matter."""

FAITHFUL = AnswerQuestion(name="faithful", scale=YES_NO, against="contexts")
"""Is all that the answer says supported by what was retrieved? The baseline of faithfulness by claims."""

CORRECT = AnswerQuestion(name="correct", scale=YES_NO, against="reference")
"""Does the answer say what a reference answer says? The baseline of correctness by claims."""

ANSWERING = AnswerQuestion(name="answering", scale=ANSWERING_OR_NOT, field="kind")
"""What the answer does with its question."""

ANSWER_QUESTIONS = {question.name: question for question in (RELEVANCE, FAITHFUL, CORRECT)}
"""What can be asked by name; each has a prompt of its name in `prompts/answers`."""


def answer_question(name: str) -> AnswerQuestion:
    """The question of that name; UsageError with the closest name otherwise."""
    if name not in ANSWER_QUESTIONS:
        raise unknown_name("question about answers", name, ANSWER_QUESTIONS)
    return ANSWER_QUESTIONS[name]
