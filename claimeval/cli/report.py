"""`claimeval report`: what a run came to, as a page, a comment, or a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def report(
    run: Annotated[
        Path,
        typer.Argument(help="A run directory, as `claimeval score --out` writes it, or the folder of an experiment."),
    ],
    compare: Annotated[
        Path | None,
        typer.Option(
            help="A second run over the same samples, set beside the first; differences are second minus first.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        Literal["html", "md", "csv", "json"],
        typer.Option(
            "--format",
            "-f",
            help="`html`: every claim with its verdicts and evidence, in one file that opens offline; `md`: a summary "
            "for a pull request; `csv`: for a spreadsheet; `json`: the numbers of the overview.",
        ),
    ] = "html",
    rows: Annotated[Literal["samples", "claims"], typer.Option(help="What a row of the csv is.")] = "samples",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The file to write. Default: `RUN/report.html` for html, standard output for the others.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the report of a run. It reads run directories and nothing else: no network, no key, no call.

    `claimeval score` writes the page by itself; this command writes it anew, compares two runs, or gives other forms.

    Examples: `claimeval report runs/a --compare runs/b`, `claimeval report runs/a --format md > comment.md`
    """
    from claimeval.report import forms

    if out is None and form != "html":
        print(forms.text(run, form, compared=compare, rows=rows), end="")
    else:
        print(f"Report: {forms.write(run, form, out, compared=compare, rows=rows)}")
