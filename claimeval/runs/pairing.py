"""How the samples of two runs are paired: by id, or by question where ids do not say what a sample
asks.

Ids that were made are the numbers of rows, so that the same file in another order has other ones.
Ids that two systems give on their own may have nothing in common, or number the rows of each. What
a sample asks, its question in its turn of a conversation, is the same in both.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple
from unicodedata import normalize

from pydantic import Field, JsonValue

from claimeval.evaluation.manifest import DataSource
from claimeval.runs.directory import RunResults, load_manifest
from claimeval.types.errors import UsageError
from claimeval.types.records import Record, Sample, ScoredSample, Turn

PairedBy = Literal["id", "question", "row"]
"""What two samples of a pair have in common. `row`: only the number of their row, since neither ids
nor questions say more."""
NO_QUESTION = '["", null]'
"""What a sample without a question asks."""
MOST = 0.5
"""Share of the smaller run of which the runs have pairs, else they are not compared."""


class _AskedSample(Record, extra="ignore"):
    """What a sample asks, without its texts, which take longest to read."""

    id: str
    question: str
    history: tuple[Turn, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict)


class _ResultLine(Record, extra="ignore"):
    """A line of `results.jsonl`, of which only the question is read."""

    sample: _AskedSample


def question_of(sample: Sample | _AskedSample) -> str:
    """Return what a sample asks, without case and blanks: its question, after the earlier ones of
    the user, which tell the turns of a conversation apart.

    Replies of the assistant are left out, as they differ between systems.
    """
    asked = [turn.content for turn in sample.history if turn.role == "user"]
    asked.append(sample.question)
    turn = None if sample.history else sample.metadata.get("turn")
    return json.dumps([*map(folded, asked), turn], ensure_ascii=False)


def folded(text: str) -> str:
    """Return a question without case, and with single blanks."""
    # “é” is one character or two, by the program that wrote the file.
    return " ".join(normalize("NFC", text).casefold().split())


class PairKeys:
    """Gives the samples of one run, read in order, names that are equal in a pair."""

    def __init__(self, by: PairedBy) -> None:
        self._by = by
        self._seen = Counter[str]()

    def __call__(self, result: ScoredSample) -> str:
        """Return the name of the next sample."""
        if self._by != "question":
            return result.id
        return self.of(result.id, question_of(result.sample))

    def of(self, name: str, question: str) -> str:
        """Return the name of the next sample: its id, which may be the number of its row, or its
        question and how often the run asked it before, so that equal questions are paired in their
        order."""
        if self._by != "question":
            return name
        self._seen[question] += 1
        return f"{self._seen[question]} {question}"


class Asked(NamedTuple):
    """The samples of a run."""

    questions: Mapping[str, str]
    """The question of each sample, by id, in order."""
    data: DataSource

    @staticmethod
    def alone(folder: Path) -> dict[str, str]:
        """Return the question of each sample of a run directory by id, folded, without the earlier
        turns of its conversation."""
        asked = RunResults.of(folder).lines(_ResultLine)
        return {line.sample.id: folded(line.sample.question) for line in asked}

    @classmethod
    def of(cls, folder: Path) -> Asked:
        """Read what the samples of a run directory ask."""
        asked = RunResults.of(folder).lines(_ResultLine)
        questions = {line.sample.id: question_of(line.sample) for line in asked}
        return cls(questions, load_manifest(folder).data)

    @classmethod
    def of_results(cls, results: Iterable[ScoredSample], data: DataSource) -> Asked:
        """Return what samples in memory ask."""
        return cls({result.id: question_of(result.sample) for result in results}, data)

    def keys(self, by: PairedBy) -> dict[str, str]:
        """Return the names that are equal in a pair, by sample id."""
        key_of = PairKeys(by)
        return {name: key_of.of(name, question) for name, question in self.questions.items()}

    @property
    def _once(self) -> dict[str, str]:
        """The sample of each question that one sample alone asks."""
        counts = Counter(self.questions.values())
        return {asked: name for name, asked in self.questions.items() if counts[asked] == 1}

    def renamed(self, other: Asked) -> int:
        """Return how many questions both runs ask once, each under an id that the other run does
        not have."""
        partners = other._once
        count = 0
        for asked, name in self._once.items():
            partner = partners.get(asked)
            if partner is not None and name not in other.questions:
                count += partner not in self.questions
        return count

    def parted(self, other: Asked) -> int:
        """Return how many ids both runs have whose samples are no pair by question."""
        own = self.keys("question")
        partners = {key: name for name, key in other.keys("question").items()}
        shared = own.keys() & other.questions.keys()
        return sum(partners.get(own[name]) != name for name in shared)

    def numbers_own_rows(self, other: Asked) -> bool:
        """Return whether the ids of one of two runs number rows that the other one does not
        have."""
        one_file = self.data.digest is not None and self.data.digest == other.data.digest
        # The same file gives the same numbers to the same rows, so that numbers do pair its runs.
        made = [data.ids == "made" for data in (self.data, other.data)]
        return any(made) and not (all(made) and one_file)


def paired_by(a: Asked, b: Asked) -> PairedBy:
    """Return how the samples of two runs are paired.

    By id, if the ids of both are those of the data (or number the rows of the same file), most of
    the smaller run is in the other one, and of the questions that differ in a pair, most were
    reworded and not given another id. Else by question, if that finds more pairs. One question
    that all samples ask is as good as none.
    """
    shared = a.questions.keys() & b.questions.keys()
    in_both = Counter(a.questions.values()) & Counter(b.questions.values())
    # Samples without a question have nothing to be paired by, and are not all one.
    del in_both[NO_QUESTION]
    # “Summarize the document.”, asked of all documents, tells none from another.
    by_question = in_both.total() if len(in_both) > 1 else len(in_both)
    if a.numbers_own_rows(b):
        # Without a question in common, numbers are all there is.
        return "question" if by_question or not shared else "row"
    smaller = min(len(a.questions), len(b.questions))
    if len(shared) < MOST * smaller:
        return "question" if by_question > len(shared) else "id"
    # A question that was reworded is in one run only. One that both have under different ids
    # shows that ids are no names: two exports, each with its rows numbered, of which one lacks a
    # row in the middle. Ids pair those wrongly, and questions pair no reworded ones.
    others = [i for i in shared if a.questions[i] != b.questions[i]]
    elsewhere = sum(a.questions[i] in in_both or b.questions[i] in in_both for i in others)
    if elsewhere and 2 * elsewhere >= len(others):
        return "question"
    # By id, run b would lack questions that it has under other ids. By question, reworded ones have
    # no partner, and equal ones in another order have a wrong one.
    return "question" if a.renamed(b) > a.parted(b) else "id"


def check_paired(shared: int, samples: tuple[int, int], names: tuple[str, str]) -> None:
    """Raise UsageError if under half of the smaller run is in the other one.

    Args:
        shared: The number of pairs.
        samples: The number of samples of each run.
        names: The names of the runs.
    """
    if shared and shared >= MOST * min(samples):
        return
    found = f"only {shared:,}" if shared else "none"
    counts = " and ".join(
        f"{count:,} of {name}" for count, name in zip(samples, names, strict=True)
    )
    raise UsageError(
        f"the runs {names[0]} and {names[1]} are not over the same samples: of the {counts},"
        f" {found} can be paired, by id or by question. Compare runs over the same questions, or"
        " give both the same ids"
    )
