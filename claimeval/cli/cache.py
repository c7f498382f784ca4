"""`claimeval cache` and `batch`: commands about the content of a reply cache, and about its pending batches."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, TypeVar

from claimeval.cli.command import Argument, Names, command, group
from claimeval.cli.printer import Output
from claimeval.cli.shared import CacheOptions
from claimeval.cli.terminal import binary_output, flush, say
from claimeval.runs.views import Column, columns, table
from claimeval.statistics.formatting import byte_size, day, dollars
from claimeval.types.errors import StoppedEarly, UsageError

if TYPE_CHECKING:
    from claimeval.execution.batch import Batch
    from claimeval.execution.batch.polling import BatchAdmin, CollectedBatches
    from claimeval.store import transfer
    from claimeval.store.stats import PromptUsage, StoreStats
    from claimeval.store.store import Store

DAMAGED = "run `claimeval cache verify --drop-damaged` to drop them; their questions will be asked again"


@command("cache stats")
class Stats(CacheOptions):
    """Show the content of the reply cache: number, size and dates of replies by model and prompt."""

    def do(self) -> int:
        from claimeval.judging import prompts
        from claimeval.store.stats import collect_stats

        with _open(self.cache) as store:
            statistics = collect_stats(store)
            folder = store.folder
        output, on_disk = self.output, sum(path.stat().st_size for path in folder.glob("cache.db*"))
        output.line()
        output.line(f": {_summary(statistics)}, {byte_size(on_disk)} on disk", bold=str(folder))
        names = {prompts.load(step, name).digest: name for step in prompts.STEPS for name in prompts.shipped(step)}
        for (model, endpoint), groups in groupby(statistics.groups, key=lambda group: (group.model, group.endpoint)):
            output.line()
            output.line(model + (f" at {endpoint}" if endpoint else ""))
            head = columns("prompt", numbers=("replies", "size", "first", "last"))
            output.draw([table("prompts", head, [_cells(usage, names) for usage in groups])])
        if statistics.damaged or statistics.unreadable:
            output.line()
            output.line(
                f"damaged rows: {statistics.damaged}, unreadable: {statistics.unreadable}; {DAMAGED}", style="red"
            )
        return output.result("cache stats", {"folder": str(folder), "on_disk": on_disk, **statistics.model_dump()})


def _summary(statistics: StoreStats) -> str:
    if not statistics.groups:
        return "no replies"
    first, last = min(usage.first for usage in statistics.groups), max(usage.last for usage in statistics.groups)
    return f"{statistics.replies:,} replies, {byte_size(statistics.bytes)}, {day(first)} to {day(last)}"


def _cells(usage: PromptUsage, names: dict[str, str]) -> tuple[str, ...]:
    name = names.get(usage.prompt) or usage.prompt[:12] or "unknown"
    return name, f"{usage.replies:,}", byte_size(usage.bytes), day(usage.first), day(usage.last)


@command("cache verify")
class Verify(CacheOptions):
    """Check the checksum of every reply. Exits with 1 if rows are damaged and were not dropped."""

    drop_damaged: bool = False
    """Drop the damaged rows; a run asks their questions again."""

    def do(self) -> int:
        from claimeval.store.stats import verify as verify_store

        with _open(self.cache) as store:
            damage = verify_store(store, drop_damaged=self.drop_damaged)
            folder = store.folder
        output = self.output
        output.line(f"{folder}: {damage.replies:,} whole replies, damaged rows: {damage.damaged}")
        if damage.unreadable:
            output.line(f"undamaged rows that this version cannot read, kept: {damage.unreadable}")
        if self.drop_damaged and damage.damaged:
            output.line(f"damaged rows dropped: {damage.dropped}; their questions will be asked again")
        elif damage.damaged:
            output.line(DAMAGED)
        code = 1 if damage.damaged > damage.dropped else 0
        return output.result("cache verify", {"folder": str(folder), **damage.model_dump()}, exit_code=code)


@command("cache export")
class Export(CacheOptions):
    """Write replies as JSON Lines: cache key, origin, checksum, and the body as it was received.

    The file holds the replies in plain text, never an API key. Exits with 1 if replies had to be left out.

    Example: claimeval cache export replies.jsonl, or claimeval cache export - --run runs/a | gzip > replies.jsonl.gz
    """

    file: Annotated[Path, Argument("FILE")]
    """File to write; `-` for standard output."""
    run: Path | None = None
    """Only the replies behind the results of this run.  [default: all in the cache]"""

    def do(self) -> int:
        from claimeval.store import transfer

        to_stdout = str(self.file) == "-"
        keys = None if self.run is None else _keys(self.run)
        with _open(self.cache) as store:
            if to_stdout:
                written = transfer.write(store, binary_output(), keys)
                flush()
            else:
                written = _export(store, self.file, keys)
        if written.left_out:
            what = "damaged or unreadable rows left out" if keys is None else "replies of the run that the cache lacks"
            say(f"{what}: {written.left_out}")
        code = 1 if written.left_out else 0
        if to_stdout or not self.output.json:
            say(f"replies exported: {written.replies}")
            return code
        return self.output.result("cache export", {"file": str(self.file), **written._asdict()}, exit_code=code)


def _keys(run: Path) -> Iterator[str]:
    """Yield the keys of the calls of a run that have a reply."""
    from claimeval.runs.directory import read_results

    return (call.key for result in read_results(run) for call in result.calls if call.reply is not None)


def _export(store: Store, file: Path, keys: Iterable[str] | None) -> transfer.ExportCounts:
    """Write the file atomically, readable by its owner only."""
    from claimeval.store import transfer

    if file.exists():
        raise UsageError(f"{file} exists already; give the name of a new file")
    part = file.with_name(file.name + ".part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as out:
            written = transfer.write(store, out, keys)
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error
    return written


@command("cache import")
class Import(CacheOptions):
    """Add the replies of an exported file to the cache, each line checked. Importing it again changes nothing.

    If the cache has another reply to the same question, it keeps that one; conflicts are counted and the exit code is
    1.

    Example: claimeval cache import replies.jsonl --cache other/cache
    """

    file: Annotated[Path, Argument("FILE")]
    """A file that `claimeval cache export` wrote; `-` for standard input."""

    def do(self) -> int:
        from claimeval.store import transfer
        from claimeval.store.store import Store, cache_folder

        with _reading(self.file) as lines, Store(cache_folder(self.cache)) as store:
            imported = transfer.read(lines, "standard input" if str(self.file) == "-" else str(self.file), store)
        self.output.line(f"replies added: {imported.added}, already present: {imported.present}")
        if imported.conflicts:
            keys = ", ".join(key[:12] for key in imported.conflicting)
            more = ", ..." if imported.conflicts > len(imported.conflicting) else ""
            say(f"questions with another reply in the cache, which was kept: {imported.conflicts} ({keys}{more})")
        code = 1 if imported.conflicts else 0
        return self.output.result("cache import", {"file": str(self.file), **imported._asdict()}, exit_code=code)


def _reading(file: Path) -> BinaryIO | nullcontext[BinaryIO]:
    if str(file) == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return file.open("rb")
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from error


def _open(folder: Path | None) -> Store:
    from claimeval.store.store import Store, existing_cache

    return Store(existing_cache(folder))


group("cache", "Inspect, verify, export and import cached replies.")
R = TypeVar("R")


@command("batch list")
class BatchList(CacheOptions):
    """List the batches that a reply cache waits for. With --refresh, ask the providers for their status.

    Example: claimeval batch list --refresh
    """

    names: Annotated[tuple[str, ...], Argument("NAME")] = ()
    """Names as listed, or their beginnings.  [default: all]"""
    every: Annotated[bool, Names("--all")] = False
    """Also list batches that have ended."""
    refresh: bool = False
    """Ask the providers for the status, without reading results."""

    def do(self) -> int:
        if self.names and not self.refresh:
            raise UsageError("NAME chooses the batches that --refresh asks for; add --refresh")

        async def look(admin: BatchAdmin) -> list[Batch]:
            return await admin.status(self.names) if self.refresh else admin.batches(closed=self.every)

        return _print(self.output, "batch list", _with_admin(self.cache, look))


@command("batch collect")
class Collect(CacheOptions):
    """Read the results of all batches that have ended into the reply cache. Exits with 3 while others are pending.

    Providers keep results for a limited time (Mistral: 24 hours), so collect them soon; the run itself can resume
    later.
    """

    def do(self) -> int:
        collected = _with_admin(self.cache, lambda admin: admin.collect(()))
        received, output = collected.received, self.output
        cost = f", ${dollars(received.paid)}" if received.paid and received.priced else ""
        output.line(f"replies stored: {received.replies:,}{cost}")
        if received.repeated:
            output.line(f"replies that were already present: {received.repeated:,}")
        for reason, count in received.failures.items():
            output.line(f"requests that came back without a reply ({reason}): {count:,}")
        if received.unexpected_keys:
            output.line(f"unreadable lines and lines of other requests: {received.unexpected_keys:,}")
        if received.fatal:
            output.line(f"no further request can succeed: {received.fatal.message}")
        stopped = None
        if collected.open:
            requests = sum(batch.requests for batch in collected.open)
            stopped = f"still open: {len(collected.open)} with {requests:,} requests; `claimeval batch list --refresh`"
            output.line(f"{stopped} shows them")
        return output.result(
            "batch collect", _content(collected), exit_code=3 if collected.open else 0, stopped=stopped
        )


@command("batch cancel")
class Cancel(CacheOptions):
    """Cancel batches at the provider. A run sends their requests again.

    Requests that have been processed by then are charged; `claimeval batch collect` still reads their results.

    Example: claimeval batch cancel 3f2a9c01
    """

    names: Annotated[tuple[str, ...], Argument("NAME")] = ()
    """Names as `claimeval batch list` shows them, or their beginnings."""
    every: Annotated[bool, Names("--all")] = False
    """Cancel all pending batches."""
    forget: bool = False
    """Drop a lost batch here without asking the provider. Its cost stays unknown."""

    def do(self) -> int:
        if bool(self.names) == self.every:
            raise UsageError("say which batches to cancel: their names as `claimeval batch list` shows them, or --all")

        async def give_up(admin: BatchAdmin) -> list[Batch]:
            batches = admin.select(self.names)
            return await (admin.forget(batches) if self.forget else admin.cancel(batches))

        return _print(self.output, "batch cancel", _with_admin(self.cache, give_up))


def _with_admin(folder: Path | None, action: Callable[[BatchAdmin], Awaitable[R]]) -> R:
    """Return the result of the action. Raises StoppedEarly for an error of a provider."""
    from claimeval.execution.batch.polling import open_batch_admin
    from claimeval.store.store import Store, existing_cache
    from claimeval.types.requests import CallError

    async def main() -> R:
        with Store(existing_cache(folder)) as store:
            async with open_batch_admin(store) as admin:
                return await action(admin)

    try:
        return asyncio.run(main())
    except CallError as error:
        raise StoppedEarly(error.message) from error


def _print(output: Output, name: str, batches: list[Batch]) -> int:
    if batches:
        head = (*columns("batch", "model", numbers=("requests", "answered", "failed", "age")), Column("state"))
        output.draw([table("batches", head, map(_cells_of, batches))])
    else:
        output.line("No open batches.")
    return output.result(name, {"batches": list(map(_row, batches))})


def _cells_of(batch: Batch) -> tuple[str | int, ...]:
    minutes = int((time.time() - batch.at) / 60)
    age = f"{minutes // 60}:{minutes % 60:02d}"
    state = batch.status if batch.state == "submitted" else batch.state
    problem = f": {batch.problem}" if batch.problem else ""
    return batch.name[:8], batch.judge.model, batch.requests, batch.answered, batch.failed, age, f"{state}{problem}"


def _content(collected: CollectedBatches) -> dict[str, object]:
    received = collected.received
    return {
        "replies": received.replies,
        "repeated": received.repeated,
        "failures": dict(received.failures),
        "unknown_lines": received.unexpected_keys,
        "fatal": received.fatal and received.fatal.message,
        "cost": received.paid if received.priced else None,
        "open": list(map(_row, collected.open)),
    }


def _row(batch: Batch) -> dict[str, object]:
    head = {"batch": batch.name, "model": batch.judge.model, "endpoint": batch.judge.endpoint}
    counts = {name: getattr(batch, name) for name in ("state", "id", "status", "requests", "answered", "failed")}
    return head | counts | {"bytes": batch.size, "since": batch.at, "problem": batch.problem}


group("batch", "List, collect and cancel the batches of `--batch`. Not needed to resume a run: run its command again.")
