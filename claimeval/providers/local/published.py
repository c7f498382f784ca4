"""Scores that were published for google/flan-t5-small, to see that a machine computes the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from claimeval.providers.local.perplexity import QuestionScorer, QuestionTextPair


class Example(NamedTuple):
    """A question, a text, and the score at two decimals."""

    question: str
    text: str
    score: float


EXAMPLES = (
    Example("Which city is the capital of Italy?", "The capital of Italy is Milan", 0.54),
    Example("Which city is the capital of Italy?", "The capital of England is London", 0.20),
    Example("Which city is the capital of Italy?", "The capital of Spain is Madrid", 0.22),
    Example("who are we?", "we are the world", 0.06),
    Example("who are we?", "we are the children", 0.07),
    Example("who are we?", "we are the people", 0.08),
    Example("what are we saving?", "we make a brighter day", 0.07),
    Example("what are we saving?", "we are making a choice", 0.06),
    Example("what are we saving?", "we are saving our own lives", 0.26),
)
"""From the tests of unitxt."""


def compare(scorer: QuestionScorer) -> Iterator[tuple[Example, float]]:
    """Every example with its score here."""
    found = dict(scorer.score([QuestionTextPair(example.text, example.question) for example in EXAMPLES]))
    yield from ((example, found[index].score) for index, example in enumerate(EXAMPLES))


def agrees(example: Example, score: float) -> bool:
    """Whether a score is the published one, which was rounded to two decimals."""
    return abs(score - example.score) < 0.0051
