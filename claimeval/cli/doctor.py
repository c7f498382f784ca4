"""`claimeval doctor`: which metrics a data file can feed, what is wrong with it, and what a judge does."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Fields, Metrics
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    from claimeval.data.survey import Survey
    from claimeval.types.probes import Probe

LISTED = ("Start", 2, "Check a data file, or try a judge with two real questions.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions:
    """Check a data file: which metrics it can feed, what samples lack, and which rows are malformed.

    Reads the whole file. Exits with 1 if rows cannot be read or ids are not unique. With --judge, tries a judge with
    two short questions, and exits with 1 if it cannot be used as it is.

    Fields of a sample: `id`, `question` (which most prompts need), `answer`, `contexts` (texts, or objects with
    `id`, `text`, `title`), `reference_answers`, `reference_contexts`, `reference_context_ids`, `is_answerable`,
    `generator`, `evidence` (named lists of texts), `metadata`. Names used by LabelledRagDataset, ragas and RAGChecker
    are recognized; `--field` maps any other.

    Example: claimeval doctor answers.jsonl --field answer=draft_llm_answer
    """

    data: Annotated[Path | None, Argument("DATA")] = None
    """The samples: .jsonl, .json, .csv or .parquet."""
    judges: Annotated[tuple[str, ...], Names("-j", "--judge")] = ()
    """Try PROVIDER:MODEL[@URL] or a judge file. Repeatable."""
    metrics: Metrics = None
    """Comma-separated; `claimeval metrics` lists them."""
    fields: Fields = field(default_factory=dict)
    """FIELD=COLUMN, as in answer=draft. Repeatable."""
    output: Output = Output()


def do(given: DoctorOptions) -> int:
    """Survey the file, try the judges, print both, and return the exit code."""
    if given.data is None and not given.judges:
        raise UsageError("nothing to check: give a data file, or a judge to try with --judge")
    probes = [_try(given.output, judge) for judge in given.judges]
    tried = {"probes": [probe.model_dump(mode="json") for probe in probes]} if probes else {}
    useless = int(not all(probe.ok for probe in probes))
    if given.data is None:
        return given.output.result("doctor", tried, exit_code=useless)
    from claimeval.api import data as api

    found = api.doctor(given.data, metrics=given.metrics, fields=given.fields)
    _print(given.output, given.data, found)
    record = found.model_dump(mode="json") | tried
    return given.output.result("doctor", record, exit_code=useless if found.ok else 1)


doctor = command("doctor", DoctorOptions, do)


def _try(output: Output, judge: str) -> Probe:
    """Try a judge and print what it does."""
    from claimeval.api.forecast import probe

    found = probe(judge)
    output.line()
    output.line(bold=found.judge)
    output.pairs({name: (text, "") for name, text in found.lines.items()}, indent=2)
    return found


def _print(output: Output, data: Path, found: Survey) -> None:
    output.line()
    output.line(f": {found.samples} readable samples", bold=str(data))
    if found.malformed:
        output.line(f"{found.malformed_rows} malformed:", style="red")
        for problem in found.malformed:
            output.line(f"  {problem}")
        if more := found.malformed_rows - len(found.malformed):
            output.line(f"  ... and {more} more")
    if not found.samples:
        return
    output.table(("metric", "claims of", "against", "can be fed"), found.fed, words=(0, 1, 2, 3))
    for line in found.remarks:
        output.line(f"- {line}")
    output.line()
    output.line(" as read:", bold="The first sample")
    for name, text in found.example_in_words:
        output.line(f"  {name}: {text}")
