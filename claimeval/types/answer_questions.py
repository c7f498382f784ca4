"""What judges are asked about a whole answer: the words they may use, and what each word counts."""

from __future__ import annotations

from claimeval.types.errors import unknown_name
from claimeval.types.records import Part, Record
from claimeval.types.scales import Grades


class AnswerQuestion(Record):
    """One question about a whole answer, to which a judge replies with one of some words."""

    name: str
    words: tuple[str, ...]
    """Most favourable first."""
    field: str = "rating"
    """Under which the word stands in the reply."""
    flags: tuple[str, ...] = ()
    """Further fields of the reply that are true or false."""
    against: Part | None = None
    """What the answer is held against besides its question."""

    @property
    def grades(self) -> Grades:
        """The words as steps, the least favourable being 0."""
        return Grades(least=0, most=len(self.words) - 1, supported_from=1)

    def grade(self, word: str) -> int:
        """The step of a word."""
        return len(self.words) - 1 - self.words.index(word)

    def word(self, grade: int) -> str:
        """The word of a step."""
        return self.words[len(self.words) - 1 - grade]

    def value(self, grade: int) -> float:
        """What a step counts, from 0 to 1 in equal steps: fully 1, partly 0.5, no 0; yes 1, no 0."""
        return grade / (len(self.words) - 1)


RELEVANCE = AnswerQuestion(name="relevance", words=("fully", "partly", "no"), flags=("noncommittal",))
"""Does the answer answer the question? Whether it is true does not matter."""

FAITHFUL = AnswerQuestion(name="faithful", words=("yes", "no"), against="contexts")
"""Is all that the answer says supported by what was retrieved? The baseline of faithfulness by claims."""

CORRECT = AnswerQuestion(name="correct", words=("yes", "no"), against="reference")
"""Does the answer say what a reference answer says? The baseline of correctness by claims."""

ANSWERING = AnswerQuestion(name="answering", words=("answers", "partly", "declines"), field="kind")
"""What the answer does with its question."""

ANSWER_QUESTIONS = {question.name: question for question in (RELEVANCE, FAITHFUL, CORRECT)}
"""What can be asked by name; each has a prompt of its name in `prompts/answers`."""


def answer_question(name: str) -> AnswerQuestion:
    """The question of that name; UsageError with the closest name otherwise."""
    if name not in ANSWER_QUESTIONS:
        raise unknown_name("question about answers", name, ANSWER_QUESTIONS)
    return ANSWER_QUESTIONS[name]
