"""The forms of a report, and the file each goes to."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Literal

from claimeval.report import experiments, markdown, page, tables
from claimeval.runs.compare import compare
from claimeval.runs.overview import Overview, gather
from claimeval.types.errors import UsageError

Form = Literal["html", "md", "csv", "json"]
Rows = tables.Rows


def write(
    run: Path, form: Form, out: Path | None = None, *, compared: Path | None = None, rows: Rows = "samples"
) -> Path:
    """Writes a report and says where: `out`, else a file in the run directory that is named after the form.

    `run` may be the folder of an experiment. An older file stays until the new one is whole. DataError where a folder
    holds no finished run, UsageError where two runs share no metric or no sample or the file cannot be written.
    """
    name = f"compared-with-{compared.resolve().name}" if compared else "report"
    out = out or run / f"{name}.{form}"
    part = out.with_name(out.name + ".part")
    content = "" if form == "html" else text(run, form, compared=compared, rows=rows)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8", newline="\n") as file:
            if form != "html":
                file.write(content)
            elif experiments.is_experiment(run):
                experiments.render(file, run)
            else:
                page.render(file, run, compared)
        part.replace(out)
    except OSError as error:
        raise UsageError(f"cannot write the report {str(out)!r}: {error.strerror or error}") from error
    return out


def text(run: Path, form: Form, *, compared: Path | None = None, rows: Rows = "samples") -> str:
    """A report in one of the forms of text; that of an experiment is what `claimeval experiment` wrote."""
    if experiments.is_experiment(run):
        return experiments.text(run, form)
    if form == "csv":
        if compared:
            raise UsageError("a csv shows one run; take `--format md` or `--format json` for a comparison")
        file = io.StringIO()
        tables.write(file, run, rows)
        return file.getvalue().encode("utf-8", "backslashreplace").decode()
    if compared:
        a, b, comparison = compare(run, compared)
        content: object = {"comparison": comparison.model_dump(mode="json"), "a": _plain(a), "b": _plain(b)}
        return markdown.compared(comparison, a) if form == "md" else json.dumps(content, indent=1) + "\n"
    facts = gather(run)
    return markdown.summary(facts) if form == "md" else json.dumps(_plain(facts), indent=1) + "\n"


def _plain(facts: Overview) -> dict[str, object]:
    """The facts without the texts of prompts, whose digests name them."""
    return facts.model_dump(mode="json", exclude={"manifest": {"prompts": {"__all__": {"source"}}}})
