"""What the `batch` commands do and print."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from claimeval.cli.whole_tables import print_whole
from claimeval.execution.batch.admin import BatchAdmin, CollectedBatches, open_batch_admin
from claimeval.execution.batch.records import Batch
from claimeval.store.store import MARKER, Store, cache_folder
from claimeval.types.errors import UsageError
from claimeval.types.requests import CallError

R = TypeVar("R")


def tell_list(folder: Path | None, *, every: bool, as_json: bool) -> None:
    """Prints the batches as they were last seen."""

    async def look(admin: BatchAdmin) -> list[Batch]:
        return admin.batches(closed=every)

    _tell(_with_admin(folder, look), as_json)


def tell_status(folder: Path | None, names: Sequence[str], *, as_json: bool) -> None:
    """Prints the batches as their providers see them."""
    _tell(_with_admin(folder, lambda admin: admin.status(names)), as_json)


def collect_and_tell(folder: Path | None, *, as_json: bool) -> None:
    """Reads results and prints what they held; exits with 3 while batches are open."""
    found = _with_admin(folder, lambda admin: admin.collect(()))
    if as_json:
        print(json.dumps(_content(found), indent=1))
    else:
        _tell_received(found)
    raise typer.Exit(3 if found.open else 0)


def cancel_and_tell(folder: Path | None, names: Sequence[str], *, every: bool, forget: bool, as_json: bool) -> None:
    """Gives batches up and prints where they stand."""
    if bool(names) == every:
        raise UsageError("say which batches to cancel: their names as `claimeval batch list` shows them, or --all")

    async def give_up(admin: BatchAdmin) -> list[Batch]:
        batches = admin.select(names)
        return await (admin.forget(batches) if forget else admin.cancel(batches))

    _tell(_with_admin(folder, give_up), as_json)


def _with_admin(folder: Path | None, work: Callable[[BatchAdmin], Awaitable[R]]) -> R:
    """What comes of the work; an error of a provider is the end of the command."""
    where = cache_folder(folder)
    if not (where / MARKER).exists():
        raise UsageError(f"there is no store of replies in {where}; a run makes one. --cache names another folder")

    async def main() -> R:
        with Store(where) as store:
            async with open_batch_admin(store) as admin:
                return await work(admin)

    try:
        return asyncio.run(main())
    except CallError as error:
        print(f"claimeval: {error.message}", file=sys.stderr)
        raise typer.Exit(3) from None


def _tell(batches: list[Batch], as_json: bool) -> None:
    if as_json:
        print(json.dumps([_row(batch) for batch in batches], indent=1))
        return
    if not batches:
        print("No open batches.")
        return
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("batch", no_wrap=True)
    table.add_column("model", overflow="fold")
    for name in ("requests", "answered", "failed", "age"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("state", overflow="fold")
    for batch in batches:
        counts = [f"{count:,}" for count in (batch.requests, batch.answered, batch.failed)]
        state = batch.status if batch.state == "submitted" else batch.state
        said = f": {batch.problem}" if batch.problem else ""
        table.add_row(batch.name[:8], escape(batch.judge.model), *counts, _age(batch), escape(state + said))
    print_whole(Console(highlight=False, emoji=False), table)


def _tell_received(found: CollectedBatches) -> None:
    received = found.received
    cost = f", ${received.paid:.4f}" if received.paid and received.priced else ""
    print(f"replies stored: {received.replies:,}{cost}")
    if received.repeated:
        print(f"replies that were there already: {received.repeated:,}")
    for reason, count in received.failures.items():
        print(f"requests that came back without a reply ({reason}): {count:,}")
    if received.unexpected_keys:
        print(f"unreadable lines and lines of other requests: {received.unexpected_keys:,}")
    if received.fatal:
        print(f"no further request can succeed: {received.fatal.message}")
    if found.open:
        requests = sum(batch.requests for batch in found.open)
        print(f"still open: {len(found.open)} with {requests:,} requests; `claimeval batch status` shows them")


def _content(found: CollectedBatches) -> dict[str, object]:
    received = found.received
    return {
        "replies": received.replies,
        "repeated": received.repeated,
        "failures": dict(received.failures),
        "unknown_lines": received.unexpected_keys,
        "fatal": received.fatal and received.fatal.message,
        "cost": received.paid if received.priced else None,
        "open": [_row(batch) for batch in found.open],
    }


def _row(batch: Batch) -> dict[str, object]:
    return {
        "batch": batch.name,
        "model": batch.judge.model,
        "endpoint": batch.judge.endpoint,
        "state": batch.state,
        "id": batch.id,
        "status": batch.status,
        "requests": batch.requests,
        "answered": batch.answered,
        "failed": batch.failed,
        "bytes": batch.size,
        "since": batch.at,
        "problem": batch.problem,
    }


def _age(batch: Batch) -> str:
    minutes = int((time.time() - batch.at) / 60)
    return f"{minutes // 60}:{minutes % 60:02d}"
