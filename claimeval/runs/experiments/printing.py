"""The table of an experiment as JSON, CSV and Markdown, and the claims that flipped."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from claimeval.data.rows import guarded
from claimeval.metrics.flips import FlipCounts
from claimeval.metrics.scoring import ends_in_words
from claimeval.runs.directory import no_follow, write_text
from claimeval.runs.experiments.results import ArmFlip, ArmResult, ExperimentResult
from claimeval.runs.experiments.selection import Selection
from claimeval.statistics.formatting import decimal, dollars, interval, p_value, percent, signed, signed_interval
from claimeval.types.clusters import sample_count
from claimeval.types.estimates import Cost, Estimate

CELLS = ("mean", "low", "high", "n", "clusters", "bounds", "shown", "p", "p_adjusted")
"""Fields of an arm's metric that the CSV has."""


def write(folder: Path, table: ExperimentResult) -> None:
    """Write `experiment.json`, `experiment.csv` and `experiment.md` into the experiment's folder."""
    write_text(folder / "experiment.json", json.dumps(table.model_dump(), indent=1) + "\n")
    write_text(folder / "experiment.csv", to_csv(table))
    write_text(folder / "experiment.md", to_markdown(table))


@contextlib.contextmanager
def flips_file(folder: Path) -> Iterator[Callable[[ArmFlip], object]]:
    """Write `flips.jsonl` into the experiment's folder, a line for each claim that is handed over."""
    part = folder / "flips.jsonl.part"
    with open(part, "w", encoding="utf-8", opener=no_follow) as file:
        yield lambda flip: file.write(flip.model_dump_json() + "\n")
    part.replace(folder / "flips.jsonl")


def to_csv(table: ExperimentResult) -> str:
    """A line an arm and metric; undefined values are empty."""
    out = io.StringIO()
    fields = [*ArmResult.model_fields.keys() - {"metrics", "name", "with_people", "cost"}]
    ordered = [name for name in ArmResult.model_fields if name in fields]
    writer = csv.writer(out, lineterminator="\n")
    paired = [f"difference_{name}" for name in Estimate.model_fields]
    people = ["claims", "accuracy", "balanced_accuracy", "kappa"]
    writer.writerow(
        ["arm", "metric", *CELLS, *paired, *ordered, *Cost.model_fields, *(f"labels_{name}" for name in people)]
    )
    for arm in table.arms:
        for metric, cell in arm.metrics.items():
            values = [getattr(cell, name) for name in CELLS]
            difference = [getattr(cell.difference, name, None) for name in Estimate.model_fields]
            of_arm = [*(getattr(arm, name) for name in ordered), *dict(arm.cost).values()]
            labelled = [getattr(arm.with_people, name, None) for name in people]
            labelled = [value.value if isinstance(value, Estimate) else value for value in labelled]
            writer.writerow(map(guarded, [arm.name, metric, *values, *difference, *of_arm, *labelled]))
    return out.getvalue()


def to_markdown(table: ExperimentResult) -> str:
    """One table a metric and one for what the arms cost; fits a pull request."""
    metrics = list(table.arms[0].metrics)
    parts = [
        f"# Experiment over {sample_count(table.samples, table.clusters, table.cluster)} of {Path(table.data).name}",
        "",
    ]
    for metric in metrics:
        parts += [
            f"## {metric}",
            "",
            f"| arm | mean | 95 % interval | n | difference to {_cell(table.baseline)} | 95 % interval | p (Holm) |",
            "|---|---|---|---|---|---|---|",
            *(_metric_row(arm, metric, arm.name == table.baseline) for arm in table.arms),
            "",
        ]
    parts += [
        "## What it took",
        "",
        "| arm | claims | unassessed | unreadable replies | flipped | calls | new | tokens in / out | USD | median s |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(_cost_row(arm, arm.name == table.baseline) for arm in table.arms),
        "",
        *(f"Not counted as flips, {changes}.\n" for changes in other_changes(table)),
    ]
    if any(arm.with_people for arm in table.arms):
        parts += [
            "## Agreement with human labels",
            "",
            "| arm | labelled claims | accuracy | balanced accuracy | 95 % interval | kappa |",
            "|---|---|---|---|---|---|",
            *(_people_row(arm) for arm in table.arms),
            "",
        ]
    if table.selection:
        parts += [chosen(table.selection), ""]
    parts += [f"{line}\n" for line in failures(table)]
    return "\n".join(parts)


def other_changes(table: ExperimentResult) -> list[str]:
    """What else became of the claims that both an arm and the baseline have, an arm a line."""
    counts = {arm.name: FlipCounts(0, arm.flips, arm.relabeled, arm.labeled_once) for arm in table.arms}
    return [f"{name} against {table.baseline}: {words}" for name, one in counts.items() if (words := one.others())]


def failures(table: ExperimentResult) -> list[str]:
    """The arms without scores, a line each."""
    lines = [f"arm {name} failed: {why}" for name, why in table.failed.items()]
    return [*lines, "The baseline failed, so there are no differences."] if table.baseline in table.failed else lines


def chosen(selection: Selection) -> str:
    """The choice in a sentence."""
    ours, base = selection.held_out, selection.held_out_baseline
    return (
        f"Chosen on one half of the questions: {selection.arm} (balanced accuracy "
        f"{decimal(selection.chosen_on[selection.arm].balanced_accuracy.value)}). On the other half: "
        f"{decimal(ours.balanced_accuracy.value)} ({interval(ours.balanced_accuracy.interval)}, {ours.claims} claims), "
        f"the baseline {decimal(base.balanced_accuracy.value)}."
    )


def _people_row(arm: ArmResult) -> str:
    found = arm.with_people
    if found is None:
        return f"| {_cell(arm.name)} | 0 | - | - | - | - |"
    cells = [
        _cell(arm.name),
        str(found.claims),
        decimal(found.accuracy.value),
        decimal(found.balanced_accuracy.value),
        interval(found.balanced_accuracy.interval),
        decimal(found.kappa.value),
    ]
    return "| " + " | ".join(cells) + " |"


def _metric_row(arm: ArmResult, metric: str, baseline: bool) -> str:
    cell = arm.metrics[metric]
    cells = [_cell(arm.name), decimal(cell.mean), ends_in_words(cell), str(cell.n)]
    if cell.difference is None:
        return "| " + " | ".join([*cells, "baseline" if baseline else "-", "", ""]) + " |"
    difference = [signed(cell.difference.value), signed_interval(cell.difference.interval), p_value(cell.p_adjusted)]
    return "| " + " | ".join([*cells, *difference]) + " |"


def _cost_row(arm: ArmResult, baseline: bool) -> str:
    cells = [
        _cell(arm.name),
        str(arm.claims),
        percent(arm.unassessed_rate),
        percent(arm.parse_failure_rate),
        "" if baseline else str(arm.flips),
        str(arm.cost.calls),
        str(arm.new_calls),
        f"{arm.cost.prompt_tokens or 0} / {arm.cost.completion_tokens or 0}",
        dollars(arm.cost.dollars),
        decimal(arm.median_latency, 2),
    ]
    return "| " + " | ".join(cells) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
