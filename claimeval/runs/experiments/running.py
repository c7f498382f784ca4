"""Running the arms of an experiment one after the other with one reply cache, so that shared
requests are sent once."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from claimeval.data.survey import survey
from claimeval.evaluation.claims import (
    AUTO,
    ClaimsJob,
    choose_metrics,
    prompt_language,
    with_questions,
)
from claimeval.evaluation.job import run_identity
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary, SummaryBuilder
from claimeval.execution import RunStatus
from claimeval.execution.batch.executor import batch_judges, options_for
from claimeval.execution.batch.polling import open_batch_admin
from claimeval.execution.runner import run_job
from claimeval.metrics.derived import MetricSelection, select_metrics
from claimeval.metrics.rows import SUPPORT
from claimeval.providers import check_key
from claimeval.runs.directory import RunWriter
from claimeval.runs.experiments import Arm, Experiment, plan, slug
from claimeval.runs.jobs import RunSink
from claimeval.store.store import Store, cache_folder
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import ABSTAINED, NOT_APPLICABLE, Sample
from claimeval.types.requests import Judge

if TYPE_CHECKING:
    from claimeval.runs.experiments.selection import Halves, Selection

logger = logging.getLogger("claimeval")
ARMS = "arms"
"""Folder with a run directory for each arm."""


class PreparedExperiment(NamedTuple):
    """An experiment that is checked and ready to run."""

    design: Experiment
    plans: tuple[ClaimsJob, ...]
    """The job of each arm."""
    manifests: tuple[Manifest, ...]
    """The manifest of each arm."""
    samples: Iterable[Sample]
    """The samples, which can be iterated more than once."""
    total: int | None
    """The number of samples; None if not all were read."""
    halves: Halves | None = None
    """To choose an arm by labels: the labeled samples, which are then the only ones to judge."""

    def part(self, samples: Sequence[Sample], arms: Container[str]) -> PreparedExperiment:
        """Return the experiment with these samples and arms only."""
        kept = [i for i, arm in enumerate(self.design.arms) if arm.name in arms]
        return self._replace(
            design=self.design.model_copy(
                update={"arms": tuple(self.design.arms[i] for i in kept)}
            ),
            plans=tuple(self.plans[i] for i in kept),
            manifests=tuple(self.manifests[i] for i in kept),
            samples=samples,
            total=len(samples),
        )

    def budget(self, options: RunOptions) -> str:
        """Return the identity of the experiment for its limits; empty without limits."""
        whole = (
            "-".join(run_identity(plan.manifest, self.samples) for plan in self.plans)
            if options.capped
            else ""
        )
        return hashlib.sha256(whole.encode()).hexdigest()


class ExperimentStatus(NamedTuple):
    """Status of an experiment after its run."""

    calls: dict[str, int]
    """Requests that were sent for each arm, without those that earlier arms had sent."""
    status: RunStatus
    """That of the last arm that started, or of the arm that a limit, Ctrl-C or a batch stopped."""
    failed: dict[str, str]
    """The arms without scores, with reasons: a judge stopped, or none of its replies could be
    read."""
    selection: Selection | None = None
    """The arm that was chosen by labels, if any."""

    @property
    def stopped(self) -> bool:
        """Whether a limit, Ctrl-C or an unfinished batch ended the run, so that there is no
        result."""
        status = self.status
        return bool(
            status.interrupted or status.budget_exhausted or status.lost or status.pending_batches
        )


def prepare(design: Experiment, samples: Iterable[Sample]) -> tuple[ClaimsJob, ...]:
    """Return the job of each arm, checked against the samples in one pass without a call."""
    selected = select_metrics(design.metrics) if design.metrics else None
    surveyed = survey(samples, selected.rows if selected else SUPPORT)
    metrics = choose_metrics(selected, surveyed)
    metrics = metrics._replace(derived=metrics.derived or ())
    slugs = [slug(arm.name) for arm in design.arms]
    if len(set(slugs)) < len(slugs):
        raise UsageError("two arms have names that differ only in signs; name them by hand")
    auto = any(arm.language == AUTO for arm in design.arms)
    plans = _plans(design, metrics, prompt_language(samples) if auto else None)
    asked = [with_questions(job, surveyed) for job in plans]
    for remark in dict.fromkeys(chain.from_iterable(remarks for _, remarks in asked)):
        logger.info("%s", remark)
    return tuple(job for job, _ in asked)


def _plans(
    design: Experiment, metrics: MetricSelection, settled: tuple[str, str] | None
) -> tuple[ClaimsJob, ...]:
    """Return the job of each arm. Arms without an extractor use that of the baseline, to judge the
    same claims.

    `settled` is the language of the samples, with a remark, for arms with the language `auto`.
    """
    plans = [
        (
            replace(
                plan(arm.model_copy(update={"language": settled[0]}), metrics, design.cluster),
                remarks=(settled[1],),
            )
            if settled and arm.language == AUTO
            else plan(arm, metrics, design.cluster)
        )
        for arm in design.arms
    ]
    shared = plans[design.arms.index(design.arm(design.baseline))].extractor

    def with_extractor(job: ClaimsJob) -> ClaimsJob:
        for judge in job.judges:  # `claims_per_call` does not affect extraction
            if judge.model_copy(update={"claims_per_call": shared.claims_per_call}) == shared:
                return replace(job, extractor=judge)
        # An arm may have a judge of that name with another temperature, and a manifest tells judges
        # apart by their names.
        alike = any(judge.name == shared.name and judge != shared for judge in job.judges)
        extractor = (
            shared.model_copy(update={"name": f"{shared.name} of {design.baseline}"})
            if alike
            else shared
        )
        return replace(job, extractor=extractor)

    return tuple(
        job if arm.extractor else with_extractor(job)
        for arm, job in zip(design.arms, plans, strict=True)
    )


def arm_folder(folder: Path, arm: Arm) -> Path:
    """Return the run directory of an arm."""
    return folder / ARMS / slug(arm.name)


async def run(
    prepared: PreparedExperiment, folder: Path, *, options: RunOptions, budget: str | None = None
) -> ExperimentStatus:
    """Run the arms in order, with limits on all arms together. If the judge of an arm stops, the
    others continue.

    With batches, the requests of all arms share the same rounds.

    Args:
        prepared: The experiment, or a part of it.
        folder: The folder of the experiment.
        options: How the judges are asked.
        budget: Identity of the whole experiment, for its limits. Default: that of `prepared`.
    """
    step = _of_a_step(prepared, options)
    calls: Counter[str] = Counter()
    failed: dict[str, str] = {}
    budget = prepared.budget(options) if budget is None else budget
    arms = list(zip(prepared.design.arms, prepared.plans, prepared.manifests, strict=True))
    while True:
        unfinished: list[tuple[Arm, ClaimsJob, Manifest]] = []
        for arm, arm_plan, record in arms:
            progress = Progress(prepared.total, options.progress)
            step_options = options_for((*arm_plan.judges, arm_plan.extractor), step)
            status, summary = await _run_arm(
                arm_plan,
                record,
                prepared.samples,
                arm_folder(folder, arm),
                step_options,
                progress,
                budget,
            )
            calls[arm.name] += progress.calls
            if status.interrupted or status.budget_exhausted or status.lost:
                return ExperimentStatus(calls, status, failed)
            if status.pending_batches:
                unfinished.append((arm, arm_plan, record))
                last = status
            elif why := _failure(status, summary):
                failed[arm.name] = why
        if not unfinished:
            return ExperimentStatus(calls, status, failed)
        if not options.batch or options.detach:
            return ExperimentStatus(calls, last, failed)
        arms = unfinished
        with Store(cache_folder(options.cache)) as store:
            async with open_batch_admin(store, options.prices) as admin:
                await admin.wait(Progress(None, options.progress))


def _of_a_step(prepared: PreparedExperiment, options: RunOptions) -> RunOptions:
    """Return the options with which an arm is run. Raises UsageError for a judge without a key, or
    without batches if they are asked for."""
    asked: list[Judge] = []
    for arm_plan in prepared.plans:
        asked += (*arm_plan.judges, arm_plan.extractor)
    # Before the first arm is paid: the judge of the last one may have no key.
    if not options.offline:
        for judge in asked:
            check_key(judge)
    if not options.batch:
        return options
    batch_judges(asked)
    # Each arm hands in its batch and goes on, so that the batches of all arms are at work at
    # once.
    return replace(options, detach=True)


async def _run_arm(
    arm_plan: ClaimsJob,
    record: Manifest,
    samples: Iterable[Sample],
    folder: Path,
    options: RunOptions,
    progress: Progress,
    budget: str,
) -> tuple[RunStatus, Summary]:
    """Run one arm into its directory; again from the reply cache if a window was learned late."""
    while True:
        with RunWriter(folder, record) as writer:
            sink = RunSink(writer, SummaryBuilder(writer.manifest, options.prices))
            status = await run_job(arm_plan, samples, sink.add, options, progress, run=budget)
            if not status.again:
                return status, sink.finish(status)
            progress.begin_again()


def _failure(status: RunStatus, summary: Summary) -> str | None:
    """Return why an arm has no scores; None if it has scores, or if the samples allow none."""
    if not status.complete:
        return status.reason or "it did not finish"
    failures: Counter[str] = Counter()
    for metric in summary.metrics.values():
        if metric.n:
            return None
        failures.update(
            {
                reason: n
                for reason, n in metric.missing.items()
                if reason not in NOT_APPLICABLE | ABSTAINED
            }
        )
    counts = ", ".join(f"{reason} {n}" for reason, n in failures.most_common())
    return f"no sample has a score: {counts}" if failures else None
