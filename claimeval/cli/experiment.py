"""`claimeval experiment`: prompts and judges over the same samples."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, command
from claimeval.cli.printer import BOUNDED, Output, say
from claimeval.cli.shared import Asking, Out
from claimeval.types.errors import StoppedEarly
from claimeval.types.options import RunOptions

if TYPE_CHECKING:
    from claimeval.runs.experiments.results import ArmResult, ExperimentResult


LISTED = ("Judge", 5, "Compare prompts and judges over the same samples.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentOptions:
    """Compare prompts and judges over the same samples, and say which differences are more than noise.

    Questions that two arms share are asked once: an arm that changes only the assessment prompt pays for no
    extraction. Stop at any time; the same command resumes and pays nothing twice.

    A file may be: {data: answers.jsonl, judges: openai:gpt-5-mini, grid: {assess_prompt: [three_way, binary]}}
    """

    file: Annotated[Path, Argument("FILE")]
    """YAML file with data, judges and a grid or arms."""
    out: Out = None
    """Folder; default experiments/FILE."""
    select: bool = False
    """Choose the arm that agrees best with human labels on half of the questions; report it on the other half."""
    output: Output = Output()
    options: Asking = RunOptions()


def do(given: ExperimentOptions) -> int:
    """Run the arms, print what differs, and return the exit code."""
    from dataclasses import replace

    from claimeval.api import comparison
    from claimeval.cli.progress_line import ProgressLine
    from claimeval.cli.running import notes_on_stderr

    output = given.output
    with notes_on_stderr(quiet=output.quiet), ProgressLine(None if output.quiet else sys.stderr) as line:
        options = replace(given.options, progress=line.show)
        stopped: str | None = None
        try:
            found = comparison.experiment(
                given.file, out=given.out or "experiments/", select=given.select, options=options
            )
        except StoppedEarly as early:
            if early.run is None:
                raise
            found, stopped = early.run, str(early)
    table, path = found.table, found.runs[0].path
    assert table, "an experiment has a table"
    assert path, "the arms are on disk"
    folder = path.parent.parent
    _print(output, table, Path(table.data).name)
    output.line()
    output.line(f"Tables: {folder}/experiment.md, .csv, .json; flipped claims: flips.jsonl")
    if stopped:
        say(stopped)
    return output.result("experiment", table.model_dump(), path=folder, exit_code=3 if stopped else 0, stopped=stopped)


experiment = command("experiment", ExperimentOptions, do)


def _print(output: Output, table: ExperimentResult, data: str) -> None:
    from claimeval.runs.experiments import printing
    from claimeval.statistics.formatting import decimal, interval
    from claimeval.types.clusters import sample_count

    samples = sample_count(table.samples, table.clusters, table.cluster)
    output.line()
    output.line(f": {samples}; {len(table.arms)} arms", bold=data)
    columns: tuple[str, ...] = ("arm", "mean", "95 % interval", "n", "difference", "95 % interval", "p (Holm)")
    for metric in table.arms[0].metrics:
        output.table(columns, [_cells(arm, metric, arm.name == table.baseline) for arm in table.arms], title=metric)
        if any(arm.metrics[metric].shown == "bounds" for arm in table.arms):
            output.line(f" {BOUNDED} of the claims")
    columns = ("arm", "claims", "unassessed", "unreadable", "flipped", "calls", "new", "USD")
    output.table(columns, [_costs(arm, table.baseline) for arm in table.arms], title="cost")
    for changes in printing.other_changes(table):
        output.line(f" not counted as flips, {changes}", style="dim")
    rows = [
        (
            arm.name,
            str(found.claims),
            decimal(found.accuracy.value),
            decimal(found.balanced_accuracy.value),
            interval(found.balanced_accuracy.interval),
            decimal(found.kappa.value),
        )
        for arm in table.arms
        if (found := arm.with_people)
    ]
    if rows:
        columns = ("arm", "claims", "accuracy", "balanced", "95 % interval", "kappa")
        output.table(columns, rows, title="agreement with people")
    if table.selection:
        output.line(printing.chosen(table.selection))
    for line in printing.failures(table):
        output.line(line, style="red")


def _cells(arm: ArmResult, metric: str, baseline: bool) -> list[str]:
    from claimeval.metrics.scoring import ends_in_words
    from claimeval.statistics.formatting import decimal, p_value, signed, signed_interval

    cell = arm.metrics[metric]
    cells = [arm.name, decimal(cell.mean), ends_in_words(cell, "*"), str(cell.n)]
    if cell.difference is None:
        return [*cells, "baseline" if baseline else "-", "", ""]
    return [
        *cells,
        signed(cell.difference.value),
        signed_interval(cell.difference.interval),
        p_value(cell.p_adjusted),
    ]


def _costs(arm: ArmResult, baseline: str) -> list[str]:
    from claimeval.statistics.formatting import dollars, percent

    return [
        arm.name,
        str(arm.claims),
        percent(arm.unassessed_rate),
        percent(arm.parse_failure_rate),
        "" if arm.name == baseline else str(arm.flips),
        str(arm.cost.calls),
        str(arm.new_calls),
        dollars(arm.cost.dollars),
    ]
