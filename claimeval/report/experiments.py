"""The page of an experiment: its arms against the baseline, what they took, and the claims that flipped."""

from __future__ import annotations

import html
import itertools
import json
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from claimeval.report.assets import page
from claimeval.report.packing import as_json, block
from claimeval.report.visible import visible
from claimeval.runs.experiments import printing
from claimeval.runs.experiments.results import ArmFlip, ExperimentResult
from claimeval.types.errors import DataError

TABLE, FLIPS = "experiment.json", "flips.jsonl"
SHOWN = 5000
"""Flipped claims that the page holds; the file has them all."""


def is_experiment(folder: Path) -> bool:
    """Whether the folder is what `claimeval experiment` writes."""
    return (folder / TABLE).is_file()


def render(file: IO[str], folder: Path) -> None:
    """Writes the page into an open file; DataError where the folder's tables cannot be read."""
    try:
        table = ExperimentResult.model_validate(json.loads((folder / TABLE).read_text(encoding="utf-8")))
        with (folder / FLIPS).open("rb") as lines:
            flips = [ArmFlip.model_validate_json(line) for line in itertools.islice(lines, SHOWN)]
    except (OSError, ValidationError, ValueError) as error:
        raise DataError(f"the experiment {folder} cannot be read: {str(error).splitlines()[0]}") from error
    arms = tuple(arm.model_copy(update={"run": Path(arm.run).name}) for arm in table.arms)
    content = {
        "name": folder.resolve().name,
        "table": table.model_copy(update={"data": Path(table.data).name, "arms": arms}).model_dump(mode="json"),
        "changes": printing.other_changes(table),
        "selection": printing.chosen(table.selection) if table.selection else None,
        "flips": [flip.model_dump(mode="json") for flip in flips],
    }
    filled = page("experiment").html.replace("<!--title-->", html.escape(visible(Path(table.data).name)))
    file.write(filled.replace("<!--data-->", block("experiment", as_json(content))))


def text(folder: Path, form: str) -> str:
    """The experiment's own table in that form (`md`, `csv`, `json`)."""
    return (folder / f"experiment.{form}").read_text(encoding="utf-8")
