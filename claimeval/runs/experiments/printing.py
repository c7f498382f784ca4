"""The results of an experiment as JSON, CSV and Markdown, and the cells of its tables."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from claimeval.data.rows import guarded
from claimeval.metrics.flips import FlipCounts
from claimeval.metrics.scoring import ends_in_words
from claimeval.runs import pictures
from claimeval.runs.directory import write_text
from claimeval.runs.experiments.results import ArmResult, ExperimentResult, Selection
from claimeval.statistics.formatting import decimal, dollars, interval, p_value, percent, signed, signed_interval
from claimeval.statistics.pictures import Picture, beside, file_part
from claimeval.types.clusters import sample_count
from claimeval.types.estimates import Cost, Estimate

CELLS = ("mean", "low", "high", "n", "clusters", "bounds", "shown", "p", "p_adjusted")
"""Fields of an arm's metric in the CSV."""


def write(folder: Path, table: ExperimentResult) -> None:
    """Write `experiment.json`, `experiment.csv` and `experiment.md` with its pictures into a folder."""
    write_text(folder / "experiment.json", json.dumps(table.model_dump(), indent=1) + "\n")
    write_text(folder / "experiment.csv", to_csv(table))
    drawn = drawings(table, "experiment")
    for name, picture in drawn.values():
        write_text(folder / name, picture.file)
    write_text(folder / "experiment.md", to_markdown(table, {metric: name for metric, (name, _) in drawn.items()}))


def drawings(table: ExperimentResult, stem: str) -> dict[str, tuple[str, Picture]]:
    """Return file name and picture of all arms, by metric."""
    return {
        metric: (f"{stem}-{file_part(metric)}.svg", beside(metric, parts))
        for metric, parts in pictures.of_arms(table).items()
    }


def to_csv(table: ExperimentResult) -> str:
    """Return the CSV, a line for each arm and metric; undefined values are empty."""
    out = io.StringIO()
    fields = [*ArmResult.model_fields.keys() - {"metrics", "name", "label_agreement", "cost", "extraction"}]
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
            labeled = [getattr(arm.label_agreement, name, None) for name in people]
            labeled = [value.value if isinstance(value, Estimate) else value for value in labeled]
            writer.writerow(map(guarded, [arm.name, metric, *values, *difference, *of_arm, *labeled]))
    return out.getvalue()


def to_markdown(table: ExperimentResult, images: Mapping[str, str] = {}) -> str:
    """Return the Markdown: a table for each metric, and one for cost. `images` maps metrics to picture files."""
    arms, base = table.arms, table.baseline
    samples = sample_count(table.samples, table.clusters, table.cluster)
    parts = [f"# Experiment over {samples} of {Path(table.data).name}", ""]
    for metric in arms[0].metrics:
        columns = ("arm", "mean", "95 % interval", "n", f"difference to {base}", "95 % interval", "p (Holm)")
        title, blank, *rows = _table(metric, columns, [metric_cells(arm, metric, base) for arm in arms])
        file = images.get(metric)
        image = [f"![{metric} of each arm, and its difference to the baseline]({file})", ""] if file else []
        parts += [title, blank, *image, *rows]
    parts += _table("Cost and speed", COSTS, [cost_cells(arm, base) for arm in arms])
    parts += [f"Not counted as flips, {changes}.\n" for changes in other_changes(table)]
    if any(arm.extraction for arm in arms):
        parts += _table("Claims", CLAIMS, [claim_cells(arm) for arm in arms if arm.extraction])
    parts += [f"**{line}**\n" for line in not_comparable(table)]
    if any(arm.label_agreement for arm in arms):
        parts += _table("Agreement with human labels", PEOPLE, [people_cells(arm) for arm in arms])
    if table.selection:
        parts += [chosen(table.selection), ""]
    parts += [f"{line}\n" for line in failures(table)]
    return "\n".join(parts)


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (columns, *rows)]
    return [f"## {title}", "", lines[0], "|---" * len(columns) + "|", *lines[1:], ""]


COSTS = (
    "arm", "claims", "unassessed", "unreadable replies", "flipped", "calls", "new", "tokens in / out", "USD", "median s"
)  # fmt: skip
CLAIMS = (
    "arm", "claims per sentence", "statements lost", "numbers lost", "negations lost", "open reference", "compound"
)  # fmt: skip
_SHOWN = ("claims_per_sentence", "statements_lost", "numbers_lost", "negations_lost", "open_reference", "compound")


def claim_cells(arm: ArmResult) -> list[str]:
    """Return the row of the table `CLAIMS` for an arm."""
    return [arm.name, *(arm.extraction.measures[name].in_words for name in _SHOWN)] if arm.extraction else [arm.name]


def not_comparable(table: ExperimentResult) -> list[str]:
    """Return a line for every arm whose claims cover less of their texts than those of another arm."""
    return [f"{arm.name} scores fewer claims: not comparable; it covers less {arm.covers_less}"
            for arm in table.arms if arm.covers_less]  # fmt: skip


PEOPLE = ("arm", "labeled claims", "accuracy", "balanced accuracy", "95 % interval", "kappa")


def metric_cells(arm: ArmResult, metric: str, baseline: str, mark: str = " (bounds)") -> list[str]:
    """Return the row of an arm in the table of a metric.

    Args:
        arm: The arm.
        metric: Name of the metric.
        baseline: Name of the baseline.
        mark: Suffix of bounds.
    """
    cell = arm.metrics[metric]
    cells = [arm.name, decimal(cell.mean), ends_in_words(cell, mark), str(cell.n)]
    if cell.difference is None:
        return [*cells, "baseline" if arm.name == baseline else "-", "", ""]
    difference = cell.difference
    return [*cells, signed(difference.value), signed_interval(difference.interval), p_value(cell.p_adjusted)]


def cost_cells(arm: ArmResult, baseline: str) -> list[str]:
    """Return the row of the table `COSTS` for an arm."""
    return [
        arm.name,
        str(arm.claims),
        percent(arm.unassessed_rate),
        percent(arm.parse_failure_rate),
        "" if arm.name == baseline else f"{arm.flips} of {arm.compared}",
        str(arm.cost.calls),
        str(arm.new_calls),
        f"{arm.cost.prompt_tokens or 0} / {arm.cost.completion_tokens or 0}",
        dollars(arm.cost.dollars),
        decimal(arm.median_latency, 2),
    ]


def people_cells(arm: ArmResult) -> list[str]:
    """Return the row of the table `PEOPLE` for an arm."""
    agreement = arm.label_agreement
    if agreement is None:
        return [arm.name, "0", "-", "-", "-", "-"]
    balanced = agreement.balanced_accuracy
    accuracy, kappa = decimal(agreement.accuracy.value), decimal(agreement.kappa.value)
    return [arm.name, str(agreement.claims), accuracy, decimal(balanced.value), interval(balanced.interval), kappa]


def other_changes(table: ExperimentResult) -> list[str]:
    """Return a line for each arm about changes of claims, compared with the baseline, that are not flips."""
    counts = {arm.name: FlipCounts(arm.compared, arm.flips, arm.relabeled, arm.labeled_once) for arm in table.arms}
    return [f"{name} against {table.baseline}: {words}" for name, flips in counts.items() if (words := flips.others())]


def failures(table: ExperimentResult) -> list[str]:
    """Return a line for each arm without scores."""
    lines = [f"arm {name} failed: {why}" for name, why in table.failed.items()]
    return [*lines, "The baseline failed, so there are no differences."] if table.baseline in table.failed else lines


def chosen(selection: Selection) -> str:
    """Return the choice in a sentence."""
    ours, base = selection.held_out, selection.held_out_baseline
    return (
        f"Chosen on one half of the questions: {selection.arm} (balanced accuracy "
        f"{decimal(selection.selected_on[selection.arm].balanced_accuracy.value)}). On the other half: "
        f"{decimal(ours.balanced_accuracy.value)} ({interval(ours.balanced_accuracy.interval)}, {ours.claims} claims), "
        f"the baseline {decimal(base.balanced_accuracy.value)}."
    )
