"""What the `cache` commands do and print."""

from __future__ import annotations

import json
import os
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from claimeval.judging import prompts
from claimeval.store import transfer
from claimeval.store.stats import PromptUsage, StoreStats, collect_stats, verify
from claimeval.store.store import MARKER, Store, cache_folder
from claimeval.types.errors import UsageError

MENDED = "run `claimeval cache verify --repair` to drop them; their questions will be asked again"


def tell_stats(folder: Path | None, *, as_json: bool) -> None:
    """Prints what the store holds."""
    with _open(folder) as store:
        found = collect_stats(store)
        where = store.folder
    if as_json:
        _print_json({"folder": str(where), "on_disk": _on_disk(where), **found.model_dump()})
        return
    console = Console(highlight=False, emoji=False)
    console.print(f"\n[bold]{escape(str(where))}[/]: {_sum(found)}, {_size(_on_disk(where))} on disk", soft_wrap=True)
    names = {prompts.load(step, name).digest: name for step in prompts.VARIABLES for name in prompts.shipped(step)}
    for (model, endpoint), groups in groupby(found.groups, key=lambda group: (group.model, group.endpoint)):
        console.print(f"\n{escape(model)}" + (f" [dim]at {escape(endpoint)}[/]" if endpoint else ""), soft_wrap=True)
        console.print(_prompts(list(groups), names))
    if found.damaged or found.unreadable:
        console.print(
            f"\n[red]damaged rows: {found.damaged}[/], unreadable: {found.unreadable}; {MENDED}", soft_wrap=True
        )


def verify_and_tell(folder: Path | None, *, repair: bool, as_json: bool) -> None:
    """Checks every reply; exits with 1 when damaged rows are left."""
    with _open(folder) as store:
        found = verify(store, repair=repair)
        where = store.folder
    if as_json:
        _print_json({"folder": str(where), **found.model_dump()})
    else:
        print(f"{where}: {found.replies:,} whole replies, damaged rows: {found.damaged}")
        if found.unreadable:
            print(f"whole rows in which this version finds no reply, kept: {found.unreadable}")
        if repair and found.damaged:
            print(f"damaged rows dropped: {found.dropped}; their questions will be asked again")
        elif found.damaged:
            print(MENDED)
    raise typer.Exit(1 if found.damaged > found.dropped else 0)


def export_and_tell(file: Path, folder: Path | None, *, as_json: bool) -> None:
    """Writes the store to a file or to standard output; exits with 1 when rows had to be left out."""
    with _open(folder) as store:
        if str(file) == "-":
            done = transfer.write(store, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            done = _export(store, file)
    if as_json and str(file) != "-":
        _print_json({"file": str(file), **done._asdict()})
    else:
        _say(f"replies exported: {done.replies}")
    if done.left_out:
        _say(f"damaged or unreadable rows left out: {done.left_out}")
    raise typer.Exit(1 if done.left_out else 0)


def _export(store: Store, file: Path) -> transfer.Exported:
    """Writes a file that is there whole or not at all, and is for its owner alone."""
    if file.exists():
        raise UsageError(f"{file} exists already; give the name of a new file")
    part = file.with_name(file.name + ".part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            done = transfer.write(store, out)
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error
    return done


def import_and_tell(file: Path, folder: Path | None, *, as_json: bool) -> None:
    """Adds a file to the store; exits with 1 on conflicts."""
    with _reading(file) as lines, Store(cache_folder(folder)) as store:
        done = transfer.read(lines, "standard input" if str(file) == "-" else str(file), store)
    if as_json:
        _print_json({"file": str(file), **done._asdict()})
    else:
        print(f"replies added: {done.added}, there already: {done.present}")
    if done.conflicts:
        keys = ", ".join(key[:12] for key in done.conflicting)
        more = ", ..." if done.conflicts > len(done.conflicting) else ""
        _say(f"questions with another reply in the store, which was kept: {done.conflicts} ({keys}{more})")
    raise typer.Exit(1 if done.conflicts else 0)


def _reading(file: Path) -> BinaryIO | nullcontext[BinaryIO]:
    if str(file) == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return file.open("rb")
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from error


def _open(folder: Path | None) -> Store:
    """The store in a folder that has one already."""
    where = cache_folder(folder)
    if not (where / MARKER).exists():
        raise UsageError(f"there is no store of replies in {where}; a run makes one. --cache names another folder")
    return Store(where)


def _sum(found: StoreStats) -> str:
    if not found.groups:
        return "no replies"
    first, last = min(g.first for g in found.groups), max(g.last for g in found.groups)
    return f"{found.replies:,} replies, {_size(found.bytes)}, {_day(first)} to {_day(last)}"


def _prompts(groups: list[PromptUsage], names: dict[str, str]) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 1))
    table.add_column("  prompt", min_width=24)
    for name in ("replies", "size", "first", "last"):
        table.add_column(name, justify="right", no_wrap=True, min_width=8)
    for group in groups:
        name = names.get(group.prompt) or group.prompt[:12] or "not said"
        table.add_row(
            f"  {escape(name)}", f"{group.replies:,}", _size(group.bytes), _day(group.first), _day(group.last)
        )
    return table


def _on_disk(folder: Path) -> int:
    """Bytes of the database and its log."""
    return sum(path.stat().st_size for path in folder.glob("cache.db*"))


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def _print_json(content: dict[str, object]) -> None:
    print(json.dumps(content, indent=1, ensure_ascii=False))


def _say(text: str) -> None:
    print(f"claimeval: {text}", file=sys.stderr)
