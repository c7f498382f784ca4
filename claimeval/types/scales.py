"""Scales, the words that a judge may reply with, and the questions about whole answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from claimeval.types.errors import UsageError
from claimeval.types.records import LABELS, Part, Record


class Scale(Record):
    """The words for labels of claims, grades of documents or ratings of answers, with their
    meanings and values."""

    name: str
    words: tuple[str, ...] = Field(min_length=2)
    """The labels, in the order in which judges see them."""
    replies: tuple[str, ...] = ()
    """The judge's reply for each word; empty if the judge writes the words."""
    meanings: tuple[str, ...] = ()
    """The sentence that explains each word to the judge; empty if the prompt explains the words."""
    values: tuple[float, ...]
    """The value of each word in scores."""
    ordered: bool = False
    """Whether the words are ordered, as grades are, so that a vote can use their median."""
    positive_from: float = 1
    """The lowest value that counts as supported, relevant or yes."""
    divided: bool = True
    """Whether a panel has no label if it is divided between words that are all positive or all not.
    If False, its label is the lowest of them, because scores only count whether a label is
    positive."""

    @model_validator(mode="after")
    def _one_for_each_word(self) -> Scale:
        lengths = {len(self.replies), len(self.meanings)} - {0}
        if len(self.values) != len(self.words) or lengths - {len(self.words)}:
            raise ValueError(
                f"scale {self.name!r} needs one value, and one meaning or none, for each word"
            )
        if self.ordered and len(set(self.values)) != len(self.values):
            raise ValueError(f"scale {self.name!r} is ordered and has equal values")
        return self

    @property
    def offered(self) -> tuple[str, ...]:
        """The replies that the judge may choose from."""
        return self.replies or self.words

    @property
    def shown(self) -> list[dict[str, str]]:
        """The possible replies with their meanings, as prompts list them."""
        return [
            {"word": word, "meaning": text}
            for word, text in zip(self.offered, self.meanings, strict=True)
        ]

    def word(self, reply: str) -> str | None:
        """Return the label for a judge's reply, which must match exactly; None for any other
        text."""
        offered = self.offered
        return self.words[offered.index(reply)] if reply in offered else None

    @property
    def ranked(self) -> tuple[str, ...]:
        """The words, least favorable first."""
        return tuple(sorted(self.words, key=self.value))

    def value(self, word: str) -> float:
        """Return the value of a word."""
        return self.values[self.words.index(word)]

    def positive(self, word: str) -> bool:
        """Return whether a word counts as supported, relevant or yes."""
        return self.value(word) >= self.positive_from

    def labeled(self, word: str | None) -> dict[str, Any]:
        """Return the fields of a verdict with this label."""
        return {
            "label": word,
            # The usual labels say by themselves whether they support, and stay short in files.
            "positive": None if word is None or word in LABELS else self.positive(word),
        }

    @property
    def steps(self) -> tuple[int, ...]:
        """Consecutive integers for the words of an ordered scale, lowest first."""
        lowest = int(min(self.values))
        return tuple(range(lowest, lowest + len(self.values)))

    def of_step(self, step: int | None) -> str | None:
        """Return the word of one of the `steps`; None for any other number."""
        return (
            dict(zip(self.steps, self.ranked, strict=True)).get(step) if step is not None else None
        )


def grade_scale(
    name: str,
    meanings: Sequence[str] = (),
    *,
    lowest: int = 0,
    highest: int | None = None,
    positive_from: int,
    divided: bool = True,
) -> Scale:
    """Return a scale of integer grades, lowest first.

    Args:
        name: Name of the scale.
        meanings: Meaning of each grade, lowest first.
        lowest: The lowest grade.
        highest: The highest grade; needed if no meanings are given.
        positive_from: The lowest grade that counts as positive.
        divided: As in `Scale`.
    """
    top = lowest + len(meanings) - 1 if highest is None else highest
    grades = range(lowest, top + 1)
    return Scale(
        name=name,
        words=tuple(map(str, grades)),
        meanings=tuple(meanings),
        values=tuple(grades),
        ordered=True,
        positive_from=positive_from,
        divided=divided,
    )


ABSTAIN = "unsure"
"""The word with which any judge may abstain. The shipped prompts do not offer it to language
models."""

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
    words=("supported", "not_found"),
    replies=("yes", "no"),
    meanings=(
        "every part of the claim is stated in the evidence or follows from it",
        "anything else: wrong, missing or only partly covered",
    ),
    values=(1, 0),
)
TAGS = Scale(
    name="tags",
    words=("supported", "not_found"),
    replies=("1", "0"),
    meanings=("the evidence states the claim or it follows from the evidence", "it does not"),
    values=(1, 0),
)
PARTIAL = Scale(
    name="partial",
    words=("supported", "partly_supported", "not_found"),
    replies=("support", "partial_support", "not_support"),
    meanings=(
        "the evidence has all of what the claim says",
        "the evidence has some of it and lacks the rest",
        "the evidence has nothing of it, or says otherwise",
    ),
    values=(1, 0.5, 0),
    ordered=True,
    divided=False,
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
SINGLE_FACT = Scale(
    name="single_fact",
    words=("one", "several"),
    meanings=(
        "it states a single fact; no part of it could be true while another part is false",
        "it states two facts or more, each of which could be true or false by itself",
    ),
    values=(1, 0),
)
VERIFIABLE = Scale(
    name="verifiable",
    words=("verifiable", "unverifiable"),
    meanings=(
        "a fact about the world that sources could confirm or refute",
        "an opinion, advice, a guess, a general remark, or something about the text itself",
    ),
    values=(1, 0),
)
SCALES = {
    scale.name: scale
    for scale in (THREE_WAY, BINARY, TAGS, PARTIAL, ON_TOPIC, VITAL, SINGLE_FACT, VERIFIABLE)
}
"""Scales for claims, which the header of a prompt names."""

UMBRELA = grade_scale(
    "umbrela",
    (
        "the document has nothing to do with the question",
        (
            "the document is about the subject of the question but does not answer it, not even in"
            " part"
        ),
        "the document holds an answer, but it is incomplete, unclear or hidden among other things",
        "the document is devoted to the question and answers it exactly",
    ),
    positive_from=2,
)
"""The four grades of TREC Deep Learning that UMBRELA asks for (Upadhyay et al. 2024), in our own
words."""

GRADED = grade_scale(
    "graded",
    (
        "the document is of no use for answering the question",
        (
            "the document helps with a part of the answer, or only with background that is needed"
            " for it"
        ),
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
        (
            "the document says what the passage says, contains it among other things, or is a piece"
            " cut from it"
        ),
    ),
    positive_from=1,
)
"""Whether a document contains a reference passage, which the prompt has instead of a question."""

RELEVANCE_SCALES = {scale.name: scale for scale in (UMBRELA, GRADED, BINARY_RELEVANCE)}
"""Scales for documents."""

FULLY_PARTLY_NO = Scale(
    name="fully_partly_no",
    words=("fully", "partly", "no"),
    values=(1, 0.5, 0),
    ordered=True,
    positive_from=0.5,
)
FLAG = Scale(name="flag", words=("no", "yes"), values=(1, 0))
"""Whether an answer has a fault; `no` is the favorable word."""
YES_NO = Scale(name="yes_no", words=("yes", "no"), values=(1, 0), ordered=True)
ANSWERING_OR_NOT = Scale(
    name="answering",
    words=("answers", "partly", "declines"),
    values=(1, 1, 0),
)


class RatingQuestion(Record):
    """One question about a whole answer, to which a judge replies with one word of a scale."""

    name: str
    metric: str
    """Name of the score, and of the question in assessments and manifests."""
    scale: Scale
    field: str = "rating"
    """Field of the reply that has the word."""
    flags: tuple[str, ...] = ()
    """Boolean fields of the reply."""
    against: Part | None = None
    """What the answer is compared with, besides its question."""
    step: str = "answers"
    """Step of its prompts."""
    prompt: str
    """Name of the shipped prompt."""
    vote: Literal["majority", "median"] = "majority"
    """The default vote."""
    criterion: str = ""
    """What the answer is held to, in the user's words; empty if the prompt says it."""
    asks: str = ""
    """The question in a sentence, for judges that read no prompts; empty if they cannot be
    asked."""
    meanings: tuple[str, ...] = ()
    """The sentence that explains each word to these judges."""
    flag_meanings: tuple[tuple[str, str], ...] = ()
    """The sentences that explain `no` and `yes` of each flag to these judges."""
    is_support: bool = False
    """Whether it asks if documents support the answer, which all judges of claims can say."""


RELEVANCE = RatingQuestion(
    name="relevance",
    metric="rated_relevance",
    scale=FULLY_PARTLY_NO,
    flags=("noncommittal",),
    prompt="relevance",
    vote="median",
    asks=(
        "How far does the answer answer the question? Whether what it says is true does not matter,"
        " nor how well it is written."
    ),
    meanings=(
        "everything that was asked for is given",
        "something that was asked for is given and something is left open",
        (
            "nothing that was asked for is given: it is about something else, only leads up to an"
            " answer, or declines"
        ),
    ),
    flag_meanings=(
        (
            "it commits itself to an answer",
            'it evades or declines ("it depends", "I do not know", "the documents do not say")',
        ),
    ),
)
"""Does the answer answer the question? Whether it is true does not matter."""

FAITHFULNESS = RatingQuestion(
    name="faithfulness",
    metric="rated_faithfulness",
    scale=YES_NO,
    against="contexts",
    prompt="faithful",
    asks="Is the answer faithful to the documents? Go by the documents alone.",
    meanings=(
        "everything that the answer states is stated in the documents or follows from them",
        ("at least one thing that the answer states is not in the documents or goes against them"),
    ),
    is_support=True,
)
"""Do the retrieved documents support all of the answer? The baseline of faithfulness by claims."""

CORRECTNESS = RatingQuestion(
    name="correctness",
    metric="rated_correctness",
    scale=YES_NO,
    against="reference",
    prompt="correct",
    asks="Is the answer right? Go by the reference answers alone.",
    meanings=(
        (
            "it answers the question as at least one of the references does, in whatever words, and"
            " nothing in it goes against that"
        ),
        (
            "anything else: it says something different, leaves out what the question asks for, or"
            " does not answer"
        ),
    ),
)
"""Does the answer say what a reference answer says? The baseline of correctness by claims."""

ABSTENTION = RatingQuestion(
    name="abstention",
    metric="abstention",
    scale=ANSWERING_OR_NOT,
    field="kind",
    step="answering",
    prompt="plain",
    asks="What does the answer do with the question? Whether it is true does not matter.",
    meanings=(
        "it gives what was asked for, in whatever words",
        (
            "it gives a part of what was asked for and leaves the rest open, or says that it cannot"
            " be given"
        ),
        (
            "it gives nothing of what was asked for: it says that it does not know or may not say,"
            " that the documents do not tell, asks back, or talks about something else"
        ),
    ),
)
"""Does the answer answer the question, answer it partly, or decline?"""

ANSWER_QUESTIONS = {
    question.name: question for question in (RELEVANCE, FAITHFULNESS, CORRECTNESS, ABSTENTION)
}
"""The questions by name."""

_CRITERION = re.compile(r"([a-z][a-z0-9_]{0,39})(?::(contexts|reference))?")


def criterion_question(name: str, sentence: str) -> RatingQuestion:
    """Return the question how far an answer meets a criterion: fully, partly or not.

    Args:
        name: Name of the score; `NAME:contexts` or `NAME:reference` also shows the judge these
            texts.
        sentence: The criterion, as in "The answer stays polite."

    Raises:
        UsageError: The name is taken or not one, or there is no sentence.
    """
    match = _CRITERION.fullmatch(name)
    if not match or not sentence.strip():
        raise UsageError(
            f"criterion {name!r}: write NAME=SENTENCE, as in 'polite=The answer stays polite.',"
            " with a name of small letters, digits and _; NAME:contexts=SENTENCE and"
            " NAME:reference=SENTENCE also show these texts"
        )
    metric, against = match.groups()
    taken = {*ANSWER_QUESTIONS, "answered"}
    for asked in ANSWER_QUESTIONS.values():
        taken.update((asked.metric, *asked.flags))
    if metric in taken:
        raise UsageError(
            f"criterion {metric!r}: the name is that of another question; choose one of your own"
        )
    return RatingQuestion(
        name=metric,
        metric=metric,
        scale=FULLY_PARTLY_NO,
        against=against,
        prompt="criterion",
        vote="median",
        criterion=sentence.strip(),
        asks=(
            "How far does the answer meet the criterion? Nothing else matters, neither whether what"
            " it says is true nor how well it is written, unless the criterion says so."
        ),
        meanings=(
            "the answer meets the criterion in every respect",
            "it meets the criterion in some respects or places, and not in others",
            "it does not meet the criterion",
        ),
    )
