"""Agreement of judges with people and with each other. Intervals resample whole questions with all
their samples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from pydantic import Field, computed_field

from claimeval.data.labels import LabelFile
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary.panel import Dispute
from claimeval.evaluation.validity import GraderReport
from claimeval.judging.panel import Panel
from claimeval.runs.directory import RunResults, cluster_field, label_files, load_manifest
from claimeval.runs.judges import JudgeAgainstPeople, JudgeNumbers, judge_numbers
from claimeval.runs.labeling import labels_in
from claimeval.runs.labels import (
    HUMAN,
    PANEL,
    HumanLabelCounts,
    LabelPlaces,
    RaterTable,
    StrayLabels,
    check_evidence,
    join,
    join_subjects,
    rated_question,
)
from claimeval.runs.overview import OverviewBuilder
from claimeval.runs.ratings import RatingAgreement
from claimeval.runs.slices import check_field
from claimeval.statistics import (
    AlternativeAnnotatorTest,
    Calibration,
    Resampling,
    alternative_annotator_test,
    binary_report,
    calibration,
    cohen_kappa,
    confusion,
    effective_votes,
    gwet_ac1,
    krippendorff_alpha,
    paired_difference,
    pairwise_agreement,
    raw_agreement,
)
from claimeval.statistics.bootstrap import NOT_REQUESTED, STANDARD
from claimeval.statistics.formatting import number_of
from claimeval.types.errors import UsageError
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record
from claimeval.types.scales import THREE_WAY

OF_CLAIMS = (
    "labels are compared over claims. Its table and report show how its judges agree. Ratings of"
    " whole answers by people are compared with --rating, and grades with `claimeval agreement"
    " RUN/qrels.txt --labels human.qrels`"
)
"""What `agreement` says of a run without claims."""
EPSILON = 0.2
"""Cost-benefit penalty of the alternative annotator test, as its paper recommends for expert
annotators."""
HALF_WIDTH = 0.05
"""Default target for the half-width of the interval of the share of equal labels."""
MANY = 8
"""Number of raters above which pairs have no intervals, which would take minutes."""


class CalibrationPoint(Record):
    """Items whose probability of "supported" is in one tenth."""

    n: int
    probability: float
    """Mean probability."""
    share: float
    """Share that people label supported."""
    low: float
    high: float
    """The 95% interval of the share, which takes the items of a question together."""


class CalibrationReport(Record):
    """Calibration of a judge's probabilities, by human labels."""

    n: int
    bins: tuple[CalibrationPoint, ...]
    error: float | None
    """Expected calibration error."""
    brier: float | None
    """Brier score."""


class RaterReport(Record):
    """One judge, or the panel, compared with the human labels. The positive class is
    "supported"."""

    rater: str
    compared: int
    """Items that both labeled."""
    unassessed: int
    """Items with a human label only, which no other number includes."""
    accuracy: Estimate
    balanced_accuracy: Estimate
    precision: Estimate
    recall: Estimate
    specificity: Estimate
    f1: Estimate
    kappa: Estimate
    auroc: Estimate | None
    """None if the rater gives no probabilities."""
    same: Estimate
    """Share of equal labels or grades."""
    kappa_of_labels: Estimate
    """Cohen's kappa over all labels or grades."""
    weighted_kappa: Estimate | None
    """Cohen's kappa with squared distances, for grades."""
    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    """`confusion[a][b]`: items that people label `labels[a]` and the rater `labels[b]`."""

    calibration: CalibrationReport | None = None
    """Calibration of its probabilities of "supported"; None if it gives none."""
    alt_test: Estimate | None = None
    """Alternative annotator test with epsilon 0.2: the share of annotators (`n`) that the rater can
    replace; passed from one half. None unless two annotators labeled 30 items together."""
    advantage: Estimate | None = None
    """Mean probability that the rater is at least as close to the other annotators as the annotator
    left out."""

    labels_needed: int | None = None
    """Additional labels with which the interval of `same` would have the target half-width; None
    without an interval."""

    @property
    def measures(self) -> dict[str, Estimate | None]:
        """Its measures of agreement with people, by name."""
        graded = self.weighted_kappa is not None
        return {
            "accuracy": self.accuracy,
            "balanced accuracy": self.balanced_accuracy,
            "precision": self.precision,
            "recall": self.recall,
            "F1": self.f1,
            "kappa, yes or no": self.kappa,
            "AUROC": self.auroc,
            "same grade" if graded else "same label": self.same,
            "kappa, all grades" if graded else "kappa, all labels": self.kappa_of_labels,
            "kappa, squared": self.weighted_kappa,
            f"alt-test (epsilon {EPSILON:g}), winning rate": self.alt_test,
            "alt-test, advantage": self.advantage,
        }


class RaterSlice(Record):
    """One judge, or the panel, compared with the human labels of the samples with one value of a
    field."""

    value: str
    """The value; `-` for samples without one."""
    rater: str
    compared: int
    same: Estimate
    """Share of equal labels."""
    kappa: Estimate
    """Cohen's kappa over all labels."""
    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    """As in `RaterReport`."""


class RaterPair(Record):
    """Two raters on the items that both labeled."""

    first: str
    second: str
    items: int
    raw: Estimate
    kappa: Estimate


class Agreement(Record):
    """Agreement of judges with people, and with each other."""

    items: int
    """Claims and samples with a human label; without labels, all claims."""
    questions: int
    unmatched: int = 0
    """Human labels that fit no claim or sample of the run."""
    strays: StrayLabels = StrayLabels()
    """The same labels by why they fit nothing."""
    labels: HumanLabelCounts = HumanLabelCounts()
    raters: tuple[RaterReport, ...] = ()
    leads: dict[str, Estimate] = Field(default_factory=dict)
    """How much more often the rater that agrees with people most gives their label than each other
    rater, over the items that both labeled. The intervals hold for all pairs of raters together,
    because the best one was not known before."""
    yes_or_no: bool = False
    """Whether people do not tell "contradicted" from "not found", so that both are one label."""
    disputed: int = 0
    """Labels of the disputed queue, which is no random sample."""
    slices: tuple[RaterSlice, ...] = ()
    """Each rater compared with people by value of the requested field."""
    pairs: tuple[RaterPair, ...] = ()
    """All pairs of judges, panel and people, and all pairs of annotators."""
    alpha: Estimate | None = None
    """Krippendorff's alpha of the judges; None for a single judge."""
    ac1: Estimate | None = None
    """Gwet's AC1 of the judges."""
    effective_votes: float | None = None
    """How many independent votes the judges are worth, by the errors that the labels show; None for
    a single judge, or where no two judges err."""
    effective_votes_interval: tuple[float, float] | None = None
    """The 95% interval of `effective_votes`; None if there are too few questions."""
    judges: tuple[JudgeNumbers, ...] = ()
    """For a run: cost, speed, agreement and failures of each judge."""
    disputes: tuple[Dispute, ...] = ()
    """For a run: the claims on which judges are most divided."""
    ratings: RatingAgreement | None = None
    """Scores of whole answers compared with human ratings; all other fields are then empty."""
    assessors: dict[str, GraderReport] = Field(default_factory=dict)
    """Grades of documents compared with those of people, by assessor; all other fields are then
    empty."""

    @property
    def labeled(self) -> int:
        """Items with a label of people that counts: not those on which they are divided."""
        return max((rater.compared + rater.unassessed for rater in self.raters), default=0)

    @property
    def of_claims(self) -> bool:
        """Whether labels are compared, and neither ratings of whole answers nor grades."""
        return not (self.ratings or self.assessors)

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated properties
    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before using the numbers: the command prints the same, and `agreement` warns
        of it."""
        notes = []
        if stray := self.strays.words():
            notes.append(stray)
        if words := self.labels.words():
            notes.append(f"labels {words}")
        if self.disputed:
            notes.append(
                f"{number_of(self.disputed, 'label')} of the disputed queue, which is no random"
                " sample: how often judges agree with people over all claims is not known from it"
            )
        if self.yes_or_no:
            notes.append(
                "the labels say yes or no, so that `contradicted` of a judge is `not_found` here"
            )
        if not (self.raters or self.pairs or self.ratings or self.assessors):
            notes.append(
                "one judge and no human labels, so there is nothing to compare: label claims with"
                " `claimeval annotate RUN`, name a file with --labels, or add a judge with"
                " `claimeval rejudge RUN --judge NAME --keep-verdicts --out NEW`"
            )
        return tuple(notes)

    @classmethod
    def of_ratings(cls, ratings: RatingAgreement) -> Agreement:
        """Return the agreement of scores with ratings."""
        questions = max((pair.spearman.clusters for pair in ratings.correlations), default=0)
        return cls(
            items=ratings.items, questions=questions, unmatched=ratings.unmatched, ratings=ratings
        )

    @classmethod
    def of_grades(cls, assessors: dict[str, GraderReport]) -> Agreement:
        """Return the agreement of grades of documents with those of people."""
        first = max(assessors.values(), key=lambda report: report.pairs + report.unassessed)
        return cls(
            items=first.pairs + first.unassessed,
            questions=first.exact.clusters,
            assessors=assessors,
        )

    def _repr_html_(self) -> str:
        from claimeval.runs.views import agreement, notebook

        return notebook.page(agreement.view(self))

    def __repr__(self) -> str:
        from claimeval.runs.views import agreement, plain

        return plain.text(agreement.view(self))

    __str__ = __repr__


def by_measure(raters: Sequence[RaterReport]) -> Iterator[tuple[str, list[Estimate | None]]]:
    """Yield the name of each measure of agreement with people, and its value for each rater."""
    of_raters = [rater.measures for rater in raters]
    for name in of_raters[0] if of_raters else ():
        yield name, [measures[name] for measures in of_raters]


def measure_run(
    run: Path,
    labels: Path | None = None,
    evidence: str | None = None,
    cluster: str | None = None,
    by: str | None = None,
    half_width: float = HALF_WIDTH,
    rating: str | None = None,
    sheet: str | None = None,
) -> Agreement:
    """Compare the judges of a run with labels, or with each other if there are none.

    Args:
        run: A run directory.
        labels: A file of human labels. None: those from `annotate`, else those that the run was
            imported with, if any.
        evidence: The evidence of the labels, if claims were assessed against several parts of a
            sample.
        cluster: The field whose equal values are one cluster; None: as in the run.
        by: A field of the samples, by whose values raters are also compared with people.
        half_width: Target half-width of the interval of the share of equal labels.
        rating: For a run of ratings with labels, the score that they are about; None for the only
            one.
        sheet: The sheet of a spreadsheet of labels.

    Raises:
        UsageError: No label fits an item of the run, or `by` is not a field of it.
    """
    manifest = load_manifest(run)
    field = cluster_field(run, cluster)
    if not manifest.of_claims:
        if evidence or by:
            raise UsageError(
                f"evidence and by are for claims, and {run} is a run of {manifest.job}"
            )
        return _measure_ratings(run, manifest, labels, field, half_width, rating, sheet)
    judges = tuple(judge.name for judge in manifest.judges)
    if rating is not None:
        raise UsageError(
            f"labels of {run} are about claims; scores are named to compare them with --rating"
        )
    parts = manifest.evidence
    check_evidence(evidence, parts)
    human = (
        LabelFile(labels, parts=parts, place=LabelPlaces.of(run), sheet=sheet)
        if labels
        else labels_in(run, parts=parts)
    )
    builder = OverviewBuilder(manifest)
    if by is not None:
        check_field(by, (result.sample for result in RunResults.of(run)))
    joined = join(
        builder.each(RunResults.of(run)), judges, manifest.panel, human, evidence, field, by
    )
    joined.strays.counted.check(run, limited=manifest.data.limit is not None)
    report = measure(joined, manifest.panel, half_width)
    overview = builder.overview(run)
    people = {
        rater.rater: JudgeAgainstPeople(
            compared=rater.compared,
            agreement=rater.same.value,
            kappa=rater.kappa_of_labels.value,
            labels=rater.labels,
            confusion=rater.confusion,
        )
        for rater in report.raters
    }
    panel = overview.summary.panel
    update = {
        "judges": judge_numbers(overview.judges, panel, people),
        "disputes": panel.disputes if panel else (),
    }
    report = report.model_copy(update=update)
    return report if human is None else _with_counts(run, report, human)


def _with_counts(run: Path, report: Agreement, human: LabelFile) -> Agreement:
    """Return the report with the labels that do not count. Raises UsageError if none does."""
    counts = report.labels.model_copy(update={"blank": human.blank, "undecided": human.undecided})
    if not report.raters:
        reasons = "; ".join(filter(None, (counts.words(), report.strays.words())))
        raise UsageError(f"no label can be compared with {run}: {reasons or 'none counts'}")
    return report.model_copy(update={"labels": counts})


def _errors(
    labels: Sequence[str | None], human: Sequence[str | None], panel: Panel
) -> list[bool | None]:
    """Return for each item whether a judge gives it another value than people; None where one of
    them has no label."""
    value = panel.scale.value
    return [
        None if a is None or b is None else value(a) != value(b)
        for a, b in zip(labels, human, strict=True)
    ]


def _measure_ratings(
    run: Path,
    manifest: Manifest,
    labels: Path | None,
    cluster: str | None,
    half_width: float,
    rating: str | None,
    sheet: str | None,
) -> Agreement:
    """Compare the judges of a run of grades or ratings with labels, as `measure_run` does."""
    if labels is None and not label_files(run):
        raise UsageError(f"{run} is a run of {manifest.job}, and {OF_CLAIMS}")
    question = rated_question(run, manifest, rating)
    given = [labels] if labels else label_files(run, question.name)
    place = LabelPlaces.of(run)
    words = LabelFile(*given, words=question.scale.words, place=place, sheet=sheet)
    judges = tuple(judge.name for judge in manifest.judges)
    rated = join_subjects(RunResults.of(run), question, judges, words, cluster)
    rated.strays.counted.check(run, limited=manifest.data.limit is not None)
    return _with_counts(run, measure(rated, question.panel, half_width), words)


def measure(joined: RaterTable, panel: Panel, half_width: float = HALF_WIDTH) -> Agreement:
    """Return the agreement of the raters of a table; `half_width` is as for `measure_run`."""
    by_people = any(label is not None for label in joined.human)
    judges = [labels for name, labels in joined.raters.items() if name != PANEL]
    report = Agreement(
        items=len(joined.clusters),
        questions=len(set(joined.clusters)),
        unmatched=joined.strays.counted.unmatched,
        strays=joined.strays.counted,
        labels=joined.labels,
        yes_or_no=by_people and joined.yes_or_no,
        disputed=joined.disputed,
        pairs=tuple(_pairs(joined, by_people=by_people)),
    )
    update: dict[str, object] = {}
    if by_people:
        raters = [rater_report(name, joined, panel, half_width) for name in joined.raters]
        update = {
            "raters": tuple(raters),
            "leads": leads(joined),
            "slices": tuple(_slices(joined, panel)),
        }
    if len(judges) > 1:
        update |= _of_several(judges, joined, panel)
    return report.model_copy(update=update)


def _of_several(
    judges: Sequence[Sequence[str | None]], joined: RaterTable, panel: Panel
) -> dict[str, object]:
    """Return the fields of `Agreement` that several judges have: how they agree, and how many
    votes they are worth."""
    ratings = list(zip(*judges, strict=True))
    order = _order(joined, panel)
    clusters = joined.clusters
    scale: Literal["ordinal", "nominal"] = "ordinal" if panel.scale.ordered else "nominal"
    worth = effective_votes(
        [_errors(labels, joined.human, panel) for labels in judges], clusters=clusters
    )
    # Both, because most labels are “supported”, where alpha is low also for judges who agree.
    alpha = krippendorff_alpha(ratings, scale=scale, labels=order, clusters=clusters)
    ac1 = gwet_ac1(ratings, labels=order, clusters=clusters)
    return {
        "alpha": Estimate.of(alpha),
        "ac1": Estimate.of(ac1),
        "effective_votes": worth.votes if worth else None,
        "effective_votes_interval": worth.interval if worth else None,
    }


def leads(joined: RaterTable, best: str | None = None) -> dict[str, Estimate]:
    """Return how much more often the rater that agrees with people most gives their label than each
    other rater, as in `Agreement.leads`; `best` is that rater if the caller knows it."""
    equal = {name: _equal(labels, joined.human) for name, labels in joined.raters.items()}
    shares = dict[str, float]()
    for name, column in equal.items():
        compared = [value for value in column if value is not None]
        if compared:
            shares[name] = math.fsum(compared) / len(compared)
    best = best or max(shares, key=shares.__getitem__, default=None)
    if best is None:
        return {}
    # Of raters that are alike, one is the best by chance: any two could be the best and another.
    pairs = max(1, math.comb(len(shares), 2))
    resampling = Resampling(level=1 - (1 - STANDARD.level) / pairs)
    return {
        name: Estimate.of(
            paired_difference(
                equal[best], equal[name], clusters=joined.clusters, resampling=resampling
            )
        )
        for name in shares
        if name != best
    }


def _equal(labels: Sequence[str | None], human: Sequence[str | None]) -> list[float | None]:
    """Return 1 for each label that is that of people, 0 for another one."""
    return [
        None if label is None or people is None else float(label == people)
        for label, people in zip(labels, human, strict=True)
    ]


def may_be_chance(lead: Estimate | None) -> bool:
    """Return whether a lead of `leads` may be chance: if it has no interval, or one with 0."""
    return lead is None or not lead.reported or lead.reported[0] <= 0


def _slices(joined: RaterTable, panel: Panel) -> Iterator[RaterSlice]:
    """Yield the comparison of each rater with people by value of the table's field, most frequent
    value first."""
    order = _order(joined, panel)
    for value, _ in Counter(joined.values).most_common():
        items = [i for i, item_value in enumerate(joined.values) if item_value == value]
        human = [joined.human[i] for i in items]
        clusters = [joined.clusters[i] for i in items]
        for name, column in joined.raters.items():
            labels = [column[i] for i in items]
            same = Estimate.of(raw_agreement(labels, human, clusters=clusters))
            table = confusion(labels, human, labels=order)
            yield RaterSlice(
                value="-" if value is None else value,
                rater=name,
                compared=same.n,
                same=same,
                kappa=Estimate.of(cohen_kappa(labels, human, labels=order, clusters=clusters)),
                labels=tuple(map(str, table.labels)),
                confusion=table.counts,
            )


def labels_needed(estimate: Estimate, half_width: float) -> int | None:
    """Return how many more labels an estimate needs for this half-width, which is inverse to the
    root of n."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None
    half = max(estimate.value - estimate.low, estimate.high - estimate.value)
    # Rounding would ask for one label more where the interval has just this width.
    return max(0, math.ceil(estimate.n * (half / half_width) ** 2 - 1e-6) - estimate.n)


def rater_report(
    name: str, joined: RaterTable, panel: Panel, half_width: float = HALF_WIDTH
) -> RaterReport:
    """Return the comparison of one rater of the table with people.

    Args:
        name: The rater.
        joined: The table.
        panel: The panel, which has the scale.
        half_width: As for `measure_run`.
    """
    labels = joined.raters[name]
    human = joined.human
    clusters = joined.clusters
    order = _order(joined, panel)
    has_probabilities = any(p is not None for p in joined.probabilities[name])
    truths = [_yes(choice, panel) for choice in human]
    binary = binary_report(
        [_yes(choice, panel) for choice in labels],
        truths,
        probabilities=joined.probabilities[name] if has_probabilities else None,
        clusters=clusters,
    )
    table = confusion(labels, human, labels=order)
    graded = (
        cohen_kappa(labels, human, weights="quadratic", labels=order, clusters=clusters)
        if panel.scale.ordered
        else None
    )
    shares = ("accuracy", "balanced_accuracy", "precision", "recall", "specificity", "f1", "kappa")
    test = alternative_annotator_test(labels, joined.annotators, epsilon=EPSILON)
    same = Estimate.of(raw_agreement(labels, human, clusters=clusters))
    return RaterReport(
        rater=name,
        calibration=(
            _calibration(calibration(joined.probabilities[name], truths, clusters=clusters))
            if has_probabilities
            else None
        ),
        compared=binary.accuracy.n,
        unassessed=binary.unassessed,
        **{share: Estimate.of(getattr(binary, share)) for share in shares},
        auroc=Estimate.of(binary.auroc) if binary.auroc else None,
        same=same,
        labels_needed=labels_needed(same, half_width),
        kappa_of_labels=Estimate.of(cohen_kappa(labels, human, labels=order, clusters=clusters)),
        weighted_kappa=Estimate.of(graded) if graded else None,
        labels=tuple(map(str, table.labels)),
        confusion=table.counts,
        alt_test=_of_annotators(test, test.winning_rate),
        advantage=_of_annotators(test, test.advantage),
    )


def _calibration(measured: Calibration) -> CalibrationReport:
    points = tuple(CalibrationPoint(**asdict(point)) for point in measured.bins)
    return CalibrationReport(n=measured.n, bins=points, error=measured.error, brier=measured.brier)


def _of_annotators(test: AlternativeAnnotatorTest, value: float | None) -> Estimate | None:
    if value is None:
        return None
    return Estimate(
        value=value, n=len(test.comparisons), clusters=len(test.comparisons), because=NOT_REQUESTED
    )


def _pairs(joined: RaterTable, *, by_people: bool) -> list[RaterPair]:
    columns = dict(joined.raters) | ({HUMAN: joined.human} if by_people else {})
    resampling = Resampling(resamples=2000 if len(columns) <= MANY else 0)
    pairs = pairwise_agreement(columns, clusters=joined.clusters, resampling=resampling)
    if len(joined.annotators) > 1:
        pairs += pairwise_agreement(joined.annotators, clusters=joined.clusters)
    return [
        RaterPair(
            first=p.first,
            second=p.second,
            items=p.raw.n,
            raw=Estimate.of(p.raw),
            kappa=Estimate.of(p.kappa),
        )
        for p in pairs
    ]


def _order(joined: RaterTable, panel: Panel) -> tuple[str, ...]:
    """Return the labels in order: the words of the scale, and other labels that were used."""
    used = set[str | None]()
    for column in (*joined.raters.values(), joined.human):
        used.update(column)
    words = panel.scale.ranked
    if panel.scale.ordered:
        return words
    known = used if joined.yes_or_no else used.union(words)
    return tuple(word for word in THREE_WAY.ranked if word in known)


def _yes(choice: str | None, panel: Panel) -> bool | None:
    if choice is None:
        return None
    return panel.scale.positive(choice) if choice in panel.scale.words else False
