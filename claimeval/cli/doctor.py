"""`claimeval doctor`: which metrics a data file can feed, what is wrong with it, and what a judge does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Fields, Metrics
from claimeval.types.errors import UsageError, visible

if TYPE_CHECKING:
    from claimeval.data.survey import Survey
    from claimeval.metrics.rows import Metric
    from claimeval.types.probes import Probe
    from claimeval.types.records import Sample

LISTED = ("Start", 2, "Check a data file, or try a judge with two real questions.")
EXCERPT = 100
"""Characters of a text that are printed."""


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
    from claimeval.metrics.rows import METRICS, rows

    metrics = rows(tuple(METRICS) if given.metrics is None else given.metrics)
    found = api.doctor(given.data, metrics=metrics, fields=given.fields)
    _print(given.output, given.data, metrics, found)
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


def _print(output: Output, data: Path, metrics: tuple[Metric, ...], found: Survey) -> None:
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
    rows = [(metric.name, metric.claims_of, metric.against, _fed(metric, found)) for metric in metrics]
    output.table(("metric", "claims of", "against", "can be fed"), rows, words=(0, 1, 2, 3))
    for line in _remarks(found):
        output.line(f"- {line}")
    output.line()
    output.line(" as read:", bold="The first sample")
    for name, text in _fields(found.example):
        output.line(f"  {name}: {text}")


def _fields(sample: Sample | None) -> Iterator[tuple[str, str]]:
    """Yield the fields of a sample that have a value, in few words."""
    from claimeval.types.records import Document

    for name, value in sample or ():
        if isinstance(value, tuple):
            items = [item.text if isinstance(item, Document) else str(item) for item in value]
            if items:
                yield f"{name} ({len(items)})", " | ".join(visible(item, EXCERPT // 2) for item in items[:2])
        elif value not in (None, "", {}):
            yield name, visible(str(value), EXCERPT)


def _fed(metric: Metric, found: Survey) -> str:
    remarks = [f"{lack.count} lack {lack.field} (first: {lack.first})" for lack in found.missing_fields[metric.name]]
    if not found.has_inputs_for(metric.name):
        return f"no: {'; '.join(remarks)}"
    if "contexts" in (metric.claims_of, metric.against) and found.empty_contexts:
        remarks.append(f"{found.empty_contexts} retrieved nothing and count 0")
    return f"yes, but {'; '.join(remarks)}" if remarks else "yes"


def _without(found: Survey) -> list[str]:
    """Return the fields of a sample that no sample has."""
    counts = {lack.field: lack.count for lacks in found.missing_fields.values() for lack in lacks}
    counts |= {"question": found.no_question.count if found.no_question else 0, "answer": found.no_answer}
    return [field for field, count in counts.items() if count == found.samples]


def _remarks(found: Survey) -> list[str]:
    from claimeval.data.reading import field_options, suggestions

    remarks = []
    if found.no_question:
        remarks.append(f"{found.no_question.count} samples have no question (first: {found.no_question.first!r})")
    if found.duplicate_numbers:
        first, second = found.duplicate_numbers
        remarks.append(
            f"{len(found.duplicate_ids)} ids stand more than once, first {found.duplicate_ids[0]!r} "
            f"(samples {first} and {second})"
        )
    if found.no_answer or found.empty_answers:
        remarks.append(f"{found.no_answer} samples have no answer, {found.empty_answers} an empty one")
    if found.invalid_text:
        sample, excerpt = next(iter(found.invalid_text.items()))
        remarks.append(f"{len(found.invalid_text)} samples look wrongly decoded (first: {sample!r}: ...{excerpt}...)")
    if found.contexts:
        least, median, most = found.contexts
        remarks.append(f"contexts per sample: min {least}, median {median:g}, max {most}")
    if found.metadata:
        remarks.append("kept as metadata: " + ", ".join(found.metadata))
    if options := field_options(suggestions(found.metadata, _without(found))):
        remarks.append(f"some of these could be fields: {options}")
    generators = [f"{name} ({n})" for name, n in found.generators.items()]
    return [*remarks, "generators: " + ", ".join(generators[:8])]
