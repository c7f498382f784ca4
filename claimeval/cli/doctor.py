"""`claimeval doctor`: checks of a data file and of judges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Metrics, RowOptions, arguments
from claimeval.cli.terminal import say
from claimeval.runs.views import columns, table
from claimeval.types.errors import UsageError, clash

if TYPE_CHECKING:
    from claimeval.data.survey import Survey
    from claimeval.types.probes import Probe

LISTED = {"doctor": ("Start", 2, "Check a data file, or test a judge with two real questions.")}


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions:
    """Check a data file: the metrics that it has the fields for, missing fields, and malformed rows.

    Reads the whole file. Exits with 1 if rows cannot be read or ids are not unique. With --judge, tests a judge with
    two short questions, and exits with 1 if it cannot be used with these settings. With both, also counts the samples
    that exceed the judge's context window.

    Fields of a sample: `id`, `question` (which most prompts need), `answer`, `contexts` (texts, or objects with
    `id`, `text`, `title`), `reference_answers`, `reference_contexts`, `reference_context_ids`, `is_answerable`,
    `generator`, `evidence` (named lists of texts), `metadata`. Names used by LabelledRagDataset, ragas and RAGChecker
    are recognized; `--field` maps any other.

    Example: claimeval doctor answers.jsonl --field answer=draft_llm_answer
    """

    data: Annotated[Path | None, Argument("DATA")] = None
    """The samples: .jsonl, .json, .csv or .parquet."""
    judges: Annotated[tuple[str, ...], Names("-j", "--judge")] = ()
    """Test PROVIDER:MODEL[@URL] or a judge file. Repeatable."""
    metrics: Metrics = None
    """Comma-separated; `claimeval metrics` lists them."""
    rows: RowOptions = RowOptions()
    write_mapping: Path | None = None
    """YAML file to write with the fields as they were read."""
    output: Output = Output()


def do(args: DoctorOptions) -> int:
    """Survey the file, test the judges, print the results, and return the exit code."""
    if note := clash():
        say(note)
    if args.data is None and not args.judges:
        raise UsageError("nothing to check: give a data file, or a judge to try with --judge")
    probes = [_try(args.output, judge) for judge in args.judges]
    tried = {"probes": [probe.model_dump(mode="json") for probe in probes]} if probes else {}
    failed = int(not all(probe.ok for probe in probes))
    if args.data is None:
        return args.output.result("doctor", tried, exit_code=failed)
    from claimeval.api import data as api

    surveyed = api.doctor(args.data, metrics=args.metrics, **arguments(args.rows))
    if args.write_mapping:
        _write(surveyed, args.write_mapping)
    _print(args.output, args.data, surveyed)
    if args.judges and surveyed.samples:
        tried["long"] = _print_long(args, args.data)
    record = surveyed.model_dump(mode="json") | tried
    return args.output.result("doctor", record, exit_code=failed if surveyed.ok else 1)


doctor = command("doctor", DoctorOptions, do)


def _try(output: Output, judge: str) -> Probe:
    """Test a judge and print the result."""
    from claimeval.api.forecast import probe

    result = probe(judge)
    output.line()
    output.line(bold=result.judge)
    output.pairs(result.lines.items(), indent=2)
    return result


def _write(surveyed: Survey, file: Path) -> None:
    """Write the mapping as a YAML file."""
    import yaml

    content = {
        name: value if isinstance(value, str) else list(value) for name, value in surveyed.mapping.content.items()
    }
    file.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")


def _print_long(args: DoctorOptions, data: Path) -> list[dict[str, object]]:
    """Print how many samples exceed the context windows of the judges, and return the counts."""
    from claimeval.api.claims import score
    from claimeval.api.forecast import plan

    try:
        ahead = plan(score, data, judges=args.judges, metrics=args.metrics, **arguments(args.rows))
    except UsageError as error:
        args.output.note(f"cannot check the judges' context windows: {error}")
        return []
    for long in ahead.long:
        args.output.line(f"- {long.in_words(ahead.samples, long.judge)}")
    return [long.model_dump() for long in ahead.long]


def _print(output: Output, data: Path, surveyed: Survey) -> None:
    output.line()
    output.line(f": {surveyed.readable}", bold=str(data))
    if surveyed.malformed:
        output.line(f"{surveyed.malformed_rows} malformed:", style="red")
        for problem in surveyed.malformed:
            output.line(f"  {problem}")
        if more := surveyed.malformed_rows - len(surveyed.malformed):
            output.line(f"  ... and {more} more")
    if not surveyed.samples:
        return
    output.draw([table("metrics", columns("metric", "claims of", "against", "available"), surveyed.availability)])
    for line in surveyed.remarks:
        output.line(f"- {line}")
    output.line()
    output.line(" as read:", bold="The first sample")
    for name, text in surveyed.example_in_words:
        output.line(f"  {name}: {text}")
