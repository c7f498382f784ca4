"""A scale: the words a judge may reply with, what each means and counts, and whether they are in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from pydantic import Field, model_validator

from claimeval.types.records import Label, Record


class Scale(Record):
    """Labels of claims, grades of documents and ratings of answers alike."""

    name: str
    words: tuple[str, ...] = Field(min_length=2)
    """What the judge may reply, in the order in which the words are shown to it."""
    meanings: tuple[str, ...] = ()
    """The sentence shown to the judge for each word; empty if the prompt explains the words."""
    values: tuple[float, ...]
    """What each word counts."""
    ordered: bool = False
    """Whether a vote compares the words by their values, as grades, instead of by the labels they stand for."""
    positive_from: float = 1
    """The value from which a word counts as supported, relevant or yes."""

    @model_validator(mode="after")
    def _one_for_each_word(self) -> Scale:
        if len(self.values) != len(self.words) or len(self.meanings) not in (0, len(self.words)):
            raise ValueError(f"scale {self.name!r} needs one value, and one meaning or none, for each word")
        if self.ordered and len(set(self.values)) != len(self.values):
            raise ValueError(f"scale {self.name!r} is ordered and has equal values")
        return self

    @property
    def shown(self) -> list[dict[str, str]]:
        """The words with their meanings, as prompts list them."""
        return [{"word": word, "meaning": text} for word, text in zip(self.words, self.meanings, strict=True)]

    def label(self, word: str) -> Label | None:
        """Return the label for a judge's word, exactly as offered; None for any other text."""
        for offered, value in zip(self.words, self.values, strict=True):
            if offered == word:
                return _LABELS.get(word) or self._sign(value)
        return None

    @property
    def labels(self) -> set[Label]:
        """The labels that the words stand for."""
        return {label for word in self.words if (label := self.label(word))}

    def _sign(self, value: float) -> Label:
        return "supported" if value >= self.positive_from else "not_found"

    @property
    def grades(self) -> Scale | None:
        """The scale if votes compare grades on it, None if they compare labels."""
        return self if self.ordered else None

    @property
    def steps(self) -> tuple[int, ...]:
        """The grades of an ordered scale as consecutive whole numbers, the lowest value first."""
        lowest = int(min(self.values))
        return tuple(range(lowest, lowest + len(self.values)))

    def grade(self, word: str) -> int | None:
        """Return the grade of a judge's word; None for another text, and on a scale without order."""
        if not self.ordered or word not in self.words:
            return None
        return self.steps[sorted(self.values).index(self.values[self.words.index(word)])]

    def value(self, grade: int) -> float:
        """Return what a grade counts."""
        return sorted(self.values)[grade - self.steps[0]]

    def word(self, grade: int) -> str:
        """Return the word of a grade."""
        return self.words[self.values.index(self.value(grade))]

    def grade_label(self, grade: int) -> Label:
        """Return the label that a grade stands for."""
        return self._sign(self.value(grade))


def grade_scale(
    name: str, meanings: Sequence[str] = (), *, lowest: int = 0, highest: int | None = None, positive_from: int
) -> Scale:
    """Return a scale of whole grades, the lowest first; `highest` is needed if no meanings are given."""
    top = lowest + len(meanings) - 1 if highest is None else highest
    grades = range(lowest, top + 1)
    return Scale(
        name=name,
        words=tuple(map(str, grades)),
        meanings=tuple(meanings),
        values=tuple(grades),
        ordered=True,
        positive_from=positive_from,
    )


_LABELS: dict[str, Label] = {label: label for label in get_args(Label)}

ABSTAIN = "unsure"
"""The word by which any judge may abstain; it is never offered to language models by the shipped prompts."""

VALUES: dict[Label, float] = {"supported": 1.0, "contradicted": 0.0, "not_found": 0.0}
"""What each label counts in a score."""

THREE_WAY = Scale(
    name="three_way",
    words=("supported", "contradicted", "not_found"),
    meanings=(
        "the evidence states the claim or it follows from the evidence without outside knowledge",
        "the evidence states something that cannot be true if the claim is true",
        "the evidence neither states the claim nor rules it out, or covers only a part of it",
    ),
    values=(1, 0, 0),
)
BINARY = Scale(
    name="binary",
    words=("yes", "no"),
    meanings=(
        "every part of the claim is stated in the evidence or follows from it",
        "anything else: wrong, missing or only partly covered",
    ),
    values=(1, 0),
)
TAGS = Scale(
    name="tags",
    words=("1", "0"),
    meanings=("the evidence states the claim or it follows from the evidence", "it does not"),
    values=(1, 0),
)
PARTIAL = Scale(
    name="partial",
    words=("support", "partial_support", "not_support"),
    meanings=(
        "the evidence has all of what the claim says",
        "the evidence has some of it and lacks the rest",
        "the evidence has nothing of it, or says otherwise",
    ),
    values=(2, 1, 0),
    ordered=True,
    positive_from=2,
)
ON_TOPIC = Scale(
    name="on_topic",
    words=("on_topic", "off_topic"),
    meanings=(
        "it answers the question, a part of it, or explains or qualifies such an answer",
        "whoever asks the question would miss nothing without it",
    ),
    values=(1, 0),
)
VITAL = Scale(
    name="vital",
    words=("vital", "okay"),
    meanings=(
        "an answer without it is not a good answer",
        "it is worth knowing, and an answer can be good without it",
    ),
    values=(1, 0),
)
SCALES = {scale.name: scale for scale in (THREE_WAY, BINARY, TAGS, PARTIAL, ON_TOPIC, VITAL)}
"""Scales for claims, which the header of a prompt names."""

UMBRELA = grade_scale(
    "umbrela",
    (
        "the document has nothing to do with the question",
        "the document is about the subject of the question but does not answer it, not even in part",
        "the document holds an answer, but it is incomplete, unclear or hidden among other things",
        "the document is devoted to the question and answers it exactly",
    ),
    positive_from=2,
)
"""The four grades of TREC Deep Learning that UMBRELA asks for (Upadhyay et al. 2024), in our own words."""

GRADED = grade_scale(
    "graded",
    (
        "the document is of no use for answering the question",
        "the document helps with a part of the answer, or only with background that is needed for it",
        "the document alone is enough to answer the question",
    ),
    positive_from=1,
)
BINARY_RELEVANCE = grade_scale(
    "binary",
    (
        "the document does not help to answer the question, even if it is about the same subject",
        "the document says something that belongs in an answer to the question",
    ),
    positive_from=1,
)
MATCH = grade_scale(
    "match",
    (
        "the document does not hold what the passage says, or not the essential part of it",
        "the document says what the passage says, contains it among other things, or is a piece cut from it",
    ),
    positive_from=1,
)
"""Whether a document holds a reference passage; the passage stands in place of the question."""

RELEVANCE_SCALES = {scale.name: scale for scale in (UMBRELA, GRADED, BINARY_RELEVANCE)}
"""Scales for documents."""

FULLY_PARTLY_NO = Scale(
    name="fully_partly_no", words=("fully", "partly", "no"), values=(1, 0.5, 0), ordered=True, positive_from=0.5
)
YES_NO = Scale(name="yes_no", words=("yes", "no"), values=(1, 0), ordered=True)
ANSWERING_OR_NOT = Scale(
    name="answering", words=("answers", "partly", "declines"), values=(1, 0.5, 0), ordered=True, positive_from=0.5
)
