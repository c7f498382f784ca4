"""`claimeval batch`: the providers' batches that a reply cache waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from claimeval.cli.command import Argument, Names, command, group
from claimeval.cli.printer import Output
from claimeval.cli.shared import CacheOptions

if TYPE_CHECKING:
    from claimeval.execution.batch import Batch
    from claimeval.execution.batch.admin import BatchAdmin, CollectedBatches

LISTED = ("Upkeep", 2, "List, collect and cancel providers' batches.")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchListOptions(CacheOptions):
    """List the batches that a reply cache waits for. With --refresh, ask the providers for their status.

    Example: claimeval batch list --refresh
    """

    names: Annotated[tuple[str, ...], Argument("NAME")] = ()
    """Names as listed, or their beginnings; all by default."""
    every: Annotated[bool, Names("--all")] = False
    """Also batches that have ended."""
    refresh: bool = False
    """Ask the providers for the status; read no results."""


def list_(given: BatchListOptions) -> int:
    """Print the batches, and return the exit code."""
    from claimeval.types.errors import UsageError

    if given.names and not given.refresh:
        raise UsageError("NAME chooses the batches that --refresh asks for; add --refresh")

    async def look(admin: BatchAdmin) -> list[Batch]:
        return await admin.status(given.names) if given.refresh else admin.batches(closed=given.every)

    return _print(given.output, "batch list", _with_admin(given.cache, look))


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectOptions(CacheOptions):
    """Read the results of all batches that have ended into the reply cache. Exits with 3 while others are pending.

    Providers keep results for a limited time (Mistral: 24 hours), so collect them soon; the run itself can resume
    later.
    """


def collect(given: CollectOptions) -> int:
    """Read results, print what they held, and return the exit code."""
    from claimeval.statistics.formatting import dollars

    found = _with_admin(given.cache, lambda admin: admin.collect(()))
    received, output = found.received, given.output
    cost = f", ${dollars(received.paid)}" if received.paid and received.priced else ""
    output.line(f"replies stored: {received.replies:,}{cost}")
    if received.repeated:
        output.line(f"replies that were there already: {received.repeated:,}")
    for reason, count in received.failures.items():
        output.line(f"requests that came back without a reply ({reason}): {count:,}")
    if received.unexpected_keys:
        output.line(f"unreadable lines and lines of other requests: {received.unexpected_keys:,}")
    if received.fatal:
        output.line(f"no further request can succeed: {received.fatal.message}")
    stopped = None
    if found.open:
        requests = sum(batch.requests for batch in found.open)
        stopped = f"still open: {len(found.open)} with {requests:,} requests; `claimeval batch list --refresh`"
        output.line(f"{stopped} shows them")
    return output.result("batch collect", _content(found), exit_code=3 if found.open else 0, stopped=stopped)


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelOptions(CacheOptions):
    """Cancel batches: the provider runs no more of them, and a run asks their requests again.

    What has run by then is charged; `claimeval batch collect` still reads it.

    Example: claimeval batch cancel 3f2a9c01
    """

    names: Annotated[tuple[str, ...], Argument("NAME")] = ()
    """Names as `claimeval batch list` shows them, or their beginnings."""
    every: Annotated[bool, Names("--all")] = False
    """All that are pending."""
    forget: bool = False
    """Drop the batch here without asking the provider: for one that is lost. What it costs is unknown."""


def cancel(given: CancelOptions) -> int:
    """Cancel batches, print their states, and return the exit code."""
    from claimeval.types.errors import UsageError

    if bool(given.names) == given.every:
        raise UsageError("say which batches to cancel: their names as `claimeval batch list` shows them, or --all")

    async def give_up(admin: BatchAdmin) -> list[Batch]:
        batches = admin.select(given.names)
        return await (admin.forget(batches) if given.forget else admin.cancel(batches))

    return _print(given.output, "batch cancel", _with_admin(given.cache, give_up))


def _with_admin(folder: Path | None, work: Callable[[BatchAdmin], Awaitable[R]]) -> R:
    """Return what the work returns; an error of a provider ends the command."""
    from claimeval.execution.batch.admin import open_batch_admin
    from claimeval.store.store import Store, existing_cache
    from claimeval.types.errors import StoppedEarly
    from claimeval.types.requests import CallError

    async def main() -> R:
        with Store(existing_cache(folder)) as store:
            async with open_batch_admin(store) as admin:
                return await work(admin)

    try:
        return asyncio.run(main())
    except CallError as error:
        raise StoppedEarly(error.message) from error


def _print(output: Output, name: str, batches: list[Batch]) -> int:
    rows = []
    for batch in batches:
        counts = [f"{count:,}" for count in (batch.requests, batch.answered, batch.failed)]
        state = batch.status if batch.state == "submitted" else batch.state
        problem = f": {batch.problem}" if batch.problem else ""
        rows.append((batch.name[:8], batch.judge.model, *counts, _age(batch), f"{state}{problem}"))
    if rows:
        columns = ("batch", "model", "requests", "answered", "failed", "age", "state")
        output.table(columns, rows, words=(0, 1, 6))
    else:
        output.line("No open batches.")
    return output.result(name, {"batches": list(map(_row, batches))})


def _content(found: CollectedBatches) -> dict[str, object]:
    received = found.received
    return {
        "replies": received.replies,
        "repeated": received.repeated,
        "failures": dict(received.failures),
        "unknown_lines": received.unexpected_keys,
        "fatal": received.fatal and received.fatal.message,
        "cost": received.paid if received.priced else None,
        "open": list(map(_row, found.open)),
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
    import time

    minutes = int((time.time() - batch.at) / 60)
    return f"{minutes // 60}:{minutes % 60:02d}"


batch = group(
    "batch",
    "List, collect and cancel the batches of `--batch`. The same command resumes by itself; these are for the time in "
    "between.",
    command("list", BatchListOptions, list_),
    command("collect", CollectOptions, collect),
    command("cancel", CancelOptions, cancel),
)
