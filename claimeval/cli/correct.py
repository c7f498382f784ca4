"""`claimeval correct`: a score, corrected by human labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from claimeval.cli.command import Argument, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import arguments

if TYPE_CHECKING:
    from claimeval.runs.correct import Correction
    from claimeval.types.estimates import Estimate


LISTED = ("People", 3, "Correct a score with human labels.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectOptions:
    """Correct a score with human labels: the judges' score, the corrected one, and that by people alone.

    The judges are compared with people on the labeled claims, and their score on all claims is shifted by their errors.
    The micro score is corrected: supported claims over judged claims. Intervals draw all samples of a question
    together.

    Example: claimeval annotate runs/a --n 150, then claimeval correct runs/a
    """

    run: Annotated[Path, Argument("RUN")]
    """A run directory."""
    labels: Path | None = None
    """Human labels of claims or samples; by default those of `claimeval annotate`, else of the import."""
    metric: str | None = None
    """Metric to correct; the first of the run by default."""
    method: Literal["auto", "ppi", "stratified", "active", "rogan-gladen"] = "auto"
    """auto fits how claims were drawn; or ppi, stratified, active, rogan-gladen (labels from elsewhere)."""
    seed: int = 0
    """Seed of the bootstrap interval."""
    cluster: str | None = None
    """Equal values count as one cluster.  [default: as in the run]"""
    output: Output = Output()


def do(given: CorrectOptions) -> int:
    """Correct the score, print the three numbers, and return the exit code."""
    from claimeval.api import people

    found = people.correct(**arguments(given))
    output = given.output
    what = "micro" if found.unit == "claim" else "share of samples with every claim supported"
    of = "judged claims" if found.unit == "claim" else "samples with a judged claim"
    output.line()
    output.line(f", {what}: {found.items} {of}, {found.labelled} of them labeled", bold=found.metric)
    numbers = {
        "the judges alone": found.judged,
        f"corrected ({found.method})": found.corrected,
        "people alone": found.people,
    }
    output.table(
        ("by", "value", "95 % interval", "width"), [(name, *_cells(number)) for name, number in numbers.items()]
    )
    for remark in _remarks(found):
        output.line(f"- {remark}")
    return output.result("correct", found.model_dump())


correct = command("correct", CorrectOptions, do)


def _cells(number: Estimate) -> list[str]:
    from claimeval.statistics.formatting import decimal, interval

    if number.value is None:
        return [f"- ({number.because})", "-", "-"]
    width = None if number.low is None or number.high is None else number.high - number.low
    return [decimal(number.value), interval(number.interval), decimal(width)]


def _remarks(found: Correction) -> list[str]:
    from claimeval.statistics.formatting import decimal

    remarks = ["the judges' interval does not include their errors"]
    if found.people.value in (0.0, 1.0):
        remarks.append(
            f"all {found.labelled} labels say {'supported' if found.people.value else 'not supported'}, so they do not "
            "show where the judges err; `claimeval annotate RUN --design stratified` draws claims of every label"
        )
    if found.ppi_lambda is not None:
        remarks.append(f"the judges count {decimal(found.ppi_lambda, 2)} (0 not at all, 1 fully)")
    if found.labels_needed is not None:
        remarks.append(f"{found.labels_needed} more labels would halve the corrected interval")
    if words := found.labels.words():
        remarks.append(f"labels {words}")
    if found.unmatched:
        remarks.append(f"{found.unmatched} labels are about no judged claim of {found.metric}")
    return remarks
