"""What `claimeval sample` does: draw, write, and say what was drawn."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from claimeval.cli.whole_tables import print_whole
from claimeval.data.rows import read_json_lines, read_rows
from claimeval.data.sampling import LogDraw, as_line, draw
from claimeval.types.errors import UsageError


def draw_and_tell(
    log: Path,
    count: int,
    *,
    by: str | None,
    at_least: int,
    seed: int,
    text: str | None,
    keep_copies: bool,
    near: float,
    out: Path | None,
    as_json: bool,
) -> None:
    """Draws and writes; the table goes to standard error where the rows go to standard output."""
    if out and out.exists() and out.resolve() == log.resolve():
        raise UsageError(f"--out {out} is the log itself; choose another file")
    if as_json and out is None:
        raise UsageError("--json prints what was drawn: say with --out where the rows go")
    rows = read_json_lines(sys.stdin.buffer, "standard input") if str(log) == "-" else read_rows(log)
    found = draw(
        rows,
        count,
        seed=seed,
        stratify=by,
        question_field=text,
        keep_duplicates=keep_copies,
        duplicate_threshold=near,
        min_per_stratum=at_least,
    )
    lines = "".join(
        as_line(drawn, "standard input" if str(log) == "-" else log.name, seed) + "\n" for drawn in found.rows
    )
    if out:
        out.write_text(lines, encoding="utf-8")
    else:
        sys.stdout.write(lines)
    if as_json:
        strata = {name: stratum._asdict() for name, stratum in found.strata.items()}
        print(
            json.dumps(
                {"out": str(out), "drawn": len(found.rows), "empty": found.empty_questions, "strata": strata}, indent=1
            )
        )
        return
    console = Console(highlight=False, emoji=False, stderr=out is None)
    print_whole(console, _table(found, by))
    if found.empty_questions:
        console.print(f" {found.empty_questions} rows with an empty question left out", style="dim")
    if len(found.rows) < count:
        console.print(f" {len(found.rows)} of {count} wanted: the log has no more that are different", style="dim")
    if out:
        console.print(f"Test set: {out}", markup=False, soft_wrap=True)


def _table(found: LogDraw, by: str | None) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column(escape(by or "log"), no_wrap=True)
    for name in ("rows", "different", "drawn", "near copies left out"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, one in found.strata.items():
        about = "" if one.exact else "about "
        table.add_row(
            escape(name or "all"), str(one.rows), f"{about}{one.questions}", str(one.drawn), str(one.near_duplicates)
        )
    return table
