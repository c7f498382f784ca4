"""What a comparison of judges with people comes to. Intervals resample whole questions with all their samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from claimeval.data.labels import read_labels
from claimeval.judging.panel import Panel
from claimeval.runs.directory import cluster_field, load_manifest, read_results
from claimeval.runs.import_replies import LABELS
from claimeval.runs.labels import HUMAN, PANEL, HumanLabelCounts, RaterTable, join
from claimeval.statistics import (
    AlternativeAnnotatorTest,
    Resampling,
    alternative_annotator_test,
    binary_report,
    cohen_kappa,
    confusion,
    gwet_ac1,
    krippendorff_alpha,
    pairwise_agreement,
    raw_agreement,
)
from claimeval.statistics.bootstrap import NOT_REQUESTED
from claimeval.statistics.formatting import UNDEFINED, estimate
from claimeval.types import html
from claimeval.types.errors import UsageError
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record
from claimeval.types.scales import THREE_WAY

EPSILON = 0.2
"""How much more the label of an expert is worth than a judge's: that of the alternative annotator test's paper."""
MANY = 8
"""Of more raters than this, pairs are given without intervals, which would take minutes."""


class RaterReport(Record):
    """One judge, or the panel, against the human labels. Yes is "supported"."""

    rater: str
    compared: int
    """Items that both labelled."""
    unassessed: int
    """Items with a human label only; they are in no number."""
    accuracy: Estimate
    balanced_accuracy: Estimate
    precision: Estimate
    recall: Estimate
    specificity: Estimate
    f1: Estimate
    kappa: Estimate
    auroc: Estimate | None
    """Where the rater gives probabilities."""
    same: Estimate
    """Share of equal labels, or grades, where there are more than two."""
    kappa_of_labels: Estimate
    """Cohen's kappa over all labels or grades."""
    weighted_kappa: Estimate | None
    """The same with squared distances, for grades."""
    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    """`confusion[a][b]`: items that people label `labels[a]` and the rater `labels[b]`."""

    alt_test: Estimate | None = None
    """Alternative annotator test with epsilon 0.2: the share of annotators (`n`) in whose place the rater may label; it
    passes from one half. None unless two annotators labelled 30 items together."""
    advantage: Estimate | None = None
    """Its mean probability that the rater is at least as close to the other annotators as the one left out."""


class PairReport(Record):
    """Two raters on the items that both labelled."""

    first: str
    second: str
    items: int
    raw: Estimate
    kappa: Estimate


class Agreement(Record):
    """Judges against people, and against each other."""

    items: int
    """Claims and samples with a human label; all claims where there are no labels."""
    questions: int
    unmatched: int
    """Human labels that fit nothing in the run."""
    labels: HumanLabelCounts
    raters: tuple[RaterReport, ...]
    pairs: tuple[PairReport, ...]
    """Judges, panel and people, any two; and any two annotators."""
    asked_later: tuple[str, ...]
    """Judges who, by escalation, saw disputed claims only; they are not in `alpha` and `ac1`."""
    alpha: Estimate | None
    """Krippendorff's alpha of the judges, where there are several."""
    ac1: Estimate | None
    """Gwet's AC1 of the judges."""

    def _repr_html_(self) -> str:
        """A column a rater with its numbers against people, the pairs of raters, and the confusion of the first."""
        estimates = ((name, *map(_in_words, numbers)) for name, numbers in by_measure(self.raters) if any(numbers))
        compared = ("compared (+ unassessed)", *(f"{r.compared} (+{r.unassessed})" for r in self.raters))
        pairs = ((f"{p.first} / {p.second}", str(p.items), *map(_in_words, (p.raw, p.kappa))) for p in self.pairs)
        among = (("Krippendorff's alpha", self.alpha), ("Gwet's AC1", self.ac1))
        what = "labeled items" if self.raters else "claims, no human labels"
        confused = self.raters[0] if self.raters else None
        return html.shown(
            html.element("p", html.element("b", "agreement"), html.Html(" "), f"{self.items} {what}"),
            *([html.element("p", f"Labels {words}", class_="caution")] if (words := self.labels.words()) else ()),
            *([html.table(("", *(r.rater for r in self.raters)), (compared, *estimates))] if self.raters else ()),
            *([html.table(("pair", "items", "equal", "kappa"), pairs)] if self.pairs else ()),
            *(html.element("p", f"{name} of the judges: {_in_words(number)}") for name, number in among if number),
            *([_confusion(confused)] if confused else ()),
        )


def by_measure(raters: Sequence[RaterReport]) -> Iterator[tuple[str, list[Estimate | None]]]:
    """Yield the name of each number against people, and the number of each rater."""
    graded = any(rater.weighted_kappa for rater in raters)
    yield "accuracy", [rater.accuracy for rater in raters]
    yield "balanced accuracy", [rater.balanced_accuracy for rater in raters]
    yield "precision", [rater.precision for rater in raters]
    yield "recall", [rater.recall for rater in raters]
    yield "F1", [rater.f1 for rater in raters]
    yield "kappa, yes or no", [rater.kappa for rater in raters]
    yield "AUROC", [rater.auroc for rater in raters]
    yield "same grade" if graded else "same label", [rater.same for rater in raters]
    yield "kappa, all grades" if graded else "kappa, all labels", [rater.kappa_of_labels for rater in raters]
    yield "kappa, squared", [rater.weighted_kappa for rater in raters]
    yield "alt-test, winning rate", [rater.alt_test for rater in raters]
    yield "alt-test, advantage", [rater.advantage for rater in raters]


def _in_words(number: Estimate | None) -> str:
    return estimate(number.value, number.interval) if number else UNDEFINED


def _confusion(rater: RaterReport) -> html.Html:
    rows = ((label, *map(str, counts)) for label, counts in zip(rater.labels, rater.confusion, strict=True))
    return html.table((f"people \\ {rater.rater}", *rater.labels), rows)


def measure_run(
    run: Path, labels: Path | None = None, evidence: str | None = None, cluster: str | None = None
) -> Agreement:
    """Compare the judges of a run with labels, or with each other if there are none.

    Args:
        run: A run directory.
        labels: A file of human labels; None for those that the run was imported with, if any.
        evidence: What the labels are about, if claims were assessed against several parts of a sample.
        cluster: The field whose equal values are one cluster; None as in the run.

    Raises:
        UsageError: No label fits an item of the run.
    """
    manifest = load_manifest(run)
    file = labels or run / LABELS
    given = read_labels(file) if labels or file.exists() else None
    judges, field = tuple(judge.name for judge in manifest.judges), cluster_field(run, cluster)
    report = measure(join(read_results(run), judges, manifest.panel, given, evidence, field), manifest.panel)
    if given is None:
        return report
    counts = report.labels.model_copy(update={"blank": given.blank, "undecided": given.undecided})
    if not report.raters:
        stray = f"; {report.unmatched} fit no claim or sample" if report.unmatched else ""
        raise UsageError(f"no label can be compared with {run}: {counts.words() or 'none counts'}{stray}")
    return report.model_copy(update={"labels": counts})


def measure(joined: RaterTable, panel: Panel) -> Agreement:
    """The comparison of what was joined."""
    with_people = any(label is not None for label in joined.human)
    everyone = [name for name in joined.raters if name != PANEL]
    names = panel.asked_about_all(everyone)
    judges = [joined.raters[name] for name in names]
    ratings = list(zip(*judges, strict=True)) if len(judges) > 1 else []
    order = _order(joined, panel)
    scale: Literal["ordinal", "nominal"] = "ordinal" if panel.scale.ordered else "nominal"
    alpha = krippendorff_alpha(ratings, scale=scale, labels=order, clusters=joined.clusters) if ratings else None
    ac1 = gwet_ac1(ratings, labels=order, clusters=joined.clusters) if ratings else None
    return Agreement(
        items=len(joined.clusters),
        asked_later=() if panel.extract_per_judge else tuple(n for n in everyone if n not in names),
        questions=len(set(joined.clusters)),
        unmatched=joined.unmatched,
        labels=joined.labels,
        raters=tuple(_rater(name, joined, panel, order) for name in joined.raters) if with_people else (),
        pairs=tuple(_pairs(joined, with_people=with_people)),
        alpha=Estimate.of(alpha) if alpha else None,
        ac1=Estimate.of(ac1) if ac1 else None,
    )


def _rater(name: str, joined: RaterTable, panel: Panel, order: Sequence[str]) -> RaterReport:
    said, human, clusters = joined.raters[name], joined.human, joined.clusters
    known = any(p is not None for p in joined.probabilities[name])
    binary = binary_report(
        [_yes(choice, panel) for choice in said],
        [_yes(choice, panel) for choice in human],
        probabilities=joined.probabilities[name] if known else None,
        clusters=clusters,
    )
    table = confusion(said, human, labels=order)
    graded = (
        cohen_kappa(said, human, weights="quadratic", labels=order, clusters=clusters) if panel.scale.ordered else None
    )
    shares = ("accuracy", "balanced_accuracy", "precision", "recall", "specificity", "f1", "kappa")
    test = alternative_annotator_test(said, joined.annotators, epsilon=EPSILON)
    return RaterReport(
        rater=name,
        compared=binary.accuracy.n,
        unassessed=binary.unassessed,
        **{share: Estimate.of(getattr(binary, share)) for share in shares},
        auroc=Estimate.of(binary.auroc) if binary.auroc else None,
        same=Estimate.of(raw_agreement(said, human, clusters=clusters)),
        kappa_of_labels=Estimate.of(cohen_kappa(said, human, labels=order, clusters=clusters)),
        weighted_kappa=Estimate.of(graded) if graded else None,
        labels=tuple(map(str, table.labels)),
        confusion=table.counts,
        alt_test=_of_annotators(test, test.winning_rate),
        advantage=_of_annotators(test, test.advantage),
    )


def _of_annotators(test: AlternativeAnnotatorTest, value: float | None) -> Estimate | None:
    if value is None:
        return None
    return Estimate(value=value, n=len(test.comparisons), clusters=len(test.comparisons), because=NOT_REQUESTED)


def _pairs(joined: RaterTable, *, with_people: bool) -> list[PairReport]:
    columns = dict(joined.raters) | ({HUMAN: joined.human} if with_people else {})
    resampling = Resampling(resamples=2000 if len(columns) <= MANY else 0)
    found = pairwise_agreement(columns, clusters=joined.clusters, resampling=resampling)
    if len(joined.annotators) > 1:
        found += pairwise_agreement(joined.annotators, clusters=joined.clusters)
    return [
        PairReport(first=p.first, second=p.second, items=p.raw.n, raw=Estimate.of(p.raw), kappa=Estimate.of(p.kappa))
        for p in found
    ]


def _order(joined: RaterTable, panel: Panel) -> tuple[str, ...]:
    """The scale: its words, and other labels that were used."""
    used = {choice for column in (*joined.raters.values(), joined.human) for choice in column}
    words = panel.scale.ranked
    return words if panel.scale.ordered else tuple(w for w in THREE_WAY.ranked if w in used or w in words)


def _yes(choice: str | None, panel: Panel) -> bool | None:
    if choice is None:
        return None
    return panel.scale.positive(choice) if choice in panel.scale.words else False
