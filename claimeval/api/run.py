"""`Run`, what every job returns: its results in memory or on disk, their summary, gates, tables and
pages."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, get_args

from claimeval.api.push import TRACE, Platform, Pushed, Settings, push
from claimeval.evaluation.kinds import kind_of
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.metrics.rows import canonical_name
from claimeval.metrics.scoring import MetricSummary, ends_and_kind, ends_in_words
from claimeval.report.selection import WRITTEN
from claimeval.runs.by_rank import ByRank, by_rank
from claimeval.runs.directory import (
    MANIFEST,
    RunResults,
    RunWriter,
    beside,
    has_results,
    load_manifest,
    load_summary,
    write_summary,
)
from claimeval.runs.ending import Ending
from claimeval.runs.gates import Baseline, check, evaluate, is_below
from claimeval.runs.lines import Mapped
from claimeval.runs.notes import notes
from claimeval.runs.slices import ENOUGH, DiagnosisCounts, DiagnosisTally
from claimeval.runs.worst import EXCERPT, WorstAnswer, bad_answers
from claimeval.statistics.formatting import next_to, percent
from claimeval.types import html
from claimeval.types.errors import Interrupted, NoteWarning, UsageError, unknown_name, visible
from claimeval.types.estimates import Cost
from claimeval.types.gates import MAX_MISSING, NO_LIMITS, GateResult, Gates
from claimeval.types.paths import expanded
from claimeval.types.progress import Progress
from claimeval.types.records import Claim, Sample, SampleResult

if TYPE_CHECKING:
    import pandas

    from claimeval.evaluation.summary.panel import PanelSummary
    from claimeval.report import forms, tables
    from claimeval.report.page import PageDraft
    from claimeval.runs.methods import Methods
    from claimeval.runs.slices import Slices

Figure = Literal["mean", "low", "hits", "judged", "n"]
"""What an assertion compares."""
WORST = 5
"""Claims that a failed assertion names."""


class MetricSummaries(dict[str, MetricSummary]):
    """The metrics of a run by name or alias. KeyError names the closest metric."""

    def __missing__(self, metric: str) -> MetricSummary:
        from difflib import get_close_matches

        if (name := canonical_name(metric)) in self:
            return self[name]
        close = get_close_matches(name, list(self), n=1, cutoff=0.5)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise KeyError(
            f"this run has no metric {metric!r}.{hint} It has {', '.join(self) or 'none'}"
        )

    def _repr_html_(self) -> str:
        """Show a row for each metric."""
        head = ("metric", "mean", "95% interval", "n", "missing")
        rows = [
            (
                name,
                metric.mean_in_words,
                ends_in_words(metric),
                str(metric.n),
                str(sum(metric.missing.values())),
            )
            for name, metric in self.items()
        ]
        return html.shown(html.table(head, rows))


class Run:
    """The result of a job: its settings, a result for every sample, and their summary.

    `len(run)` is the number of samples, iterating gives their results, and `run["faithfulness"]` is
    the summary of a metric. Results of a run with a `path` are read from disk when they are needed.

    Examples:
        >>> run = ce.Run.load("runs/a")
        >>> len(run), run.complete
        (24, True)
        >>> round(run["faithfulness"].mean, 2)
        0.95
        >>> run.to_pandas("claims")["label"].value_counts().index.tolist()
        ['supported', 'not_found']
    """

    def __init__(
        self,
        manifest: Manifest,
        record: Summary,
        results: Sequence[SampleResult],
        *,
        path: Path | None = None,
        ending: Ending | None = None,
    ) -> None:
        self.manifest = manifest
        """The settings: data, judges, prompts, panel, versions."""
        self.record = record
        """The summary of the results, as in `summary.json`."""
        self.summary = MetricSummaries(record.metrics)
        """The summary of each metric by name."""
        self.results = results
        """A result for every sample: claims, verdicts, scores, calls."""
        self.path = path
        """The run directory; None for a run in memory."""
        self.ending = ending or Ending.recorded(record)
        """How the run ended: exit code of the command, why it stopped early, failed gates."""

    @property
    def job(self) -> str:
        """The job that made the run: `score`, `rate`, `grade`, ..."""
        return self.manifest.job

    @property
    def complete(self) -> bool:
        """Whether every sample has its result; False for a run that stopped early."""
        return self.record.complete

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before trusting the numbers, most serious first.

        The command prints the same notes, functions warn of them (`NoteWarning`), and the report
        shows them.
        """
        return tuple(note.text for note in notes(self.record, self.manifest.short_names))

    @property
    def panel(self) -> PanelSummary | None:
        """Agreement of the judges; None for one judge without replicates."""
        return self.record.panel

    @property
    def cost(self) -> Cost | None:
        """Cost of the calls behind the results; None for a run without judges."""
        return self.record.cost.total if self.record.cost else None

    @property
    def samples(self) -> Sequence[Sample]:
        """The samples, in order; for `write_queries` the questions that were kept."""
        if made := kind_of(self.manifest).samples:
            return tuple(made(self.manifest, self.results))
        return Mapped(self.results, lambda result: result.sample)

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """The grades of documents by sample, in the form that `claimeval.ir` takes; ungraded
        documents are left out.

        For `write_queries`, the source of each question has grade 1.
        """
        qrels = kind_of(self.manifest).qrels
        return qrels(self.manifest, self.results) if qrels else {}

    @property
    def claims(self) -> Iterator[tuple[SampleResult, Claim]]:
        """Every claim with the result that it belongs to."""
        for result in self.results:
            for claim in result.claims:
                yield result, claim

    @property
    def attached(self) -> Mapping[str, Run]:
        """The attached runs, by job: runs of other jobs over this run. Empty for a run in
        memory."""
        if self.path is None:
            return {}
        folders = (folder.parent for folder in sorted(self.path.glob(f"*/{MANIFEST}")))
        return {folder.name: Run.load(folder) for folder in folders if has_results(folder)}

    def __getitem__(self, metric: str) -> MetricSummary:
        """Return the summary of a metric; KeyError names the nearest metric of the run."""
        return self.summary[metric]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[SampleResult]:
        return iter(self.results)

    def __eq__(self, other: object) -> bool:
        """Return whether manifest, summary and results are equal; time and path of a run are
        ignored."""
        if not isinstance(other, Run):
            return NotImplemented
        manifest, other_manifest = (
            run.manifest.model_copy(update={"created": None}) for run in (self, other)
        )
        same = (manifest, self.record) == (other_manifest, other.record)
        return same and list(self.results) == list(other.results)

    __hash__ = None  # type: ignore[assignment]  # runs hold unhashable values

    def __repr__(self) -> str:
        values = (f"{name} {metric.mean_in_words}" for name, metric in self.summary.items())
        means = ", ".join(values)
        where = f" in {self.path}" if self.path else ""
        stopped = "" if self.complete else ", stopped early"
        samples = "1 sample" if len(self) == 1 else f"{len(self)} samples"
        return f"<Run of {samples}{where}{stopped}: {means}>"

    def _repr_html_(self) -> str:
        """Show a card per metric, the notes, and the five worst claims with their evidence."""
        from claimeval.report import notebook

        sides = beside(self.path, self.record.metrics) if self.path else ()
        return notebook.run(self.manifest, self.record, self.results, sides)

    def by(self, field: str, *, metrics: str | Sequence[str] | None = None) -> Slices:
        """Return each metric per value of a field of the samples.

        Args:
            field: `generator`, another field of a sample, or one of its metadata, as in
                `metadata.topic`.
            metrics: Names, as a list or one text with commas; None for all of the run.

        Returns:
            Per value and metric: n, mean with its interval, and the contribution to the loss, which
            adds up to one minus the mean of the run, or to the mean for metrics of faults such as
            `hallucination`. Samples without the field are under None.

        Raises:
            UsageError: No sample has the field.
            KeyError: The run has no such metric.
        """
        from claimeval.runs.slices import slices

        names = metrics.split(",") if isinstance(metrics, str) else metrics
        chosen = tuple(self.summary)
        if names is not None:
            chosen = tuple(map(canonical_name, names))
        return slices(
            self.results, field, {name: self[name] for name in chosen}, self.manifest.cluster
        )

    @property
    def headline(self) -> str:
        """What judges found, counted, in one sentence; empty if there is nothing to say. With the
        causes of failed claims, if `locate` added them to the run."""
        from claimeval.runs.front import sentence

        return sentence(self.record, self.path)

    @property
    def methods(self) -> Methods:
        """What a paper has to say of the run: data, judges as served, prompts by digest, metrics,
        intervals and, if its directory has labels by people, the agreement with them.

        `.text` has the paragraphs, `.bibtex` the entries that they cite; `print` shows both.
        """
        from claimeval.runs.methods import methods

        return methods(self.manifest, self.record, self.path)

    @property
    def by_rank(self) -> ByRank | None:
        """Gold claims in the answer by the rank of their evidence: whether what stands in the
        middle of the retrieved documents is lost.

        The evidence of a gold claim is the document that the judges of context recall cite, or the
        reference context. None without coverage, or if no rank is known.
        """
        return by_rank(self.results, self.manifest.cluster)

    def diagnosis(self, threshold: float = ENOUGH) -> DiagnosisCounts | None:
        """Count the samples by whether retrieval brought what they need, and whether the answer
        keeps to it.

        Args:
            threshold: The value from which context recall and faithfulness count as high, from 0 to
                1.

        Returns:
            The counts; None unless samples have both metrics, and if a judge only compares words.
        """
        tally = DiagnosisTally(threshold, concludes=self.manifest.concludes)
        for result in self.results:
            tally.add(result)
        return tally.counts()

    def with_slices(self, field: str) -> Run:
        """Return the run with `by(field)` in its record, and in `summary.json` if it has a path."""
        record = self.record.model_copy(
            update={"by": {**self.record.by, field: self.by(field).by_value}}
        )
        if self.path:
            write_summary(self.path, record)
        return Run(
            self.manifest,
            record,
            self.results,
            path=self.path,
            ending=self.ending,
        )

    def with_gates(self, gates: Gates) -> Run:
        """Return the run with the outcome of the gates in its record, and in `summary.json` if it
        has a path."""
        record = self.record.model_copy(update={"gates": self.gated(gates)})
        if self.path:
            write_summary(self.path, record)
        return Run(
            self.manifest,
            record,
            self.results,
            path=self.path,
            ending=self.ending,
        )

    def to_pandas(self, table: tables.Table = "samples") -> pandas.DataFrame:
        """Return a table of the run; undefined values are NaN, and None in columns of text.

        Args:
            table: `samples` has one row per sample, indexed by id, with value, reason and counts of
                each metric, and the column `index` if the data were a data frame; `claims` one
                row per claim and evidence; `verdicts` one per verdict; `calls` one per call.

        Raises:
            UsageError: pandas is not installed, or there is no such table.
        """
        from claimeval.data.rows import dataframe
        from claimeval.report import tables

        head, *rows = tables.rows(self.manifest, self.results, table)
        numbers = tuple(self.summary) if table == "samples" else ()
        frame = dataframe([str(name) for name in head], rows, numbers)
        if table != "samples":
            return frame
        labels = [result.sample.metadata.get("index") for result in self.results]
        if labels and None not in labels:
            frame.insert(1, "index", labels)
        return frame.set_index("id")

    def gate(
        self,
        *,
        fail_under: Mapping[str, float] = NO_LIMITS,
        fail_over: Mapping[str, float] = NO_LIMITS,
        max_drop: Mapping[str, float] = NO_LIMITS,
        baseline: Run | str | Path | None = None,
        max_missing: float = MAX_MISSING,
        beyond_chance: bool = False,
    ) -> tuple[GateResult, ...]:
        """Check the run against limits; an undefined mean fails its gate.

        Args:
            fail_under: Metric to the lowest mean allowed. Where bounds are reported in place of an
                interval, the lower bound counts.
            fail_over: Metric to the highest mean allowed; of bounds, the upper one counts.
            max_drop: Metric to the largest loss allowed against the baseline, over the samples that
                both runs have.
            baseline: The run, or its directory, that `max_drop` compares with.
            max_missing: The largest share of samples or claims of a metric that may be lost to
                failures, from 0 to 1.
            beyond_chance: Let `max_drop` fail only if the interval of the difference excludes 0 as
                well.

        Returns:
            The outcome of each gate on a mean, and of each metric that lost too much.

        Raises:
            DataError: The baseline holds no run.
            UsageError: The run or the baseline has no such metric, or a limit is out of range.
        """
        gates = Gates(
            fail_under=fail_under,
            fail_over=fail_over,
            max_drop=max_drop,
            baseline=baseline,
            max_missing=max_missing,
            beyond_chance=beyond_chance,
        )
        return self.gated(gates)

    def gated(self, gates: Gates) -> tuple[GateResult, ...]:
        """Check the run against limits, as `gate` does."""
        compared = Baseline.of_gates(gates)
        results = self.results if compared else ()
        of_run = self.manifest
        return evaluate(gates, self.summary, results, compared, of_run.cluster, of_run.data)

    def assert_at_least(self, figure: Figure = "mean", /, **least: float) -> None:
        """Assert that metrics reach a value: `run.assert_at_least(faithfulness=0.9)`.

        Args:
            figure: The figure that must reach the value: the `mean`, the low end of its interval or
                bounds (`low`), or a count: `hits` (supported claims), `judged` (claims with a
                label), `n` (samples with a value).
            least: The minimum for each metric.

        Raises:
            AssertionError: A metric is lower or undefined, or over 1% of its samples or claims
                were lost to failures; the message has the interval, the counts and the worst
                claims.
            UsageError: The run has no such metric, or a limit is out of range.
        """
        # pytest then shows the line of the test that failed, not this one.
        __tracebackhide__ = True
        if not least:
            raise UsageError("no metric to assert; name one, as in faithfulness=0.9")
        if figure not in get_args(Figure):
            raise unknown_name("figure", figure, get_args(Figure))
        of_share = figure in ("mean", "low")
        # Counts may be above 1, the most that a gate takes as its limit: of these, only names are
        # checked.
        check(Gates(fail_under=least if of_share else dict.fromkeys(least, 0.0)), self.summary)
        lines: list[str] = []
        for name, limit in least.items():
            metric = self[name]
            lines += _below(name, metric, figure, limit)
            if metric.failure_rate > MAX_MISSING:
                lines.append(
                    f"{name} lost {percent(metric.failure_rate)} of samples or claims to failures"
                )
        if not lines:
            return
        for name in least:
            metric = self[name]
            missing = "".join(f", {count} {reason}" for reason, count in metric.missing.items())
            lines.append(f"{name}: {ends_and_kind(metric)}, n {metric.n}{missing}")
        raise AssertionError("\n".join([*lines, *self.worst_claims(*least)]))

    def worst_claims(self, *metrics: str, limit: int = WORST) -> list[str]:
        """Return claims that are not supported, with verdicts and evidence, in words.

        Contradicted claims come first, then claims not found, then claims without a label; equal
        labels are ordered by score, lowest first. Of a run of ratings, these are the answers with
        bad ratings, those with most of them first.

        Args:
            metrics: The metrics that count the claims. Default: all.
            limit: The maximum number of claims.
        """
        if any(question.subjects == "answer" for question in self.manifest.questions):
            names = set(map(canonical_name, metrics))
            return list(map(_rated, bad_answers(self.results, names, limit)))
        rows = {metric.name: metric for metric in self.manifest.rows}
        worst: dict[str, tuple[int, float]] = {}
        for name in map(canonical_name, metrics or rows):
            if not (metric := rows.get(name)):
                continue
            for result in self.results:
                value = result[name].value
                score = -1.0 if value is None else value
                for rank, text in result.failed_claims(metric.claims_of, metric.against):
                    worst.setdefault(f"{result.sample.id}: {text}", (rank, score))
        return sorted(worst, key=worst.__getitem__)[:limit]

    def report(
        self,
        out: str | Path | None = None,
        *,
        format: forms.Form | None = None,
        rows: str | None = None,
        summary: bool = False,
        texts: bool = False,
    ) -> str:
        """Return the report of the run as text, and write it to a file.

        Args:
            out: The file to write. None only returns the text.
            format: `html` (a self-contained page), `md` (for a comment), `csv` (a table), `json` or
                `xlsx` (a sheet for each table). Default: by the name of the file, else `html`.
            rows: The rows of a `csv`: `samples` (default), `claims`, or a table of the report, such
                as `scores` or `cost`.
            summary: Only what can be forwarded: one printed page (`html`), or Markdown with folds
                for a pull request.
            texts: Whether the Markdown of a summary quotes questions, answers and claims.

        Returns:
            The content of the report; empty for a workbook, which is only written.

        Raises:
            UsageError: The file cannot be written, or its ending is none of the formats.
        """
        from claimeval.report import forms, page

        with self.on_disk() as folder:
            format = format or forms.form_of(out)
            if summary:
                file_name = expanded(out) if out is not None else None
                return forms.summary(folder, format, file_name, texts=texts)
            if out is not None:
                file = forms.write(folder, format, expanded(out), rows=rows)
                return forms.content(file, format)
            if format != "html":
                return forms.text(folder, format, rows=rows)
            text = io.StringIO()
            page.render(text, folder)
            return text.getvalue()

    def push(
        self,
        to: Platform,
        *,
        url: str | None = None,
        experiment: str | None = None,
        field: str = TRACE,
        dry_run: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Pushed:
        """Send the scores and the verdicts on claims to a platform. A second push changes nothing.

        Events of OpenTelemetry cannot be replaced: they are added again under the same ids.

        Args:
            to: `otlp` (an event for each score and verdict, to a collector of OpenTelemetry),
                `mlflow` (a run with metrics, tables and the report), `langfuse` (scores of
                traces) or `phoenix` (annotations of spans).
            url: Address of the collector, tracking server or host. Default: the platform's usual
                environment variable.
            experiment: The experiment of `mlflow`. Default: MLFLOW_EXPERIMENT_NAME, else
                `claimeval`.
            field: The metadata that holds the id of a sample's trace; `id` is the id of the sample
                itself.
            dry_run: Count what would be sent, and send nothing.
            progress: Called as records are sent.

        Returns:
            Counts of the records that were sent, by kind, and of those left out, by reason.

        Raises:
            UsageError: The platform's package is not installed, a key is missing, no sample has a
                trace where one is needed, or the platform cannot be reached or refuses the records.
        """
        return push(self, to, Settings(url, experiment, field, dry_run, progress))

    def save(self, out: str | Path, *, overwrite: bool = False) -> Path:
        """Write the run as a run directory with its report.

        Args:
            out: The folder; created if it does not exist.
            overwrite: Replace a run with other settings.

        Returns:
            The folder, which `Run.load` reads.

        Raises:
            UsageError: The folder holds other files, or cannot be written.
        """
        from claimeval.report import forms

        folder = self._write(expanded(out), overwrite=overwrite)
        forms.write(folder, "html")
        for name, run in self.attached.items():
            run.save(folder / name, overwrite=overwrite)
        return folder

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Load a run directory; its results are read from disk on demand.

        Raises:
            DataError: The folder holds no finished run, or one of another format.
        """
        folder = expanded(path)
        manifest = load_manifest(folder)
        summary = load_summary(folder)
        results = RunResults.of(folder)
        return cls(manifest, summary, results, path=folder)

    @classmethod
    def merge(cls, path: str | Path, *, compress: bool = False) -> Run:
        """Merge the shards of a run; the files are then those of a run by one process.

        Args:
            path: The `out` of the shards. If the run is merged already, it is loaded.
            compress: Write `results.jsonl.gz` instead of `results.jsonl`.

        Returns:
            The run. For up to 20,000 samples its report is written too; use `run.report` for larger
            runs.

        Raises:
            UsageError: Shards are missing, or a part is truncated or has other settings, data or
                versions.
            StoppedEarly: The run directory cannot be written, as on a full disk; the same call
                starts again.
        """
        from claimeval.distributed.parts import merge

        merge(expanded(path), compress=compress)
        run = cls.load(path)
        write_page(run)
        return run

    def in_memory(self) -> Run:
        """Return the run without its path, with all results in memory."""
        return Run(self.manifest, self.record, tuple(self.results), ending=self.ending)

    def ended(self) -> Run:
        """Return the run if it is complete, and warn of its notes.

        Raises:
            StoppedEarly: It stopped early; `.run` is this run.
            Interrupted: It was interrupted.
        """
        for note in self.notes if self.ending.code != Interrupted.exit_code else ():
            warnings.warn(note, NoteWarning, stacklevel=2)
        if self.ending.stopped:
            raise self.ending.error(self)
        return self

    def _write(self, folder: Path, *, overwrite: bool = False) -> Path:
        if self.path and self.path.resolve() == folder.resolve():
            return folder
        with RunWriter(folder, self.manifest, overwrite=overwrite) as writer:
            for result in self.results:
                writer.add(result)
            writer.finish(self.record)
        return folder

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """Yield the run directory; for a run in memory, a temporary one."""
        if self.path:
            yield self.path
            return
        with TemporaryDirectory() as folder:
            yield self._write(Path(folder) / "run")


def _rated(answer: WorstAnswer) -> str:
    """Return an answer with its bad ratings and a judge's reason, in words."""
    ratings = ", ".join(f"{name} {word}" for name, word in answer.ratings.items())
    reason = f"\n    {answer.explanation}" if answer.explanation else ""
    return f"{answer.sample_id}: {ratings}: {visible(answer.answer, EXCERPT)}{reason}"


def _below(name: str, metric: MetricSummary, figure: Figure, limit: float) -> list[str]:
    """Return a line if a figure of a metric is undefined or below the limit; else none."""
    value: float | None = getattr(metric, figure)
    what = name if figure == "mean" else f"{name}: {figure}"
    if value is None:
        return [f"{what} is undefined, below {limit:g}"]
    if not is_below(value, limit):
        return []
    # A mean of 0.8996 is not said as 0.90, which is not below 0.90.
    shown = next_to(value, limit, metric.reported) if figure in ("mean", "low") else str(value)
    return [f"{what} is {shown}, below {limit:g}"]


def write_page(run: Run, draft: PageDraft | None = None) -> None:
    """Write the report of a run on disk, unless it is there or the run is large; remove an outdated
    one. `draft` is what was made of it while the judges were asked."""
    assert run.path, "the run is on disk"
    if run.record.samples <= WRITTEN:
        from claimeval.report import forms

        if forms.is_current(run.path):
            return
        if draft is None:
            forms.write(run.path, "html")
        else:
            forms.write_draft(run.path, draft)
    else:
        (run.path / "report.html").unlink(missing_ok=True)
