"""Checkers: small models that say whether a document supports a claim, each in a form of its own.

A checker is a judge whose settings have a `prompt` and the rule for its `reply`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from claimeval.types.records import LABELS, Record

SUPPORTED = "supported"
NOT_FOUND = "not_found"
Direction = Literal["above", "below"]


class ReplyRule(Record):
    """How the reply of a checker becomes a label: by its words, or by a number and a threshold.

    The value is the whole reply, or what `json` or `pattern` finds in it.
    """

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    words: dict[str, str] = Field(default_factory=dict)
    """The label for each word: `supported`, `contradicted` or `not_found`. Case does not matter. A
    list of words needs `positive`."""
    path: str | None = Field(default=None, alias="json")
    """The field of a JSON reply, such as `SCORE` or `result.score`."""
    pattern: str | None = None
    """A regular expression with one group. If it matches several times, all must say the same."""
    threshold: float | None = Field(default=None, allow_inf_nan=False)
    """The number from which a value is support, if it is a number."""
    probability: bool = False
    """Whether the number is the probability of support, from 0 to 1."""
    positive: Direction | None = None
    """For a threshold: `above` (default) if it and higher numbers are support, `below` if it and
    lower ones are. For a list of words: those that are support; all others are `not_found`."""

    @model_validator(mode="before")
    @classmethod
    def _words_by_label(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or not isinstance(given.get("words"), list):
            return given
        labels = dict.fromkeys(given["words"], NOT_FOUND)
        positive = given.get("positive")
        for word in positive if isinstance(positive, list) else [positive]:
            if word not in labels:
                raise ValueError(
                    f"`positive` names which of the words mean support; {word!r} is none of them"
                )
            labels[word] = SUPPORTED
        return {
            **given,
            "words": labels,
            "positive": None,
        }

    @field_validator("words", mode="before")
    @classmethod
    def _texts(cls, words: Any) -> Any:
        if isinstance(words, Mapping) and any(isinstance(word, bool) for word in words):
            raise ValueError("YAML reads Yes and No as true and false; put words in quotes")
        if isinstance(words, Mapping):
            return {str(word): label for word, label in words.items()}
        return words

    @field_validator("words")
    @classmethod
    def _labels(cls, words: dict[str, str]) -> dict[str, str]:
        folded = set(map(fold, words))
        if len(folded) < len(words) or "" in folded:
            raise ValueError("words must differ in more than case and punctuation")
        for label in words.values():
            if label not in LABELS:
                raise ValueError(f"{label!r} is no label; the labels are {', '.join(LABELS)}")
        if words and SUPPORTED not in words.values():
            raise ValueError("no word means `supported`")
        return words

    @field_validator("pattern")
    @classmethod
    def _with_one_group(cls, pattern: str | None) -> str | None:
        if pattern is None:
            return None
        try:
            groups = re.compile(pattern).groups
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        if groups != 1:
            raise ValueError(f"it has {groups} groups in parentheses; one holds the value")
        return pattern

    def gives(self, label: str) -> bool:
        """Whether a reply can become this label."""
        return label in (self.words.values() or (SUPPORTED, NOT_FOUND))

    @model_validator(mode="after")
    def _one_way(self) -> ReplyRule:
        if self.path and self.pattern:
            raise ValueError("give `json` or `pattern`, not both")
        if bool(self.words) == (self.threshold is not None):
            raise ValueError("give `words` or a `threshold`, which say what a value means")
        if self.probability and (self.threshold is None or self.positive == "below"):
            raise ValueError("`probability` needs a `threshold`, from which numbers are support")
        if self.positive and self.threshold is None:
            raise ValueError("`positive` needs a `threshold`, or a list of `words`")
        return self

    @cached_property
    def labels(self) -> dict[str, str]:
        """The label for each word in small letters."""
        return {fold(word): label for word, label in self.words.items()}

    def label(self, value: str) -> str | None:
        """Return the label for a value; None if it is neither a word nor a number of the rule."""
        if self.threshold is None:
            return self.labels.get(fold(value))
        try:
            number = float(value)
        except ValueError:
            return None
        if not math.isfinite(number) or (self.probability and not 0 <= number <= 1):
            return None
        beyond = number - self.threshold
        if self.positive == "below":
            beyond = -beyond
        if beyond >= 0:
            return SUPPORTED
        return NOT_FOUND


def fold(value: str) -> str:
    """Return a value in small letters, without the punctuation and quotation marks around it.

    >>> fold(' **Yes.** ')
    'yes'
    """
    return value.strip(" \t\r\n.!*_`'\"").casefold()
