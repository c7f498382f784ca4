"""The results of an experiment as JSON, CSV and Markdown."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from claimeval.data.rows import write_csv
from claimeval.report import pictures, render
from claimeval.report.charts import Picture, beside, file_part
from claimeval.runs.directory import write_text
from claimeval.runs.experiments.results import ArmResult, ExperimentResult
from claimeval.runs.views import Table
from claimeval.runs.views.experiment import view
from claimeval.types.estimates import Cost, Estimate
from claimeval.types.records import Record

CELLS = ("mean", "low", "high", "n", "clusters", "bounds", "ends", "p", "p_adjusted")
"""Fields of an arm's metric in the CSV."""


def write(folder: Path, table: ExperimentResult) -> None:
    """Write `experiment.json`, `experiment.csv` and `experiment.md` with its pictures into a
    folder."""
    write_text(folder / "experiment.json", json.dumps(table.model_dump(), indent=1) + "\n")
    write_text(folder / "experiment.csv", to_csv(table))
    drawn = drawings(table, "experiment")
    for name, picture in drawn.values():
        write_text(folder / name, picture.file)
    write_text(
        folder / "experiment.md",
        to_markdown(table, {metric: name for metric, (name, _) in drawn.items()}),
    )


def drawings(table: ExperimentResult, stem: str) -> dict[str, tuple[str, Picture]]:
    """Return file name and picture of all arms, by metric."""
    return {
        metric: (f"{stem}-{file_part(metric)}.svg", beside(metric, parts))
        for metric, parts in pictures.of_arms(table).items()
    }


def to_csv(table: ExperimentResult) -> str:
    """Return the CSV, a line for each arm and metric; undefined values are empty."""
    fields = [
        *ArmResult.model_fields.keys()
        - {"metrics", "name", "label_agreement", "cost", "extraction"}
    ]
    ordered = [name for name in ArmResult.model_fields if name in fields]
    of_difference = [name for name in Estimate.model_fields if name not in ("ends", "sampling")]
    paired = [f"difference_{name}" for name in of_difference]
    people = ["claims", "accuracy", "balanced_accuracy", "kappa"]
    head = [
        "arm",
        "metric",
        *CELLS,
        *paired,
        *ordered,
        *Cost.model_fields,
        *(f"labels_{name}" for name in people),
    ]
    rows: list[list[object]] = [[*head]]
    for arm in table.arms:
        of_arm = [*_fields(arm, ordered), *dict(arm.cost).values()]
        labeled = _fields(arm.label_agreement, people)
        labeled = [value.value if isinstance(value, Estimate) else value for value in labeled]
        for metric, cell in arm.metrics.items():
            values = [*_fields(cell, CELLS), *_fields(cell.difference, of_difference)]
            rows.append([arm.name, metric, *values, *of_arm, *labeled])
    out = io.StringIO(newline="")
    write_csv(out, rows)
    return out.getvalue()


def _fields(record: Record | None, names: Iterable[str]) -> list[object]:
    """Return the values of these fields; None for each without a record."""
    values = {} if record is None else dict(record)
    return [values.get(name) for name in names]


def to_markdown(result: ExperimentResult, images: Mapping[str, str] = {}) -> str:
    """Return the Markdown of an experiment. `images` maps metrics to picture files."""
    parts = []
    for block in view(result):
        parts.append(render.markdown([block]))
        if isinstance(block, Table) and (file := images.get(block.name)):
            title = render.plain(f"{block.name} of each arm, and its difference to the baseline")
            parts.append(f"![{title}]({file})")
    return "\n\n".join(parts) + "\n"
