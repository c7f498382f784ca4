"""How the samples of two runs are paired: by id, or by question where ids do not say what a sample
asks.

Ids that were made are the numbers of rows, so that the same file in another order has other ones.
Ids that two systems give on their own may have nothing in common, or number the rows of each. What
a sample asks, its question in its turn of a conversation, is the same in both.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
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

    def __init__(self, by: PairedBy, numbers: Mapping[str, int] = MappingProxyType({})) -> None:
        """`numbers` are those of samples with equal questions, as `equal_questions` gives them."""
        self._by = by
        self._numbers = numbers
        self._seen = Counter[str]()

    def __call__(self, result: ScoredSample) -> str:
        """Return the name of the next sample."""
        if self._by != "question":
            return result.id
        return self.of(result.id, question_of(result.sample))

    def of(self, name: str, question: str) -> str:
        """Return the name of the next sample: its id, which may be the number of its row, or its
        question and its number among equal ones: that of `numbers`, or its place."""
        if self._by != "question":
            return name
        self._seen[question] += 1
        number = self._numbers.get(name, self._seen[question])
        return f"{number} {question}"


class SampleTexts(NamedTuple):
    """What tells samples with the same question apart."""

    answer: str
    contexts: tuple[str, ...]


class Asked(NamedTuple):
    """The samples of a run."""

    questions: Mapping[str, str]
    """The question of each sample, by id, in order."""
    data: DataSource
    texts: Callable[[Container[str]], Mapping[str, SampleTexts]] = lambda _: {}
    """Returns the texts of some samples by id; nothing where they are not known."""

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
        return cls(questions, load_manifest(folder).data, partial(texts_in, folder))

    @classmethod
    def of_results(cls, results: Iterable[ScoredSample], data: DataSource) -> Asked:
        """Return what samples in memory ask."""
        samples = [result.sample for result in results]
        questions = {sample.id: question_of(sample) for sample in samples}
        return cls(questions, data, partial(_texts, samples))

    def keys(
        self, by: PairedBy, numbers: Mapping[str, int] = MappingProxyType({})
    ) -> dict[str, str]:
        """Return the names that are equal in a pair, by sample id; `numbers` as for `PairKeys`."""
        key_of = PairKeys(by, numbers)
        return {name: key_of.of(name, question) for name, question in self.questions.items()}

    @property
    def _once(self) -> dict[str, str]:
        """The sample of each question that one sample alone asks."""
        counts = Counter(self.questions.values())
        return {asked: name for name, asked in self.questions.items() if counts[asked] == 1}

    @property
    def asks(self) -> bool:
        """Whether any sample has a question."""
        return any(asked != NO_QUESTION for asked in self.questions.values())

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


def texts_in(folder: Path, names: Container[str]) -> dict[str, SampleTexts]:
    """Return the texts of some samples of a run directory by id."""
    return _texts((result.sample for result in RunResults.of(folder).scored()), names)


def _texts(samples: Iterable[Sample], names: Container[str]) -> dict[str, SampleTexts]:
    found: dict[str, SampleTexts] = {}
    for sample in samples:
        if sample.id in names:
            contexts = tuple([document.text for document in sample.contexts or ()])
            found[sample.id] = SampleTexts(sample.answer or "", contexts)
    return found


class EqualQuestions(NamedTuple):
    """The numbers of samples whose question others ask too, by id; both of a pair have one."""

    a: Mapping[str, int]
    b: Mapping[str, int]


NO_NUMBERS = EqualQuestions({}, {})
"""Each sample has the number of its place among those with its question."""


def equal_questions(a: Asked, b: Asked) -> EqualQuestions:
    """Return the numbers of the samples of two runs whose question several samples ask.

    Those with the same answer and contexts are a pair, else those with the same answer, the same
    contexts or, if both runs have ids of the data, the same id. The others are paired in their
    order, which another export of the same data may not keep.
    """
    groups = _by_question(a), _by_question(b)
    both: list[str] = []
    for asked, own in groups[0].items():
        others = groups[1].get(asked, [])
        if others and max(len(own), len(others)) > 1:
            both.append(asked)
    if not both:
        return NO_NUMBERS
    texts: list[Mapping[str, SampleTexts]] = []
    for run, group in zip((a, b), groups, strict=True):
        names: set[str] = set()
        for asked in both:
            names.update(group[asked])
        texts.append(run.texts(names))
    ids_say = a.data.ids == b.data.ids == "given"
    first: dict[str, int] = {}
    second: dict[str, int] = {}
    for asked in both:
        own = groups[0][asked]
        others = groups[1][asked]
        first |= {name: place for place, name in enumerate(own, 1)}
        partners = _partners(own, others, (texts[0], texts[1]), ids_say=ids_say)
        second |= {partner: first[name] for name, partner in partners.items()}
        alone = [name for name in others if name not in second]
        second |= {name: place for place, name in enumerate(alone, len(own) + 1)}
    return EqualQuestions(first, second)


def _by_question(asked: Asked) -> dict[str, list[str]]:
    """Return the samples of each question in order."""
    groups: dict[str, list[str]] = {}
    for name, question in asked.questions.items():
        groups.setdefault(question, []).append(name)
    return groups


def _partners(
    own: Sequence[str],
    others: Sequence[str],
    texts: tuple[Mapping[str, SampleTexts], Mapping[str, SampleTexts]],
    *,
    ids_say: bool,
) -> dict[str, str]:
    """Return the sample of another run that each sample of a run has most in common with."""
    partners: dict[str, str] = {}
    taken: set[str] = set()
    for level in range(_LEVELS):
        left: defaultdict[object, list[str]] = defaultdict(list)
        for name in others:
            if name not in taken:
                left[_in_common(level, name, texts[1], ids_say=ids_say)].append(name)
        for name in own:
            key = _in_common(level, name, texts[0], ids_say=ids_say)
            if name not in partners and key is not None and left[key]:
                partners[name] = left[key].pop(0)
                taken.add(partners[name])
    return partners


_LEVELS = 5
"""From the same answer and contexts to the same question alone."""


def _in_common(level: int, name: str, texts: Mapping[str, SampleTexts], *, ids_say: bool) -> object:
    """Return what both samples of a pair have at a level; None if the sample does not have it."""
    if level == _LEVELS - 1:
        return ()
    if level == _LEVELS - 2:
        return name if ids_say else None
    found = texts.get(name)
    if found is None:
        return None
    answer, contexts = found
    return ((answer, contexts), answer or None, contexts or None)[level]


class JoinedClusters:
    """Clusters of several runs, of which some are the same under other numbers."""

    def __init__(self) -> None:
        self._same: dict[int, int] = {}

    def join(self, a: int, b: int) -> None:
        """Make two clusters one, with the number of the first."""
        if (first := self.root(a)) != (second := self.root(b)):
            self._same[second] = first

    def root(self, cluster: int) -> int:
        """Return the number of a cluster after all joins."""
        while cluster in self._same:
            cluster = self._same[cluster]
        return cluster

    @property
    def joined(self) -> Iterable[int]:
        """The clusters that have become part of another one."""
        return self._same


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
        # Where nothing is asked, numbers are all there is. Questions of which none is in both are
        # of other data, and rows with the same number have nothing to do with each other.
        return "question" if by_question or not shared or (a.asks and b.asks) else "row"
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
