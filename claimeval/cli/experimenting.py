"""What `claimeval experiment` does: carry the arms out with a progress line, write the tables, print the best view."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from claimeval.cli.endings import ending_code
from claimeval.cli.progress_line import ProgressLine
from claimeval.cli.run_table import BOUNDED
from claimeval.cli.whole_tables import print_whole
from claimeval.evaluation.claims import choose_metrics
from claimeval.metrics.scoring import ends_in_words
from claimeval.runs.experiments import printing
from claimeval.runs.experiments.design import Arm, read
from claimeval.runs.experiments.results import ArmResult, ExperimentResult, flips, tabulate
from claimeval.runs.experiments.running import prepare, run
from claimeval.runs.experiments.selection import select as choose_arm
from claimeval.statistics.formatting import decimal, interval, p_value, percent, signed, signed_interval
from claimeval.types.clusters import sample_count
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress


def experiment_and_tell(
    file: Path,
    out: Path | None,
    options: RunOptions,
    *,
    select: bool,
    as_json: bool,
) -> None:
    """Runs an experiment to its end and exits with its code."""
    design = read(file)
    if select and not design.labels:
        raise UsageError(f"--select needs human labels: give {file} the key `labels`")
    prepared = prepare(design, choose_metrics)
    folder = out or Path("experiments") / file.stem
    with ProgressLine(sys.stderr) as line:

        def show(arm: Arm) -> Callable[[Progress], None]:
            return line.show

        carried = asyncio.run(
            run(
                prepared,
                folder,
                options=options,
                show=show,
            )
        )
    if code := ending_code(carried.last.status):
        raise typer.Exit(code)
    table = tabulate(design, prepared.metrics, folder, options, carried.calls)
    if select:
        table = table.model_copy(update={"selection": choose_arm(design, folder)})
    others = [arm for arm in design.arms if arm.name != design.baseline]
    printing.write(folder, table, (flip for arm in others for flip in flips(design, folder, arm)))
    if as_json:
        print(json.dumps({"folder": str(folder), **table.model_dump()}, indent=1))
        return
    console = Console(highlight=False)
    samples = sample_count(table.samples, table.clusters, table.cluster)
    console.print(f"\n[bold]{escape(design.data.name)}[/]: {escape(samples)}; {len(table.arms)} arms")
    for metric in table.arms[0].metrics:
        print_whole(console, _scores(table, metric))
        if any(arm.metrics[metric].shown == "bounds" for arm in table.arms):
            console.print(f" {BOUNDED} of the claims")
    print_whole(console, _costs(table))
    for changes in printing.other_changes(table):
        console.print(f" not counted as flips, {changes}", style="dim", markup=False, soft_wrap=True)
    if design.labels:
        print_whole(console, _people(table))
    if table.selection:
        console.print(printing.chosen(table.selection))
    console.print(f"\nTables: {folder}/experiment.md, .csv, .json; flipped claims: flips.jsonl", soft_wrap=True)


def _scores(table: ExperimentResult, metric: str) -> Grid:
    grid = Grid(title=escape(metric), title_justify="left", title_style="bold", box=None, padding=(0, 1))
    grid.add_column("arm", overflow="fold")
    for name in ("mean", "95 % interval", "n", "difference", "95 % interval", "p (Holm)"):
        grid.add_column(name, justify="right", no_wrap=True)
    for arm in table.arms:
        cell = arm.metrics[metric]
        ours = [escape(arm.name), decimal(cell.mean), ends_in_words(cell, "*"), str(cell.n)]
        if arm.name == table.baseline:
            grid.add_row(*ours, "baseline", "", "")
        else:
            difference = [signed(cell.difference), signed_interval(cell.difference_ci)]
            grid.add_row(*ours, *difference, p_value(cell.p_holm))
    return grid


def _costs(table: ExperimentResult) -> Grid:
    grid = Grid(title="what it took", title_justify="left", title_style="bold", box=None, padding=(0, 1))
    grid.add_column("arm", overflow="fold")
    for name in ("claims", "unassessed", "unreadable", "flipped", "calls", "new", "USD"):
        grid.add_column(name, justify="right", no_wrap=True)
    for arm in table.arms:
        grid.add_row(*_cost_cells(arm, table.baseline))
    return grid


def _people(table: ExperimentResult) -> Grid:
    grid = Grid(title="agreement with people", title_justify="left", title_style="bold", box=None, padding=(0, 1))
    grid.add_column("arm", overflow="fold")
    for name in ("claims", "accuracy", "balanced", "95 % interval", "kappa"):
        grid.add_column(name, justify="right", no_wrap=True)
    for arm in table.arms:
        if found := arm.with_people:
            numbers = [decimal(found.accuracy), decimal(found.balanced_accuracy)]
            ends = interval(found.balanced_accuracy_ci)
            grid.add_row(escape(arm.name), str(found.claims), *numbers, ends, decimal(found.kappa))
    return grid


def _cost_cells(arm: ArmResult, baseline: str) -> list[str]:
    return [
        escape(arm.name),
        str(arm.claims),
        percent(arm.unassessed_rate),
        percent(arm.parse_failure_rate),
        "" if arm.name == baseline else str(arm.flips),
        str(arm.calls),
        str(arm.new_calls),
        "?" if arm.cost is None else f"{arm.cost:.2f}",
    ]
