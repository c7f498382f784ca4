"""`claimeval cache` and `batch`: commands about the content of a reply cache, and about its pending
batches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import click

from claimeval.cli.command import command, group
from claimeval.cli.printer import Output
from claimeval.cli.shared import CacheOptions
from claimeval.cli.terminal import Keys, binary_output, flush, say
from claimeval.judging import prompts
from claimeval.runs.views import Block, Column, columns, heading, table
from claimeval.statistics.formatting import byte_size, day, dollars
from claimeval.store import transfer
from claimeval.store.clearing import DAY, RowsToDelete, select
from claimeval.store.stats import collect_stats, verify
from claimeval.store.store import Store, cache_folder, existing_cache, replace_database
from claimeval.types.errors import StoppedEarly, StoreError, UsageError, missing_file
from claimeval.types.options import require_at_least

if TYPE_CHECKING:
    from claimeval.execution.batch import Batch
    from claimeval.execution.batch.polling import BatchAdmin
    from claimeval.store.stats import PromptUsage

DAMAGED = (
    "run `claimeval cache verify --drop-damaged` to drop them; their questions will be asked again"
)
R = TypeVar("R")


@command("cache stats")
class StatsCommand(CacheOptions):
    """Show the content of the reply cache: number, size and dates of replies by model and
    prompt."""

    def do(self) -> int:
        with Store(existing_cache(self.cache)) as store:
            found = collect_stats(store)
            folder = store.folder
        output = self.output
        on_disk = _on_disk(folder)
        content = "no replies"
        if usages := found.groups:
            ends = (
                f"{day(min(usage.first for usage in usages))} to"
                f" {day(max(usage.last for usage in usages))}"
            )
            content = f"{found.replies:,} replies, {byte_size(found.bytes)}, {ends}"
        output.draw([heading(str(folder), f": {content}, {byte_size(on_disk)} on disk")])
        output.draw(_by_model(usages))
        if found.damaged or found.unreadable:
            output.line()
            output.line(
                f"damaged rows: {found.damaged}, unreadable: {found.unreadable}; {DAMAGED}",
                style="red",
            )
        return output.result(
            "cache stats", {"folder": str(folder), "on_disk": on_disk, **found.model_dump()}
        )


def _by_model(usages: Iterable[PromptUsage]) -> Iterator[Block]:
    """Yield a table of the replies of each model, a row for each prompt."""
    names = dict[str, str]()
    # The cache has digests of prompts: only those that are shipped have a name here.
    for step in prompts.STEPS:
        names |= {prompts.load(step, name).digest: name for name in prompts.shipped(step)}
    head = columns("prompt", numbers=("replies", "size", "first", "last"))
    models = groupby(usages, key=lambda usage: (usage.model, usage.endpoint))
    for (model, endpoint), of_model in models:
        rows = []
        for usage in of_model:
            name = names.get(usage.prompt) or usage.prompt[:12] or "unknown"
            rows.append(
                (name, usage.replies, byte_size(usage.bytes), day(usage.first), day(usage.last))
            )
        yield table("prompts", head, rows, model + (f" at {endpoint}" if endpoint else ""))


@command("cache size")
class SizeCommand(CacheOptions):
    """Print how many replies the reply cache has and its size on disk, in one line."""

    def do(self) -> int:
        with Store(existing_cache(self.cache)) as store:
            folder = store.folder
            replies = len(store)
        size = _on_disk(folder)
        self.output.line(f"{folder}: {replies:,} replies, {byte_size(size)} on disk")
        return self.output.result(
            "cache size", {"folder": str(folder), "replies": replies, "on_disk": size}
        )


def _on_disk(folder: Path) -> int:
    """Return the size of the database of a reply cache in bytes."""
    return sum(path.stat().st_size for path in folder.glob("cache.db*"))


@command("cache clear")
class ClearCommand(CacheOptions):
    """Delete replies, after a question that says how many and how large they are.

    A run that needs a deleted reply asks and pays for it again. Run directories keep their own
    copies, so reports and `rejudge` do not change.

    Examples: claimeval cache clear --older-than 90; claimeval cache clear --run runs/a
    """

    older_than: float | None = None
    """Only replies that were received more than this number of DAYS ago."""
    run: Path | None = None
    """Only the replies behind the results of this run, also if other runs share them."""
    yes: bool = False
    """Delete without a question."""

    def __post_init__(self) -> None:
        require_at_least(self, 0, "older_than")

    def do(self) -> int:
        keys = None
        if self.run:
            keys = _keys_of(self.run)
        before = None
        if self.older_than is not None:
            before = time.time() - self.older_than * DAY
        output = self.output
        folder = existing_cache(self.cache)
        deleted = 0
        problem = None
        with Store(folder) as store:
            selection = select(store, before=before, keys=keys)
            output.line(_in_words(folder, selection))
            if selection.rows and (self.yes or _agreed(output)):
                deleted = store.delete(selection.rows)
                problem = store.shrink()
        if deleted:
            output.lines(
                f"deleted: {deleted:,} replies; {byte_size(_on_disk(folder))} on disk now",
                problem and f"the file could not be made smaller: {problem}",
                *_of_repairs(folder),
            )
        record = {
            "folder": str(folder),
            "selected": len(selection.rows),
            "bytes": selection.bytes,
            "deleted": deleted,
            "remaining": selection.remaining + len(selection.rows) - deleted,
            "on_disk": _on_disk(folder),
        }
        return output.result("cache clear", record)


def _keys_of(run: Path) -> Iterator[str]:
    """Yield the keys of the replies behind the results of a run."""
    from claimeval.runs.directory import RunResults

    for result in RunResults.of(run):
        for call in result.calls:
            if call.reply is not None:
                yield call.key


def _in_words(folder: Path, selection: RowsToDelete) -> str:
    """Return what would be deleted."""
    replies = len(selection.rows)
    if not replies and selection.remaining:
        return f"{folder}: none of {selection.remaining:,} replies fits; nothing to delete"
    if not replies:
        return f"{folder}: no replies; nothing to delete"
    dates = ""
    if selection.first is not None and selection.last is not None:
        dates = f", {day(selection.first)} to {day(selection.last)}"
    return (
        f"{folder}: {replies:,} replies, {byte_size(selection.bytes)}{dates}, would be deleted;"
        f" {selection.remaining:,} are kept. A run that needs a deleted reply pays for it again"
    )


def _agreed(output: Output) -> bool:
    """Ask whether to delete. Raises UsageError if nobody can answer."""
    say("Delete them? y or n")
    try:
        agreed = Keys().next() == "y"
    except EOFError as error:
        raise UsageError("nothing was deleted: add --yes to delete without a question") from error
    if not agreed:
        output.line("Nothing was deleted.")
    return agreed


def _of_repairs(folder: Path) -> list[str]:
    """Return the folders with damaged databases that `cache repair` kept, which hold replies."""
    return [
        f"a damaged database with replies is kept in {aside}: delete the folder to remove them"
        for aside in sorted(folder.glob("damaged-*"))
    ]


@command("cache verify")
class VerifyCommand(CacheOptions):
    """Check the checksum of every reply. Exits with 1 if rows are damaged and were not dropped."""

    drop_damaged: bool = False
    """Drop the damaged rows; a run asks their questions again."""

    def do(self) -> int:
        with Store(existing_cache(self.cache)) as store:
            damage = verify(store, drop_damaged=self.drop_damaged)
            folder = store.folder
        dropped = f"damaged rows dropped: {damage.dropped}; their questions will be asked again"
        self.output.lines(
            f"{folder}: {damage.replies:,} whole replies, damaged rows: {damage.damaged}",
            damage.unreadable
            and f"undamaged rows that this version cannot read, kept: {damage.unreadable}",
            damage.damaged and (dropped if self.drop_damaged else DAMAGED),
        )
        code = 1 if damage.damaged > damage.dropped else 0
        return self.output.result(
            "cache verify", {"folder": str(folder), **damage.model_dump()}, exit_code=code
        )


@command("cache repair")
class RepairCommand(CacheOptions):
    """Save the replies of a damaged cache: what can be read goes into a new database, and the old
    one is kept beside it. No other command may use the cache meanwhile."""

    def do(self) -> int:
        from claimeval.store.salvage import salvage

        folder = existing_cache(self.cache)
        problem = _damage_of(folder)
        if problem is None:
            self.output.line(f"{folder}: the database is not damaged")
            record = {"folder": str(folder), "damaged": False, "replies": None, "lost": 0}
            return self.output.result("cache repair", {**record, "kept": None})
        saved = salvage(folder)
        aside = folder / f"damaged-{time.strftime('%Y%m%d-%H%M%S')}"
        replies = replace_database(folder, saved.replies, aside)
        self.output.lines(
            f"{folder}: {replies:,} replies saved; their questions will not be asked again",
            saved.damaged and f"damaged replies, which are left out: {saved.damaged:,}",
            f"the damaged database is kept in {aside}; what its unreadable pages held is not known",
        )
        return self.output.result(
            "cache repair",
            {
                "folder": str(folder),
                "damaged": True,
                "replies": replies,
                "lost": saved.damaged,
                "kept": str(aside),
            },
        )


def _damage_of(folder: Path) -> str | None:
    """Return what is wrong with the database of a reply cache; None if nothing is."""
    try:
        with Store(folder) as store:
            damaged = verify(store, drop_damaged=False).damaged
            store.check()
    except StoreError as error:
        return str(error)
    # A file that lacks its last byte is whole for SQLite, and a reply in it is not.
    return f"damaged rows: {damaged}" if damaged else None


@command("cache export")
class ExportCommand(CacheOptions):
    """Write replies as JSON Lines: cache key, origin, checksum, and the body as it was received.

    The file holds the replies in plain text, never an API key. Exits with 1 if replies had to be
    left out.

    Example: claimeval cache export replies.jsonl, or claimeval cache export - --run runs/a | gzip >
    replies.jsonl.gz
    """

    file: Annotated[Path, "FILE"]
    """File to write; `-` for standard output."""
    run: Path | None = None
    """Only the replies behind the results of this run.  [default: all in the cache]"""

    def do(self) -> int:
        from claimeval.runs.directory import replacing

        to_stdout = str(self.file) == "-"
        keys = None
        if not to_stdout and self.file.exists():
            raise UsageError(f"{self.file} exists already; give the name of a new file")
        if self.run:
            keys = _keys_of(self.run)
        with Store(existing_cache(self.cache)) as store:
            if to_stdout:
                written = transfer.write(store, binary_output(), keys)
                flush()
            else:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                # Replies quote the data, which may not be for everybody on the machine.
                with replacing(self.file, durable=True, mode=0o600) as out:
                    written = transfer.write(store, out.buffer, keys)
        if written.left_out:
            what = (
                "replies of the run that the cache lacks"
                if self.run
                else "damaged or unreadable rows left out"
            )
            say(f"{what}: {written.left_out}")
        code = 1 if written.left_out else 0
        if to_stdout or not self.output.json:
            say(f"replies exported: {written.replies}")
            return code
        return self.output.result(
            "cache export", {"file": str(self.file), **written._asdict()}, exit_code=code
        )


@command("cache import")
class ImportCommand(CacheOptions):
    """Add the replies of an exported file to the cache, each line checked. Importing it again
    changes nothing.

    If the cache has another reply to the same question, it keeps that one; conflicts are counted
    and the exit code is 1.

    Example: claimeval cache import shared.jsonl --cache other/cache
    """

    file: Annotated[Path, "FILE"]
    """A file that `claimeval cache export` wrote; `-` for standard input."""

    def do(self) -> int:
        is_stdin = str(self.file) == "-"
        name = "standard input" if is_stdin else str(self.file)
        if not is_stdin and not self.file.exists():
            raise missing_file(self.file)
        with (
            click.open_file(str(self.file), "rb") as lines,
            Store(cache_folder(self.cache)) as store,
        ):
            imported = transfer.read(lines, name, store)
        self.output.line(f"replies added: {imported.added}, already present: {imported.present}")
        if imported.conflicts:
            keys = ", ".join(key[:12] for key in imported.conflicting)
            more = ", ..." if imported.conflicts > len(imported.conflicting) else ""
            say(
                f"questions with another reply in the cache, which was kept: {imported.conflicts}"
                f" ({keys}{more})"
            )
        code = 1 if imported.conflicts else 0
        return self.output.result(
            "cache import", {"file": str(self.file), **imported._asdict()}, exit_code=code
        )


group("cache", "Inspect, verify, repair, clear, export and import cached replies.")


@command("batch list")
class BatchListCommand(CacheOptions):
    """List the batches that a reply cache waits for. With --refresh, ask the providers for their
    status.

    Example: claimeval batch list --refresh
    """

    names: Annotated[tuple[str, ...], "NAME"] = ()
    """Names as listed, or their beginnings.  [default: all]"""
    every: Annotated[bool, "--all"] = False
    """Also list batches that have ended."""
    refresh: bool = False
    """Ask the providers for the status, without reading results."""

    def do(self) -> int:
        if self.names and not self.refresh:
            raise UsageError("NAME chooses the batches that --refresh asks for; add --refresh")

        async def look(admin: BatchAdmin) -> list[Batch]:
            return (
                await admin.status(self.names) if self.refresh else admin.batches(closed=self.every)
            )

        return _print(self.output, "batch list", _with_admin(self.cache, look))


@command("batch collect")
class CollectCommand(CacheOptions):
    """Read the results of all batches that have ended into the reply cache. Exits with 3 while
    others are pending.

    Providers keep results for a limited time (Mistral: 24 hours), so collect them soon; the run
    itself can resume later.
    """

    def do(self) -> int:
        collected = _with_admin(self.cache, lambda admin: admin.collect(()))
        received = collected.received
        waiting = collected.open
        cost = f", ${dollars(received.paid)}" if received.paid and received.priced else ""
        failures = received.failures
        more = f"{sum(batch.requests for batch in waiting):,} requests"
        stopped = (
            f"still open: {len(waiting)} with {more}; `claimeval batch list --refresh`"
            if waiting
            else None
        )
        self.output.lines(
            f"replies stored: {received.replies:,}{cost}",
            received.repeated and f"replies that were already present: {received.repeated:,}",
            *(
                f"requests that came back without a reply ({reason}): {count:,}"
                for reason, count in failures.items()
            ),
            received.unexpected_keys
            and f"unreadable lines and lines of other requests: {received.unexpected_keys:,}",
            received.fatal and f"no further request can succeed: {received.fatal.message}",
            stopped and f"{stopped} shows them",
        )
        record = {
            "replies": received.replies,
            "repeated": received.repeated,
            "failures": dict(failures),
            "unknown_lines": received.unexpected_keys,
            "fatal": received.fatal and received.fatal.message,
            "cost": received.paid if received.priced else None,
            "open": list(map(_row, waiting)),
        }
        return self.output.result(
            "batch collect", record, exit_code=3 if waiting else 0, stopped=stopped
        )


@command("batch cancel")
class CancelCommand(CacheOptions):
    """Cancel batches at the provider. A run sends their requests again.

    Requests that have been processed by then are charged; `claimeval batch collect` still reads
    their results.

    Example: claimeval batch cancel 3f2a9c01
    """

    names: Annotated[tuple[str, ...], "NAME"] = ()
    """Names as `claimeval batch list` shows them, or their beginnings."""
    every: Annotated[bool, "--all"] = False
    """Cancel all pending batches."""
    forget: bool = False
    """Drop a lost batch here without asking the provider. Its cost stays unknown."""

    def do(self) -> int:
        if bool(self.names) == self.every:
            raise UsageError(
                "say which batches to cancel: their names as `claimeval batch list` shows them, or"
                " --all"
            )

        ended = _with_admin(
            self.cache,
            lambda admin: admin.forget(self.names) if self.forget else admin.cancel(self.names),
        )
        return _print(self.output, "batch cancel", ended)


def _with_admin(folder: Path | None, action: Callable[[BatchAdmin], Awaitable[R]]) -> R:
    """Return the result of the action. Raises StoppedEarly for an error of a provider."""
    from claimeval.execution.batch.polling import open_batch_admin
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
    rows = []
    for batch in batches:
        minutes = int((time.time() - batch.at) / 60)
        age = f"{minutes // 60}:{minutes % 60:02d}"
        state = batch.status if batch.state == "submitted" else batch.state
        state += f": {batch.problem}" if batch.problem else ""
        rows.append(
            (
                batch.name[:8],
                batch.judge.model,
                batch.requests,
                batch.answered,
                batch.failed,
                age,
                state,
            )
        )
    if rows:
        head = (
            *columns("batch", "model", numbers=("requests", "answered", "failed", "age")),
            Column("state"),
        )
        output.draw([table("batches", head, rows)])
    else:
        output.line("No open batches.")
    return output.result(name, {"batches": list(map(_row, batches))})


def _row(batch: Batch) -> dict[str, object]:
    head = {"batch": batch.name, "model": batch.judge.model, "endpoint": batch.judge.endpoint}
    counts = {
        name: getattr(batch, name)
        for name in ("state", "id", "status", "requests", "answered", "failed")
    }
    return head | counts | {"bytes": batch.size, "since": batch.at, "problem": batch.problem}


group(
    "batch",
    "List, collect and cancel the batches of `--batch`. Not needed to resume a run: run its command"
    " again.",
)
