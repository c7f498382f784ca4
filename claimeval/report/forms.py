"""The forms of a report, and the file each goes to."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Literal

from claimeval.errors import UsageError
from claimeval.report import markdown, page, tables
from claimeval.report.comparison import compare
from claimeval.report.facts import Facts
from claimeval.report.gathering import gather

Form = Literal["html", "md", "csv", "json"]
Rows = tables.Rows


def write(
    run: Path, form: Form, out: Path | None = None, *, compared: Path | None = None, rows: Rows = "samples"
) -> Path:
    """Writes a report and says where: `out`, else a file in the run directory that is named after the form."""
    name = f"compared-with-{compared.resolve().name}" if compared else "report"
    out = out or run / f"{name}.{form}"
    content = text(run, form, compared=compared, rows=rows) if form != "html" else ""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if form == "html":
            page.write(run, out, compared)
        else:
            out.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the report {str(out)!r}: {error.strerror or error}") from error
    return out


def text(run: Path, form: Form, *, compared: Path | None = None, rows: Rows = "samples") -> str:
    """A report in one of the forms of text."""
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


def _plain(facts: Facts) -> dict[str, object]:
    """The facts without the texts of prompts, whose digests name them."""
    return facts.model_dump(mode="json", exclude={"manifest": {"prompts": {"__all__": {"source"}}}})
