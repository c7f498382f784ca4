"""Writing reports in all formats: HTML, Markdown with pictures, CSV, JSON and workbooks."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO, get_args

from claimeval import __version__
from claimeval.data.rows import write_csv
from claimeval.report import assets, page, pictures, workbook
from claimeval.report.charts import Picture, file_part
from claimeval.runs.directory import (
    MANIFEST,
    RunResults,
    load_manifest,
    no_run,
    replacing,
    write_text,
)
from claimeval.runs.overview import Overview, gather
from claimeval.runs.views import Line, Table
from claimeval.types.errors import StoppedEarly, UsageError, unknown_name

if TYPE_CHECKING:
    from claimeval.runs.series import Series

Form = Literal["html", "md", "csv", "json", "xlsx"]
PAGE = "report.html"
"""The file of a run directory that is its page."""
NO_TEXT = "a workbook is a file: give its name, as in --out report.xlsx"
MARK = "\ufeff"
"""Byte order mark at the beginning of a CSV file, without which spreadsheets do not read it as
UTF-8."""


def form_of(out: str | Path | None) -> Form:
    """Return the form that the name of a file ends in; `html` without a file.

    Raises UsageError for another ending: a page in a file called `report.docx` opens nowhere.
    """
    if out is None:
        return "html"
    ending = Path(out).suffix.lower()
    forms: dict[str, Form] = {f".{form}": form for form in get_args(Form)}
    if ending not in forms:
        raise unknown_name("ending of a report", ending or Path(out).name, forms)
    return forms[ending]


def _check_run(run: Path) -> None:
    """Raise DataError if there is no such run or experiment."""
    if not page.is_experiment(run) and not (run / MANIFEST).is_file():
        raise no_run(run)


def _check_rows(run: Path, form: Form, rows: str | None, compared: Path | None) -> None:
    """Raise UsageError for rows of a report that has no rows to choose."""
    if rows is None or (form == "csv" and not page.is_experiment(run)):
        return
    if not page.is_experiment(run):
        _rows(run, compared, rows)  # a name that no table has is refused before its form is
    why = "is an experiment, whose CSV has one table" if form == "csv" else f"is written as {form}"
    raise UsageError(
        f"rows {rows!r} are for the CSV of a run, and {run} {why}. Add `--format csv`, or leave"
        " --rows out"
    )


def write(
    run: Path,
    form: Form,
    out: Path | None = None,
    *,
    compared: Path | None = None,
    rows: str | None = None,
) -> Path:
    """Write a report atomically and return its path.

    The pictures of a Markdown file are written next to it, as `NAME-metrics.svg` or
    `NAME-differences.svg`.

    Args:
        run: Directory of a run or of an experiment.
        form: Format of the report.
        out: The file. Default: a file in the directory.
        compared: Directory of a run to compare with.
        rows: The rows of a CSV: `samples`, `claims`, or a table of the report. Default: samples, of
            two runs their differences.

    Raises:
        DataError: A directory has no finished run.
        UsageError: Two runs share no metric or no sample, or the file cannot be written.
    """
    _check_run(run)
    _check_rows(run, form, rows, compared)
    name = f"compared-with-{compared.resolve().name}" if compared else "report"
    out = out or run / f"{name}.{form}"
    drawn: dict[str, Picture] = {}
    content = ""
    if form == "md":
        content, drawn = _markdown(run, compared, out.stem)
    elif form in ("csv", "json"):
        content = text(run, form, compared=compared, rows=rows)

    def render(file: TextIO) -> None:
        """Write the content of the report."""
        if form == "xlsx":
            workbook.write(file.buffer, _sheets(run, compared))
        elif form != "html":
            file.write(MARK + content if form == "csv" else content)
        elif page.is_experiment(run):
            page.render_experiment(file, run)
        else:
            # A report elsewhere is kept by no command.
            made_of = _made_of(run) if out == run / PAGE else ""
            page.render(file, run, compared)
            file.write(made_of)

    _put(out, render, drawn)
    return out


def content(file: Path, form: Form) -> str:
    """Return the text of a written report; empty for a workbook."""
    return "" if form == "xlsx" else file.read_text(encoding="utf-8")


def write_draft(run: Path, draft: page.PageDraft) -> None:
    """Write the page of a run from what was made of it while its judges were asked, or anew if the
    run ended otherwise."""

    def render(file: TextIO) -> None:
        """Write the page."""
        made_of = _made_of(run)
        if not draft.write(file, run):
            page.render(file, run)
        file.write(made_of)

    _put(run / PAGE, render, {})


def is_current(run: Path) -> bool:
    """Return whether a run directory has a page that would be the same if it were made again."""
    line = _made_of(run).encode()
    try:
        with (run / PAGE).open("rb") as file:
            file.seek(-len(line), os.SEEK_END)
            return file.read() == line
    except OSError:  # there is none, or a shorter file
        return False


def _made_of(run: Path) -> str:
    """Return the last line of the page of a run: a digest of all that it is made of, which are this
    version, the page without data, the name of the directory and its other files, as those with
    labels.

    It is asked before the page is made: labels that come in the meantime make another page.
    """
    digest = hashlib.sha256()
    for text in (__version__, assets.page("report").html, run.resolve().name):
        digest.update(hashlib.sha256(text.encode()).digest())
    # Labels and attached runs may be in linked directories, into which `**` does not go.
    for path in sorted({*run.rglob("*"), *run.glob("*/*")}):
        if path.is_file() and path != run / PAGE and path.suffix != ".part":
            digest.update(hashlib.sha256(os.fsencode(path.relative_to(run))).digest())
            digest.update(_digest_of(path))
    return f"<!--made of {digest.hexdigest()}-->\n"


def _digest_of(path: Path) -> bytes:
    """Return the digest of a file; empty if it cannot be read, and so is in no page."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return b""


def _put(out: Path, render: Callable[[TextIO], object], drawn: Mapping[str, Picture]) -> None:
    """Write a report atomically, with its pictures next to it."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        for file_name, picture in drawn.items():
            write_text(out.with_name(file_name), picture.file)
        with replacing(out) as file:
            render(file)
    except OSError as error:
        problem = f"Cannot write the report {str(out)!r}: {error.strerror or error}"
        # A full disk is not the caller's mistake, and the same command goes on later.
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoppedEarly(
                f"{problem}. Free space on its disk, then run the same command again"
            ) from error
        raise UsageError(problem) from error


def summary(
    run: Path,
    form: Form,
    out: Path | None = None,
    *,
    compared: Path | None = None,
    texts: bool = False,
) -> str:
    """Return the page that is forwarded as text, and write it to `out` if that is a file.

    Args:
        run: The run directory.
        form: `html` for one printed page, `md` for a pull request.
        out: The file.
        compared: Directory of a run to compare with.
        texts: Whether Markdown quotes questions, answers and claims; the page always does.

    Raises:
        DataError: A directory has no finished run.
        UsageError: It is an experiment, the form is another one, or the file cannot be written.
    """
    from claimeval.report import forwarded

    if form not in ("html", "md"):
        raise UsageError(f"A summary is a page or Markdown, not {form}: use --format html or md")
    if page.is_experiment(run):
        raise UsageError(f"{run} is an experiment: a summary has one or two runs. Name an arm")
    content = forwarded.read(run, compared)
    if form == "html":
        drawn = forwarded.document(content)
    else:
        drawn = forwarded.markdown(content, texts=texts)
    if out:
        _put(out, lambda file: file.write(drawn), {})
    return drawn


def of_series(runs: Series, form: Form, out: Path | None = None) -> str:
    """Return the report of a series of runs as text, and write it to `out` if that is a file.

    The pictures of a Markdown file are written next to it, as `NAME-METRIC.svg`; the text of a
    workbook is empty. Raises UsageError for a CSV, or if the file cannot be written.
    """
    from claimeval.report import markdown, series

    drawn: dict[str, Picture] = {}
    if form == "xlsx":
        return _workbook_of_series(runs, out)
    if form == "csv":
        raise UsageError("A CSV has one run. For more, use `--format md` or `--format json`")
    if form == "md":
        if out:
            files = [f"{out.stem}-{file_part(track.metric)}.svg" for track in runs.tracks]
            drawn = dict(zip(files, pictures.of_series(runs), strict=True))
        content = markdown.series(runs, _titled(drawn))
    elif form == "html":
        content = series.render(runs, f"{len(runs.runs)} runs over the same samples")
    else:
        content = json.dumps(runs.model_dump(mode="json"), indent=1) + "\n"
    if out:
        _put(out, lambda file: file.write(content), drawn)
    return content


def _workbook_of_series(runs: Series, out: Path | None) -> str:
    """Write the tables of a series of runs as a workbook."""
    from claimeval.runs.views import series, tables

    if out is None:
        raise UsageError(NO_TEXT)
    found = tables(series.view(runs, series.CHANGED))
    _put(
        out,
        lambda file: workbook.write(file.buffer, map(_sheet, found)),
        {},
    )
    return ""


def text(run: Path, form: Form, *, compared: Path | None = None, rows: str | None = None) -> str:
    """Return a report as text; Markdown has no pictures. For an experiment, return the file that it
    wrote.

    Args:
        run: Directory of a run or of an experiment.
        form: Format of the report.
        compared: Directory of a run to compare with.
        rows: The rows of a CSV: `samples`, `claims`, or a table of the report. Default: samples, of
            two runs their differences.

    Raises:
        DataError: A directory has no finished run.
        UsageError: Two runs share no metric or no sample, or there is no such table.
    """
    _check_run(run)
    _check_rows(run, form, rows, compared)
    if form == "xlsx":
        raise UsageError(NO_TEXT)
    if form == "md":
        return _markdown(run, compared)[0]
    if page.is_experiment(run):
        return (run / f"experiment.{form}").read_bytes().decode()
    if form == "csv":
        file = io.StringIO(newline="")
        usual = "differences" if compared else "samples"
        write_csv(file, _rows(run, compared, usual if rows is None else rows))
        return file.getvalue().encode("utf-8", "backslashreplace").decode()
    if compared:
        from claimeval.runs.compare import compare

        a, b, comparison = compare(run, compared, sliced=True)
        content: object = {
            "comparison": comparison.model_dump(mode="json"),
            "a": _plain(a),
            "b": _plain(b),
        }
        return json.dumps(content, indent=1) + "\n"
    return json.dumps(_plain(gather(run, sliced=True)), indent=1) + "\n"


def _rows(run: Path, compared: Path | None, name: str) -> Iterable[Iterable[object]]:
    """Return the rows of a CSV, the names of its columns first."""
    from claimeval.metrics.derived import directed
    from claimeval.report import render, tables
    from claimeval.runs.compare import compare
    from claimeval.runs.views import comparison as of_two
    from claimeval.runs.views import run as of_one
    from claimeval.runs.views import tables as among

    if name in (*get_args(tables.Rows), tables.CITATIONS) and not compared:
        rows = tables.rows(load_manifest(run), RunResults.of(run), name)
        head = next(rows)
        return chain([[directed(str(column)) for column in head]], rows)
    blocks = of_two.view(compare(run, compared)[2]) if compared else of_one.of(gather(run))[1]
    found = {table.name: table for table in among(blocks)}
    if name not in found:
        others = () if compared else get_args(tables.Rows)
        raise unknown_name("table", name, {*found, *others})
    return render.cells(found[name])


def _sheets(run: Path, compared: Path | None) -> Iterator[workbook.Sheet]:
    """Yield the tables of a workbook: what the run is, its scores, samples and claims, then the
    others. Of an experiment and of two runs, all tables."""
    from claimeval.report import tables
    from claimeval.runs.compare import compare
    from claimeval.runs.views import comparison as of_two
    from claimeval.runs.views import experiment as of_arms
    from claimeval.runs.views import run as of_one
    from claimeval.runs.views import tables as among

    if page.is_experiment(run):
        yield from map(_sheet, among(of_arms.view(page.experiment_table(run))))
        return
    if compared:
        yield from map(_sheet, among(of_two.view(compare(run, compared)[2])))
        return
    overview = gather(run)
    front, rest = of_one.of(overview)
    scores, *others = among([*front, *rest])
    about = [["".join(block.parts)] for block in front if isinstance(block, Line)]
    yield workbook.Sheet("about", [["about this run"], *about])
    yield _sheet(scores)
    for name in get_args(tables.Rows):
        yield workbook.Sheet(name, _rows(run, None, name))
    for table in others:
        yield _sheet(table, f"{table.name} summary" if table.name in get_args(tables.Rows) else "")


def _sheet(table: Table, name: str = "") -> workbook.Sheet:
    """Return a table as a sheet."""
    from claimeval.report import render

    return workbook.Sheet(name or table.name, render.cells(table))


def _markdown(
    run: Path, compared: Path | None, stem: str | None = None
) -> tuple[str, dict[str, Picture]]:
    """Return the Markdown of one or two runs, and its pictures by file name; without a stem, there
    are none."""
    from claimeval.report import experiments as printing
    from claimeval.report import markdown
    from claimeval.runs.compare import compare

    if page.is_experiment(run):
        table = page.experiment_table(run)
        of_arms = printing.drawings(table, stem) if stem else {}
        names = {metric: name for metric, (name, _) in of_arms.items()}
        return printing.to_markdown(table, names), dict(of_arms.values())
    if compared:
        a, _, comparison = compare(run, compared)
        drawn = {f"{stem}-differences.svg": pictures.of_comparison(comparison)} if stem else {}
        return markdown.compared(comparison, a, _titled(drawn)), drawn
    overview = gather(run)
    means = (
        pictures.of_metrics(overview.summary.metrics, f"Means of {overview.name}") if stem else None
    )
    drawn = {f"{stem}-metrics.svg": means} if means else {}
    return markdown.summary(overview, _titled(drawn)), drawn


def _titled(drawn: Mapping[str, Picture]) -> list[tuple[str, str]]:
    return [(picture.title, file) for file, picture in drawn.items()]


def _plain(overview: Overview) -> dict[str, object]:
    """Return the overview without the texts of the prompts."""
    return overview.model_dump(
        mode="json", exclude={"manifest": {"prompts": {"__all__": {"source"}}}}
    )
