"""What `doctor` does: one pass over the file, then what was found in words or as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from claimeval.cli.whole_tables import print_whole
from claimeval.data.reading import parse_fields, read_samples
from claimeval.data.survey import Survey, survey
from claimeval.metrics.rows import METRICS, Metric, rows
from claimeval.types.errors import DataError

SHOWN = 20


def examine_and_tell(data: Path, asked: tuple[str, ...] | None, fields: tuple[str, ...], *, as_json: bool) -> None:
    """Examines a file and exits with 1 when something in it is broken."""
    metrics = rows(asked or tuple(METRICS))
    malformed: list[str] = []
    found: Survey | None = None
    try:
        samples = read_samples(data, fields=parse_fields(list(fields)), on_error=lambda e: malformed.append(str(e)))
        found = survey(samples, metrics)
    except DataError:
        if not malformed:
            raise
    if as_json:
        content = found.model_dump() if found else {"samples": 0}
        print(json.dumps({**content, "malformed": malformed}, indent=1, ensure_ascii=False))
    else:
        _tell(Console(highlight=False), data, metrics, found, malformed)
    raise typer.Exit(1 if malformed or not found or found.duplicate_ids else 0)


def _tell(
    console: Console, data: Path, metrics: tuple[Metric, ...], found: Survey | None, malformed: list[str]
) -> None:
    console.print(f"\n[bold]{escape(str(data))}[/]: {found.samples if found else 0} readable samples", soft_wrap=True)
    if malformed:
        console.print(f"[red]{len(malformed)} malformed:[/]")
        for problem in malformed[:SHOWN]:
            console.print(f"  {escape(problem)}", soft_wrap=True)
        if len(malformed) > SHOWN:
            console.print(f"  ... and {len(malformed) - SHOWN} more")
    if not found:
        return
    table = Table(box=None, header_style="bold", padding=(0, 1))
    for column in ("metric", "claims of", "against", "can be fed"):
        table.add_column(column)
    for metric in metrics:
        table.add_row(metric.name, metric.claims_of, metric.against, _fed(metric, found))
    print_whole(console, table)
    for line in _remarks(found):
        console.print(f"- {escape(line)}", soft_wrap=True)


def _fed(metric: Metric, found: Survey) -> str:
    said = [f"{lack.count} lack {lack.field} (first: {lack.first})" for lack in found.missing_fields[metric.name]]
    if not found.has_inputs_for(metric.name):
        return f"[red]no[/]: {escape('; '.join(said))}"
    if "contexts" in (metric.claims_of, metric.against) and found.empty_contexts:
        said.append(f"{found.empty_contexts} retrieved nothing and count 0")
    return f"[green]yes[/], but {escape('; '.join(said))}" if said else "[green]yes[/]"


def _remarks(found: Survey) -> list[str]:
    remarks = []
    if found.duplicate_ids:
        remarks.append(f"{len(found.duplicate_ids)} ids stand more than once, first {found.first_duplicate}")
    if found.no_answer or found.empty_answers:
        remarks.append(f"{found.no_answer} samples have no answer, {found.empty_answers} an empty one")
    if found.invalid_text:
        sample, excerpt = next(iter(found.invalid_text.items()))
        remarks.append(f"{len(found.invalid_text)} samples look wrongly decoded (first: {sample!r}: ...{excerpt}...)")
    if found.metadata:
        remarks.append("kept as metadata: " + ", ".join(found.metadata))
    generators = [f"{name} ({n})" for name, n in found.generators.items()]
    return [*remarks, "generators: " + ", ".join(generators[:8])]
