"""Flips: claims whose counted value differs between two runs, as `experiment`, `compare` and every page count them.

What counts is whether a claim is supported. `contradicted` and `not_found` count the same in a score, so a prompt that
does not tell them apart flips nothing. If both runs judge on the same scale of grades, the grade is what counts.

A claim is the same in both runs if it comes from the same text, reads the same word for word and is held against the
same evidence. Ids play no part; of claims of a sample that read alike, the first belongs to the first, and so on.
Claims that only one run has are not compared. A claim with a label in one run only is no flip; it is counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Literal, NamedTuple

from claimeval.types.records import Assessment, Claim, Evidence, Label, Part, Record, SampleResult

Change = Literal["flipped", "relabeled", "labeled_once"]


class Flip(Record):
    """One claim that flipped from run a to run b."""

    sample_id: str
    question: str
    subject: str
    """Its id in run a."""
    claim: str
    of: Part
    """Whose claim it is."""
    evidence: Evidence
    a: Label
    """What the label in run a comes to."""
    b: Label
    a_word: str | None = None
    """The label in run a, if it is a word of another scale."""
    b_word: str | None = None
    a_explanation: str | None = None
    """What the first judge wrote that gave the label."""
    b_explanation: str | None = None


class FlipCounts(NamedTuple):
    """What became of the claims that both runs assessed."""

    compared: int = 0
    flipped: int = 0
    relabeled: int = 0
    """Claims with a different label that counts the same."""
    labeled_once: int = 0
    """Claims with a label in one of the runs only."""

    def others(self) -> str:
        """Return the changes that are no flips, in words; empty if there are none."""
        parts = (
            (self.labeled_once, "have a label in one run only"),
            (self.relabeled, "have another label that counts the same"),
        )
        return ", ".join(f"{n} {what}" for n, what in parts if n)


class ClaimPair(NamedTuple):
    """A claim of run a, and its assessments in both runs."""

    claim: Claim
    a: Assessment
    b: Assessment

    def change(self, *, graded: bool) -> Change | None:
        """Return what changed; None if the label is the same or neither run has one."""
        labels = self.a.label, self.b.label
        if None in labels:
            return "labeled_once" if labels[0] != labels[1] else None
        if counted_differently(self.a, self.b, graded=graded):
            return "flipped"
        return "relabeled" if labels[0] != labels[1] else None


def counted_differently(a: Assessment, b: Assessment, *, graded: bool) -> bool:
    """Return whether two assessments count differently in a score; those without a label do not.

    `graded` says that both are on the same ordered scale, where each word counts.
    """
    if a.label is None or b.label is None:
        return False
    if graded and not a.tied and not b.tied:
        return a.label != b.label
    return (a.support == "supported") != (b.support == "supported")


def words(label: Label, word: str | None) -> str:
    """Return a label of a flip in words."""
    return label.replace("_", " ") + ("" if word is None else f" ({word.replace('_', ' ')})")


def claim_pairs(a: SampleResult, b: SampleResult) -> Iterator[ClaimPair]:
    """Yield the claims of a sample that both runs have and assessed, in the order of run a."""
    claims = {claim.id: claim for claim in a.claims}
    theirs = assessments_by_text(b)
    for key, assessment in assessments_by_text(a).items():
        if other := theirs.get(key):
            yield ClaimPair(claims[assessment.subject], assessment, other)


def assessments_by_text(result: SampleResult) -> dict[tuple[Part, str, int, Evidence], Assessment]:
    """Return the assessments by the claim's source and text, its place among claims of that text, and the evidence."""
    seen: Counter[tuple[Part, str]] = Counter()
    places: dict[str, tuple[Part, str, int]] = {}
    for claim in result.claims:
        places[claim.id] = (claim.of, claim.text, seen[claim.of, claim.text])
        seen[claim.of, claim.text] += 1
    return {(*places[a.subject], a.evidence): a for a in result.assessments if a.subject in places}


class FlipTally:
    """Counts sample by sample what became of the claims of two runs."""

    def __init__(self, scored: Collection[tuple[Part, Part]], *, graded: bool) -> None:
        """`scored` are the claims and evidence that both runs score, `graded` as in `counted_differently`."""
        self._scored = scored
        self._graded = graded
        self._compared = 0
        self._changes: Counter[Change] = Counter()

    def add(self, pairs: Iterable[ClaimPair]) -> list[ClaimPair]:
        """Counts one sample in, by its claims in both runs, and returns those that flipped."""
        flips = []
        for pair in pairs:
            if (pair.claim.of, pair.a.evidence.part) not in self._scored:
                continue
            self._compared += 1
            if change := pair.change(graded=self._graded):
                self._changes[change] += 1
                if change == "flipped":
                    flips.append(pair)
        return flips

    def add_same(self, assessed: Iterable[tuple[Part, Part, int]]) -> None:
        """Count in a sample that is the same in both runs, by how many claims of a part were held against another."""
        self._compared += sum(n for of, against, n in assessed if (of, against) in self._scored)

    def counts(self) -> FlipCounts:
        """Return the counts so far."""
        return FlipCounts(
            compared=self._compared,
            flipped=self._changes["flipped"],
            relabeled=self._changes["relabeled"],
            labeled_once=self._changes["labeled_once"],
        )


def flip(result: SampleResult, pair: ClaimPair) -> Flip:
    """Return a claim that flipped; `result` is that of run a."""
    a, b = pair.a.support, pair.b.support
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


def _explanation(assessment: Assessment) -> str | None:
    return next((v.explanation for v in assessment.verdicts if v.label == assessment.label and v.explanation), None)
