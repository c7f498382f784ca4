"""A scale: the labels a judge may use, what each counts, and the sentence that explains it to the judge."""

from __future__ import annotations

from claimeval.types.errors import unknown_name
from claimeval.types.records import Label, Record


class ScaleLevel(Record):
    """One label of a scale."""

    word: str
    """What the judge writes."""
    label: Label
    meaning: str
    """The sentence shown to the judge."""


class Grades(Record):
    """An ordinal scale of whole numbers, such as relevance 0 to 3, and from which step on it counts as supported."""

    least: int = 0
    most: int = 3
    supported_from: int = 2

    @property
    def steps(self) -> tuple[int, ...]:
        """All grades, least favourable first."""
        return tuple(range(self.least, self.most + 1))

    def label(self, grade: int) -> Label:
        """What a grade comes to."""
        return "supported" if grade >= self.supported_from else "not_found"


class Scale(Record):
    name: str
    steps: tuple[ScaleLevel, ...]
    grades: Grades | None = None
    """Where the steps are in order: the last is grade 0, the first the highest."""

    def label(self, word: str) -> Label | None:
        """The label for a judge's word, exactly as offered; None for any other text."""
        for step in self.steps:
            if step.word == word:
                return step.label
        return None

    def grade(self, word: str) -> int | None:
        """The grade of a judge's word, on a scale of grades."""
        return len(self.steps) - 1 - self.words.index(word) if self.grades and word in self.words else None

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(step.word for step in self.steps)


ABSTAIN = "unsure"
"""The word by which any judge may abstain; it is never offered to language models by the shipped prompts."""

VALUES: dict[Label, float] = {"supported": 1.0, "contradicted": 0.0, "not_found": 0.0}
"""What each label counts in a score."""

THREE_WAY = Scale(
    name="three_way",
    steps=(
        ScaleLevel(
            word="supported",
            label="supported",
            meaning="the evidence states the claim or it follows from the evidence without outside knowledge",
        ),
        ScaleLevel(
            word="contradicted",
            label="contradicted",
            meaning="the evidence states something that cannot be true if the claim is true",
        ),
        ScaleLevel(
            word="not_found",
            label="not_found",
            meaning="the evidence neither states the claim nor rules it out, or covers only a part of it",
        ),
    ),
)
BINARY = Scale(
    name="binary",
    steps=(
        ScaleLevel(
            word="yes",
            label="supported",
            meaning="every part of the claim is stated in the evidence or follows from it",
        ),
        ScaleLevel(word="no", label="not_found", meaning="anything else: wrong, missing or only partly covered"),
    ),
)
TAGS = Scale(
    name="tags",
    steps=(
        ScaleLevel(
            word="1",
            label="supported",
            meaning="the evidence states the claim or it follows from the evidence",
        ),
        ScaleLevel(word="0", label="not_found", meaning="it does not"),
    ),
)


PARTIAL = Scale(
    name="partial",
    steps=(
        ScaleLevel(word="support", label="supported", meaning="the evidence has all of what the claim says"),
        ScaleLevel(word="partial_support", label="not_found", meaning="the evidence has some of it and lacks the rest"),
        ScaleLevel(word="not_support", label="not_found", meaning="the evidence has nothing of it, or says otherwise"),
    ),
    grades=Grades(most=2),
)
ON_TOPIC = Scale(
    name="on_topic",
    steps=(
        ScaleLevel(
            word="on_topic",
            label="supported",
            meaning="it answers the question, a part of it, or explains or qualifies such an answer",
        ),
        ScaleLevel(
            word="off_topic", label="not_found", meaning="whoever asks the question would miss nothing without it"
        ),
    ),
)
VITAL = Scale(
    name="vital",
    steps=(
        ScaleLevel(word="vital", label="supported", meaning="an answer without it is not a good answer"),
        ScaleLevel(word="okay", label="not_found", meaning="it is worth knowing, and an answer can be good without it"),
    ),
)

SCALES = {scale.name: scale for scale in (THREE_WAY, BINARY, TAGS, PARTIAL, ON_TOPIC, VITAL)}


def scale(name: str) -> Scale:
    """The scale of that name; UsageError with the closest name otherwise."""
    if name not in SCALES:
        raise unknown_name("scale", name, SCALES)
    return SCALES[name]
