"""`claimeval experiment`: comparison of prompts and judges over the same samples."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, command
from claimeval.cli.printer import BOUNDED, Output, notes_on_stderr, say
from claimeval.cli.shared import Asking, Out
from claimeval.cli.terminal import ProgressLine
from claimeval.statistics.formatting import number_of
from claimeval.types.errors import StoppedEarly
from claimeval.types.options import RunOptions

if TYPE_CHECKING:
    from claimeval.runs.experiments.results import ExperimentResult
    from claimeval.runs.experiments.selection import Selection


LISTED = {"experiment": ("Judge", 5, "Compare prompts and judges over the same samples.")}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentOptions:
    """Compare prompts and judges over the same samples, and test which differences are more than noise.

    Requests that arms share are sent once: an arm with another assessment prompt does not pay for extraction. Stop at
    any time; the same command resumes and pays nothing twice.

    A file may be: {data: answers.jsonl, judges: openai:gpt-5-mini, grid: {assess_prompt: [three_way, binary]}}
    """

    file: Annotated[Path, Argument("FILE")]
    """YAML file with data, judges and a grid or arms."""
    out: Out = None
    """Folder to write.  [default: experiments/FILE]"""
    labels: Path | None = None
    """Human labels: a file, or a run with labels.  [default: those of FILE]"""
    select: bool = False
    """Choose an arm by the labels of half of the questions, report its gain on the other half, and write its prompt."""
    anyway: bool = False
    """Select with fewer than 60 labels."""
    output: Output = Output()
    options: Asking = RunOptions()


def do(args: ExperimentOptions) -> int:
    """Run the arms, print the differences, and return the exit code."""
    from claimeval.api import comparison

    output = args.output
    with notes_on_stderr(quiet=output.quiet), ProgressLine(None if output.quiet else sys.stderr) as line:
        options = replace(args.options, progress=line.show)
        code, stopped = 0, None
        try:
            result = comparison.experiment(
                args.file,
                out=args.out or "experiments/",
                labels=args.labels,
                select=args.select,
                anyway=args.anyway,
                options=options,
            )
        except StoppedEarly as early:
            if early.run is None:
                raise
            result, code, stopped = early.run, early.exit_code, str(early)
    table, path = result.table, result.runs[0].path
    assert table, "an experiment has a table"
    assert path, "the arms are on disk"
    folder = path.parent.parent
    _print(output, table, Path(table.data).name)
    output.line()
    output.line(f"Tables: {folder}/experiment.md, .csv, .json; flipped claims: flips.jsonl")
    if stopped:
        say(stopped)
    return output.result("experiment", table.model_dump(), path=folder, exit_code=code, stopped=stopped)


experiment = command("experiment", ExperimentOptions, do)


def _print_selection(output: Output, selection: Selection, baseline: str) -> None:
    from claimeval.report import experiments as printing

    reports = {baseline: selection.held_out_baseline, selection.arm: selection.held_out}
    output.text_table(
        (f"on the other {selection.held_out.compared} labels", *printing.GAIN), printing.gain_cells(selection)
    )
    for name, report in reports.items():
        output.confusion(f"people \\ {name}", report.labels, report.confusion)
    output.line()
    output.line(printing.chosen(selection, baseline), style="bold")
    if selection.unmatched:
        output.note(f"{number_of(selection.unmatched, 'label')} of no claim that was judged", kind="Caution")
    if selection.written:
        output.line(f"Prompt: {selection.written}; use it with --assess-prompt {selection.written}")


def _print(output: Output, table: ExperimentResult, data: str) -> None:
    from claimeval.report import experiments as printing
    from claimeval.types.clusters import sample_count

    arms, base = table.arms, table.baseline
    samples = sample_count(table.samples, table.clusters, table.cluster)
    output.line()
    output.line(f": {samples}; {len(arms)} arms", bold=data)
    columns: tuple[str, ...] = ("arm", "mean", "95 % interval", "n", "difference", "95 % interval", "p (Holm)")
    for metric in arms[0].metrics:
        output.text_table(columns, [printing.metric_cells(arm, metric, base, "*") for arm in arms], title=metric)
        if any(arm.metrics[metric].ends == "bounds" for arm in arms):
            output.line(f" {BOUNDED} of the claims")
    columns = ("arm", "claims", "unassessed", "unreadable", "flipped", "calls", "new", "USD")
    costs = [printing.cost_cells(arm, base) for arm in arms]
    output.text_table(columns, [[*cells[:7], cells[8]] for cells in costs], title="cost")
    if any(arm.extraction for arm in arms):
        rows = [printing.claim_cells(arm) for arm in arms if arm.extraction]
        output.text_table(printing.CLAIMS, rows, title="claims")
    for line in printing.not_comparable(table):
        output.line(line, style="red")
    for changes in printing.other_changes(table):
        output.line(f" not counted as flips, {changes}", style="dim")
    if rows := [printing.people_cells(arm) for arm in arms if arm.label_agreement]:
        columns = ("arm", "claims", "accuracy", "balanced", "95 % interval", "kappa")
        if table.selection:
            title = "agreement with people on the choosing half"
            output.text_table((*columns, "over folds"), rows, title=title)
        else:
            output.text_table(columns, [row[: len(columns)] for row in rows], title="agreement with people")
    if table.selection:
        _print_selection(output, table.selection, base)
    for line in printing.failures(table):
        output.line(line, style="red")
