"""Words of judges and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from claimeval.judging.reply_values import Unparsable, fold
from claimeval.types.records import Label
from claimeval.types.scales import Scale

Meaning = Label | Literal["unsure"]
"""What a word comes to; `unsure` is the judge's own abstention."""

WORDS: dict[Meaning, tuple[str, ...]] = {
    "supported": (
        *("yes", "true", "correct", "right", "accurate", "consistent", "supported", "fully supported", "supports"),
        *("entailment", "entailed", "entails", "attributable", "fully attributable", "grounded", "faithful"),
    ),
    "contradicted": ("contradiction", "contradicted", "contradictory", "contradicts", "refuted", "refutes"),
    "not_found": (
        *("no", "false", "incorrect", "wrong", "inaccurate", "inconsistent", "unsupported", "not supported"),
        *("neutral", "not found", "not attributable", "ungrounded", "unfaithful", "not mentioned"),
        *("partial", "partially", "partly", "partially correct", "partially supported", "partially attributable"),
        *("partial support", "not fully attributable", "not fully supported", "mostly supported"),
    ),
    "unsure": ("unknown", "unsure", "idk", "abstain", "cannot determine", "cannot judge", "undetermined"),
}
"""The words that are understood. What is supported only in part is not supported."""


class Sign(NamedTuple):
    """One place in a text that says a verdict."""

    meaning: Meaning
    start: int
    grade: int | None = None


class Vocabulary:
    """Words and what they come to, on a scale of labels or of grades."""

    def __init__(
        self, own: Mapping[str, Meaning] | None = None, *, binary: bool = False, grades: Scale | None = None
    ) -> None:
        """`own` words come before the built-in ones; with `binary`, contradicted is simply not supported."""
        shipped = {fold(word): meaning for meaning, words in WORDS.items() for word in words}
        self._meanings = shipped | {fold(word): meaning for word, meaning in (own or {}).items()}
        self._binary = binary
        self.grades = grades

    def meaning(self, words: str) -> Meaning | None:
        """What a word or phrase comes to; None for any other text."""
        found = self._meanings.get(fold(words))
        return "not_found" if self._binary and found == "contradicted" else found

    def sign(self, said: str, start: int = 0) -> Sign:
        """The sign that a whole value is: a word, or a grade on the scale; Unparsable for anything else."""
        if self.grades is None:
            if meaning := self.meaning(said):
                return Sign(meaning, start)
            raise Unparsable(f"{said[:40]!r} is no verdict that is known")
        try:
            grade = int(said)
        except ValueError:
            raise Unparsable(f"{said[:40]!r} is no grade") from None
        if (word := self.grades.of_step(grade)) is None:
            raise Unparsable(f"grade {grade} is off the scale {self.grades.steps[0]} to {self.grades.steps[-1]}")
        return Sign("supported" if self.grades.positive(word) else "not_found", start, grade)
