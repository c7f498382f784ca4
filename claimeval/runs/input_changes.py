"""What changed in the inputs of the samples of two runs, counted and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from claimeval.runs.causes import CAUSES, Cause, CausePart
from claimeval.runs.inputs import Facts, Kind
from claimeval.statistics.formatting import decimal, number_of

MOST = 0.6
"""Share of the changed samples from which what they have in common is said of them."""
FEWER = 0.8
"""Share of the earlier number of documents, or of words, below which there are fewer."""
MANY = 0.1
"""Share of the samples from which documents that came in place of lost ones count."""
INPUTS: dict[Kind, str] = {
    "answer": "other answers",
    "documents": "other documents",
    "gold": "other gold answers",
    "question": "other questions",
    "spelling": "the same questions written otherwise",
    "history": "another conversation before the question",
}
"""Inputs that judges read, in words."""
NAMED = {
    "lost": "retrieval lost “{}”",
    "gained": "retrieval gained “{}”",
    "rewritten": "retrieval brings “{}” rewritten",
}
"""What happened to one document, in words."""


QUOTED = 60
"""Characters of an answer that is quoted."""


def quoted(text: str) -> str:
    """Return the beginning of a text in quotation marks."""
    return f"“{text if len(text) <= QUOTED else f'{text[: QUOTED - 4]} ...'}”"


def most_frequent(texts: Iterable[str]) -> tuple[str, int]:
    """Return the most frequent of some texts, without line breaks, and how often it is given."""
    counts = Counter(" ".join(text.split()) for text in texts)
    text = max(counts, key=lambda text: counts[text], default="")
    return text, counts[text]


class Sizes(NamedTuple):
    """Numbers of documents of some samples in both runs."""

    before: float
    """The mean in run a."""
    now: float
    same: bool
    """Whether each of these samples has the same numbers."""

    @classmethod
    def of(cls, facts: Sequence[Facts]) -> Sizes:
        """Return the numbers of documents of samples."""
        sizes = [of.sizes for of in facts]
        count = max(1, len(sizes))
        before = sum(of_a for of_a, _ in sizes) / count
        now = sum(of_b for _, of_b in sizes) / count
        return cls(before, now, len(set(sizes)) == 1)

    @property
    def differ(self) -> bool:
        """Whether there are clearly fewer or more documents."""
        return min(self.before, self.now) < FEWER * max(self.before, self.now)

    @property
    def words(self) -> str:
        """How many documents there are in place of how many."""
        if self.same:
            return f"{number_of(round(self.now), 'document')} in place of {self.before:.0f}"
        return f"{decimal(self.now, 1)} documents in place of {decimal(self.before, 1)}"


class InputChanges:
    """What differs in the inputs of the samples of both runs."""

    def __init__(self, facts: Sequence[Facts], without: Collection[int] = ()) -> None:
        """`without` are the numbers of samples that do not count."""
        self.numbered = {i: of for i, of in enumerate(facts) if i not in without}
        """The facts of each sample that counts, by its number."""
        self.facts = list(self.numbered.values())
        self.samples = len(self.facts)

    @property
    def none(self) -> bool:
        """Whether nothing that a judge reads differs, not even the order of documents."""
        return not any(of.kinds for of in self.facts)

    def count(self, *kinds: Kind) -> int:
        """Return the number of samples that differ in one of these."""
        return sum(not of.kinds.isdisjoint(kinds) for of in self.facts)

    def of_all(self, count: int) -> str:
        """Return a number of samples beside that of all."""
        return f"{count:,} of {self.samples:,}"

    def having(self, cause: str) -> list[int]:
        """Return the samples of which a document with a name was lost, gained or rewritten."""
        return [
            i
            for i, of in self.numbered.items()
            if any(change == cause for change, _ in of.documents)
        ]

    def in_words(self, read: Collection[Kind] = tuple(INPUTS)) -> str:
        """Return the inputs that differ, of those that are read, with the number of samples of
        each."""
        found = []
        for kind, words in INPUTS.items():
            if kind in read and (count := self.count(kind)):
                what = self._documents() if kind == "documents" else words
                declined = self._declined() if kind == "answer" else ""
                found.append(f"{what} ({self.of_all(count)}{declined})")
        return " and ".join(found)

    def _declined(self) -> str:
        """Return how many questions each run declines that the other one answers, in words; empty
        if one run alone does, which is said first, or if they are few."""
        counts = [0, 0]
        for of in self.facts:
            if of.answer == "refusal" and of.lacking is not None:
                counts[of.lacking] += 1
        if not all(counts) or sum(counts) < max(2, MANY * self.samples):
            return ""
        return f"; run a declines {counts[0]:,} that run b answers, and run b {counts[1]:,}"

    def of_group(self, kind: Kind, samples: Sequence[int], *, answers: bool) -> str:
        """Return the inputs that differ in a group of samples, with their number; `answers`:
        whether they are read."""
        what = INPUTS.get(kind, "the same documents in another order")
        if kind == "documents":
            what = self._documents()
            others = sum("answer" in self.numbered[i].kinds for i in samples)
            # Where documents are lost, answers follow: nobody exchanged the one without the other.
            if answers and others >= MOST * len(samples):
                what += " and other answers"
        return f"{what} ({self.of_all(len(samples))})"

    def _documents(self) -> str:
        """Return what happened to the documents of the samples in which they changed."""
        changed = [of for of in self.facts if "documents" in of.kinds]
        if name := self._one_document(changed):
            return name
        lost = sum(bool(of.alone[0]) for of in changed)
        gained = sum(bool(of.alone[1]) for of in changed)
        # Halves of the same documents (`cut_in_two` in `benchmarks/culprit.py`) are neither lost
        # nor gained.
        if not lost and not gained:
            if any(of.documents or "recut" in of.kinds for of in changed):
                return "the same documents cut or written otherwise"
            return "the same documents, some of them repeated"
        if not any(of.sizes[1] for of in changed):
            return "no documents"
        sizes = Sizes.of(changed)
        if sizes.differ:
            return sizes.words
        return INPUTS["documents"]

    @staticmethod
    def _one_document(changed: Sequence[Facts]) -> str:
        """Return the words for one document that is all that was lost or gained in each of these
        samples; empty if there is none."""
        of_all = {of.documents for of in changed}
        if len(of_all) != 1 or len(*of_all) != 1:
            return ""
        ((change, name),) = next(iter(of_all))
        if change == "rewritten":
            return f"“{name}” rewritten"
        return f"“{name}” {change}"

    def of_document(self, part: CausePart) -> str:
        """Return what happened to the document that makes most of a part."""
        count = sum((part.cause, part.name) in of.documents for of in self.facts)
        return f"{NAMED[part.cause].format(part.name)} for {number_of(count, 'question')}"

    def of_documents(self, cause: Cause) -> str:
        """Return what retrieval does otherwise where documents were lost, gained or rewritten: none
        at all, fewer or more, or others. What was lost or gained is counted by the documents."""
        if cause == "rewritten":
            recut = (i for i, of in self.numbered.items() if "recut" in of.kinds)
            changed = self.of_all(len({*self.having("rewritten"), *recut}))
            return f"the same documents are cut or written otherwise, in {changed} questions"
        run = 0 if cause == "lost" else 1
        with_it = [of for of in self.facts if of.alone[run]]
        if not with_it:
            # Only contexts are followed document by document, not other evidence.
            return f"documents of the evidence were {cause}"
        questions = number_of(len(with_it), "question")
        empty = [of for of in with_it if 0 in of.sizes]
        if len(empty) >= MOST * len(with_it):
            what = "nothing" if cause == "lost" else "something again"
            return f"retrieval brings {what} for {number_of(len(empty), 'question')}"
        names = frozenset[int]().union(*(of.alone[run] for of in with_it))
        documents = f"{cause} {number_of(len(names), 'document')}"
        sizes = Sizes.of(with_it)
        other_way = sum(bool(of.alone[1 - run]) for of in self.facts)
        # Where others came in place of the lost documents, that they are fewer is not the point.
        one_way = other_way < max(2, MANY * self.samples)
        if one_way and sizes.differ and (sizes.now < sizes.before) == (cause == "lost"):
            return f"retrieval {documents} for {questions} ({sizes.words})"
        changed = f"{self.of_all(self.count('documents'))} questions"
        return f"retrieval {documents}, with other documents for {changed}"

    def of_answers(self, cause: Cause, samples: Mapping[int, float]) -> str:
        """Return what is said of other answers; `samples` are those whose value they move."""
        changed = [of for of in self.facts if of.answer]
        in_all = f"in {self.of_all(len(changed))} questions{self._declined()}"
        if cause in ("missing", "refusal", "claimless"):
            of_cause = sum(of.answer == cause for of in changed)
            return f"because of {CAUSES[cause]}, in {self.of_all(of_cause)} questions"
        fields = f"{self.fields(samples)}{self._repeated(changed)}"
        count = max(1, len(changed))
        before = sum(of.words[0] for of in changed) / count
        now = sum(of.words[1] for of in changed) / count
        clearly = min(before, now) < FEWER * max(before, now)
        # An answer that begins like the other one has not always another number of words.
        if clearly or (cause in ("longer", "shorter") and round(before) != round(now)):
            form = "longer" if now > before else "shorter"
            words = f"{form} ({number_of(round(before), 'word')} before, {now:.0f} now)"
            return f"because the answers changed and are {words}{fields}, {in_all}"
        documents = "" if self.count("documents") else " on the same documents"
        return f"because the answers changed{documents}{fields}, {in_all}"

    def _repeated(self, changed: Sequence[Facts]) -> str:
        """Return an answer that one run gives to many of these questions, in brackets.

        It is quoted as it is: whether it is a wrong stock answer or the right "Yes." is for the
        reader to say.
        """
        of_runs = [(most_frequent(of.texts[run] for of in changed), "ab"[run]) for run in (1, 0)]
        (text, count), run = max(of_runs, key=lambda of: of[0][1])
        # “Yes.” is said to a few questions in every data set of yes and no.
        if count < max(3, MANY * self.samples) or not text:
            return ""
        return f" ({quoted(text)} for {number_of(count, 'question')} in {run})"

    def fields(self, samples: Iterable[int]) -> str:
        """Return the fields of samples, such as the generator, that changed in most of them, in
        words."""
        chosen = [i for i in samples if i in self.numbered]
        counts = Counter[tuple[str, str, str]]()
        for i in chosen:
            counts.update(self.numbered[i].fields)
        usual = [field for field, count in counts.items() if count >= MOST * len(chosen)]
        return "".join(f" ({name} {before} → {after})" for name, before, after in usual[:2])
