"""Flips: claims whose counted value differs between two runs.

The counted value is whether a claim is supported. `contradicted` and `not_found` count the same in
a score, so a prompt that does not distinguish them causes no flips. If both runs have the same
scale of grades, the value is the grade.

A claim is the same in both runs if its source, its text and its evidence are equal; ids are
ignored. Claims of a sample with the same text are paired in order. Claims that only one run has are
not compared. Claims that have a label in only one run are counted separately and are no flips.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Literal, NamedTuple

from claimeval.types.records import (
    Assessment,
    Claim,
    Evidence,
    Label,
    Labeled,
    Part,
    Record,
    ScoredSample,
)

Change = Literal["flipped", "relabeled", "labeled_once"]


class Flip(Record):
    """One claim that flipped from run a to run b."""

    sample_id: str
    question: str
    subject: str
    """Id of the claim in run a."""
    claim: str
    of: Part
    """The part that the claim was extracted from."""
    evidence: Evidence
    a: Label
    """The label in run a, as scores count it."""
    b: Label
    a_word: str | None = None
    """The label in run a, if it is a word of another scale."""
    b_word: str | None = None
    a_explanation: str | None = None
    """The explanation of the first judge that gave this label."""
    b_explanation: str | None = None


class FlipCounts(NamedTuple):
    """Numbers of changed claims among those that both runs assessed."""

    compared: int = 0
    flipped: int = 0
    relabeled: int = 0
    """Claims with another label that counts the same."""
    labeled_once: int = 0
    """Claims with a label in only one run."""

    def others(self) -> str:
        """Return the changes that are no flips, as text; empty if there are none."""
        parts = (
            (self.labeled_once, "have a label in one run only"),
            (self.relabeled, "have another label that counts the same"),
        )
        return ", ".join(f"{n} {what}" for n, what in parts if n)


class ClaimPair(NamedTuple):
    """A claim of run a, and its assessments in both runs."""

    claim: Claim
    a: Labeled
    b: Labeled

    def change(self, *, graded: bool) -> Change | None:
        """Return the kind of change; None if the label is the same or neither run has one."""
        labels = self.a.label, self.b.label
        if None in labels:
            return "labeled_once" if labels[0] != labels[1] else None
        if counted_differently(self.a, self.b, graded=graded):
            return "flipped"
        return "relabeled" if labels[0] != labels[1] else None


def counted_differently(a: Labeled, b: Labeled, *, graded: bool) -> bool:
    """Return whether two assessments count differently in a score; False if one has no label.

    `graded`: both are on the same ordered scale, where each word counts.
    """
    if a.label is None or b.label is None:
        return False
    if graded and not a.tied and not b.tied:
        return a.label != b.label
    return (a.support == "supported") != (b.support == "supported")


def words(label: Label, word: str | None) -> str:
    """Return a label of a flip as text."""
    return label.replace("_", " ") + ("" if word is None else f" ({word.replace('_', ' ')})")


ByText = dict[tuple[Part, str, int, Evidence], Labeled]


def claim_pairs(a: ScoredSample, in_a: ByText, in_b: ByText) -> Iterator[ClaimPair]:
    """Yield the claims of a sample that both runs have and assessed, in the order of run a."""
    claims = {claim.id: claim for claim in a.claims}
    for key, assessment in in_a.items():
        if other := in_b.get(key):
            yield ClaimPair(claims[assessment.subject], assessment, other)


def assessments_by_text(result: ScoredSample) -> ByText:
    """Return the assessments by the claim's part and text, its number among equal claims, and the
    evidence."""
    seen: Counter[tuple[Part, str]] = Counter()
    keys: dict[str, tuple[Part, str, int]] = {}
    for claim in result.claims:
        keys[claim.id] = (claim.of, claim.text, seen[claim.of, claim.text])
        seen[claim.of, claim.text] += 1
    return {(*keys[a.subject], a.evidence): a for a in result.labels if a.subject in keys}


class FlipTally:
    """Counts the changed claims of two runs, sample by sample."""

    def __init__(self, scored: Collection[tuple[Part, Part]], *, graded: bool) -> None:
        """`scored` has the parts of claims and evidence that both runs score; `graded` as in
        `counted_differently`."""
        self._scored = scored
        self._graded = graded
        self._compared: Counter[tuple[Part, Part]] = Counter()
        self._changes: Counter[Change] = Counter()
        self._discordant: Counter[tuple[Part, Part, bool]] = Counter()

    def add(self, pairs: Iterable[ClaimPair]) -> list[ClaimPair]:
        """Count the claims of one sample, and return those that flipped."""
        flips = []
        for pair in pairs:
            parts = pair.claim.of, pair.a.against
            if parts not in self._scored:
                continue
            self._compared[parts] += 1
            if pair.a.label != pair.b.label and counted_differently(pair.a, pair.b, graded=False):
                self._discordant[*parts, pair.a.support == "supported"] += 1
            if change := pair.change(graded=self._graded):
                self._changes[change] += 1
                if change == "flipped":
                    flips.append(pair)
        return flips

    def add_same(self, result: ScoredSample) -> None:
        """Count the claims of a sample that is equal in both runs."""
        of = {claim.id: claim.of for claim in result.claims}
        for assessment in result.labels:
            if assessment.subject not in of:
                continue
            parts = of[assessment.subject], assessment.against
            if parts in self._scored:
                self._compared[parts] += 1

    def discordant(self, of: Part, against: Part) -> tuple[int, int] | None:
        """Return the numbers of claims that only a and only b supports; None if no claim of these
        parts is in both."""
        only_a, only_b = (self._discordant[of, against, in_a] for in_a in (True, False))
        return (only_a, only_b) if self._compared[of, against] else None

    def counts(self) -> FlipCounts:
        """Return the counts so far."""
        return FlipCounts(
            compared=self._compared.total(),
            flipped=self._changes["flipped"],
            relabeled=self._changes["relabeled"],
            labeled_once=self._changes["labeled_once"],
        )


def flip(result: ScoredSample, pair: ClaimPair) -> Flip:
    """Return the record of a claim that flipped; `result` is from run a."""
    a = pair.a.support
    b = pair.b.support
    assert a is not None and b is not None, "a flip has two labels"  # noqa: PT018
    return Flip(
        sample_id=result.sample.id,
        question=result.sample.question,
        subject=pair.claim.id,
        claim=pair.claim.text,
        of=pair.claim.of,
        evidence=pair.a.evidence,
        a=a,
        b=b,
        a_word=None if pair.a.label == a else pair.a.label,
        b_word=None if pair.b.label == b else pair.b.label,
        a_explanation=_explanation(pair.a),
        b_explanation=_explanation(pair.b),
    )


def _explanation(assessment: Labeled) -> str | None:
    verdicts = assessment.verdicts if isinstance(assessment, Assessment) else ()
    return next(
        (v.explanation for v in verdicts if v.label == assessment.label and v.explanation), None
    )
