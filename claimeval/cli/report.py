"""`claimeval report`: the page, Markdown or tables of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from claimeval.cli.command import Argument, Names, command
from claimeval.cli.printer import Output, say
from claimeval.cli.shared import Out

LISTED = ("Look", 1, "Write the page, Markdown or tables of a run.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Write the page, Markdown or tables of a run. Reads run directories and nothing else: no network, no key, no call.

    `claimeval score` writes the page by itself; this command writes it again, compares two runs, or gives other forms.

    Examples: claimeval report runs/a --compare runs/b; claimeval report runs/a --format md > comment.md
    """

    run: Annotated[Path, Argument("RUN")]
    """A run directory, or the folder of an experiment."""
    compare: Path | None = None
    """A second run over the same samples; differences are second minus first."""
    format: Annotated[Literal["html", "md", "csv", "json"], Names("-f", "--format")] = "html"
    """html (one page, opens offline), md (for a pull request), csv or json."""
    rows: Literal["samples", "claims"] = "samples"
    """What a row of the csv is: samples or claims."""
    out: Out = None
    """File to write; default RUN/report.html, else standard output."""
    output: Output = Output()


def do(given: ReportOptions) -> int:
    """Write the report, and return the exit code."""
    from claimeval.report import forms
    from claimeval.runs.directory import incomplete

    for run in (given.run, given.compare):
        if run and (line := incomplete(run)):
            say(line)
    path = given.out
    if path is None and given.format != "html":
        given.output.data(forms.text(given.run, given.format, compared=given.compare, rows=given.rows))
    else:
        path = forms.write(given.run, given.format, given.out, compared=given.compare, rows=given.rows)
        given.output.line(f"Report: {path}")
    return given.output.result("report", {"report": path and str(path)}, path=given.run)


report = command("report", ReportOptions, do)
