"""The results of an experiment: scores, differences to the baseline, flips, costs and agreement with labels.

An arm is chosen on one half of the labels, and reported on the other half.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Mapping
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from types import MappingProxyType

from pydantic import Field

from claimeval.data.labels import read_labels
from claimeval.metrics.extraction import ExaminedClaims, ExtractionSummary
from claimeval.metrics.flips import Flip, flip
from claimeval.metrics.scoring import MetricSummary
from claimeval.runs.agreement import measure
from claimeval.runs.compare import PairChanges, SamplePair, adjusted, compare
from claimeval.runs.directory import load_manifest, read_results
from claimeval.runs.experiments import Arm, Experiment
from claimeval.runs.experiments.running import arm_folder
from claimeval.runs.labels import PANEL, join
from claimeval.runs.overview import Overview, PairedRuns, gather
from claimeval.store.store import Store, cache_folder, unpack
from claimeval.types.errors import UsageError
from claimeval.types.estimates import Cost, Estimate
from claimeval.types.options import RunOptions
from claimeval.types.records import Record, Sample


class LabelAgreement(Record):
    """Agreement of an arm with human labels; the positive class is "supported"."""

    claims: int
    """Labeled claims that the arm judged."""
    accuracy: Estimate = Estimate()
    balanced_accuracy: Estimate = Estimate()
    kappa: Estimate = Estimate()


class Selection(Record):
    """The arm that agrees best with people on one half of the questions, and its agreement on the other half."""

    arm: str
    selected_on: dict[str, LabelAgreement]
    """Every arm on the choosing half."""
    held_out: LabelAgreement
    """The chosen arm on the other half: the only numbers to report."""
    held_out_baseline: LabelAgreement


class ArmMetric(MetricSummary):
    """One metric of one arm."""

    difference: Estimate | None = None
    """Mean of the paired differences to the baseline, over samples with a value in both; None for the baseline."""
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
    """Agreement with human labels, if the experiment has labels."""
    extraction: ExtractionSummary | None = None
    """Quality of its claims, from their words alone."""
    covers_less: str | None = None
    """The arm whose claims cover more, and of what; such scores are not comparable, and the arm is never chosen."""


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


def tabulate(
    design: Experiment,
    folder: Path,
    options: RunOptions,
    new: Mapping[str, int],
    failed: Mapping[str, str] = MappingProxyType({}),
    *,
    each_flip: Callable[[ArmFlip], object] = lambda flip: None,
) -> ExperimentResult:
    """Return the results of the arms, each compared with the baseline as `compare` does.

    Args:
        design: The experiment.
        folder: Directory of the runs.
        options: Settings of the runs.
        new: Number of new calls of each arm.
        failed: The arms without scores, with reasons; at least one arm must have scores.
        each_flip: Called with each flipped claim, arm by arm.
    """
    arms = [arm for arm in design.arms if arm.name not in failed]
    base = None if design.baseline in failed else arm_folder(folder, design.arm(design.baseline))
    rows = []
    examined: dict[str, ExaminedClaims] = {}
    with nullcontext() if options.via else Store(cache_folder(options.cache)) as store:
        for arm in arms:
            run, paired = arm_folder(folder, arm), None
            if base is None or run == base:
                overview = gather(run)
            else:

                def listed(pair: SamplePair, changes: PairChanges, name: str = arm.name) -> None:
                    for claim in changes.flips:
                        each_flip(ArmFlip(arm=name, **dict(flip(pair.a, claim))))

                _, overview, paired = compare(base, run, listed)
            row = _row(arm.name, run, overview, paired)
            examined[arm.name] = examine(run)
            latency = None if store is None else _median_latency(run, store)
            seen = {"new_calls": new.get(arm.name, 0), "median_latency": latency}
            rows.append(row.model_copy(update={**seen, "label_agreement": agreement(design, folder, arm)}))
    return ExperimentResult(
        data=str(design.data),
        baseline=design.baseline,
        samples=overview.summary.samples,
        clusters=overview.summary.clusters,
        cluster=design.cluster,
        arms=tuple(row.model_copy(update={"covers_less": covers_less(row.name, examined)}) for row in _adjusted(rows)),
        failed=dict(failed),
    )


def _row(name: str, run: Path, overview: Overview, paired: PairedRuns | None) -> ArmResult:
    """Return the result of an arm from its overview and its comparison with the baseline."""
    summary, judges = overview.summary, overview.judges
    metrics = {metric: ArmMetric(**dict(metric_summary)) for metric, metric_summary in summary.metrics.items()}
    for compared in paired.metrics if paired else ():
        if score := metrics.get(compared.metric):
            update = {"difference": compared.difference, "p": compared.p}
            metrics[compared.metric] = score.model_copy(update=update)
    verdicts = sum(sum(dict(judge.labels).values()) for judge in judges)
    replies = sum(judge.replies for judge in judges)
    unreadable = sum(judge.failed.get(reason, 0) for judge in judges for reason in ("unparsable", "truncated"))
    assert summary.cost, "an arm has judges"
    return ArmResult(
        name=name,
        run=str(run),
        metrics=metrics,
        claims=sum(summary.metrics[metric.name].total or 0 for metric in overview.manifest.rows),
        unassessed_rate=sum(judge.labels.unassessed for judge in judges) / verdicts if verdicts else None,
        parse_failure_rate=unreadable / replies if replies else None,
        flips=paired.flipped if paired else 0,
        compared=paired.compared if paired else 0,
        relabeled=paired.relabeled if paired else 0,
        labeled_once=paired.labeled_once if paired else 0,
        cost=summary.cost.total,
        extraction=overview.extraction,
    )


def examine(run: Path) -> ExaminedClaims:
    """Return the quality counts of a run's claims, from their words alone."""
    manifest = load_manifest(run)
    examined = ExaminedClaims(manifest.data.samples or 0, manifest.cluster)
    for result in read_results(run):
        examined.add(result)
    return examined


def covers_less(name: str, examined: Mapping[str, ExaminedClaims]) -> str | None:
    """Return than which arm the claims of an arm cover less of their texts, and of what; None if than none."""
    for other, claims in examined.items():
        if other != name and (what := examined[name].covers_less_than(claims)):
            return f"than {other} ({what})"
    return None


def _median_latency(run: Path, store: Store) -> float | None:
    """Return the median of the seconds that the stored replies of a run took when they were asked for."""
    keys = {call.key for result in read_results(run) for call in result.calls}
    origins = (unpack(value)[0] for key in keys if (value := store.get(key)))
    seconds = [origin.latency for origin in origins if origin.latency is not None]
    return median(seconds) if seconds else None


def _adjusted(rows: list[ArmResult]) -> tuple[ArmResult, ...]:
    """Return the rows with p-values adjusted over the arms, metric by metric."""
    columns = {name: iter(adjusted([row.metrics[name] for row in rows])) for name in rows[0].metrics}
    return tuple(
        row.model_copy(update={"metrics": {name: next(columns[name]) for name in row.metrics}}) for row in rows
    )


def agreement(design: Experiment, folder: Path, arm: Arm, which: int | None = None) -> LabelAgreement | None:
    """Return how an arm agrees with the experiment's labels, over all samples or a half of them; None without labels.

    Args:
        design: The experiment.
        folder: Directory of the runs.
        arm: The arm.
        which: The half, as `half` numbers them; None for all samples.
    """
    if design.labels is None:
        return None
    run = arm_folder(folder, arm)
    manifest = load_manifest(run)
    results = [result for result in read_results(run) if which in (None, half(result.sample))]
    ids = {result.sample.id for result in results}
    labels = [label for label in read_labels(design.labels) if label.sample in ids]
    against = manifest.rows[0].against
    joined = join(results, [judge.name for judge in manifest.judges], manifest.panel, labels, against, manifest.cluster)
    raters = {report.rater: report for report in measure(joined, manifest.panel).raters}
    if not raters:
        return LabelAgreement(claims=0)
    rater = raters.get(PANEL) or next(iter(raters.values()))
    return LabelAgreement(
        claims=rater.compared,
        accuracy=rater.accuracy,
        balanced_accuracy=rater.balanced_accuracy,
        kappa=rater.kappa,
    )


def half(sample: Sample) -> int:
    """Return 0 or 1 by a hash of the question, so that all answers to one question fall into the same half."""
    question = " ".join(sample.question.casefold().split())
    return hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()[-1] & 1


def select(design: Experiment, folder: Path, failed: Container[str] = ()) -> Selection:
    """Choose an arm by balanced accuracy on half 0, and report on half 1.

    Arms that failed or cover less of their texts than another arm are left out. Raises UsageError if a half has no
    labels.
    """

    def on_half(arm: Arm, which: int) -> LabelAgreement:
        return agreement(design, folder, arm, which) or LabelAgreement(claims=0)

    examined = {arm.name: examine(arm_folder(folder, arm)) for arm in design.arms if arm.name not in failed}
    fair = [arm for arm in design.arms if arm.name in examined and not covers_less(arm.name, examined)]
    if not fair:
        raise UsageError("--select: every arm covers less of its texts than another one, so none can be chosen")
    selected_on = {arm.name: on_half(arm, 0) for arm in fair}
    best = max(selected_on, key=lambda name: selected_on[name].balanced_accuracy.value or -1.0)
    held_out = on_half(design.arm(best), 1)
    if selected_on[best].balanced_accuracy.value is None or not held_out.claims:
        raise UsageError("--select needs labeled claims of both kinds in each half of the questions; give more labels")
    baseline = on_half(design.arm(design.baseline), 1)
    return Selection(arm=best, selected_on=selected_on, held_out=held_out, held_out_baseline=baseline)
