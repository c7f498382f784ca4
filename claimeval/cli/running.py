"""A job under a progress line: what it reports on the way, how it ended, and which gates failed."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from claimeval.api.jobs import Prepared, before_run
from claimeval.api.run import Run, check_gates
from claimeval.cli.printer import Output, say
from claimeval.cli.progress_line import ProgressLine
from claimeval.cli.run_table import print_cost, print_run
from claimeval.cli.shared import Gates
from claimeval.runs.slices import check_field
from claimeval.statistics.formatting import percent
from claimeval.types.errors import Interrupted, StoppedEarly
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import SampleResult


class Finished(NamedTuple):
    """A run that ended, by itself or early."""

    run: Run
    progress: Progress
    prepared: Prepared
    code: int
    """The exit code, gates included."""
    stopped: str | None
    """Why it stopped early; None if it is complete."""


def watch(door: Callable[[RunOptions], Run], options: RunOptions, gates: Gates, output: Output) -> Finished:
    """Run a door under a progress line and check the gates; a run that stopped early comes back as far as it went."""
    progress, jobs = Progress(), list[Prepared]()

    def show(now: Progress) -> None:
        nonlocal progress
        progress = now
        line.show(now)

    def inspect(prepared: Prepared) -> None:
        check_gates(dict.fromkeys(prepared.metrics), gates.fail_under, gates.fail_over)
        if gates.by:
            check_field(gates.by, (one.sample if isinstance(one, SampleResult) else one for one in prepared.items))
        jobs.append(prepared)

    stop: StoppedEarly | Interrupted | None = None
    quiet = output.quiet
    with notes_on_stderr(quiet=quiet), before_run(inspect), ProgressLine(None if quiet else sys.stderr) as line:
        try:
            run = door(replace(options, progress=show))
        except (StoppedEarly, Interrupted) as early:
            if early.run is None:
                raise
            run, stop = early.run, early
    if gates.by and run.path and len(run):
        run = run.with_slices(gates.by)
    failed = (
        () if stop else run.gate(fail_under=gates.fail_under, fail_over=gates.fail_over, max_missing=gates.max_missing)
    )
    for problem in (str(stop),) if stop else failed:
        say(problem)
    code = 130 if isinstance(stop, Interrupted) else 3 if stop else 1 if failed else 0
    return Finished(run, progress, jobs[0], code, str(stop) if stop else None)


def print_finished(
    command: str, finished: Finished, output: Output, more: Mapping[str, object] = MappingProxyType({})
) -> int:
    """Print a run, and return the exit code; `more` goes into the JSON object."""
    run, progress = finished.run, finished.progress
    assert run.path, "the run is on disk"
    report = run.path / "report.html"
    if run.record.samples or not finished.stopped:
        print_run(output, run.path, run.manifest, run.record, progress.total or run.record.samples)
        if report.exists():
            output.line(f"Report: {report}")
        if run.manifest.judges:
            output.line(f"Calls: {progress.calls} sent, {progress.cached} answered from the reply cache")
            print_cost(output, run.record, run.manifest.short_names)
    record = {"report": str(report) if report.exists() else None, **run.record.model_dump(), **more}
    return output.result(command, record, path=run.path, exit_code=finished.code, stopped=finished.stopped)


def gate_of_missing(share: float, what: str, max_missing: float) -> int:
    """Return 1 if a larger share was lost to failures than may be, and print so."""
    if share <= max_missing:
        return 0
    say(f"gate failed: {percent(share)} of the {what} were lost to failures, over --max-missing")
    return 1


def _say_lines(text: str) -> None:
    for line in text.splitlines():
        say(line)


@contextmanager
def notes_on_stderr(*, quiet: bool = False) -> Iterator[None]:
    """Print what doors log and warn of as lines on standard error."""
    logger, handler = logging.getLogger("claimeval"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("claimeval: %(message)s"))
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "always", UserWarning)
        warnings.showwarning = lambda message, *_: _say_lines(str(message))
        logger.addHandler(handler)
        logger.setLevel(logging.ERROR if quiet else logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
