"""Joining human labels with the claims and samples of a run, and learning vote weights from them.

A label names its claim by id or by text; if the claim of its id has another text, the text decides.
The text is that of the claim, or a passage of the text that the claims were extracted from; a
passage labels all claims in it. Citations are ignored in both. A label without id and text is about
the whole sample. It is compared with `supported` if all claims of the answer are supported,
`contradicted` if one is contradicted, `not_found` otherwise.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from claimeval.data.labels import HumanLabel
from claimeval.evaluation.manifest import Ids, Manifest, QuestionRecord
from claimeval.judging.grounding import verbatim
from claimeval.judging.panel import Panel
from claimeval.judging.panel.rules import Ballot, cast_ballots, leading, representative
from claimeval.lexical.citations import without
from claimeval.runs.directory import load_manifest
from claimeval.runs.pairing import Asked, folded
from claimeval.runs.slices import value_of
from claimeval.statistics.formatting import number_of
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.records import (
    ASKED,
    Assessment,
    Evidence,
    Label,
    Part,
    Record,
    Sample,
    SampleResult,
)
from claimeval.types.scales import FLAG

logger = logging.getLogger("claimeval")

PANEL = "panel"
HUMAN = "human"
ONE = "one"
"""Name of the annotator for labels without one."""


class HumanLabelCounts(Record):
    """Counts of labels that are left out or differ."""

    blank: int = 0
    """Rows of the file without a label; left out."""
    undecided: int = 0
    """Rows labeled as undecided; left out."""
    disputed: int = 0
    """Labels of the disputed queue, which is no random sample; `correct` leaves them out."""
    seen: int = 0
    """Labels given on a sample's page, where the verdicts were seen; `correct` leaves them out."""
    undrawn: int = 0
    """Claims (or answers) with a label beyond a draw of unequal probabilities; `correct` leaves
    them out."""
    conflicting: int = 0
    """Claims (or samples) to which one annotator gave different labels, counted by annotator; left
    out."""
    differing: int = 0
    """Claims (or samples) on which annotators differ; the majority counts, as in a panel."""
    divided: int = 0
    """Claims (or samples) of `differing` without a majority; left out."""

    def words(self) -> str:
        """Return the counts in words; empty if every label counts."""
        counts = {
            f"{number_of(self.blank, 'row')} without a label": self.blank,
            f"{self.undecided} undecided": self.undecided,
            f"{self.disputed} of the disputed queue, which is no random sample": self.disputed,
            f"{self.seen} given beside the verdicts, which were not drawn": self.seen,
            f"{self.undrawn} beyond the draw, whose probabilities are unequal": self.undrawn,
            f"{self.conflicting} that the same annotator labeled differently": self.conflicting,
            f"{self.divided} on which annotators are evenly divided": self.divided,
        }
        parts: list[str] = []
        left_out = ", ".join(words for words, count in counts.items() if count)
        if left_out:
            parts.append(f"left out: {left_out}")
        if settled := self.differing - self.divided:
            parts.append(f"annotators differ on {settled} more, where the majority counts")
        return "; ".join(parts)


class StrayLabels(Record):
    """Labels that fit nothing of a run. They are most if a file is about other data, or if its ids,
    its texts or its evidence are misspelt."""

    labels: int = 0
    """All labels that were read."""
    no_sample: int = 0
    """Labels with the id or question of no sample of the run."""
    no_item: int = 0
    """Labels of its samples that are about no claim, document or answer that was judged."""
    other_evidence: int = 0
    """Labels about evidence that the run did not use."""
    first: str = ""
    """Id of the sample of the first label of no sample, else of the first of `no_item`."""

    @property
    def unmatched(self) -> int:
        """The number of labels that fit nothing."""
        return self.no_sample + self.no_item + self.other_evidence

    def words(self) -> str:
        """Return the counts in words; empty if all labels fit."""
        if not self.unmatched:
            return ""
        kinds = []
        if self.no_sample:
            kinds.append(f"{self.no_sample:,} with the id or question of no sample of the run")
        if self.no_item:
            kinds.append(f"{self.no_item:,} about nothing that was judged in their sample")
        if self.other_evidence:
            kinds.append(f"{self.other_evidence:,} about evidence that the run did not use")
        first = f" (first: sample {self.first!r})" if self.first else ""
        what = number_of(self.labels, "label")
        verb = "fits" if self.unmatched == 1 else "fit"
        return f"{self.unmatched:,} of {what} {verb} nothing: {', '.join(kinds)}{first}"

    def check(self, run: Path | str, *, limited: bool = False) -> None:
        """Raise UsageError if most labels fit nothing.

        Labels about evidence that the run did not use are set aside, because a file may serve
        several runs, and if the run was `limited` to the first samples of its data, labels of
        others.
        """
        strays = self.no_item if limited else self.no_item + self.no_sample
        others = self.other_evidence + (self.no_sample if limited else 0)
        if 2 * strays > self.labels - others:
            raise UsageError(
                f"most labels are not about {run}: {self.words()}. Check the ids, texts and"
                " evidence of the labels, or leave out the rows of other samples"
            )


class Strays:
    """Counts the labels that fit nothing of a run."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._first: dict[str, str] = {}

    def read(self, count: int) -> None:
        """Count labels that were read."""
        self._counts["labels"] += count

    def add(
        self,
        kind: Literal["no_sample", "no_item", "other_evidence"],
        samples: Iterable[str],
    ) -> None:
        """Count labels that fit nothing, by why and by the ids of their samples."""
        for sample in samples:
            self._counts[kind] += 1
            self._first.setdefault(kind, sample)

    @property
    def counted(self) -> StrayLabels:
        """The counts so far."""
        first = self._first.get("no_sample") or self._first.get("no_item", "")
        return StrayLabels(**self._counts, first=first)


def check_evidence(evidence: str | None, parts: Sequence[Part]) -> None:
    """Raise UsageError for evidence that the claims of the run were not assessed against."""
    if evidence is not None and evidence not in parts:
        raise unknown_name("evidence of the run", evidence, parts)


class People(NamedTuple):
    """Human labels of one item."""

    choices: dict[str, str | None]
    """Label by annotator; None for an annotator who gave different labels."""
    majority: str | None
    """The label of the majority; None without one. As in a panel, labels with the same value count
    together first."""
    counts: HumanLabelCounts


def people(
    labels: Iterable[HumanLabel], choice: Callable[[HumanLabel], str | None], panel: Panel
) -> People:
    """Return the human labels of one item. A label that an annotator repeats counts once."""
    by_subject: defaultdict[str, set[str]] = defaultdict(set)
    for label in labels:
        if (human_label := choice(label)) is not None:
            by_subject[label.annotator or ONE].add(human_label)
    choices = {
        name: next(iter(human_label)) if len(human_label) == 1 else None
        for name, human_label in by_subject.items()
    }
    clear = [human_label for human_label in choices.values() if human_label is not None]
    majority = _majority(clear, panel)
    counts = HumanLabelCounts(
        conflicting=len(choices) - len(clear),
        differing=len(set(clear)) > 1,
        divided=bool(clear) and majority is None,
    )
    return People(choices, majority, counts)


def _majority(choices: Sequence[str], panel: Panel) -> str | None:
    winners = leading(Counter(choices), panel) if choices else ()
    one_value = len({panel.scale.value(winner) for winner in winners}) == 1
    return representative(winners, panel) if one_value else None


class RaterTable:
    """Labels of several raters, a column for each; None if a rater has no label for an item."""

    def __init__(
        self,
        judges: Sequence[str],
        panel: Panel,
        cluster: str | None = None,
        by: str | None = None,
        *,
        yes_or_no: bool = False,
    ) -> None:
        self._judges = judges
        self._panel = panel
        self._cluster = cluster
        self._by = by
        self.yes_or_no = yes_or_no
        """Whether people do not tell "contradicted" from "not found", so that both are "not
        found"."""
        # One judge that is asked once is the panel, and would be compared with people twice.
        raters = (*judges, PANEL) if len(judges) > 1 or panel.replicates > 1 else judges
        self.clusters: list[int] = []
        """Cluster of each item (see `cluster_of`): its question, or its value of `cluster`."""
        self.values: list[str | None] = []
        """Value of the field `by` for each item; empty without `by`."""
        self.human: list[str | None] = []
        """Label of the majority of annotators (see `people`); None without one."""
        self.raters: dict[str, list[str | None]] = {rater: [] for rater in raters}
        """Labels of the judges, and of the panel if there are several judges or replicates."""
        self.probabilities: dict[str, list[float | None]] = {rater: [] for rater in raters}
        """The raters' probabilities of "supported"."""
        self.annotators: dict[str, list[str | None]] = {}
        self.strays = Strays()
        """Labels that fit no claim or sample of the run."""
        self.labels = HumanLabelCounts()
        self.disputed = 0
        """Labels of the disputed queue, which is no random sample."""

    def add_unlabelled(self, result: SampleResult, against: Part | None) -> None:
        """Add the claims of one sample that were assessed against a text, by default against any
        but the question."""
        for assessment in result.whole:
            part = assessment.against
            wanted = part == against if against else part != ASKED
            if wanted and not assessment.unasked:
                ballots = cast_ballots(assessment.verdicts, self._panel)
                self.add(result.sample, None, ballots, assessment)

    def add_labelled(
        self, result: SampleResult, labels: Sequence[HumanLabel], against: Part | None
    ) -> None:
        """Add the items of one sample that have labels."""
        evidence = {a.against for a in result.whole}
        by_claim: dict[tuple[str, Evidence], list[HumanLabel]] = {}
        whole: dict[Part | None, list[HumanLabel]] = {}
        for label in labels:
            if label.of_sample:
                whole.setdefault(label.evidence.part if label.evidence else against, []).append(
                    label
                )
                continue
            about = _about(result, label, against)
            if not about:
                self._stray([label], evidence)
            for assessment in about:
                by_claim.setdefault((assessment.subject, assessment.evidence), []).append(label)
        assessments = {(a.subject, a.evidence): a for a in result.whole}
        for key, human_labels in by_claim.items():
            self.add(
                result.sample,
                people(human_labels, self.choice, self._panel),
                cast_ballots(assessments[key].verdicts, self._panel),
                assessments[key],
            )
        for which, human_labels in whole.items():
            self._add_sample(result, human_labels, which)

    def _add_sample(
        self, result: SampleResult, human_labels: Sequence[HumanLabel], about: Part | None
    ) -> None:
        part = {claim.id: claim.of for claim in result.claims}
        rows = [
            a
            for a in result.whole
            if part[a.subject] == "answer" and about in (None, a.against) and not a.unasked
        ]
        if len({a.evidence for a in rows}) > 1:
            raise UsageError(_which_evidence({("answer", a.against) for a in rows}))
        if not rows:
            self._stray(human_labels, {a.against for a in result.whole})
            return
        ballots = self._of_answer(rows)
        labels = [a.support for a in rows]
        label = self._rolled_up(labels)
        whole = rows[0].model_copy(
            update={"label": label, "positive": None, "probability": _share(labels)}
        )
        self.add(result.sample, people(human_labels, self.choice, self._panel), ballots, whole)

    def _of_answer(self, rows: Sequence[Assessment]) -> list[Ballot]:
        """Return what each judge says of an answer by its labels of the claims."""
        columns: defaultdict[str, list[str | None]] = defaultdict(list)
        for assessment in rows:
            for ballot in cast_ballots(assessment.verdicts, self._panel):
                columns[ballot.judge].append(ballot.choice)
        return [
            Ballot(judge, self._rolled_up(choices), _share(choices), None)
            for judge, choices in columns.items()
        ]

    def add(
        self, sample: Sample, labels: People | None, ballots: Sequence[Ballot], panels: Assessment
    ) -> None:
        """Add an item of a sample with its labels.

        Args:
            sample: The sample.
            labels: The labels of people.
            ballots: The labels of the judges.
            panels: The panel's assessment.
        """
        by_judge = {ballot.judge: ballot for ballot in ballots}
        for judge in self._judges:
            ballot = by_judge.get(judge)
            self.raters[judge].append(self._as_people(ballot.choice) if ballot else None)
            self.probabilities[judge].append(ballot.probability if ballot else None)
        if PANEL in self.raters:
            # The label of a tie comes from the rule for ties, so that nobody gave it.
            self.raters[PANEL].append(None if panels.tied else self._as_people(panels.label))
            self.probabilities[PANEL].append(panels.probability)
        choices = labels.choices if labels else {}
        for name in choices:
            self.annotators.setdefault(name, [None] * len(self.clusters))
        for name, column in self.annotators.items():
            column.append(choices.get(name))
        self.human.append(labels.majority if labels else None)
        if labels:
            self.labels = added(self.labels, labels.counts)
        self.clusters.append(cluster_of(sample, self._cluster))
        if self._by:
            self.values.append(value_of(sample, self._by))

    def _stray(self, labels: Iterable[HumanLabel], evidence: Collection[Part]) -> None:
        """Count labels of a sample that fit nothing, whose claims were assessed against this
        evidence."""
        for label in labels:
            is_other = label.evidence is not None and label.evidence.part not in evidence
            self.strays.add("other_evidence" if is_other else "no_item", [label.sample])

    def _rolled_up(self, labels: Sequence[str | None]) -> Label | None:
        """Return one label for all claims of a text; None on an ordered scale."""
        return None if self._panel.scale.ordered else rolled_up(labels)

    def choice(self, label: HumanLabel) -> str | None:
        """Return the label on the scale of the run."""
        if label.word in self._panel.scale.words:
            return label.word
        if self._panel.scale.ordered:
            return self._panel.scale.of_step(label.grade)
        # A judge who answers yes or no says no to both, while people tell them apart.
        if label.label == "contradicted" and "contradicted" not in self._panel.scale.words:
            return "not_found"
        return self._as_people(label.label)

    def _as_people(self, label: str | None) -> str | None:
        """Return a label, told apart from others as people do."""
        return "not_found" if self.yes_or_no and label == "contradicted" else label


def say_yes_or_no(labels: Iterable[HumanLabel]) -> bool:
    """Return whether all labels that do not support a claim say no, and none tells "contradicted"
    from "not found"."""
    negative = [label for label in labels if label.label in ("contradicted", "not_found")]
    return bool(negative) and all(label.says_no for label in negative)


def join(
    results: Iterable[SampleResult],
    judges: Sequence[str],
    panel: Panel,
    labels: Iterable[HumanLabel] | None,
    against: Part | None = None,
    cluster: str | None = None,
    by: str | None = None,
    *,
    yes_or_no: bool = False,
) -> RaterTable:
    """Return the table of claims with a human label and of the judges' verdicts.

    Without `labels`, it has all claims that were assessed against `against`; if that is None,
    against any texts.

    Args:
        results: The results of a run.
        judges: Names of the judges.
        panel: How verdicts are counted.
        labels: The human labels.
        against: Evidence of labels that do not name it; needed only if there are several parts.
            What claims have to do with the question (`asked`) is compared only if named here.
        cluster: Field whose equal values are one cluster.
        by: Field whose values are added to the table.
        yes_or_no: Whether "contradicted" counts as "not found", even if people tell them apart.
            It always does if the labels do not.

    Raises:
        UsageError: The evidence of a label is ambiguous.
    """
    by_sample: defaultdict[str, list[HumanLabel]] = defaultdict(list)
    for label in labels or ():
        by_sample[label.sample].append(label)
    yes_or_no = yes_or_no or say_yes_or_no(chain.from_iterable(by_sample.values()))
    table = RaterTable(judges, panel, cluster, by, yes_or_no=yes_or_no)
    table.strays.read(sum(map(len, by_sample.values())))
    given = chain.from_iterable(by_sample.values())
    table.disputed = sum(label.design == "disputed" for label in given)
    for result in results:
        if labels is None:
            table.add_unlabelled(result, against)
        elif of_sample := by_sample.pop(result.sample.id, None):
            table.add_labelled(result, of_sample, against)
    left = chain.from_iterable(by_sample.values())
    table.strays.add("no_sample", (label.sample for label in left))
    return table


def join_subjects(
    results: Iterable[SampleResult],
    question: QuestionRecord,
    judges: Sequence[str],
    labels: Iterable[HumanLabel],
    cluster: str | None = None,
) -> RaterTable:
    """Return the table of documents or answers with a human label and of the judges' verdicts on a
    question.

    Args:
        results: The results of a run of grades or ratings.
        question: A question of the run.
        judges: Names of the judges.
        labels: The human labels; a label without a document is about the answer.
        cluster: Field whose equal values are one cluster.
    """
    by_subject: defaultdict[tuple[str, str], list[HumanLabel]] = defaultdict(list)
    for label in labels:
        by_subject[label.sample, label.claim_id or "answer"].append(label)
    table = RaterTable(judges, question.panel, cluster)
    table.strays.read(sum(map(len, by_subject.values())))
    samples: set[str] = set()
    judged: set[tuple[str, str, Evidence]] = set()
    for result in results:
        samples.add(result.sample.id)
        for a in result.whole:
            if a.question != question.name:
                continue
            judged.add((result.sample.id, a.subject, a.evidence))
            named = by_subject.get((result.sample.id, a.subject), ())
            matching = [label for label in named if label.evidence in (None, a.evidence)]
            if matching:
                humans = people(matching, table.choice, question.panel)
                table.add(result.sample, humans, cast_ballots(a.verdicts, question.panel), a)
    _add_strays(table.strays, by_subject, samples, judged)
    return table


def _add_strays(
    strays: Strays,
    by_subject: Mapping[tuple[str, str], Sequence[HumanLabel]],
    samples: Collection[str],
    judged: Collection[tuple[str, str, Evidence]],
) -> None:
    """Count the labels that fit nothing that was judged: no sample, no subject, other evidence."""
    subjects = {(sample, subject) for sample, subject, _ in judged}
    for (sample, subject), labels in by_subject.items():
        if sample not in samples:
            strays.add("no_sample", [sample] * len(labels))
        elif (sample, subject) not in subjects:
            strays.add("no_item", [sample] * len(labels))
        else:
            named = [label for label in labels if label.evidence]
            other = [one for one in named if (sample, subject, one.evidence) not in judged]
            strays.add("other_evidence", (label.sample for label in other))


def ratings(record: Manifest) -> dict[str, QuestionRecord]:
    """Return the questions about whole answers of a run by the names of their scores, except those
    of yes or no."""
    asked = (question for question in record.questions if question.subjects == "answer")
    return {question.name: question for question in asked if question.scale.name != FLAG.name}


def rated_question(run: Path, record: Manifest, name: str | None) -> QuestionRecord:
    """Return a question about whole answers of a run, by the name of its score; None for the only
    one.

    Raises UsageError if the run has no such question, or several and none is named.
    """
    rated = ratings(record)
    if not rated:
        raise UsageError(
            f"{run} is a run of {record.job}, which has neither claims nor ratings of answers"
        )
    if name is None and len(rated) > 1:
        raise UsageError(
            f"the run has several ratings: name one of {', '.join(rated)} (--score of agreement,"
            " --metric of correct)"
        )
    if name is not None and name not in rated:
        raise unknown_name("rating of the run", name, rated)
    return rated[name or next(iter(rated))]


def added(first: HumanLabelCounts, second: HumanLabelCounts) -> HumanLabelCounts:
    """Return the sums of the counts."""
    return HumanLabelCounts(**{name: n + getattr(second, name) for name, n in first})


def _about(result: SampleResult, label: HumanLabel, against: Part | None) -> list[Assessment]:
    """Return what a label is about. Raises UsageError if it may be several kinds of claims or
    evidence, and `against` does not say which."""
    claims = set(claims_for_label(result, label))
    about: list[Assessment] = []
    for one in result.whole:
        same_evidence = label.evidence in (None, one.evidence)
        if one.subject in claims and same_evidence and not one.unasked:
            about.append(one)
    part = {claim.id: claim.of for claim in result.claims}
    pairs = {(part[one.subject], one.against) for one in about}
    if len(pairs) > 1 and against is None:
        raise UsageError(_which_evidence(pairs))
    return about if len(pairs) == 1 else [one for one in about if one.against == against]


def claims_for_label(result: SampleResult, label: HumanLabel) -> Iterator[str]:
    """Yield the ids of the claims that a label is about.

    If the claim of its id has another text (another extraction), the text decides.
    """
    if label.text is None:
        assert label.claim_id is not None, "a label of a claim names its id or its text"
        yield label.claim_id
        return
    text = _folded(label.text)
    if any(claim.id == label.claim_id and _folded(claim.text) == text for claim in result.claims):
        yield str(label.claim_id)
        return
    same = [claim.id for claim in result.claims if _folded(claim.text) == text]
    yield from same or _claims_in_passage(result, label.text)


def _claims_in_passage(result: SampleResult, text: str) -> Iterator[str]:
    """Yield the ids of the claims of which at least half stands in this passage of a text."""
    for part in dict.fromkeys(claim.of for claim in result.claims):
        passage = verbatim(text, result.sample.text(part) or "")
        if passage is None:
            continue
        for claim in result.claims_of(part):
            if claim.span is None:
                continue
            start, end = claim.span
            within = min(end, passage[1]) - max(start, passage[0])
            if 2 * within >= end - start:
                yield claim.id


def _folded(text: str) -> str:
    return " ".join(without(text).casefold().split()).rstrip(" .")


def rolled_up(choices: Sequence[str | None]) -> Label | None:
    """Return one label for all claims of a text: contradicted if any is, supported if all are, else
    not found."""
    labels = [choice for choice in choices if isinstance(choice, str)]
    if not labels:
        return None
    if "contradicted" in labels:
        return "contradicted"
    return "supported" if set(labels) == {"supported"} else "not_found"


def _share(choices: Sequence[str | None]) -> float | None:
    votes = [choice for choice in choices if choice is not None]
    return sum(choice == "supported" for choice in votes) / len(votes) if votes else None


def _which_evidence(pairs: Collection[tuple[Part, Part]]) -> str:
    words = " and ".join(f"{of} against {against}" for of, against in sorted(pairs))
    options = " or ".join(f"--evidence {name}" for name in sorted({part for _, part in pairs}))
    return f"the labels do not say which evidence they are about ({words}); give {options}"


class LabelPlaces:
    """Finds the samples of a run that human labels are about: those of their ids, unless these ask
    another question than the label names and the run has that question elsewhere. If ids are row
    numbers, a label whose question the run does not have is about none of its samples.

    So labels of a run whose ids are row numbers are about the same questions in a run over the rows
    in another order. Labels of samples with one question go to them in their order.
    """

    def __init__(self, read: Callable[[], dict[str, str]], ids: Ids | None) -> None:
        """`read` returns the question of each sample by id, folded; `ids` says whether the data
        have ids."""
        self._read = read
        self._has_names = ids != "made"
        self._is_said = False
        self._taken: dict[tuple[str, str], str] = {}
        """By id and question of labels, the sample that they are about."""

    @classmethod
    def of(cls, run: Path) -> LabelPlaces:
        """Find the samples of a run directory."""
        return cls(partial(Asked.alone, run), load_manifest(run).data.ids)

    @cached_property
    def _questions(self) -> dict[str, str]:
        return self._read()

    @cached_property
    def _samples(self) -> dict[str, list[str]]:
        samples: dict[str, list[str]] = {}
        for name, question in self._questions.items():
            samples.setdefault(question, []).append(name)
        return samples

    def __call__(self, label: HumanLabel) -> HumanLabel:
        """Return the label with the id of its sample in the run."""
        bare = label.sample.strip()
        # In a sheet, a space around an id cannot be seen.
        if bare != label.sample and label.sample not in self._questions and bare in self._questions:
            label = label.model_copy(update={"sample": bare})
        if not label.question:
            self._say_numbered(label)
            return label
        question = folded(label.question)
        if self._questions.get(label.sample) == question:
            return label
        key = label.sample, question
        if key not in self._taken:
            used = sum(asked == question for _, asked in self._taken)
            samples = self._samples.get(question, ())
            if used >= len(samples):
                return self._without_question(label)
            self._taken[key] = samples[used]
        return label.model_copy(update={"sample": self._taken[key]})

    def _say_numbered(self, label: HumanLabel) -> None:
        """Say once that labels go to rows by their number alone, which nothing can check."""
        if self._has_names or label.text is not None or self._is_said:
            return
        self._is_said = True
        logger.warning(
            "the samples have no ids, so labels without a question or a text go to the rows with"
            " their numbers (first: %s); if the rows stand in another order than those that were"
            " labeled, add a column `question` to the labels",
            label.sample,
        )

    def _without_question(self, label: HumanLabel) -> HumanLabel:
        """Return a label whose question the run does not have, or has for other labels: under its
        id, if that is a name. The number of a row is that of another question."""
        if label.sample and self._has_names:
            return label
        return label.model_copy(update={"sample": label.question})
