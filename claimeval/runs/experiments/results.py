"""Run directories of arms -> one table: scores, paired differences to the baseline, flips, costs."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import NamedTuple

from pydantic import Field

from claimeval.evaluation.summary.cost import JudgeCost, total
from claimeval.metrics.flips import Flip, FlipCounts, FlipTally
from claimeval.metrics.scoring import MetricSummary
from claimeval.runs.compare import flip_tally
from claimeval.runs.directory import load_manifest, load_summary, read_results
from claimeval.runs.experiments import Arm, Experiment
from claimeval.runs.experiments.running import arm_folder
from claimeval.runs.experiments.selection import LabelAgreement, Selection, agreement
from claimeval.statistics import holm, mean_interval, paired_difference
from claimeval.store.replies import unpack
from claimeval.store.store import Store, cache_folder
from claimeval.types.clusters import cluster_of
from claimeval.types.estimates import Cost, Estimate
from claimeval.types.options import RunOptions
from claimeval.types.records import Record


class ArmMetric(MetricSummary):
    """One metric of one arm."""

    difference: Estimate | None = None
    """Mean of the paired differences to the baseline, over samples with a value in both; None for the baseline."""
    p: float | None = None
    """Sign-flip permutation test of the paired differences, two-sided."""
    p_adjusted: float | None = None
    """The same, adjusted over the arms (Holm)."""


class ArmResult(Record):
    """One row of the table."""

    name: str
    run: str
    metrics: dict[str, ArmMetric]
    claims: int
    """Claims that were put to the panel, once for each metric."""
    unassessed_rate: float | None
    """Share of the judges' verdicts that are no label."""
    parse_failure_rate: float | None
    """Share of the replies that were not in the agreed format or cut off."""
    flips: int
    """Claims that count differently than under the baseline, of those that both arms have (see `flips.py`)."""
    relabeled: int
    """Claims with another label than under the baseline that counts the same."""
    labeled_once: int
    """Claims with a label in this arm or in the baseline only."""
    cost: Cost
    """What the arm would have cost alone, questions that it shares with other arms included."""
    new_calls: int
    """Requests sent for this arm in this run of the command."""
    median_latency: float | None
    """Seconds a call, over the stored replies."""
    with_people: LabelAgreement | None = None
    """Agreement with human labels, where the experiment has some."""


class ArmFlip(Flip):
    """A claim that flipped from the baseline (a) to an arm (b)."""

    arm: str


class ExperimentResult(Record):
    """What an experiment found."""

    data: str
    baseline: str
    samples: int
    clusters: int
    """Questions that these are about, or what `cluster` names."""
    cluster: str | None
    arms: tuple[ArmResult, ...]
    """Those that have scores. Without the baseline among them there are no differences."""
    failed: dict[str, str] = Field(default_factory=dict)
    """The other arms, and why each has no scores."""
    selection: Selection | None = None
    """The arm that was chosen by human labels, where that was asked for."""


def tabulate(
    design: Experiment,
    metrics: tuple[str, ...],
    folder: Path,
    options: RunOptions,
    new: Mapping[str, int],
    failed: Mapping[str, str] = MappingProxyType({}),
) -> ExperimentResult:
    """Return the table over all arms; reads each run sample by sample and holds one number per sample, metric and arm.

    Args:
        design: The experiment.
        metrics: Names of the metrics.
        folder: Directory of the runs.
        options: Settings of the runs.
        new: Number of new calls of each arm.
        failed: The arms without scores, and why.

    Returns:
        The result of every arm that has scores; at least one must have some.
    """
    arms = [arm for arm in design.arms if arm.name not in failed]
    gathered = {arm.name: _gather(arm_folder(folder, arm), metrics, options) for arm in arms}
    base = gathered.get(design.baseline)
    clusters = gathered[arms[0].name].clusters
    rows = []
    for arm in arms:
        mine = gathered[arm.name]
        against = None if mine is base else base
        counts = _flip_counts(design, folder, arm) if against else FlipCounts()
        summary = load_summary(arm_folder(folder, arm)).metrics
        cells = {
            m: _cell(summary[m], mine.values[m], against and against.values[m], clusters, design.seed) for m in metrics
        }
        row = mine.row(arm, str(arm_folder(folder, arm)), cells, counts, new.get(arm.name, 0))
        rows.append(row.model_copy(update={"with_people": agreement(design, folder, arm)}))
    return ExperimentResult(
        data=str(design.data),
        baseline=design.baseline,
        samples=len(clusters),
        clusters=len(set(clusters)),
        cluster=design.cluster,
        arms=_adjusted(rows, metrics, design.baseline),
        failed=dict(failed),
    )


def _cell(
    summary: MetricSummary, mine: list[float | None], base: list[float | None] | None, clusters: array[int], seed: int
) -> ArmMetric:
    """The summary of an arm's run with its interval by the experiment's seed, and the difference to the baseline."""
    known = [(value, cluster) for value, cluster in zip(mine, clusters, strict=True) if value is not None]
    mean = mean_interval([value for value, _ in known], clusters=[cluster for _, cluster in known], seed=seed)
    fields = {**dict(summary), "low": mean.low, "high": mean.high}
    if base is None:
        return ArmMetric(**fields)
    paired = paired_difference(mine, base, clusters=clusters, seed=seed)
    return ArmMetric(**fields, difference=Estimate.of(paired), p=paired.p)


def _adjusted(rows: list[ArmResult], metrics: tuple[str, ...], baseline: str) -> tuple[ArmResult, ...]:
    """The rows with p-values adjusted over the arms, metric by metric."""
    for metric in metrics:
        tested = [i for i, row in enumerate(rows) if row.name != baseline and row.metrics[metric].p is not None]
        for i, p in zip(tested, holm([rows[i].metrics[metric].p or 0.0 for i in tested]), strict=True):
            cell = rows[i].metrics[metric].model_copy(update={"p_adjusted": p})
            rows[i] = rows[i].model_copy(update={"metrics": {**rows[i].metrics, metric: cell}})
    return tuple(rows)


class _Gathered(NamedTuple):
    """What one pass over an arm's results gives."""

    values: dict[str, list[float | None]]
    clusters: array[int]
    claims: int
    verdicts: int
    unassessed: int
    replies: int
    unreadable: int
    cost: Cost
    latencies: array[float]

    def row(self, arm: Arm, run: str, cells: dict[str, ArmMetric], counts: FlipCounts, new: int) -> ArmResult:
        """Return the result of the arm.

        Args:
            arm: The arm.
            run: Directory of its run.
            cells: Its metrics by name.
            counts: Claims that flipped from the baseline.
            new: Number of new calls.
        """
        return ArmResult(
            name=arm.name,
            run=run,
            metrics=cells,
            claims=self.claims,
            unassessed_rate=self.unassessed / self.verdicts if self.verdicts else None,
            parse_failure_rate=self.unreadable / self.replies if self.replies else None,
            flips=counts.flipped,
            relabeled=counts.relabeled,
            labeled_once=counts.labeled_once,
            cost=self.cost,
            new_calls=new,
            median_latency=median(self.latencies) if self.latencies else None,
        )


def _gather(run: Path, metrics: tuple[str, ...], options: RunOptions) -> _Gathered:
    values: dict[str, list[float | None]] = {metric: [] for metric in metrics}
    claims = verdicts = unassessed = replies = unreadable = 0
    seen: set[str] = set()
    latencies: array[float] = array("d")
    manifest = load_manifest(run)
    judges = {judge.name: judge for judge in manifest.asked}
    costs: dict[str, JudgeCost] = {}
    clusters = array("q")
    judged = {metric.name for metric in manifest.rows}
    with Store(cache_folder(options.cache)) as store:
        for result in read_results(run):
            clusters.append(cluster_of(result.sample, manifest.cluster))
            for name, score in result.scores.items():
                values[name].append(score.value)
                claims += (score.total or 0) if name in judged else 0
            for verdict in (v for assessment in result.assessments for v in assessment.verdicts):
                verdicts += 1
                unassessed += verdict.label is None
            for call in result.calls:
                replies += call.reply is not None
                unreadable += call.failed in ("unparsable", "truncated")
                if call.key in seen:
                    continue
                seen.add(call.key)
                costs.setdefault(call.judge, JudgeCost(judges.get(call.judge), options.prices)).add(call)
                if (value := store.get(call.key)) and (latency := unpack(value)[0].latency) is not None:
                    latencies.append(latency)
    cost = total(judge.cost() for judge in costs.values())
    return _Gathered(values, clusters, claims, verdicts, unassessed, replies, unreadable, cost, latencies)


def flips(design: Experiment, folder: Path, arm: Arm) -> Iterator[ArmFlip]:
    """The claims that flipped from the baseline to an arm."""
    for flip in _flips(design, folder, arm, _tally(design, folder, arm)):
        yield ArmFlip(arm=arm.name, **flip.model_dump())


def _flip_counts(design: Experiment, folder: Path, arm: Arm) -> FlipCounts:
    tally = _tally(design, folder, arm)
    for _ in _flips(design, folder, arm, tally):
        pass
    return tally.counts()


def _tally(design: Experiment, folder: Path, arm: Arm) -> FlipTally:
    return flip_tally(*(load_manifest(arm_folder(folder, one)) for one in (design.arm(design.baseline), arm)))


def _flips(design: Experiment, folder: Path, arm: Arm, tally: FlipTally) -> Iterator[Flip]:
    """The flips sample by sample, counted by the tally."""
    runs = [read_results(arm_folder(folder, one)) for one in (design.arm(design.baseline), arm)]
    for before, after in zip(*runs, strict=True):
        yield from tally.add(before, after)
