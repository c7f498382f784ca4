"""What is shown of a corrected score: both numbers by the judges, corrected, and by people alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from claimeval.runs.views import Block, Cell, Column, Data, heading, line, table
from claimeval.statistics.formatting import decimal
from claimeval.types.estimates import Estimate

if TYPE_CHECKING:
    from claimeval.runs.correct import Correction

COLUMNS = (
    Column("number"), Column("by"), Column("value", "number"), Column("95 % interval", "ends"),
    Column("width", "number"), Column("labels", "count", 1),
)  # fmt: skip

_MICRO = {"claim": "micro", "sample": "share", "answer": "mean"}


def view(found: Correction) -> Iterator[Block]:
    """Yield the numbers in the order in which `score` prints them, and what to know of them."""
    of = {"claim": "judged claims", "sample": "samples with a judged claim", "answer": "rated answers"}[found.unit]
    what = ", share of samples with every claim supported" if found.unit == "sample" else ""
    yield heading(Data(found.metric), f"{what}: {found.items} {of}, {found.labeled} of them labeled")
    rows = list[tuple[Cell, ...]]()
    for name, score in (("macro", found.macro), (_MICRO[found.unit], found.micro)):
        if score:
            rows.append((name, "the judges alone", *_cells(score.judged), ""))
            rows.append(("", f"corrected ({found.method})", *_cells(score.corrected), found.labeled))
            rows.append(("", "people alone", *_cells(score.people), found.labeled))
    yield table("corrected", COLUMNS, rows)
    scores = [score for score in (found.macro, found.micro) if score]
    for because in dict.fromkeys(score.corrected.because for score in scores):
        if because:
            yield line("- ", Data(because))
    weights = [score.ppi_lambda for score in scores if score.ppi_lambda is not None]
    if weights:
        words = ", ".join(decimal(weight, 2) for weight in weights)
        yield line(f"- weight of the judges: {words} (0: ignored, 1: full weight)")
    yield line("- the judges' interval ignores their errors")
    if found.micro.labels_needed is not None:
        yield line(f"- {found.micro.labels_needed} more labels would halve the corrected interval")
    for note in found.notes:
        yield line("- ", Data(note))


def _cells(number: Estimate) -> tuple[Cell, ...]:
    ends = number.reported
    return number.value, number, ends[1] - ends[0] if ends else None
