"""The results of an experiment as JSON, CSV and Markdown, and the cells of its tables."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from claimeval.data.rows import write_csv
from claimeval.metrics.flips import FlipCounts
from claimeval.metrics.scoring import ends_in_words
from claimeval.report import pictures
from claimeval.report.charts import Picture, beside, file_part
from claimeval.runs.directory import write_text
from claimeval.runs.experiments.results import ArmResult, ExperimentResult
from claimeval.runs.experiments.selection import Selection
from claimeval.statistics.formatting import decimal, dollars, interval, p_value, percent, signed, signed_interval
from claimeval.types.clusters import sample_count
from claimeval.types.errors import visible
from claimeval.types.estimates import Cost, Estimate

CELLS = ("mean", "low", "high", "n", "clusters", "bounds", "ends", "p", "p_adjusted")
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
    fields = [*ArmResult.model_fields.keys() - {"metrics", "name", "label_agreement", "cost", "extraction"}]
    ordered = [name for name in ArmResult.model_fields if name in fields]
    of_difference = [name for name in Estimate.model_fields if name not in ("ends", "sampling")]
    paired = [f"difference_{name}" for name in of_difference]
    people = ["claims", "accuracy", "balanced_accuracy", "kappa"]
    head = ["arm", "metric", *CELLS, *paired, *ordered, *Cost.model_fields, *(f"labels_{name}" for name in people)]
    rows: list[list[object]] = [[*head]]
    for arm in table.arms:
        for metric, cell in arm.metrics.items():
            values = [getattr(cell, name) for name in CELLS]
            difference = [getattr(cell.difference, name, None) for name in of_difference]
            of_arm = [*(getattr(arm, name) for name in ordered), *dict(arm.cost).values()]
            labeled = [getattr(arm.label_agreement, name, None) for name in people]
            labeled = [value.value if isinstance(value, Estimate) else value for value in labeled]
            rows.append([arm.name, metric, *values, *difference, *of_arm, *labeled])
    out = io.StringIO(newline="")
    write_csv(out, rows)
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
        half, heads = (", on the choosing half", PEOPLE) if table.selection else ("", PEOPLE[:-1])
        people = [people_cells(arm)[: len(heads)] for arm in arms]
        parts += _table(f"Agreement with human labels{half}", heads, people)
    if selection := table.selection:
        other = f"Agreement with human labels, on the other {selection.held_out.compared}"
        parts += _table(other, ("", *GAIN), gain_cells(selection))
        parts += [chosen(selection, base), ""]
    parts += [f"{line}\n" for line in failures(table)]
    return "\n".join(parts)


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(visible(cell).replace("|", "\\|") for cell in row) + " |" for row in (columns, *rows)]
    return [f"## {title}", "", lines[0], "|---" * len(columns) + "|", *lines[1:], ""]


COSTS = (
    "arm", "claims", "unassessed", "unreadable replies", "flipped", "calls", "new", "tokens in / out", "USD", "median s"
)  # fmt: skip
CLAIMS = (
    "arm", "claims per sentence", "statements lost", "numbers lost", "names lost", "negations lost"
)  # fmt: skip
_SHOWN = ("claims_per_sentence", "statements_lost", "numbers_lost", "names_lost", "negations_lost")


def claim_cells(arm: ArmResult) -> list[str]:
    """Return the row of the table `CLAIMS` for an arm."""
    return [arm.name, *(arm.extraction.measures[name].in_words for name in _SHOWN)] if arm.extraction else [arm.name]


def not_comparable(table: ExperimentResult) -> list[str]:
    """Return a line for every arm whose claims cover less of their texts than those of another arm."""
    return [f"{arm.name} scores fewer claims: not comparable; it covers less {arm.covers_less}"
            for arm in table.arms if arm.covers_less]  # fmt: skip


PEOPLE = ("arm", "labeled claims", "accuracy", "balanced accuracy", "95 % interval", "kappa", "kappa over folds")


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
    return [*cells, signed(difference.value), signed_interval(difference.reported), p_value(cell.p_adjusted)]


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
        return [arm.name, "0", *["-"] * 5]
    balanced = agreement.balanced_accuracy
    accuracy, kappa = decimal(agreement.accuracy.value), decimal(agreement.kappa.value)
    cells = [arm.name, str(agreement.claims), accuracy, decimal(balanced.value), interval(balanced.reported), kappa]
    return [*cells, f"{decimal(agreement.mean_kappa)} ± {decimal(agreement.standard_error)}"]


def other_changes(table: ExperimentResult) -> list[str]:
    """Return a line for each arm about changes of claims, compared with the baseline, that are not flips."""
    counts = {arm.name: FlipCounts(arm.compared, arm.flips, arm.relabeled, arm.labeled_once) for arm in table.arms}
    return [f"{name} against {table.baseline}: {words}" for name, flips in counts.items() if (words := flips.others())]


def failures(table: ExperimentResult) -> list[str]:
    """Return a line for each arm without scores."""
    lines = [f"arm {name} failed: {why}" for name, why in table.failed.items()]
    return [*lines, "The baseline failed, so there are no differences."] if table.baseline in table.failed else lines


def chosen(selection: Selection, baseline: str) -> str:
    """Return the choice and its gain in a few sentences."""
    before, after = selection.held_out_baseline, selection.held_out
    line = f"Chosen on one half of the questions ({selection.power.selected_on} labels): {selection.arm}. "
    if selection.arm == baseline:
        return f"{line}No other arm is better by more than one standard error."
    shares = f"{decimal(after.same.value)}, {baseline} {decimal(before.same.value)}"
    change = f"{signed(selection.gain.value)} ({signed_interval(selection.gain.reported)}, p {p_value(selection.p)})"
    line += f"Equal to people on the other half ({after.compared} labels): {shares}, gain {change}. "
    if selection.beyond_noise:
        return f"{line}{selection.arm} agrees more with people than {baseline}."
    falls = (selection.gain.low or 0.0) > 0
    reason = "kappa falls: labels only moved to the more frequent one" if falls else "the interval holds 0"
    return f"{line}No gain that these labels can show: {reason}."


GAIN = ("baseline", "chosen", "gain", "95 % interval", "p")


def gain_cells(selection: Selection) -> list[tuple[str, ...]]:
    """Return the rows of the table of the chosen arm and the baseline on the other half, with the columns `GAIN`."""
    before, after = selection.held_out_baseline, selection.held_out
    numbers = (
        ("equal to people", before.same.value, after.same.value, selection.gain, p_value(selection.p)),
        ("kappa", before.kappa_of_labels.value, after.kappa_of_labels.value, selection.kappa, ""),
    )
    rows = [
        (name, decimal(first), decimal(second), signed(change.value), signed_interval(change.reported), p)
        for name, first, second, change, p in numbers
    ]
    return [*rows, ("unassessed", str(before.unassessed), str(after.unassessed), "", "", "")]
