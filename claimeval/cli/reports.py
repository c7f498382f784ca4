"""`claimeval report`, `view` and `push`: reports of runs, a viewer for many runs, and export to platforms."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import click

from claimeval.cli.command import Argument, Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Out, arguments
from claimeval.cli.terminal import ProgressLine, say
from claimeval.types.options import require_at_least

LISTED = {
    "report": ("Look", 1, "Write the page, Markdown or tables of a run."),
    "view": ("Look", 2, "Browse a folder of runs on this machine."),
    "push": ("Look", 4, "Send scores to OpenTelemetry, MLflow or Langfuse."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Write the page, Markdown or tables of a run, from its directory alone: no network, no key, no call.

    `claimeval score` already writes the page; this command writes it again, compares two runs, or writes other formats.

    Examples: claimeval report runs/a --compare runs/b; claimeval report runs/a --format md > comment.md
    """

    run: Annotated[Path, Argument("RUN")]
    """A run directory, or the folder of an experiment."""
    compare: Path | None = None
    """A second run over the same samples; differences are second minus first."""
    format: Annotated[Literal["html", "md", "csv", "json"], Names("-f", "--format")] = "html"
    """html (one page, opens offline), md (for a pull request), csv or json."""
    rows: str | None = None
    """Rows of the csv: samples, claims, or a table of the report, such as scores, cost or, with --compare,
    differences.  [default: samples; differences with --compare]"""
    out: Out = None
    """File to write.  [default: RUN/report.html for html, else standard output]"""
    output: Output = Output()


def do_report(args: ReportOptions) -> int:
    """Write the report, and return the exit code."""
    from claimeval.report import forms
    from claimeval.runs.directory import incomplete

    for run in (args.run, args.compare):
        if run and (line := incomplete(run)):
            say(line)
    path = args.out
    if path is None and args.format != "html":
        args.output.data(forms.text(args.run, args.format, compared=args.compare, rows=args.rows))
    else:
        path = forms.write(args.run, args.format, args.out, compared=args.compare, rows=args.rows)
        args.output.line(_closing(path, args))
    return args.output.result("report", {"report": path and str(path)}, path=args.run)


def _closing(path: Path, args: ReportOptions) -> str:
    """Return a line with the path of the report that says whether it shows all samples."""
    from claimeval.report.page import is_experiment
    from claimeval.report.selection import WHOLE
    from claimeval.runs.directory import load_summary

    if args.format == "html" and not is_experiment(args.run):
        samples = load_summary(args.run).samples
        if samples > WHOLE:
            return f"Report: {path} (a selection of its {samples:,} samples; `claimeval view` shows all)"
    return f"Report: {path}"


report = command("report", ReportOptions, do_report)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """Browse the runs and experiments in a folder, with their trends, and compare any of them. Press Ctrl-C to stop.

    Listens on 127.0.0.1 only, refuses requests from pages of other hosts, and never writes. With --label-as you label
    claims, answers and documents in the browser; labels go to the files of `claimeval annotate`.

    Examples: claimeval view runs; claimeval view runs --label-as ada
    """

    folder: Annotated[Path, Argument("FOLDER")] = Path("runs")
    """A folder with run directories, up to four levels deep."""
    port: int = 8811
    """Port to listen on; 0 chooses a free port."""
    label_as: str | None = None
    """Your name: label in the browser, and store it with each label."""
    browser: Annotated[bool, Names("--open")] = False
    """Open the list in the browser."""
    output: Output = Output()

    def __post_init__(self) -> None:
        require_at_least(self, 0, "port")


def do_view(args: ViewOptions) -> int:
    """Serve the list until Ctrl-C, and return the exit code."""
    from claimeval.report.viewer import Viewer

    with Viewer(args.folder, args.port, args.label_as) as viewer:
        args.output.line(f"{viewer.url} shows the runs in {args.folder}; press Ctrl-C to stop")
        args.output.result("view", {"url": viewer.url}, path=args.folder)
        if args.browser:
            click.launch(viewer.url)
        with suppress(KeyboardInterrupt):
            viewer.serve_forever()
    return 0


view = command("view", ViewOptions, do_view)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushOptions:
    """Send the scores of a run and the verdicts on claims to a platform.

    Prints what the platform shows of them, and what it cannot. A second push changes nothing in MLflow and Langfuse.
    OpenTelemetry events cannot be replaced, but keep their ids, so that a back end can drop duplicates. Platforms that
    take traces only, such as Phoenix, take no scores.

    Keys and addresses come from the platform's usual environment variables.

    Examples: claimeval push runs/a --to langfuse --dry-run; claimeval push runs/a --to otlp --url http://localhost:4318
    """

    run: Annotated[Path, Argument("RUN")]
    """A run directory."""
    to: Literal["otlp", "mlflow", "langfuse"]
    """otlp (events for a collector of OpenTelemetry), mlflow (a run) or langfuse (scores of traces)."""
    url: str | None = None
    """Collector, tracking server or host.  [default: from the environment]"""
    experiment: str | None = None
    """Experiment of mlflow.  [default: MLFLOW_EXPERIMENT_NAME, else claimeval]"""
    field: str = "trace_id"
    """Metadata field with the id of a sample's trace; id is the id of the sample."""
    dry_run: bool = False
    """Print how many records would be sent, and send nothing."""
    output: Output = Output()


def do_push(args: PushOptions) -> int:
    """Send the run, print the counts, and return the exit code."""
    from claimeval.api.run import Run

    output = args.output
    with ProgressLine(None if output.quiet else sys.stderr) as line:
        settings = arguments(args, progress=line.show)
        pushed = Run.load(settings.pop("run")).push(settings.pop("to"), **settings)
    counts = ", ".join(f"{kind} {count}" for kind, count in pushed.records.items()) or "nothing"
    output.line(f"{'To send' if args.dry_run else 'Sent'}: {counts}; to {pushed.where}")
    for reason, count in pushed.left_out.items():
        output.line(f" scores {reason}: {count}", style="dim")
    output.line(pushed.note, style="dim")
    sent = {"records": dict(pushed.records), "left_out": dict(pushed.left_out), "note": pushed.note}
    record = {"to": args.to, "where": pushed.where, "dry_run": args.dry_run, **sent}
    return output.result("push", record, path=args.run)


push = command("push", PushOptions, do_push)
