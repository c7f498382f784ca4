"""Printing a run in the terminal: its view, what a command paid, and where its report is."""

from __future__ import annotations

from pathlib import Path

from claimeval.cli.printer import Output
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.report.selection import WHOLE
from claimeval.runs.directory import beside, read_results, results_file
from claimeval.runs.front import FrontBuilder
from claimeval.runs.slices import DiagnosisTally
from claimeval.runs.views import run as views
from claimeval.statistics.formatting import dollars, number_of
from claimeval.types.estimates import Cost
from claimeval.types.progress import Progress

MANY = 20_000
"""Number of samples above which claims to read are not printed."""
WORST = 5
"""Claims to read first."""


def report_line(folder: Path, samples: int) -> str | None:
    """Return a line with the path of the report, or with the command that writes it for a large run."""
    report = folder / "report.html"
    if report.exists():
        return f"Report: {report}"
    return f"`claimeval report {folder}` writes the report" if samples > WHOLE else None


def print_run(output: Output, folder: Path, manifest: Manifest, summary: Summary, total: int) -> None:
    """Print the scores, the panel, the claims to read first, and the run directory; `total` samples are its data."""
    front, diagnosis = FrontBuilder(manifest, WORST), DiagnosisTally(concludes=manifest.concludes)
    for result in read_results(folder) if summary.samples <= MANY else ():
        front.add(result)
        diagnosis.add(result)
    blocks = views.view(
        manifest,
        summary,
        sides=beside(folder, summary.metrics),
        diagnosis=diagnosis.counts(),
        read=front.front(summary).read,
        total=total,
    )
    output.draw(blocks)
    output.line()
    output.line(f"Run: {folder} ({results_file(folder).name}, summary.json, manifest.json)")


def paid_and_worth(summary: Summary, progress: Progress | None) -> str:
    """Return what a command paid for its own calls and what all replies of the run are worth; empty if they are free.

    `progress` has the calls of the command; None for a command without any.
    """
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
