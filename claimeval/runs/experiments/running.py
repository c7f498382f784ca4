"""Carries the arms of an experiment out, one after the other, over one store: what two arms share is asked once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from claimeval.data.survey import survey
from claimeval.evaluation.claims import AUTO, ClaimsJob, check_questions, choose_metrics, prompt_language
from claimeval.evaluation.job import JobOutcome, run_identity
from claimeval.evaluation.manifest import Manifest
from claimeval.execution.batch.executor import batch_judges, options_for
from claimeval.execution.batch.polling import open_batch_admin
from claimeval.metrics.derived import MetricSelection, select_metrics
from claimeval.metrics.rows import SUPPORT
from claimeval.providers import check_key
from claimeval.runs.directory import RunWriter
from claimeval.runs.experiments import Arm, Experiment, plan, slug
from claimeval.runs.jobs import run_into
from claimeval.store.store import Store, cache_folder
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import ABSTAINED, NOT_APPLICABLE, Sample

ARMS = "arms"
"""The folder with a run directory for each arm."""


class PreparedExperiment(NamedTuple):
    """An experiment that was checked and can be carried out."""

    design: Experiment
    plans: tuple[ClaimsJob, ...]
    """What each arm asks."""
    manifests: tuple[Manifest, ...]
    """Those of the arms."""
    samples: Iterable[Sample]
    """What is judged; it can be iterated more than once."""
    total: int | None
    """How many samples there are; None if they were not all read."""


class ExperimentStatus(NamedTuple):
    """How an experiment ended."""

    calls: dict[str, int]
    """Requests that were sent for each arm, what earlier arms had asked left out."""
    last: JobOutcome
    """The outcome of the last arm begun: if a cap, Ctrl-C or a batch ended the experiment, that of the arm it ended."""
    failed: dict[str, str]
    """Why an arm has no scores: its judge stopped, or nothing that it replied could be read."""


def prepare(design: Experiment, samples: Iterable[Sample]) -> tuple[ClaimsJob, ...]:
    """Return what every arm asks, checked against the samples in one pass before any call can be made."""
    selected = select_metrics(design.metrics) if design.metrics else None
    surveyed = survey(samples, selected.rows if selected else SUPPORT)
    metrics = choose_metrics(selected, surveyed)
    metrics = metrics._replace(derived=metrics.derived or ())
    slugs = [slug(arm.name) for arm in design.arms]
    if len(set(slugs)) < len(slugs):
        raise UsageError("two arms have names that differ only in signs; name them by hand")
    plans = _plans(design, metrics, prompt_language(samples) if AUTO in {one.language for one in design.arms} else None)
    for job in plans:
        check_questions(job, surveyed)
    return plans


def _plans(
    design: Experiment, metrics: MetricSelection, settled: tuple[str, str] | None = None
) -> tuple[ClaimsJob, ...]:
    """What every arm asks. Arms that name no extractor have the baseline's, so that they judge the same claims.

    `settled` is the language of the samples, and why, for the arms of the language `auto`.
    """
    plans = [
        replace(plan(arm.model_copy(update={"language": settled[0]}), metrics, design.cluster), remarks=(settled[1],))
        if settled and arm.language == AUTO
        else plan(arm, metrics, design.cluster)
        for arm in design.arms
    ]
    shared = plans[design.arms.index(design.arm(design.baseline))].extractor

    def with_extractor(job: ClaimsJob) -> ClaimsJob:
        for judge in job.judges:  # who is only asked about other numbers of claims takes the same claims
            if judge.model_copy(update={"claims_per_call": shared.claims_per_call}) == shared:
                return replace(job, extractor=judge)
        alike = any(judge.name == shared.name and judge != shared for judge in job.judges)
        extractor = shared.model_copy(update={"name": f"{shared.name} of {design.baseline}"}) if alike else shared
        return replace(job, extractor=extractor)

    return tuple(
        job if arm.extractor or job.panel.extract_per_judge else with_extractor(job)
        for arm, job in zip(design.arms, plans, strict=True)
    )


def arm_folder(folder: Path, arm: Arm) -> Path:
    """Return the run directory of an arm."""
    return folder / ARMS / slug(arm.name)


async def run(prepared: PreparedExperiment, folder: Path, *, options: RunOptions) -> ExperimentStatus:
    """Run the arms in order; caps apply to all arms together. An arm whose judge stops leaves the others to finish.

    With batches, no arm waits for its own: the requests of all arms share the same rounds.

    Args:
        prepared: The experiment, checked.
        folder: Directory of the runs.
        options: Concurrency, caps, cache, batches and progress.

    Returns:
        The number of requests of each arm, the outcome of the last arm that began, and the arms that failed.
    """
    if not options.offline and not options.via:
        for judge in (judge for p in prepared.plans for judge in (*p.judges, p.extractor)):
            check_key(judge)
    calls: Counter[str] = Counter()
    failed: dict[str, str] = {}
    whole = "-".join(run_identity(p.manifest, prepared.samples) for p in prepared.plans) if options.capped else ""
    step = options
    if options.batch:
        batch_judges([judge for p in prepared.plans for judge in (*p.judges, p.extractor)], options)
        step = replace(options, detach=True)
    name = hashlib.sha256(whole.encode()).hexdigest()
    arms = list(zip(prepared.design.arms, prepared.plans, prepared.manifests, strict=True))
    while True:
        unfinished: list[tuple[Arm, ClaimsJob, Manifest]] = []
        for arm, arm_plan, record in arms:
            progress = Progress(prepared.total, options.progress)
            with RunWriter(arm_folder(folder, arm), record) as writer:
                outcome = await run_into(
                    writer,
                    arm_plan,
                    prepared.samples,
                    options=options_for((*arm_plan.judges, arm_plan.extractor), step),
                    progress=progress,
                    run=name,
                )
            calls[arm.name] += progress.calls
            status = outcome.status
            if status.interrupted or status.budget_exhausted or status.lost:
                return ExperimentStatus(calls, outcome, failed)
            if status.pending_batches:
                unfinished.append((arm, arm_plan, record))
                last = outcome
            elif why := _failure(outcome):
                failed[arm.name] = why
        if not unfinished:
            return ExperimentStatus(calls, outcome, failed)
        if not options.batch or options.detach:
            return ExperimentStatus(calls, last, failed)
        arms = unfinished
        with Store(cache_folder(options.cache)) as store:
            async with open_batch_admin(store, options.prices) as admin:
                await admin.wait(Progress(None, options.progress))


def _failure(outcome: JobOutcome) -> str | None:
    """Return why an arm has no scores; None if it has some, or none because the samples give none."""
    if not outcome.status.complete:
        return outcome.status.reason or "it did not finish"
    failures: Counter[str] = Counter()
    for metric in outcome.summary.metrics.values():
        if metric.n:
            return None
        failures.update({reason: n for reason, n in metric.missing.items() if reason not in NOT_APPLICABLE | ABSTAINED})
    counts = ", ".join(f"{reason} {n}" for reason, n in failures.most_common())
    return f"no sample has a score: {counts}" if failures else None
