"""Running a job with a progress line, printing its run with what it cost, and checking the gates."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import Any, NamedTuple

from claimeval.api.jobs import Prepared, ShardRun, before_run
from claimeval.api.run import Run, check_gates
from claimeval.cli.front import Shown, closing, in_a_line, print_front
from claimeval.cli.printer import Output, notes_on_stderr
from claimeval.cli.shared import Gates
from claimeval.cli.terminal import ProgressLine, end_on_next_signal, say, write_data
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.report.selection import WHOLE
from claimeval.runs.directory import beside, read_results, results_file
from claimeval.runs.ending import Ending
from claimeval.runs.front import FrontBuilder
from claimeval.runs.front import front as front_of
from claimeval.runs.slices import DiagnosisTally
from claimeval.runs.views import run as views
from claimeval.statistics.formatting import dollars, number_of
from claimeval.types.errors import Interrupted, StoppedEarly, UsageError
from claimeval.types.estimates import Cost
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import SampleResult

MANY = 20_000
"""Number of samples above which claims to read are not printed."""
WORST = 5
"""Claims to read first."""


class Finished(NamedTuple):
    """A run that is complete or stopped early, and the command that made it."""

    command: str
    output: Output
    run: Run
    progress: Progress | None
    """The calls of the command; None if it only reads."""
    prepared: Prepared | None
    ending: Ending
    """How it ended, failed gates included."""
    said: int = 0
    """Lines of messages that the terminal shows above it."""

    @property
    def stopped(self) -> str | None:
        """Why it stopped early; None if it is complete."""
        return self.ending.stopped

    @property
    def of_shard(self) -> bool:
        """Whether it is one shard of a run."""
        return isinstance(self.run, ShardRun)

    @property
    def calls(self) -> str:
        """The calls of the command, in a line."""
        sent, cached = (self.progress.calls, self.progress.cached) if self.progress else (0, 0)
        return f"Calls: {sent} sent, {cached} answered from the reply cache"

    def show(
        self, more: Mapping[str, object] = MappingProxyType({}), *, tables: bool = True, shown: Shown | None = None
    ) -> int:
        """Print the run and how it ended, and return the exit code.

        Args:
            more: Fields of the JSON object in addition to the record of the run.
            tables: Whether to print the tables of the run.
            shown: What is printed of its first screen; None for commands that print all tables.
        """
        folder = self.run.part.folder if isinstance(self.run, ShardRun) else self.run.path
        record = {**self.record(tables=tables, shown=shown), **more}
        return self.output.result(self.command, record, path=folder, exit_code=self.ending.code, stopped=self.stopped)

    def record(self, *, tables: bool = True, shown: Shown | None = None, reused: str = "") -> dict[str, Any]:
        """Print the run and how it ended, and return the fields of the JSON object; `reused` are calls in words."""
        run, screen = self.run, dict[str, object]()
        if isinstance(run, ShardRun):
            screen = self._shard(run)
        elif run.path and (run.record.samples or not self.stopped):
            if tables:
                screen = self._screen(run.path, shown, reused)
            elif line := report_line(run.path, run.record.samples):
                self.output.line(line)
        for line in self.ending.lines:
            say(line)
        if self.of_shard:
            return screen
        report = run.path and run.path / "report.html"
        written = str(report) if report and report.exists() else None
        asked = {"calls_of_this_command": self.progress.record()} if self.progress and run.manifest.asked else {}
        return {"report": written, **run.record.model_dump(), "notes": run.notes, **screen, **asked}

    def _shard(self, run: ShardRun) -> dict[str, object]:
        """Print the result of a shard and the next step of the run."""
        part, output = run.part, self.output
        output.draw(views.cautions(run.manifest, run.record))
        if run.complete:
            count, ended = part.shard.count, part.siblings
            output.line(f"Shard {part.shard}: {len(run):,} samples in {part.lines}")
            if run.manifest.judges:
                output.line(self.calls)
            next_step = f"`claimeval merge {part.folder}` joins them" + ("" if ended == count else " when all are")
            output.line(f"{ended} of {count} shards are finished; {next_step}")
        return {"shard": str(part.shard), **run.record.model_dump(), "notes": run.notes}

    def _screen(self, folder: Path, shown: Shown | None, reused: str) -> dict[str, object]:
        """Print the first screen, and with `--details` or without one all tables; with `--quiet` a line of scores."""
        run, output, progress, samples = self.run, self.output, self.progress, self.run.record.samples
        price = paid_and_worth(run.record, progress) if run.manifest.asked else ""
        record: dict[str, object] = {}
        if shown:
            first = front_of(run.manifest, run.record, run.results if samples <= MANY else (), shown.top)
            record["front"] = first.model_dump(mode="json")
            if output.quiet and not output.json:
                rows, width = output.size
                line = in_a_line(first)
                write_data("\n".join([*(output.wrap(line, width) if rows else [line]), ""]))
            last = [*filter(None, [price]), *closing(folder)]
            print_front(output, first, top=shown.top, closing=len(last) + self.said)
        if shown and not shown.details:
            for field, means in run.record.by.items():
                output.draw([views.slices(field, means)])
            output.line()
        else:
            total = self.prepared.total if self.prepared else None
            print_run(output, folder, run.manifest, run.record, total or samples)
            calls = self.calls + reused if progress and run.manifest.asked else ""
            last = [*filter(None, (report_line(folder, samples), calls, price))]
        for line in last:
            output.line(line)
        return record


def watch(
    command: str, door: Callable[[RunOptions], Run], options: RunOptions, gates: Gates, output: Output
) -> Finished:
    """Call an API function with a progress line and check the gates; a run that stopped early is returned too."""
    if options.shard and (gates.fail_under or gates.fail_over or gates.by):
        raise UsageError("gates and --by are about the whole run; give them to `claimeval merge`")
    progress, jobs = Progress(), list[Prepared]()

    def show(now: Progress) -> None:
        nonlocal progress
        progress = now
        line.show(now)

    def inspect(prepared: Prepared) -> None:
        check_gates(dict.fromkeys(prepared.manifest.names), gates.fail_under, gates.fail_over)
        if gates.by:
            from claimeval.runs.slices import check_field

            check_field(gates.by, (item.sample if isinstance(item, SampleResult) else item for item in prepared.items))
        jobs.append(prepared)

    quiet = output.quiet
    with notes_on_stderr(quiet=quiet) as said, before_run(inspect), ProgressLine(None if quiet else sys.stderr) as line:
        try:
            run = door(replace(options, progress=show))
        except (StoppedEarly, Interrupted) as early:
            if isinstance(early, Interrupted):
                end_on_next_signal()
            if early.run is None:
                raise
            run = early.run
    if gates.by and run.path and len(run):
        run = run.with_slices(gates.by)
    failed = () if isinstance(run, ShardRun) or run.ending.stopped else run.gate(**gates.limits)
    return Finished(command, output, run, progress, jobs[0], run.ending.gated(failed), len(said))


def report_line(folder: Path, samples: int) -> str | None:
    """Return a line with the path of the report, or with the command that writes it for a large run."""
    report = folder / "report.html"
    if report.exists():
        return f"Report: {report}"
    return f"`claimeval report {quote(str(folder))}` writes the report" if samples > WHOLE else None


def print_run(output: Output, folder: Path, manifest: Manifest, summary: Summary, total: int) -> None:
    """Print the scores, the panel, the claims to read first, and the run directory; `total` samples are its data."""
    front, diagnosis = FrontBuilder(manifest, WORST), DiagnosisTally(concludes=manifest.concludes)
    for result in read_results(folder) if summary.samples <= MANY else ():
        front.add(result)
        diagnosis.add(result)
    shown = front.front(summary)
    blocks = views.view(
        manifest,
        summary,
        sides=beside(folder, summary.metrics),
        diagnosis=diagnosis.counts(),
        read=shown.read,
        answers=shown.answers,
        total=total,
    )
    output.draw(blocks)
    output.line()
    output.line(f"Run: {folder} ({results_file(folder).name}, summary.json, manifest.json)")


def paid_and_worth(summary: Summary, progress: Progress | None) -> str:
    """Return what a command paid for its calls and what all replies of the run are worth; empty if they are free."""
    if summary.cost is None or views.is_free(summary.cost):
        return ""
    paid = _paid(progress, summary.cost.total) if progress else ""
    return f"{paid} {views.worth(summary.cost)}".strip()


def _paid(progress: Progress, total: Cost) -> str:
    if progress.paid is None:
        return f"Sent now: {number_of(progress.calls, 'call')} ({progress.tokens:,} tokens); price unknown (--prices)."
    paid = f"${dollars(progress.paid)}"
    if progress.paid and (progress.possibly_paid or total.dollars is None):
        paid = f"at most {paid}"
    return f"Paid now: {paid} ({number_of(progress.calls, 'call')}, {progress.tokens:,} tokens)."
