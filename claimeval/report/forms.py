"""Formats of a report and their files."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Literal

from claimeval.report import markdown, page, tables
from claimeval.runs.compare import compare
from claimeval.runs.directory import no_follow
from claimeval.runs.overview import Overview, gather
from claimeval.types.errors import UsageError

Form = Literal["html", "md", "csv", "json"]
Rows = tables.Rows


def write(
    run: Path, form: Form, out: Path | None = None, *, compared: Path | None = None, rows: Rows = "samples"
) -> Path:
    """Write a report and return its path. An older file is replaced when the new one is complete.

    Args:
        run: Directory of a run or of an experiment.
        form: Format of the report.
        out: The file. Default: a file in the directory.
        compared: Directory of a run to compare with.
        rows: The rows of a CSV.

    Returns:
        The path of the report.

    Raises:
        DataError: If a directory has no finished run.
        UsageError: If two runs share no metric or no sample, or the file cannot be written.
    """
    name = f"compared-with-{compared.resolve().name}" if compared else "report"
    out = out or run / f"{name}.{form}"
    part = out.with_name(out.name + ".part")
    content = "" if form == "html" else text(run, form, compared=compared, rows=rows)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with open(part, "w", encoding="utf-8", errors="backslashreplace", newline="\n", opener=no_follow) as file:
            if form != "html":
                file.write(content)
            elif page.is_experiment(run):
                page.render_experiment(file, run)
            else:
                page.render(file, run, compared)
        part.replace(out)
    except OSError as error:
        raise UsageError(f"Cannot write the report {str(out)!r}: {error.strerror or error}") from error
    return out


def text(run: Path, form: Form, *, compared: Path | None = None, rows: Rows = "samples") -> str:
    """Return a report as text. The report of an experiment is the file that the experiment wrote.

    Args:
        run: Directory of a run or of an experiment.
        form: Format of the report.
        compared: Directory of a run to compare with.
        rows: The rows of a CSV.

    Returns:
        The report.

    Raises:
        DataError: If a directory has no finished run.
        UsageError: If two runs share no metric or no sample, or for a CSV of two runs.
    """
    if page.is_experiment(run):
        return (run / f"experiment.{form}").read_text(encoding="utf-8")
    if form == "csv":
        if compared:
            raise UsageError("A CSV has one run. For a comparison, use `--format md` or `--format json`")
        file = io.StringIO()
        tables.write(file, run, rows)
        return file.getvalue().encode("utf-8", "backslashreplace").decode()
    if compared:
        a, b, comparison = compare(run, compared)
        content: object = {"comparison": comparison.model_dump(mode="json"), "a": _plain(a), "b": _plain(b)}
        return markdown.compared(comparison, a) if form == "md" else json.dumps(content, indent=1) + "\n"
    overview = gather(run)
    return markdown.summary(overview) if form == "md" else json.dumps(_plain(overview), indent=1) + "\n"


def _plain(overview: Overview) -> dict[str, object]:
    """Return the overview without the texts of the prompts."""
    return overview.model_dump(mode="json", exclude={"manifest": {"prompts": {"__all__": {"source"}}}})
