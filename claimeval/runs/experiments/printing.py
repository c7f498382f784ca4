"""The table of an experiment as JSON, CSV and Markdown, and the claims that flipped."""

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
"""Fields of an arm's metric that the CSV has."""


def write(folder: Path, table: ExperimentResult) -> None:
    """Write `experiment.json`, `experiment.csv`, and `experiment.md` with its pictures into the experiment's folder."""
    write_text(folder / "experiment.json", json.dumps(table.model_dump(), indent=1) + "\n")
    write_text(folder / "experiment.csv", to_csv(table))
    drawn = drawings(table, "experiment")
    for name, picture in drawn.values():
        write_text(folder / name, picture.file)
    write_text(folder / "experiment.md", to_markdown(table, {metric: name for metric, (name, _) in drawn.items()}))


def drawings(table: ExperimentResult, stem: str) -> dict[str, tuple[str, Picture]]:
    """Return by metric the name of a file and the picture of all arms."""
    return {
        metric: (f"{stem}-{file_part(metric)}.svg", beside(metric, parts))
        for metric, parts in pictures.of_arms(table).items()
    }


def to_csv(table: ExperimentResult) -> str:
    """Return a line an arm and metric; undefined values are empty."""
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
    """One table a metric and one for what the arms cost; fits a pull request. `images` has files by metric."""
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
    "arm",
    "claims per sentence",
    "statements lost",
    "numbers lost",
    "negations lost",
    "open reference",
    "compound",
)
"""What the claims of an arm are like."""
_SHOWN = ("claims_per_sentence", "statements_lost", "numbers_lost", "negations_lost", "open_reference", "compound")


def claim_cells(arm: ArmResult) -> list[str]:
    """Return what the claims of an arm are like, under `CLAIMS`."""
    return [arm.name, *(arm.extraction.measures[name].in_words for name in _SHOWN)] if arm.extraction else [arm.name]


def not_comparable(table: ExperimentResult) -> list[str]:
    """Return a line for every arm whose claims cover less than those of another arm."""
    return [f"{arm.name} scores fewer claims: not comparable; it covers less {arm.covers_less}"
            for arm in table.arms if arm.covers_less]  # fmt: skip


PEOPLE = ("arm", "labeled claims", "accuracy", "balanced accuracy", "95 % interval", "kappa")


def metric_cells(arm: ArmResult, metric: str, baseline: str, mark: str = " (bounds)") -> list[str]:
    """Return a row of the table of a metric.

    Args:
        arm: The arm.
        metric: Name of the metric.
        baseline: Name of the baseline.
        mark: Stands behind bounds.
    """
    cell = arm.metrics[metric]
    cells = [arm.name, decimal(cell.mean), ends_in_words(cell, mark), str(cell.n)]
    if cell.difference is None:
        return [*cells, "baseline" if arm.name == baseline else "-", "", ""]
    difference = cell.difference
    return [*cells, signed(difference.value), signed_interval(difference.interval), p_value(cell.p_adjusted)]


def cost_cells(arm: ArmResult, baseline: str) -> list[str]:
    """Return what an arm took, under `COSTS`."""
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
    """Return how an arm agrees with people, under `PEOPLE`."""
    agreement = arm.label_agreement
    if agreement is None:
        return [arm.name, "0", "-", "-", "-", "-"]
    balanced, others = agreement.balanced_accuracy, (agreement.accuracy.value, agreement.kappa.value)
    accuracy, kappa = map(decimal, others)
    return [arm.name, str(agreement.claims), accuracy, decimal(balanced.value), interval(balanced.interval), kappa]


def other_changes(table: ExperimentResult) -> list[str]:
    """Return what else became of the claims that both an arm and the baseline have, an arm a line."""
    counts = {arm.name: FlipCounts(arm.compared, arm.flips, arm.relabeled, arm.labeled_once) for arm in table.arms}
    return [f"{name} against {table.baseline}: {words}" for name, one in counts.items() if (words := one.others())]


def failures(table: ExperimentResult) -> list[str]:
    """Return the arms without scores, a line each."""
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
