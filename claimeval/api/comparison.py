"""`compare` and `experiment`, and their result `Comparison`."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from claimeval.api.hints import with_hints
from claimeval.api.run import Run
from claimeval.data.rows import dataframe
from claimeval.metrics.rows import canonical_name, metric_names
from claimeval.report import forms
from claimeval.runs.causes import Culprit
from claimeval.runs.compare import differences
from claimeval.runs.directory import incomplete, write_lines
from claimeval.runs.ending import Ending
from claimeval.runs.overview import MetricComparison, PairedRuns
from claimeval.runs.pairing import PairedBy
from claimeval.types.errors import StoppedEarly, UsageError, unknown_name
from claimeval.types.options import RunOptions
from claimeval.types.paths import expanded

if TYPE_CHECKING:
    import pandas

    from claimeval.runs.experiments import Experiment
    from claimeval.runs.experiments.results import ExperimentResult
    from claimeval.runs.experiments.running import PreparedExperiment
    from claimeval.runs.series import Series


logger = logging.getLogger("claimeval")


class Comparison:
    """Two or more runs over the same samples, paired by id, or by question where ids do not say
    which samples are the same.

    `metrics` compares the last run with the baseline, `against` compares any run with it, and
    `trend` compares each run with the previous one.

    Examples:
        >>> comparison = ce.compare("runs/before", "runs/after")
        >>> isinstance(comparison, ce.Comparison)
        True
        >>> sorted(comparison.metrics)
        ['context_recall', 'correctness', 'coverage', 'faithfulness']
        >>> comparison.to_pandas()["metric"].tolist()
        ['faithfulness', 'correctness', 'coverage', 'context_recall']
    """

    def __init__(
        self,
        runs: Sequence[Run],
        baseline: int = 0,
        *,
        metrics: Sequence[str] | None = None,
        by: str | None = None,
        cluster: str | None = None,
        table: ExperimentResult | None = None,
    ) -> None:
        self.runs = tuple(runs)
        self.baseline = baseline
        """The position of the run that the others are compared with."""
        self.table = table
        """For an experiment: scores, differences, flips and costs of every arm."""
        self._metrics = metrics
        self._by = by
        self._cluster = cluster
        self._pairs: dict[int, PairedRuns] = {}

    @property
    def chosen(self) -> str | None:
        """The arm of an experiment that agrees best with human labels; None if none was chosen."""
        return self.table.selection.arm if self.table and self.table.selection else None

    @cached_property
    def metrics(self) -> Mapping[str, MetricComparison]:
        """Differences of the last run to the baseline, by metric:
        `metrics["faithfulness"].difference.low`."""
        return {metric.metric: metric for metric in self.against(self._last).metrics}

    @property
    def headline(self) -> str:
        """What changed from the baseline to the last run, in one sentence: `culprit.sentence`."""
        return self.culprit.sentence

    @property
    def culprit(self) -> Culprit:
        """What changed from the baseline to the last run: `culprit.sentence`, its metric, causes
        and documents."""
        return self.against(self._last).culprit

    @property
    def paired_by(self) -> PairedBy:
        """What pairs the samples of the last run with those of the baseline: `id`, `question`, or
        `row`, the number of the row, where neither ids nor questions say more."""
        return self.against(self._last).paired_by

    @cached_property
    def trend(self) -> Series:
        """Each run compared with the previous one and with the baseline, in order, and the slope of
        each metric."""
        from claimeval.runs.series import track

        with ExitStack() as stack:
            folders = [stack.enter_context(run.on_disk()) for run in self.runs]
            names = [self._name(number) for number in range(len(folders))]
            metrics = tuple(self._metrics or ())
            return track(
                folders, metrics, baseline=self.baseline, cluster=self._cluster, names=names
            )

    def against(self, run: int) -> PairedRuns:
        """Compare a run, by its position, with the baseline: differences, tests, and the claims
        that flipped."""
        if run not in self._pairs:
            with self.runs[self.baseline].on_disk() as a, self.runs[run].on_disk() as b:
                pair = differences(
                    a,
                    b,
                    cluster=self._cluster,
                    by=self._by,
                    metrics=self._metrics,
                )
            named = {"a": self._name(self.baseline), "b": self._name(run)}
            self._pairs[run] = pair.model_copy(update=named)
        return self._pairs[run]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with a row per run and metric: both means, difference with interval, p,
        adjusted p."""
        columns = (
            "run",
            "metric",
            "n",
            "baseline",
            "mean",
            "difference",
            "low",
            "high",
            "p",
            "p_adjusted",
        )
        rows = []
        for position in range(len(self.runs)):
            for m in self.against(position).metrics if position != self.baseline else ():
                ends = (m.difference.value, m.difference.low, m.difference.high)
                rows.append((position, m.metric, m.n, m.a, m.b, *ends, m.p, m.p_adjusted))
        return dataframe(columns, rows, columns[3:])

    def report(
        self,
        out: str | Path | None = None,
        *,
        format: forms.Form | None = None,
        summary: bool = False,
        texts: bool = False,
    ) -> str:
        """Return the report of two runs, or the trend of more, as text, and write it to a file.

        Args:
            out: The file to write. None only returns the text. Pictures of Markdown are written
                next to it.
            format: `html`, `md`, `json`, `xlsx` or, for two runs, `csv`. Default: by the name of
                the file, else `html`. The text of a workbook is empty.
            summary: Only what can be forwarded, of two runs: one printed page (`html`), or Markdown
                with folds for a pull request.
            texts: Whether the Markdown of a summary quotes questions, answers and claims.
        """
        format = format or forms.form_of(out)
        if summary and len(self.runs) > 2:
            raise UsageError("A summary has one or two runs: compare two of them")
        if len(self.runs) > 2:
            return forms.of_series(self.trend, format, expanded(out) if out else None)
        with ExitStack() as stack:
            a, b = (
                stack.enter_context(self.runs[i].on_disk()) for i in (self.baseline, self._last)
            )
            if summary:
                file_name = expanded(out) if out else None
                return forms.summary(a, format, file_name, compared=b, texts=texts)
            if out is None:
                out = Path(stack.enter_context(TemporaryDirectory())) / f"report.{format}"
            file = forms.write(a, format, expanded(out), compared=b)
            return forms.content(file, format)

    def __repr__(self) -> str:
        changes = ", ".join(
            f"{name} {metric.change_in_words}" for name, metric in self.metrics.items()
        )
        return f"<Comparison of {len(self.runs)} runs: {changes}>"

    def _repr_html_(self) -> str:
        """Show differences with intervals and tests, and the first flips; for an experiment, its
        table."""
        from claimeval.report import notebook

        if self.table:
            flips = self.against(self._last).flips if len(self.table.arms) == len(self.runs) else ()
            return notebook.experiment(self.table, flips)
        return notebook.comparison(
            self.against(self._last), self.trend if len(self.runs) > 2 else None
        )

    def _name(self, position: int) -> str:
        """Return the name of a run, with its number if it has no directory or another has the same
        name."""
        names = [run.path.name if run.path else "" for run in self.runs]
        alone = names[position] and names.count(names[position]) == 1
        return names[position] if alone else f"run {position + 1} {names[position]}".strip()

    @property
    def _last(self) -> int:
        return next(i for i in reversed(range(len(self.runs))) if i != self.baseline)


@with_hints
def compare(
    *runs: Run | str | Path,
    baseline: int | str = 0,
    metrics: str | Sequence[str] | None = None,
    by: str | None = None,
    cluster: str | None = None,
) -> Comparison:
    """Compare two or more runs over the same samples.

    Samples are paired by id. Samples without ids, and runs whose ids have nothing in common, are
    paired by question, and equal questions by equal answers or contexts, else in their order; see
    `paired_by`.

    Args:
        runs: Runs or their directories, oldest first.
        baseline: The run that the others are compared with: its position, or the name of its
            directory.
        metrics: Names, as a list or one text with commas. Default: all that the runs share.
        by: A field of the samples; `.against(run).by` has the metrics for each of its values, as in
            `metadata.topic`.
        cluster: The field whose equal values are one cluster in intervals and tests. Default: as in
            the baseline.

    Returns:
        Differences with intervals and tests (Holm over the metrics), flipped claims, and the trend.

    Raises:
        DataError: A directory holds no finished run.
        UsageError: There are fewer than two runs, they share no metric, or less than half of the
            smaller run can be paired.

    Examples:
        >>> comparison = ce.compare("runs/before", "runs/after")
        >>> change = comparison.metrics["faithfulness"].difference
        >>> round(change.value, 2)
        -0.08
    """
    if len(runs) < 2:
        raise UsageError(f"compare needs two runs or more, as in runs/a runs/b; given {len(runs)}")
    loaded = [run if isinstance(run, Run) else Run.load(run) for run in runs]
    for run in loaded:
        if run.path and (line := incomplete(run.path)):
            warnings.warn(line, stacklevel=2)
    baseline = _position(baseline, loaded)
    loaded = _of_one_job(loaded)
    names = (
        None if metrics is None else [canonical_name(str(name)) for name in metric_names(metrics)]
    )
    comparison = Comparison(loaded, baseline, metrics=names, by=by, cluster=cluster)
    # Computed here and kept, so that runs that cannot be compared are refused by this call.
    if len(loaded) > 2 or names:
        _ = comparison.trend
    else:
        _ = comparison.metrics
    return comparison


def _of_one_job(runs: Sequence[Run]) -> list[Run]:
    """Return the runs; if their jobs differ, replace runs by attached runs of a job that all of
    them have."""
    for job in dict.fromkeys(run.job for run in runs):
        of_job = [run if run.job == job else run.attached.get(job) for run in runs]
        if None not in of_job:
            return [run for run in of_job if run is not None]
    return list(runs)


def _position(baseline: int | str, runs: Sequence[Run]) -> int:
    if isinstance(baseline, str):
        names = [{str(run.path), run.path.name} if run.path else set() for run in runs]
        positions = [i for i, run_names in enumerate(names) if baseline in run_names]
        # A directory may be called 2, and then the text names it.
        if not positions and baseline.isdecimal():
            return _position(int(baseline), runs)
        if len(positions) != 1:
            raise unknown_name("baseline", baseline, [run.path.name for run in runs if run.path])
        return positions[0]
    if not 0 <= baseline < len(runs):
        raise UsageError(
            f"baseline: {baseline!r}; give a position from 0 to {len(runs) - 1}, or the name of"
            " a run"
        )
    return baseline


@with_hints
def experiment(
    design: str | Path | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    labels: str | Path | None = None,
    select: bool = False,
    anyway: bool = False,
    options: RunOptions = RunOptions(),
) -> Comparison:
    """Run prompt variants and judges over the same samples and compare them with a baseline.

    Requests that arms share are sent once. Limits such as `max_cost` hold over all arms together.

    Args:
        design: A YAML file or the same mapping: `data`, `judges`, `metrics`, `baseline`, `grid` or
            `arms`, `labels`. Paths are relative to the file.
        out: The folder to write, with a run directory for every arm. None keeps the runs in memory;
            with a final slash, as in `experiments/`, a folder in it that is named after the file.
        labels: Human labels to compare the arms with: a file, or a run with labels. Default: those
            of the design.
        select: Choose the arm that agrees best with the labels on one half of the questions, and
            report its gain on the other half. Only labeled samples are judged, and the other half
            by the baseline and the chosen arm only. If the gain is beyond noise, the prompt of the
            chosen arm is written to `selected.j2` in `out`.
        anyway: Select with fewer than 60 labels.
        options: How the judges are asked, and what may be spent.

    Returns:
        The arms as runs, in order, their table, the arm that was chosen, and its gain
        (`table.selection`).

    Raises:
        UsageError: Before any call, for what you can fix; after it, if the labels are of no claim
            that was judged.
        StoppedEarly: A limit was reached, or an arm failed. If an arm failed, the others are
            finished, and `.run` is their comparison. The same call resumes; files in `out` remain.

    Examples:
        >>> comparison = ce.experiment("experiment.yaml", out="experiments/prompts")
        >>> [arm.name for arm in comparison.table.arms]
        ['three_way', 'binary']
    """
    from claimeval.api.jobs import blocking
    from claimeval.report import experiments as printing
    from claimeval.report.progress_bar import progress_bar
    from claimeval.runs.experiments import read
    from claimeval.runs.experiments.results import tabulate
    from claimeval.runs.experiments.running import arm_folder, run
    from claimeval.runs.experiments.selection import check_folder, run_and_select

    if options.shard:
        raise UsageError("shard: an experiment cannot be split into shards")
    plan = read(design, labels)
    prepared = prepared_experiment(plan, options, select=select, anyway=anyway)
    if options.engine:
        raise UsageError("options.engine: an experiment runs on this machine; leave it out")
    options = replace(options, progress=options.progress or progress_bar())
    with ExitStack() as stack:
        folder = _folder(out, design)
        if folder is None:
            folder = Path(stack.enter_context(TemporaryDirectory()))
        if prepared.halves:
            check_folder(folder)
        carried = blocking(
            (run_and_select if prepared.halves else run)(prepared, folder, options=options)
        )
        if carried.stopped:
            raise Ending.of(carried.status).error()
        stopped = _failed_in_words(carried.failed)
        if len(carried.failed) == len(plan.arms):
            raise StoppedEarly(stopped)
        with write_lines(folder / "flips.jsonl") as each_flip:
            table = tabulate(
                plan,
                folder,
                options,
                carried.calls,
                carried.failed,
                selection=carried.selection,
                each_flip=each_flip,
            )
        printing.write(folder, table)
        runs = [Run.load(arm_folder(folder, arm)) for arm in plan.arms]
        if out is None:
            runs = [run.in_memory() for run in runs]
        baseline = [arm.name for arm in plan.arms].index(plan.baseline)
        comparison = Comparison(runs, baseline, cluster=plan.cluster, table=table)
        if carried.failed:
            raise StoppedEarly(stopped, comparison)
        return comparison


def _folder(out: str | Path | None, design: str | Path | Mapping[str, Any]) -> Path | None:
    """Return the folder of an experiment: `out`, or a folder in it that is named after the file."""
    if out is None or not str(out).endswith("/"):
        return expanded(out) if out is not None else None
    name = "experiment" if isinstance(design, Mapping) else Path(design).stem
    return expanded(out) / name


def _failed_in_words(failed: Mapping[str, str]) -> str:
    """Return which arms failed and why, and how to go on."""
    lines = [f"arm {name} failed: {why.rstrip('.')}." for name, why in failed.items()]
    return (
        "\n".join(lines)
        + " The other arms are finished; fix the problem, then run the same command to resume."
    )


def prepared_experiment(
    design: Experiment, options: RunOptions, *, select: bool = False, anyway: bool = False
) -> PreparedExperiment:
    """Read and examine the data of an experiment as `score` does, and prepare its arms.

    Args:
        design: The experiment.
        options: How the judges are asked.
        select: Whether an arm is to be chosen by labels. The power of the labels is then logged.
        anyway: As for `experiment`.
    """
    from claimeval.api.data import Examination, Read, samples_of
    from claimeval.data.file_formats import sheet_of_data
    from claimeval.runs.experiments.running import PreparedExperiment, prepare
    from claimeval.runs.experiments.selection import halve, strays_of

    read_options = Read(
        design.mapping,
        design.limit,
        design.skip_malformed,
        design.group,
        design.turns,
        design.answer_reasoning,
        sheet_of_data(design.data, design.sheet, design.labels),
    )
    options = replace(options, cluster=design.cluster)
    design = design.model_copy(update={"cluster": read_options.cluster(options)})
    options = replace(options, cluster=design.cluster)
    examination = Examination(
        samples_of(design.data, read_options), design.data, read_options, options
    )
    plans = prepare(design, examination)
    manifests = tuple(examination.described(job.manifest) for job in plans)
    prepared = PreparedExperiment(design, plans, manifests, examination.items, examination.total)
    data = manifests[0].data
    if design.labels:
        metric = plans[0].metrics[0]
        strays = strays_of(prepared.samples, design.labels, metric, design.sheet, data.ids)
        strays.check(data.path or "the data", limited=data.limit is not None)
        if strays.unmatched:
            logger.info(strays.words())
    if not select:
        return prepared
    if not design.labels:
        raise UsageError(
            "select needs human labels: give `labels`, as a key of the experiment or as an option"
        )
    if len(plans) < 2:
        raise UsageError("select needs two arms or more")
    halves = halve(
        prepared.samples,
        design.labels,
        plans[0].metrics[0],
        len(plans),
        design.cluster,
        anyway=anyway,
        sheet=design.sheet,
        ids=data.ids,
    )
    logger.info(halves.power.in_words())
    samples = (*halves.choose, *halves.report)
    return prepared._replace(samples=samples, total=len(samples), halves=halves)
