"""`claimeval report`, `view`, `compare` and `push`: looking at runs, comparing them, and export to
platforms."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click

import claimeval as ce
from claimeval.cli.command import command
from claimeval.cli.shared import Metrics, Out, OutputOptions, arguments
from claimeval.cli.terminal import ProgressLine, say
from claimeval.types.errors import UsageError
from claimeval.types.options import require_at_least

if TYPE_CHECKING:
    from claimeval.runs.overview import PairedRuns

MAX_PORT = 65535


@command("report")
class ReportCommand(OutputOptions):
    """Write the page, Markdown or tables of a run, from its directory alone: no network, no key, no
    call.

    `claimeval score` already writes the page; this command writes it again, compares two runs, or
    writes other formats.

    Examples: claimeval report runs/a --compare runs/b; claimeval report runs/a --format md >
    comment.md; claimeval report runs/a --methods; claimeval report runs/a --compare runs/b
    --summary
    """

    run: Annotated[Path, "RUN"]
    """A run directory, or the folder of an experiment."""
    compare: Path | None = None
    """A second run over the same samples; differences are second minus first."""
    format: Annotated[Literal["html", "md", "csv", "json", "xlsx"] | None, "-f", "--format"] = None
    """html (one page, opens offline), md (for a pull request), csv, json or xlsx (a sheet for each
    table).  [default: by the name of --out, else html]"""
    rows: str | None = None
    """Rows of the csv: samples, claims, or a table of the report, such as scores, cost or, with
    --compare, differences.  [default: samples; differences with --compare]"""
    methods: bool = False
    """Print what a paper has to say of the run: data, judges, prompts, metrics and intervals in
    words, and their sources in BibTeX."""
    summary: bool = False
    """Write what can be forwarded instead: one printed page with the result in plain words, or
    Markdown with folds for a pull request."""
    texts: bool = False
    """With --summary and md: quote questions, answers and claims.  [default: numbers only, as
    others read such threads]"""
    out: Out = None
    """File to write.  [default: RUN/report.html or .xlsx, RUN/summary.html with --summary, else
    standard output]"""

    def __post_init__(self) -> None:
        if self.texts and not self.summary:
            raise UsageError("--texts is for the Markdown of --summary. Add --summary")
        if self.summary and (self.rows is not None or self.methods):
            other = "--methods" if self.methods else "--rows"
            raise UsageError(f"--summary and {other} are two reports. Leave one of them out")

    def _summarize(self) -> int:
        """Write the page that is forwarded."""
        from claimeval.report import forms

        form = self.format or forms.form_of(self.out)
        out = self.out
        if out is None and form == "html":
            name = f"summary-with-{self.compare.resolve().name}" if self.compare else "summary"
            out = self.run / f"{name}.html"
        text = forms.summary(
            self.run,
            form,
            out,
            compared=self.compare,
            texts=self.texts,
        )
        if out is None:
            self.output.data(text)
        else:
            self.output.line(f"Summary: {out}")
        return self.output.result(
            "report",
            {"report": out and str(out)},
            path=self.run,
        )

    def do(self) -> int:
        from claimeval.report import forms
        from claimeval.runs.directory import incomplete

        if self.methods:
            return self._methods()
        for run in (self.run, self.compare):
            if run and (line := incomplete(run)):
                say(line)
        if self.summary:
            return self._summarize()
        path = self.out
        form = self.format or forms.form_of(self.out)
        if path is None and form not in ("html", "xlsx"):
            self.output.data(
                forms.text(
                    self.run,
                    form,
                    compared=self.compare,
                    rows=self.rows,
                )
            )
        else:
            path = forms.write(
                self.run,
                form,
                self.out,
                compared=self.compare,
                rows=self.rows,
            )
            self.output.line(f"Report: {path}{self._selection() if form == 'html' else ''}")
        return self.output.result(
            "report",
            {"report": path and str(path)},
            path=self.run,
        )

    def _selection(self) -> str:
        """Return that the page of a large run has a selection of its samples."""
        from claimeval.report.page import is_experiment
        from claimeval.report.selection import WHOLE
        from claimeval.runs.directory import load_summary

        if is_experiment(self.run):
            return ""
        samples = load_summary(self.run).samples
        if samples <= WHOLE:
            return ""
        return f" (a selection of its {samples:,} samples; `claimeval view` shows all)"

    def _methods(self) -> int:
        """Print the methods paragraph, or write it to --out."""
        from claimeval.runs.directory import write_text

        if self.compare or self.format or self.rows:
            raise UsageError("--methods is about one run and is text: leave other options out")
        methods = ce.Run.load(self.run).methods
        if self.out:
            is_bibtex = self.out.suffix == ".bib"
            write_text(self.out, f"{methods.bibtex}\n" if is_bibtex else str(methods))
            self.output.line(f"Methods: {self.out}")
        else:
            self.output.data(str(methods))
        written = self.out and str(self.out)
        return self.output.result(
            "report", {"report": written, **methods.model_dump()}, path=self.run
        )


@command("view")
class ViewCommand(OutputOptions):
    """Browse the runs and experiments in a folder, with their trends, and compare any of them.
    Press Ctrl-C to stop.

    Listens on 127.0.0.1 only and refuses requests from pages of other hosts. It writes nothing,
    unless you label claims, answers and documents there with --label-as; labels go to the files
    of `claimeval annotate`.

    Examples: claimeval view runs; claimeval view runs --label-as ada
    """

    folder: Annotated[Path, "FOLDER"] = Path("runs")
    """A folder with run directories, up to four levels deep."""
    port: int = 8811
    """Port to listen on; 0 chooses a free port."""
    label_as: str | None = None
    """Your name: label in the browser, and store it with each label."""
    browser: Annotated[bool, "--open"] = False
    """Open the list in the browser."""

    def __post_init__(self) -> None:
        require_at_least(self, 0, "port")
        if self.port > MAX_PORT:
            raise UsageError(f"port: {self.port}; it needs {MAX_PORT} or less, or 0 for a free one")

    def do(self) -> int:
        from claimeval.report.viewer import Viewer

        with Viewer(self.folder, self.port, self.label_as) as viewer:
            self.output.line(f"{viewer.url} shows the runs in {self.folder}; press Ctrl-C to stop")
            self.output.result("view", {"url": viewer.url}, path=self.folder)
            if self.browser:
                click.launch(viewer.url)
            with suppress(KeyboardInterrupt):
                viewer.serve_forever()
        return 0


@command("push")
class PushCommand(OutputOptions):
    """Send the scores of a run and the verdicts on claims to a platform.

    Prints what the platform shows of them, and what it cannot. A second push changes nothing in
    MLflow, Langfuse and Phoenix. OpenTelemetry events cannot be replaced, but keep their ids, so
    that a back end can drop duplicates.

    Keys and addresses come from the platform's usual environment variables.

    Examples: claimeval push runs/a --to langfuse --dry-run; claimeval push runs/a --to otlp --url
    http://localhost:4318
    """

    run: Annotated[Path, "RUN"]
    """A run directory."""
    to: Literal["otlp", "mlflow", "langfuse", "phoenix"]
    """otlp (events for a collector of OpenTelemetry), mlflow (a run), langfuse (scores of traces)
    or phoenix (annotations of spans)."""
    url: str | None = None
    """Collector, tracking server or host.  [default: from the environment]"""
    experiment: str | None = None
    """Experiment of mlflow.  [default: MLFLOW_EXPERIMENT_NAME, else claimeval]"""
    field: str = "trace_id"
    """Metadata field with the id of a sample's trace; id is the id of the sample."""
    dry_run: bool = False
    """Print how many records would be sent, and send nothing."""

    def do(self) -> int:
        output = self.output
        with ProgressLine(quiet=output.quiet) as line:
            settings = arguments(self, progress=line.show)
            pushed = ce.Run.load(settings.pop("run")).push(settings.pop("to"), **settings)
        counts = ", ".join(f"{kind} {count}" for kind, count in pushed.records.items()) or "nothing"
        output.line(f"{'To send' if self.dry_run else 'Sent'}: {counts}; to {pushed.where}")
        for reason, count in pushed.left_out.items():
            output.line(f" scores {reason}: {count}", style="dim")
        output.line(pushed.note, style="dim")
        return output.result(
            "push", {"to": self.to, "dry_run": self.dry_run, **pushed._asdict()}, path=self.run
        )


@command("compare")
class CompareCommand(OutputOptions):
    """Compare two or more runs, sample by sample: what changed, in the first line, and the numbers
    that it is based on.

    The first line names the cause where the data can tell it: a document that retrieval lost, other
    answers, another judge, one slice. --details prints tests, the causes of all metrics and the
    claims that flipped.

    Samples are paired by id; without ids, or where those of two runs have nothing in common, by
    question. Samples of one run only are counted. Runs of two systems, judges or prompts can be
    compared if they have metrics in common, also runs without a judge. With three
    or more runs, oldest first, each is compared with the previous one and the last with the first
    (or with --baseline), and the trend over all of them is tested, which also finds a slow decline.
    No judge is asked.

    Example: claimeval compare runs/before runs/after --out comparison.html

    Example: claimeval compare runs/2026-09 runs/2026-10 runs/2026-11 -m faithfulness --plot
    trend.svg
    """

    runs: Annotated[tuple[Path, ...], "RUN"]
    """Run directories over the same samples. Differences are later minus earlier."""
    metrics: Metrics = None
    """Comma-separated; prints the series of these metrics, also for two runs."""
    baseline: str = "0"
    """Run to compare the others with: its name, or its position from 0."""
    by: str | None = None
    """Also print a table by this field, as in metadata.topic."""
    details: bool = False
    """Print all numbers: settings, tests, causes of every metric, flipped claims."""
    flips: int = 10
    """Flipped claims that --details prints; with three or more runs, changed samples (at most
    5)."""
    out: Out = None
    """File for the report: a page (.html), Markdown with pictures next to it (.md), the numbers
    (.json) or a workbook (.xlsx)."""
    plot: Path | None = None
    """SVG file for a picture: the differences of two runs, or each metric over three or more."""
    cluster: str | None = None
    """Samples with equal values depend on each other.  [default: as in the first run]"""

    def __post_init__(self) -> None:
        require_at_least(self, 0, "flips")
        if self.out:
            from claimeval.report import forms

            forms.form_of(self.out)  # an ending that is not written is refused before the work

    def do(self) -> int:
        from claimeval.report.charts import check_name

        output = self.output
        if self.plot:
            check_name(self.plot)
        compared = ce.compare(
            *self.runs,
            baseline=self.baseline,
            metrics=self.metrics,
            by=self.by,
            cluster=self.cluster,
        )
        if self.by is None and (len(self.runs) > 2 or self.metrics is not None):
            return self._series(compared)
        others = [i for i in range(len(compared.runs)) if i != compared.baseline]
        pairs = [compared.against(i) for i in others]
        for i, pair in zip(others, pairs, strict=True):
            paths = [str(compared.runs[at].path) for at in (compared.baseline, i)]
            self._print_pair(pair, *paths)
        self._write(compared)
        records = [pair.model_dump() for pair in pairs]
        return output.result("compare", records[0] if len(pairs) == 1 else {"pairs": records})

    def _print_pair(self, pair: PairedRuns, baseline: str, run: str) -> None:
        """Print how a run differs from the baseline, and what shows more; both are named by their
        folders."""
        from claimeval.runs.views import comparison as views

        output = self.output
        output.draw(views.front(pair))
        if self.details:
            output.draw(views.details(pair, self.by or "", self.flips))
        elif self.by:
            output.draw([views.slices(pair, self.by)])
        output.line()
        # Quoted: what is printed is pasted, and a folder may have a space in its name.
        two = shlex.join([baseline, "--compare", run])
        more = "" if self.details else " (all metrics, causes, tests and flips: --details)"
        separate = pair.culprit.separate
        output.lines(
            separate and f"To tell them apart: {separate}",
            f"Next: claimeval report {two}{more}",
        )

    def _series(self, compared: ce.Comparison) -> int:
        """Print a series of runs, and return the exit code."""
        from claimeval.runs.views import series

        output = self.output
        trend = compared.trend
        if self.details:
            output.draw(series.view(trend, min(self.flips, series.CHANGED)))
        else:
            ends = [str(compared.runs[i].path) for i in (trend.baseline, trend.last)]
            why = f"claimeval compare {shlex.join(ends)}"
            output.draw(series.first(trend))
            output.line(f"Next: {why} says why (all runs and steps: --details)")
        tracks = {track.metric: track.model_dump(exclude={"metric"}) for track in trend.tracks}
        self._write(compared)
        return output.result("compare", {**trend.model_dump(exclude={"tracks"}), "metrics": tracks})

    def _write(self, compared: ce.Comparison) -> None:
        """Write the report and the picture, if they were asked for."""
        from claimeval.report import pictures
        from claimeval.report.charts import beside

        if self.out or self.plot:
            self.output.line()
        if self.out:
            compared.report(self.out)
            self.output.line(f"Report: {self.out}")
        if self.plot:
            if len(compared.runs) > 2:
                picture = beside("Trend", pictures.of_series(compared.trend), across=2)
            else:
                picture = pictures.of_comparison(compared.against(1 - compared.baseline))
            picture.save(self.plot)
            self.output.line(f"Picture: {self.plot}")
