"""What `import-replies` does: read the file, write the run, say how the replies were read and what could not be."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from claimeval.cli.table import print_run
from claimeval.cli.whole_tables import print_whole
from claimeval.data.foreign.field_maps import read_mapping
from claimeval.runs.import_replies import UNREAD, JudgeReading, import_judged, open_file
from claimeval.types.options import PanelOptions

SHOWN = 10
"""Texts that could not be read that are printed; the file lists all."""
WIDTH = 110


def import_and_tell(
    file: Path,
    mapping: Path | None,
    out: Path,
    *,
    panel: PanelOptions,
    overwrite: bool,
    cluster: str | None = None,
    as_json: bool,
) -> None:
    """Imports a file and prints what came of it."""
    judged = open_file(file, read_mapping(mapping) if mapping else None)
    found = import_judged(judged, str(file), out, panel, overwrite=overwrite, cluster=cluster)
    if as_json:
        readings = {judge: reading.model_dump() for judge, reading in found.readings.items()}
        content = {"run": str(out), "readings": readings, "labels": found.labels}
        content |= {"repeated_claims": found.repeated, **found.summary.model_dump()}
        print(json.dumps(content, indent=1, ensure_ascii=False))
        return
    print_run(out, found.manifest, found.summary, found.summary.samples)
    console = Console(highlight=False, emoji=False)
    if found.readings:
        print_whole(console, _readings(found.readings))
        _print_unread(console, out)
    if found.repeated:
        console.print(
            f"[bold yellow]Note:[/] {found.repeated} rows repeat a claim text of their sample and were taken for "
            "repeats of the judge. If they are claims of their own, map `claim_id` to a field that tells them apart.",
            soft_wrap=True,
        )
    if found.labels:
        console.print(f"{found.labels} human labels: `claimeval agreement {escape(str(out))}` holds the judges to them")


def _readings(readings: Mapping[str, JudgeReading]) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("replies of")
    for name in ("replies", "read", "abstained", "refused", "none"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("read as")
    for judge, reading in readings.items():
        table.add_row(
            escape(judge),
            str(reading.replies),
            str(reading.read),
            str(reading.unsure),
            str(sum(reading.refused.values())),
            str(reading.missing),
            escape(", ".join(f"{form} {n}" for form, n in reading.forms.items())),
        )
    return table


def _print_unread(console: Console, out: Path) -> None:
    path = out / UNREAD
    if not path.exists():
        return
    with path.open(encoding="utf-8") as file:
        first = [json.loads(line) for line in itertools.islice(file, SHOWN)]
    console.print(f"\n[bold]Not read[/], and so unassessed; all are in {escape(str(path))}", soft_wrap=True)
    for unread in first:
        text = " ".join(unread["reply"].split())
        shown = text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
        who = f"{unread['sample']} {unread['judge']}: {unread['because']}"
        console.print(Padding(f"{escape(who)}\n  [dim]{escape(shown)}[/]", (0, 0, 0, 1)))
