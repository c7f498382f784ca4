"""The first sentence of a run of `locate`: how many claims failed, by where the fault lies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from claimeval.evaluation.locate import Located
from claimeval.evaluation.manifest import Manifest
from claimeval.statistics.formatting import number_of
from claimeval.types.records import Cause, Part, SampleResult

OPEN = "open"
"""Claims without a label."""
HAD = "had"
"""Claims of answers that the judges find in passages that the run had."""
GOLD: tuple[tuple[Cause | str, str, str], ...] = (
    (
        "not_retrieved",
        "stands in a passage that was not retrieved",
        "stand in a passage that was not retrieved",
    ),
    ("split", "is split over adjacent chunks", "are split over adjacent chunks"),
    ("spread", "needs passages far apart", "need passages far apart"),
    ("unused", "was retrieved and not used", "were retrieved and not used"),
    ("contradicted", "the corpus contradicts", "the corpus contradicts"),
    (OPEN, "is undecided", "are undecided"),
)
"""Each cause as the verb of one claim, and of several."""
OF_ANSWER: tuple[tuple[Cause | str, str, str], ...] = (
    (
        "not_retrieved",
        "is right by luck, in a passage that the answer did not have",
        "are right by luck, in a passage that the answer did not have",
    ),
    ("split", "by luck, split over adjacent chunks", "by luck, split over adjacent chunks"),
    ("spread", "by luck, in passages far apart", "by luck, in passages far apart"),
    ("contradicted", "the corpus contradicts", "the corpus contradicts"),
    (
        HAD,
        "stands in passages that the run had, where its judges did not find it",
        "stand in passages that the run had, where its judges did not find them",
    ),
    (OPEN, "is undecided", "are undecided"),
)
"""The same for claims of answers, which the system has said: what the corpus has and the answer did
not have, the model knew or guessed."""


class LocatedCauses:
    """Counts the failed claims of a run by part and cause."""

    def __init__(self, manifest: Manifest) -> None:
        passages = manifest.settings.get("passages")
        self._passages = passages if isinstance(passages, int) else 0
        self._counts: dict[Part, Counter[Cause | str]] = {}
        self._nearest = Counter[int]()
        """Claims that the nearest passages say nothing of, by the number of these."""

    def add(self, result: SampleResult) -> None:
        """Add the result of a sample."""
        located = Located.of(result)
        parts = {claim.id: claim.of for claim in result.claims}
        for one in result.whole:
            counts = self._counts.setdefault(parts[one.subject], Counter())
            kind: Cause | str = one.cause or (OPEN if one.unassessed else HAD)
            counts[kind] += 1
            if kind == "not_near":
                passages = located.claims[one.subject]
                self._nearest[len(set(passages.shown).difference(passages.had))] += 1

    def sentence(self) -> str:
        """Return the sentence; empty if no claim failed."""
        sentences = list[str]()
        for part in sorted(self._counts, key=lambda part: part == "answer"):
            sentences.append(self._of_part(part))
        return " ".join(sentences)

    def _of_part(self, part: Part) -> str:
        counts = self._counts[part]
        whose = ""
        if part == "answer":
            whose = " of answers"
        elif "answer" in self._counts:
            whose = " of gold answers"
        clauses = list(_clauses(counts, OF_ANSWER if part == "answer" else GOLD))
        text = f"{number_of(counts.total(), 'failed claim')}{whose}: {', '.join(clauses)}"
        if nothing := counts["not_near"]:
            text += "; " if clauses else ""
            text += ", ".join(self._nothing_near(nothing))
        return f"{text}."

    def _nothing_near(self, claims: int) -> Iterator[str]:
        """Yield what is said of the claims that no passage supports or contradicts."""
        corpus = number_of(self._passages, "passage")
        none_shown = self._nearest[0]
        if some := claims - none_shown:
            few = min(filter(None, self._nearest))
            many = max(self._nearest)
            nearest = f"{many}" if few == many else f"{few} to {many}"
            says = "says" if many == 1 else "say"
            yield f"for {some:,} the nearest {nearest} of {corpus} {says} nothing"
        if none_shown:
            yield f"for {none_shown:,} no new one of {corpus} is near"


def _clauses(
    counts: Counter[Cause | str], words: tuple[tuple[Cause | str, str, str], ...]
) -> Iterator[str]:
    for kind, one, many in words:
        if number := counts[kind]:
            yield f"{number:,} {one if number == 1 else many}"
