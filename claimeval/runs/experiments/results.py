"""The results of an experiment: scores, differences to the baseline, flips, costs and agreement
with labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING

from pydantic import Field

from claimeval.data.labels import HumanLabel
from claimeval.evaluation.manifest import Manifest
from claimeval.judging.panel import Panel
from claimeval.metrics.claim_quality import ExtractionSummary
from claimeval.metrics.flips import Flip, FlipCounts, flip
from claimeval.metrics.scoring import MetricSummary
from claimeval.runs.agreement import leads, measure
from claimeval.runs.compare import Pair, PairChanges, adjusted, compare
from claimeval.runs.directory import RunResults, load_manifest
from claimeval.runs.experiments import Arm, Experiment
from claimeval.runs.experiments.running import arm_folder
from claimeval.runs.experiments.selection import (
    LabelAgreement,
    Selection,
    claims_of_arms,
    common_scale,
    covers_less,
    examine,
    labels_of,
    rater_of,
)
from claimeval.runs.labels import PANEL, LabelPlaces, join
from claimeval.runs.overview import JudgeOverview, Overview, PairedRuns, gather
from claimeval.store.store import Store, cache_folder, unpack
from claimeval.types.estimates import Cost, Estimate
from claimeval.types.options import RunOptions
from claimeval.types.records import Record, SampleResult
from claimeval.types.scales import BINARY

if TYPE_CHECKING:
    from claimeval.metrics.extraction import ExaminedClaims


class ArmMetric(MetricSummary):
    """One metric of one arm."""

    difference: Estimate | None = None
    """Mean of the paired differences to the baseline, over samples with a value in both; None for
    the baseline."""
    p: float | None = None
    """Sign-flip permutation test of the paired differences, two-sided."""
    p_adjusted: float | None = None
    """`p` after Holm's correction over the arms."""


class ArmResult(Record):
    """One row of the table."""

    name: str
    run: str
    metrics: dict[str, ArmMetric]
    claims: int
    """Claims that the panel was asked about, counted once per metric."""
    unassessed_rate: float | None
    """Share of the judges' verdicts without a label."""
    parse_failure_rate: float | None
    """Share of the replies that could not be parsed or were truncated."""
    flips: int
    """Claims, of `compared`, that count differently than under the baseline."""
    compared: int
    """Claims that the baseline also has and assessed against the same evidence."""
    relabeled: int
    """Claims with another label than under the baseline that counts the same."""
    labeled_once: int
    """Claims with a label in this arm or in the baseline only."""
    cost: Cost
    """Cost as in the arm's `summary.json`, including requests that it shares with other arms."""
    new_calls: int = 0
    """Requests sent for this arm in this run of the command."""
    median_latency: float | None = None
    """Median seconds per call, over the stored replies."""
    label_agreement: LabelAgreement | None = None
    """Agreement with human labels, if the experiment has labels; with a selection, on the choosing
    half."""
    extraction: ExtractionSummary | None = None
    """Quality of its claims, from their words alone."""
    covers_less: str | None = None
    """The arm whose claims cover more, and of what; such scores are not comparable, and the arm is
    never chosen."""


class ArmFlip(Flip):
    """A claim that flipped from the baseline (a) to an arm (b)."""

    arm: str


class ExperimentResult(Record):
    """The results of an experiment."""

    data: str
    baseline: str
    samples: int
    clusters: int
    """Number of questions (or values of `cluster`) of the samples."""
    cluster: str | None
    arms: tuple[ArmResult, ...]
    """The arms with scores. If the baseline has none, there are no differences."""
    failed: dict[str, str] = Field(default_factory=dict)
    """The other arms, with the reason why they have no scores."""
    selection: Selection | None = None
    """The arm chosen by human labels, if requested."""

    def __repr__(self) -> str:
        from claimeval.runs.views import experiment, plain

        return plain.text(experiment.first(self))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from claimeval.runs.views import experiment, notebook

        return notebook.page(experiment.view(self))


def tabulate(
    design: Experiment,
    folder: Path,
    options: RunOptions,
    new: Mapping[str, int],
    failed: Mapping[str, str] = MappingProxyType({}),
    *,
    selection: Selection | None = None,
    each_flip: Callable[[ArmFlip], object] = lambda flip: None,
) -> ExperimentResult:
    """Return the results of the arms, each compared with the baseline as `compare` does.

    Args:
        design: The experiment.
        folder: Directory of the runs.
        options: Settings of the runs.
        new: Number of new calls of each arm.
        failed: The arms without scores, with reasons; at least one arm must have scores.
        selection: The arm that was chosen by labels, if any.
        each_flip: Called with each flipped claim, arm by arm.
    """
    arms = [arm for arm in design.arms if arm.name not in failed]
    base = None if design.baseline in failed else arm_folder(folder, design.arm(design.baseline))
    people = selection.selected_on if selection else agreements(design, folder, arms)
    rows = []
    examined: dict[str, ExaminedClaims] = {}
    with Store(cache_folder(options.cache)) as store:
        for arm in arms:
            run = arm_folder(folder, arm)
            paired = None
            if base is None or run == base:
                overview = gather(run)
            else:
                # `name` has its value here: a closure would read that of a later arm.
                def listed(
                    pair: Pair[SampleResult], changes: PairChanges, name: str = arm.name
                ) -> None:
                    for claim in changes.flips:
                        each_flip(ArmFlip(arm=name, **dict(flip(pair.a, claim))))

                _, overview, paired = compare(base, run, listed)
            row = _row(arm.name, run, overview, paired)
            examined[arm.name] = examine(run)
            latency = _median_latency(run, store)
            seen = {"new_calls": new.get(arm.name, 0), "median_latency": latency}
            rows.append(row.model_copy(update={**seen, "label_agreement": people.get(arm.name)}))
            if base in (None, run):
                summary = overview.summary
    return ExperimentResult(
        data=str(design.data),
        baseline=design.baseline,
        samples=summary.samples,
        clusters=summary.clusters,
        cluster=design.cluster,
        arms=tuple(
            row.model_copy(update={"covers_less": covers_less(row.name, examined)})
            for row in _adjusted(rows)
        ),
        failed=dict(failed),
        selection=selection,
    )


def _row(name: str, run: Path, overview: Overview, paired: PairedRuns | None) -> ArmResult:
    """Return the result of an arm from its overview and its comparison with the baseline."""
    summary = overview.summary
    judges = overview.judges
    metrics = {
        metric: ArmMetric(**dict(metric_summary))
        for metric, metric_summary in summary.metrics.items()
    }
    for compared in paired.metrics if paired else ():
        if score := metrics.get(compared.metric):
            update = {"difference": compared.difference, "p": compared.p}
            metrics[compared.metric] = score.model_copy(update=update)
    flips = FlipCounts(0, 0, 0, 0)
    if paired:
        flips = FlipCounts(paired.compared, paired.flipped, paired.relabeled, paired.labeled_once)
    assert summary.cost, "an arm has judges"
    return ArmResult(
        name=name,
        run=str(run),
        metrics=metrics,
        claims=sum(summary.metrics[metric.name].total or 0 for metric in overview.manifest.rows),
        unassessed_rate=_unassessed_rate(judges),
        parse_failure_rate=_parse_failure_rate(judges),
        flips=flips.flipped,
        compared=flips.compared,
        relabeled=flips.relabeled,
        labeled_once=flips.labeled_once,
        cost=summary.cost.total,
        extraction=overview.extraction,
    )


def _unassessed_rate(judges: Iterable[JudgeOverview]) -> float | None:
    """Return the share of verdicts without a label; None without a verdict."""
    labels = [judge.labels for judge in judges]
    verdicts = sum(sum(dict(counts).values()) for counts in labels)
    return sum(counts.unassessed for counts in labels) / verdicts if verdicts else None


def _parse_failure_rate(judges: Sequence[JudgeOverview]) -> float | None:
    """Return the share of replies that could not be read; None without a reply."""
    replies = sum(judge.replies for judge in judges)
    failed = [judge.failed for judge in judges]
    unreadable = sum(of.get("unparsable", 0) + of.get("truncated", 0) for of in failed)
    return unreadable / replies if replies else None


def _median_latency(run: Path, store: Store) -> float | None:
    """Return the median of the seconds that the stored replies of a run took when they were asked
    for."""
    keys = set[str]()
    for result in RunResults.of(run):
        keys.update(call.key for call in result.calls)
    origins = (unpack(value)[0] for key in keys if (value := store.get(key)))
    seconds = [origin.latency for origin in origins if origin.latency is not None]
    return median(seconds) if seconds else None


def _adjusted(rows: list[ArmResult]) -> tuple[ArmResult, ...]:
    """Return the rows with p-values adjusted over the arms, metric by metric."""
    columns = {
        name: iter(adjusted([row.metrics[name] for row in rows])) for name in rows[0].metrics
    }
    return tuple(
        row.model_copy(update={"metrics": {name: next(columns[name]) for name in row.metrics}})
        for row in rows
    )


def agreements(
    design: Experiment, folder: Path, arms: Sequence[Arm]
) -> Mapping[str, LabelAgreement]:
    """Return how each arm agrees with the experiment's labels, and how far it is behind the best
    one; empty without labels."""
    if design.labels is None:
        return {}
    runs = {arm.name: arm_folder(folder, arm) for arm in arms}
    manifests = {name: load_manifest(run) for name, run in runs.items()}
    labels = {
        name: list(
            labels_of(design.labels, manifests[name].rows[0], LabelPlaces.of(run), design.sheet)
        )
        for name, run in runs.items()
    }
    # An arm that answers yes or no, or people who do, tell "contradicted" from "not found" for no
    # arm: else the arms that do would be wrong wherever they say so.
    scale = common_scale(
        [manifest.panel.scale for manifest in manifests.values()],
        chain.from_iterable(labels.values()),
    )
    found = {
        name: _agreement(run, manifests[name], labels[name], yes_or_no=scale == BINARY)
        for name, run in runs.items()
    }
    shares = {name: one.same.value for name, one in found.items() if one.same.value is not None}
    if not shares:
        return found
    best = max(shares, key=shares.__getitem__)
    manifest = manifests[best]
    panel = Panel(scale=scale)
    table = claims_of_arms(runs, labels[best], panel, manifest.rows[0], manifest.cluster)
    behind = leads(table, rater_of(best))
    return {
        name: one.model_copy(update={"behind": behind.get(rater_of(name))})
        for name, one in found.items()
    }


def _agreement(
    run: Path, manifest: Manifest, given: Iterable[HumanLabel], *, yes_or_no: bool
) -> LabelAgreement:
    """Return how an arm agrees with labels; `yes_or_no` is as for `join`."""
    results = list(RunResults.of(run))
    ids = {result.sample.id for result in results}
    labels = [label for label in given if label.sample in ids]
    against = manifest.rows[0].against
    joined = join(
        results,
        [judge.name for judge in manifest.judges],
        manifest.panel,
        labels,
        against,
        manifest.cluster,
        yes_or_no=yes_or_no,
    )
    raters = {report.rater: report for report in measure(joined, manifest.panel).raters}
    return (
        LabelAgreement.of(raters.get(PANEL) or next(iter(raters.values())))
        if raters
        else LabelAgreement(claims=0)
    )
