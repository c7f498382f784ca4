"""Correction of a run's score with human labels of some of its claims.

Both numbers are corrected, with the question and all its samples as the cluster: the macro score, a
mean over samples, in which a claim has the weight 1 / (claims of its sample), and the micro score
(supported / judged claims). Labels that `annotate` drew evenly, or that come from elsewhere, are
taken as a random sample of the claims; other draws keep their sampling probabilities. If all labels
are about whole samples, the share of samples whose judged claims are all supported is corrected
instead. `people` in `runs/labels.py` combines several labels of one item.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import computed_field

from claimeval.data.labels import HumanLabel, LabelFile
from claimeval.evaluation.manifest import QuestionRecord
from claimeval.judging.panel import Panel
from claimeval.metrics.rows import Metric
from claimeval.runs.directory import RunResults, cluster_field, load_manifest
from claimeval.runs.labeling import (
    DISPUTED,
    SEEN,
    ClaimDraw,
    assessments,
    drawn,
    labeled_metric,
    labels_in,
)
from claimeval.runs.labels import (
    HumanLabelCounts,
    LabelPlaces,
    StrayLabels,
    Strays,
    added,
    claims_for_label,
    people,
    ratings,
    rolled_up,
)
from claimeval.statistics import (
    CorrectedEstimate,
    IntervalEstimate,
    mean_interval,
    prediction_powered,
    rogan_gladen,
    weighted_correction,
)
from claimeval.statistics.formatting import number_of
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import UsageError
from claimeval.types.estimates import Estimate
from claimeval.types.records import Assessment, Record, SampleResult

Method = Literal["auto", "rogan-gladen"]
Control = Literal["label", "probability"]
Unit = Literal["claim", "sample", "answer"]
# What intervals cover is simulated from 30 labels on (`benchmarks/label_draws.py --single`).
FEW = 30
LEAST = 15
"""Effective number of labels below which a note says that they are few, and below which there is no
interval. Labels of unequal probabilities have no interval below `FEW`."""


class CorrectedScore(Record):
    """One number of a metric by the judges, corrected, and by people alone."""

    judged: Estimate
    """By the judges alone; the interval ignores their errors. The macro score is the run's, over
    samples."""
    corrected: Estimate
    """`n` is the number of labels."""
    people: Estimate
    """By the labeled claims alone."""
    effective: float
    """Number of labels of different questions, with equal weights, that would say as much."""
    ppi_lambda: float | None
    """Weight of the judges, from 0 (ignored) to 1."""
    control: Control = "label"
    """What the judges say of the claims without a label of people: their labels, or the
    probabilities that they state, where these make the corrected interval narrower. Both give the
    right mean, because it is corrected by how the judges err on the labeled claims."""
    labels_needed: int | None
    """Additional labels that would halve the corrected interval."""


class Correction(Record):
    """The scores of one metric by the judges, corrected, and by people alone."""

    metric: str
    method: str
    unit: Unit
    """Whether the share of supported claims is corrected, the share of samples whose claims are all
    supported, or the mean rating of answers."""
    items: int
    """Claims with a label of the judges, samples with such a claim, or rated answers."""
    labeled: int
    equal: bool
    """Whether all labeled items had the same probability of being drawn."""
    design: str | None = None
    """How `annotate` drew the claims or answers; None if it drew none."""
    options: str = ""
    """The options with which `annotate` goes on with the draw, as in ` --design label --seed 7`."""
    unmatched: int
    """Labels that fit no judged claim of the metric."""
    strays: StrayLabels = StrayLabels()
    """Those of them that fit nothing of the run, by why."""
    labels: HumanLabelCounts
    macro: CorrectedScore | None
    """The mean over samples of the share of their claims that are supported; None if samples were
    labeled."""
    micro: CorrectedScore
    """The share of all claims that are supported, or of samples whose claims all are; of ratings,
    their mean."""

    @property
    def too_few(self) -> bool:
        """Whether there are too few labels for an interval."""
        score = self.macro or self.micro
        least = LEAST if self.equal else FEW
        # Rogan and Gladen's labels are of other data, which has no questions to count.
        return self.method != "rogan-gladen" and score.effective < least

    @property
    def by_probability(self) -> bool:
        """Whether a score is corrected with the probabilities that the judges state."""
        scores = [score for score in (self.macro, self.micro) if score]
        return any(score.control == "probability" for score in scores)

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated properties
    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before using the numbers: the command prints the same, and `correct` warns
        of it."""
        notes = [self.strays.words()] if self.strays.unmatched else []
        scores = [score for score in (self.macro, self.micro) if score]
        effective = min(score.effective for score in scores)
        # Rogan and Gladen's labels are of other data, which has no questions to count.
        if self.method != "rogan-gladen" and effective < FEW:
            notes.append(self._few_labels(effective))
        if self.micro.people.value in (0.0, 1.0):
            notes.append(self._equal_labels)
        if not self.equal:
            notes.append(
                "the labels were not drawn evenly: intervals are wider than those of an even draw"
                " of as many"
            )
        if words := self.labels.words():
            notes.append(f"labels {words}")
        others = self.unmatched - self.strays.unmatched
        if others:
            notes.append(f"{number_of(others, 'label')} of no {_item(self.unit, self.metric)}")
        return tuple(notes)

    @property
    def _going_on(self) -> str:
        """The beginning of the command that labels more."""
        return f"`claimeval annotate RUN{self.options}"

    @property
    def _grown(self) -> str:
        """The command that labels more of the same draw."""
        return f"{self._going_on} --n {max(100, 2 * self.labeled)}`"

    def _few_labels(self, effective: float) -> str:
        """Return what to do about few labels; `effective` is what they count as."""
        labels = f"{number_of(self.labeled, 'label')} {'counts' if self.labeled == 1 else 'count'}"
        more = self._grown
        if self.design == "uncertainty":
            drawing = f"RUN/annotation/{self.metric}"
            more = (
                f"a draw by uncertainty does not grow: move {drawing}.json and"
                f" {drawing}.labels.jsonl elsewhere, then {self._going_on}`"
            )
        return (
            f"{labels} as {effective:.0f} of different questions and equal weight: label {FEW} or"
            f" more ({more})"
        )

    @property
    def _equal_labels(self) -> str:
        """What to do about labels that are all the same."""
        if self.unit == "answer":
            return (
                f"all {self.labeled} labels are the same word, so they do not show where the"
                " judges err"
            )
        label = "supported" if self.micro.people.value else "not supported"
        by_label = f"{self._going_on} --design label`"
        if self.design == "label":
            by_label = self._grown
        elif self.design:
            # `annotate` draws nothing over a draw of another design.
            by_label = f"move RUN/annotation/{self.metric}.json elsewhere, then {by_label}"
        return (
            f"all {self.labeled} labels say {label}, so they do not show where the judges err;"
            f" {by_label} draws claims of every label"
        )

    def _repr_html_(self) -> str:
        from claimeval.runs.views import agreement, notebook

        return notebook.page(agreement.correction(self))

    def __repr__(self) -> str:
        from claimeval.runs.views import agreement, plain

        return plain.text(agreement.correction(self))

    __str__ = __repr__


def labels_of(
    run: Path, file: Path | None, metric: str | None, sheet: str | None = None
) -> LabelFile:
    """Return the labels of a file, of `annotate`, or those that the run was imported with.

    Args:
        run: The run directory.
        file: The file with labels; None for those in the run directory.
        metric: The metric that is labeled; None for the only one.
        sheet: The sheet, if the file is a workbook with several.

    Raises:
        UsageError: There are no labels yet.
    """
    row, question = labeled_metric(run, metric)
    words = question.scale.words if question else ()
    parts = load_manifest(run).evidence
    labels = (
        LabelFile(file, words=words, parts=parts, place=LabelPlaces.of(run), sheet=sheet)
        if file
        else labels_in(run, row.name, words, parts)
    )
    if labels is None:
        raise UsageError(
            f"no labels yet: give some with `claimeval annotate {run}`, or name a file with"
            " --labels"
        )
    return labels


_BySample = Mapping[str, Sequence[HumanLabel]]


@dataclass
class _CorrectionData:
    """The claims or samples to correct, in columns."""

    unmatched: int
    strays: Strays = field(default_factory=Strays)
    judge: list[float] = field(default_factory=list)
    """Value of each item by the judges: 1 if they support it, or the value of their rating."""
    stated: list[float | None] = field(default_factory=list)
    """The probability of support that the judges state for each item; None if they state none."""
    human: list[float | None] = field(default_factory=list)
    clusters: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    """1 / (judged claims of the sample) of each item."""
    probabilities: list[float | None] = field(default_factory=list)
    """Sampling probability of each item; None if it was not drawn."""
    scores: list[float] = field(default_factory=list)
    """Score of each sample that has one."""
    score_clusters: list[int] = field(default_factory=list)
    """Cluster of each score."""
    counts: HumanLabelCounts = field(default_factory=HumanLabelCounts)

    @classmethod
    def of(cls, labels: _BySample) -> _CorrectionData:
        """Return no items yet, and labels that fit none of them so far."""
        count = sum(map(len, labels.values()))
        data = cls(unmatched=count)
        data.strays.read(count)
        return data

    def leave(self, labels: _BySample, samples: Collection[str]) -> None:
        """Count the labels of samples that the run does not have."""
        for sample, of_sample in labels.items():
            if sample not in samples:
                self.strays.add("no_sample", [sample] * len(of_sample))

    def add(
        self,
        cluster: int,
        label: str,
        human_labels: Iterable[HumanLabel],
        weight: float = 1.0,
        probability: float | None = None,
        panel: Panel | None = None,
        stated: float | None = None,
    ) -> None:
        """Add one item.

        Args:
            cluster: Number of its cluster.
            label: The support that the panel's label counts as; of a rating, its word.
            human_labels: The labels of people.
            weight: 1 / (judged claims of the sample).
            probability: Sampling probability of the item; None if it was not drawn.
            panel: The panel of a rating, whose scale has the words.
            stated: The probability of support that the judges state.
        """
        choice = partial(_word, panel) if panel else _support
        labels = people(human_labels, choice, panel or Panel())
        value = panel.scale.value if panel else lambda word: float(word == "supported")
        self.counts = added(self.counts, labels.counts)
        self.judge.append(float(value(label)))
        self.stated.append(stated)
        self.human.append(None if labels.majority is None else float(value(labels.majority)))
        self.clusters.append(cluster)
        self.weights.append(weight)
        self.probabilities.append(probability)

    def keep_drawn(self) -> list[float] | None:
        """Return the probability that each item was drawn and labeled, and leave out the labels of
        other items.

        A random part of the draw is assumed to be labeled. Returns None, and leaves nothing out, if
        the draw is even or has no label: then all labels are a random sample.
        """
        labels = [
            label
            for label, drawn in zip(self.human, self.probabilities, strict=True)
            if drawn is not None
        ]
        share = sum(label is not None for label in labels) / max(1, len(labels))
        # With one probability for all, labels beside the draw are as random as those in it.
        if not share or len({*self.probabilities} - {None}) == 1:
            return None
        undrawn = sum(label is not None for label in self.human) - sum(
            label is not None for label in labels
        )
        self.counts = self.counts.model_copy(update={"undrawn": undrawn})
        pairs = zip(self.human, self.probabilities, strict=True)
        self.human = [label if drawn is not None else None for label, drawn in pairs]
        return [1.0 if drawn is None else share * drawn for drawn in self.probabilities]


def _word(panel: Panel, label: HumanLabel) -> str | None:
    return label.word if label.word in panel.scale.words else None


def _support(label: HumanLabel) -> str:
    return "supported" if label.label == "supported" else "not_found"


def correct(
    run: Path,
    metric: str | None,
    labels: Iterable[HumanLabel],
    method: Method = "auto",
    cluster: str | None = None,
) -> Correction:
    """Correct both numbers of a metric with human labels.

    Args:
        run: The run directory.
        metric: Name of the metric. Default: the first metric of the run.
        labels: The human labels.
        method: `auto`, or `rogan-gladen` for labels from elsewhere.
        cluster: Field whose equal values are one cluster in intervals.

    Raises:
        UsageError: No label matches a claim.
    """
    row, question = labeled_metric(run, metric)
    if question and method == "rogan-gladen":
        _check_is_share(question)
    draw = drawn(run, row.name)
    by_sample, aside = _random(labels)
    by = cluster_field(run, cluster)
    unit = _unit(question, by_sample)
    if question:
        items = _answers(run, row, question.panel, by_sample, draw, by)
    elif unit == "sample":
        items = _samples(run, row, by_sample, by)
    else:
        items = _claims(run, row, by_sample, draw, by)
    probabilities = items.keep_drawn()
    if probabilities and method == "rogan-gladen":
        raise UsageError(
            "rogan-gladen takes all labels as equally likely, and these were drawn unevenly; use"
            " auto"
        )
    counts = _counts(items, aside, labels)
    strays = items.strays.counted
    strays.check(run, limited=load_manifest(run).data.limit is not None)
    if all(label is None for label in items.human):
        what = counts.words() or f"{items.unmatched} labels read"
        raise UsageError(f"none of the labels is about a {_item(unit, row.name)} ({what})")
    equal = _are_equal(probabilities, items.human)
    macro = None
    if unit == "claim" and method != "rogan-gladen":
        # The scores of samples have an interval of their own, as in the run.
        judged = Estimate.of(mean_interval(items.scores, clusters=items.score_clusters))
        of_samples = _weighted(items, items.weights, probabilities)
        macro = _score(*of_samples, equal=equal, judged=judged)
    micro, control = _micro(items, method, None if equal else probabilities)
    return Correction(
        metric=row.name,
        method=micro.method,
        unit=unit,
        items=len(items.judge),
        labeled=micro.labeled,
        equal=equal,
        design=draw.design if draw else None,
        options=_options(run, row.name, draw),
        unmatched=items.unmatched,
        strays=strays,
        labels=counts,
        macro=macro,
        micro=_score(micro, control, equal=equal),
    )


def _random(
    labels: Iterable[HumanLabel],
) -> tuple[dict[str, list[HumanLabel]], Counter[str]]:
    """Return the labels of claims that were not chosen, by sample, and the number of others by
    design."""
    by_sample: defaultdict[str, list[HumanLabel]] = defaultdict(list)
    aside = Counter[str]()
    for label in labels:
        if label.design in (DISPUTED, SEEN):
            aside[label.design] += 1
        else:
            by_sample[label.sample].append(label)
    return by_sample, aside


def _unit(question: QuestionRecord | None, by_sample: _BySample) -> Unit:
    """Return what is corrected: claims, samples if all labels are about whole ones, or answers."""
    if question:
        return "answer"
    labels = list(itertools.chain.from_iterable(by_sample.values()))
    return "sample" if labels and all(label.of_sample for label in labels) else "claim"


def _item(unit: Unit, metric: str) -> str:
    """Return what a label is about, in words."""
    return "rated answer" if unit == "answer" else f"judged claim of {metric}"


def _counts(
    items: _CorrectionData, aside: Mapping[str, int], labels: Iterable[HumanLabel]
) -> HumanLabelCounts:
    """Return the counts of the labels of the items, of those that were left out by design, and of
    the rows of a file without a label."""
    counts = items.counts.model_copy(update={"disputed": aside[DISPUTED], "seen": aside[SEEN]})
    if isinstance(labels, LabelFile):
        return counts.model_copy(update={"blank": labels.blank, "undecided": labels.undecided})
    return counts


def _check_is_share(question: QuestionRecord) -> None:
    if len({*question.scale.values}) > 2:
        raise UsageError(
            f"rogan-gladen corrects shares, and {question.name} is a mean of"
            f" {len(question.scale.words)} words"
        )


def _are_equal(probabilities: Sequence[float] | None, human: Sequence[float | None]) -> bool:
    """Return whether all labeled items were drawn with one probability."""
    if probabilities is None:
        return True
    pairs = zip(probabilities, human, strict=True)
    return len({probability for probability, label in pairs if label is not None}) == 1


def _options(run: Path, metric: str, draw: ClaimDraw | None) -> str:
    """Return the options with which `annotate` goes on with a draw, or begins one."""
    manifest = load_manifest(run)
    several = len(manifest.rows or ratings(manifest)) > 1
    by_label = " --design label" if draw and draw.design == "label" else ""
    seed = f" --seed {draw.seed}" if draw and draw.seed and draw.design != "uncertainty" else ""
    return (f" --metric {metric}" if several else "") + by_label + seed


def _score(
    found: CorrectedEstimate, control: Control, *, equal: bool, judged: Estimate | None = None
) -> CorrectedScore:
    """Return a score without intervals that rest on too few labels; `judged` replaces that of the
    judges alone."""
    corrected = Estimate.of(found.corrected)
    people = Estimate.of(found.human)
    least = LEAST if equal else FEW
    if found.effective is not None and found.effective < least:
        reason = f"the labels count as {found.effective:.0f}; fewer than {least} have no interval"
        gone = {"low": None, "high": None, "ends": "none", "because": reason}
        corrected, people = (
            one.model_copy(update=gone) if one.reported else one for one in (corrected, people)
        )
    return CorrectedScore(
        judged=judged or Estimate.of(found.judge),
        corrected=corrected,
        people=people,
        effective=found.labeled if found.effective is None else found.effective,
        ppi_lambda=found.ppi_lambda,
        control=control,
        labels_needed=found.labels_needed,
    )


def _controlled(
    items: _CorrectionData, estimate: Callable[[Sequence[float]], CorrectedEstimate]
) -> tuple[CorrectedEstimate, Control]:
    """Return the estimate with the judges' labels, or with their probabilities if these make its
    interval narrower. An item without a probability has its label."""
    by_label = estimate(items.judge)
    pairs = zip(items.stated, items.judge, strict=True)
    values = [label if stated is None else stated for stated, label in pairs]
    if values == items.judge:
        return by_label, "label"
    by_probability = estimate(values)
    if _width(by_probability.corrected) >= _width(by_label.corrected):
        return by_label, "label"
    # The score by the judges alone is that of the run, whatever corrects it.
    return replace(by_probability, judge=by_label.judge), "probability"


def _width(estimate: IntervalEstimate) -> float:
    """Return the width of an interval; infinite without one."""
    if estimate.low is None or estimate.high is None:
        return math.inf
    return estimate.high - estimate.low


def _micro(
    items: _CorrectionData, method: Method, probabilities: list[float] | None
) -> tuple[CorrectedEstimate, Control]:
    if method == "rogan-gladen":
        people_say = [None if label is None else bool(label) for label in items.human]
        judges_say = [bool(label) for label in items.judge]
        return rogan_gladen(judges_say, people_say, clusters=items.clusters), "label"
    if probabilities:
        return _weighted(items, None, probabilities)
    return _controlled(
        items, lambda values: prediction_powered(values, items.human, clusters=items.clusters)
    )


def _weighted(
    items: _CorrectionData, weights: list[float] | None, probabilities: list[float] | None
) -> tuple[CorrectedEstimate, Control]:
    def estimate(values: Sequence[float]) -> CorrectedEstimate:
        """Return the estimate with these values of the judges."""
        return weighted_correction(
            values,
            items.human,
            weights=weights,
            probabilities=probabilities,
            clusters=items.clusters,
        )

    return _controlled(items, estimate)


def _claims(
    run: Path, metric: Metric, by_sample: _BySample, draw: ClaimDraw | None, by: str | None
) -> _CorrectionData:
    """Return the judged claims of the metric."""
    probabilities = _probabilities(draw)
    items = _CorrectionData.of(by_sample)
    samples: set[str] = set()
    for result in RunResults.of(run):
        samples.add(result.sample.id)
        judged = {a.subject: a for a in _judged(result, metric)}
        claims = {claim.id for claim in result.claims}
        about: dict[str, list[HumanLabel]] = {}
        for label in by_sample.get(result.sample.id, ()):
            named = [] if label.of_sample else list(claims_for_label(result, label))
            if not label.of_sample and claims.isdisjoint(named):
                items.strays.add("no_item", [label.sample])
            meant = named if _fits(label, metric) else []
            # A label of a passage is about several claims, and is one label all the same.
            items.unmatched -= bool(judged.keys() & meant)
            for claim_id in meant:
                about.setdefault(claim_id, []).append(label)
        for claim_id, assessment in judged.items():
            assert assessment.support, "only claims with a label are corrected"
            items.add(
                cluster_of(result.sample, by),
                assessment.support,
                about.get(claim_id, ()),
                1 / len(judged),
                probabilities.get((result.sample.id, claim_id)),
                stated=assessment.probability,
            )
        score = result.scores.get(metric.name)
        if score and score.value is not None:
            items.scores.append(score.value)
            items.score_clusters.append(cluster_of(result.sample, by))
    items.leave(by_sample, samples)
    return items


def _samples(run: Path, metric: Metric, by_sample: _BySample, by: str | None) -> _CorrectionData:
    """Return the samples with a judged claim; the judges support a sample if they support all its
    judged claims."""
    if metric.claims_of != "answer":
        raise UsageError(
            f"labels of whole samples are about the answer, and {metric.name} is over claims of the"
            f" {metric.claims_of}; give labels of claims (`claim_id` or `text`)"
        )
    items = _CorrectionData.of(by_sample)
    samples: set[str] = set()
    for result in RunResults.of(run):
        samples.add(result.sample.id)
        if panels := rolled_up([a.support for a in _judged(result, metric)]):
            labels = [
                label for label in by_sample.get(result.sample.id, ()) if _fits(label, metric)
            ]
            items.unmatched -= len(labels)
            items.add(cluster_of(result.sample, by), panels, labels)
    items.leave(by_sample, samples)
    return items


def _answers(
    run: Path,
    rating: Metric,
    panel: Panel,
    by_sample: _BySample,
    draw: ClaimDraw | None,
    by: str | None,
) -> _CorrectionData:
    """Return the rated answers."""
    probabilities = _probabilities(draw)
    items = _CorrectionData.of(by_sample)
    samples: set[str] = set()
    for result in RunResults.of(run):
        samples.add(result.sample.id)
        for rated in _judged(result, rating):
            labels = by_sample.get(result.sample.id, ())
            items.unmatched -= len(labels)
            probability = probabilities.get((result.sample.id, "answer"))
            items.add(
                cluster_of(result.sample, by),
                rated.label or "",
                labels,
                probability=probability,
                panel=panel,
            )
    items.leave(by_sample, samples)
    return items


def _probabilities(draw: ClaimDraw | None) -> dict[tuple[str, str], float | None]:
    return {(item.sample, item.claim_id): item.probability for item in draw.items} if draw else {}


def _judged(result: SampleResult, metric: Metric) -> list[Assessment]:
    return [
        assessment for assessment in assessments(result, metric) if assessment.label is not None
    ]


def _fits(label: HumanLabel, metric: Metric) -> bool:
    return label.label is not None and (
        label.evidence is None or label.evidence.part == metric.against
    )
