"""What `score` and `demo` do: check the data, carry the plan out, print the table, keep the gates."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import typer

from claimeval import providers
from claimeval.cli.batch_options import remind
from claimeval.cli.endings import ending_code, say
from claimeval.cli.progress_line import ProgressLine
from claimeval.cli.table import print_run
from claimeval.data.reading import parse_fields, parse_references, read_samples
from claimeval.data.survey import survey
from claimeval.evaluation.claims import (
    ClaimsJob,
    ClaimsOptions,
    check_families,
    choose_metrics,
    incomplete,
    make_job,
)
from claimeval.evaluation.job import JobOutcome, Reiterable
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary.run import Summary
from claimeval.metrics.derived import select_metrics
from claimeval.metrics.rows import SUPPORT, canonical_name
from claimeval.report import forms
from claimeval.runs.directory import RunWriter
from claimeval.runs.jobs import run_into
from claimeval.statistics.formatting import decimal, percent
from claimeval.store.store import cache_folder
from claimeval.types.clusters import check_cluster
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Sample, SampleResult


class Settings(NamedTuple):
    """The options of a scoring command, as they were given."""

    data: Path
    claims: ClaimsOptions
    references: str | None = None
    out: Path | None = None
    overwrite: bool = False
    options: RunOptions = RunOptions()
    limit: int | None = None
    fields: tuple[str, ...] = ()
    fail_under: tuple[str, ...] = ()
    fail_over: tuple[str, ...] = ()
    max_missing: float = 0.01
    json: bool = False


class Gate(NamedTuple):
    """A limit that the mean of a metric must keep."""

    metric: str
    value: float
    most: bool
    """Whether it is the most that the mean may be, rather than the least."""

    def failed(self, mean: float | None) -> bool:
        """Whether it does not; no mean keeps no limit."""
        return mean is None or (mean > self.value if self.most else mean < self.value)


def run_and_tell(settings: Settings) -> None:
    """Runs a scoring command to its end and exits with its code."""
    fields, references = parse_fields(list(settings.fields)), parse_references(settings.references)

    samples = Reiterable(
        lambda: itertools.islice(read_samples(settings.data, fields=fields, references=references), settings.limit)
    )

    asked = select_metrics(settings.claims.metrics) if settings.claims.metrics else None
    found = survey(samples, asked.rows if asked else SUPPORT)
    metrics = choose_metrics(asked, found)
    check_cluster(settings.claims.cluster, samples)
    for lack, names in incomplete(found, metrics.rows).items():
        say(f"{lack}: counted as missing_input in {', '.join(names)}")
    plan = make_job(settings.claims, metrics)
    gates = gates_of(settings, plan)
    check_families(plan, found.generators)
    record = plan.manifest.of_data(str(settings.data), limit=settings.limit)
    folder = settings.out or default_out(record)
    writer = RunWriter(folder, record, overwrite=settings.overwrite)
    outcome, progress = carry_out_into(writer, plan, samples, found.samples, settings)
    if outcome.status.paused and not settings.json:
        raise typer.Exit(ending_code(outcome.status))
    if not settings.json:
        print_run(folder, record, outcome.summary, found.samples)
    report = None if outcome.status.interrupted else str(forms.write(folder, "html"))
    if settings.json:
        paths = {"run": str(folder), "report": report}
        print(json.dumps(paths | outcome.summary.model_dump(), indent=1, ensure_ascii=False))
    elif report:
        print(f"Report: {report}")
        print(f"Calls: {progress.calls} sent, {progress.cached} answered from the store")
    if progress.last_failure and any(metric.failure_rate for metric in outcome.summary.metrics.values()):
        say(f"the last failure: {progress.last_failure}")
    raise typer.Exit(exit_code(outcome, gates, settings.max_missing))


def carry_out_into(
    writer: RunWriter,
    plan: ClaimsJob,
    samples: Iterable[Sample | SampleResult],
    total: int | None,
    settings: Settings,
) -> tuple[JobOutcome, Progress]:
    """Carries the plan out and writes the run directory; says how far it is on standard error."""
    options = settings.options
    if not options.offline:
        for judge in plan.judges:
            if judge.name not in plan.on_record and (place := providers.describe_device(judge)):
                say(f"{judge.name} on {place}")
    if not options.batch and not options.offline and any(map(providers.reads_prompts, plan.asked)):
        remind(cache_folder(options.cache))
    with ProgressLine(sys.stderr) as line:
        progress = Progress(total, line.show)
        outcome = asyncio.run(
            run_into(writer, plan, samples, options=options, progress=progress, panel=settings.claims.panel)
        )
    return outcome, progress


def default_out(record: Manifest) -> Path:
    """`runs/DATA-SETTINGS`, the same for the same command."""
    digest = hashlib.sha256(record.model_dump_json(exclude={"versions"}).encode()).hexdigest()
    return Path("runs") / f"{Path(record.data or 'data').stem}-{digest[:8]}"


def gates_of(settings: Settings, plan: ClaimsJob) -> list[Gate]:
    """The gates that were given; UsageError for one that is none of the plan's metrics."""
    under = [_gate("--fail-under", text, plan, most=False) for text in settings.fail_under]
    return under + [_gate("--fail-over", text, plan, most=True) for text in settings.fail_over]


def _gate(option: str, text: str, plan: ClaimsJob, *, most: bool) -> Gate:
    """A gate as written, `faithfulness=0.9`."""
    name, equals, value = text.partition("=")
    try:
        limit = float(value)
    except ValueError:
        limit = -1.0
    if not equals or not 0 <= limit <= 1:
        raise UsageError(f"{option} {text!r} is not of the form METRIC=VALUE with a value from 0 to 1")
    if (name := canonical_name(name)) not in {metric.name for metric in plan.metrics} | {*plan.derived}:
        raise UsageError(f"{option} {text!r}: this run has no metric {name!r}")
    return Gate(name, limit, most)


def exit_code(outcome: JobOutcome, gates: list[Gate], max_missing: float) -> int:
    """The exit code, said on standard error if it is not 0."""
    if code := ending_code(outcome.status):
        return code
    failed = _failed_gates(outcome.summary, gates, max_missing)
    for problem in failed:
        say(problem)
    return 1 if failed else 0


def _failed_gates(summary: Summary, gates: list[Gate], max_missing: float) -> list[str]:
    found = [
        f"gate failed: {gate.metric} is {'undefined' if mean is None else f'{decimal(mean)}'}, "
        f"{'above' if gate.most else 'below'} {gate.value:g}"
        for gate in gates
        if gate.failed(mean := summary[gate.metric].mean)
    ]
    lost = [
        f"gate failed: {name} lost {percent(metric.failure_rate)} of samples or claims to failures, over --max-missing"
        for name, metric in summary.metrics.items()
        if metric.failure_rate > max_missing
    ]
    return found + lost
