"""`claimeval cache`: inspect, verify, export and import cached replies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

from claimeval.cli.command import Argument, command, group
from claimeval.cli.printer import say
from claimeval.cli.shared import CacheOptions

if TYPE_CHECKING:
    from claimeval.store import transfer
    from claimeval.store.stats import PromptUsage, StoreStats
    from claimeval.store.store import Store

LISTED = ("Upkeep", 1, "Inspect, verify, export and import cached replies.")
DAMAGED = "run `claimeval cache verify --drop-damaged` to drop them; their questions will be asked again"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOptions(CacheOptions):
    """Show what the reply cache holds: replies and bytes by model and prompt, and from when."""


def stats(given: StatsOptions) -> int:
    """Print what the cache holds, and return the exit code."""
    from itertools import groupby

    from claimeval.judging import prompts
    from claimeval.statistics.formatting import byte_size
    from claimeval.store.stats import collect_stats

    with _open(given.cache) as store:
        found = collect_stats(store)
        folder = store.folder
    output, on_disk = given.output, sum(path.stat().st_size for path in folder.glob("cache.db*"))
    output.line()
    output.line(f": {_summary(found)}, {byte_size(on_disk)} on disk", bold=str(folder))
    names = {prompts.load(step, name).digest: name for step in prompts.VARIABLES for name in prompts.shipped(step)}
    for (model, endpoint), groups in groupby(found.groups, key=lambda group: (group.model, group.endpoint)):
        output.line()
        output.line(model + (f" at {endpoint}" if endpoint else ""))
        output.table(("  prompt", "replies", "size", "first", "last"), [_cells(one, names) for one in groups])
    if found.damaged or found.unreadable:
        output.line()
        output.line(f"damaged rows: {found.damaged}, unreadable: {found.unreadable}; {DAMAGED}", style="red")
    return output.result("cache stats", {"folder": str(folder), "on_disk": on_disk, **found.model_dump()})


def _summary(found: StoreStats) -> str:
    from claimeval.statistics.formatting import byte_size, day

    if not found.groups:
        return "no replies"
    first, last = min(one.first for one in found.groups), max(one.last for one in found.groups)
    return f"{found.replies:,} replies, {byte_size(found.bytes)}, {day(first)} to {day(last)}"


def _cells(one: PromptUsage, names: dict[str, str]) -> tuple[str, ...]:
    from claimeval.statistics.formatting import byte_size, day

    name = names.get(one.prompt) or one.prompt[:12] or "unknown"
    return f"  {name}", f"{one.replies:,}", byte_size(one.bytes), day(one.first), day(one.last)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions(CacheOptions):
    """Check the checksum of every reply. Exits with 1 if rows are damaged and were not dropped."""

    drop_damaged: bool = False
    """Drop the damaged rows; a run asks their questions again."""


def verify(given: VerifyOptions) -> int:
    """Check every reply, print the counts, and return the exit code."""
    from claimeval.store.stats import verify as verify_store

    with _open(given.cache) as store:
        found = verify_store(store, drop_damaged=given.drop_damaged)
        folder = store.folder
    output = given.output
    output.line(f"{folder}: {found.replies:,} whole replies, damaged rows: {found.damaged}")
    if found.unreadable:
        output.line(f"whole rows in which this version finds no reply, kept: {found.unreadable}")
    if given.drop_damaged and found.damaged:
        output.line(f"damaged rows dropped: {found.dropped}; their questions will be asked again")
    elif found.damaged:
        output.line(DAMAGED)
    code = 1 if found.damaged > found.dropped else 0
    return output.result("cache verify", {"folder": str(folder), **found.model_dump()}, exit_code=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions(CacheOptions):
    """Write replies as JSON Lines: key, origin, checksum, and the body as it was received.

    The file holds the judges' words in plain text, never a key. Exits with 1 if replies had to be left out.

    Example: claimeval cache export replies.jsonl, or claimeval cache export - --run runs/a | gzip > replies.jsonl.gz
    """

    file: Annotated[Path, Argument("FILE")]
    """File to write; `-` for standard output."""
    run: Path | None = None
    """Only the replies that the results of this run rest on. Default: all in the cache."""


def export(given: ExportOptions) -> int:
    """Write the replies, and return the exit code."""
    from claimeval.store import transfer

    to_stdout = str(given.file) == "-"
    keys = None if given.run is None else _keys(given.run)
    with _open(given.cache) as store:
        if to_stdout:
            done = transfer.write(store, sys.stdout.buffer, keys)
            sys.stdout.buffer.flush()
        else:
            done = _export(store, given.file, keys)
    if done.left_out:
        what = "damaged or unreadable rows left out" if keys is None else "replies of the run that the cache lacks"
        say(f"{what}: {done.left_out}")
    code = 1 if done.left_out else 0
    if to_stdout or not given.output.json:
        say(f"replies exported: {done.replies}")
        return code
    return given.output.result("cache export", {"file": str(given.file), **done._asdict()}, exit_code=code)


def _keys(run: Path) -> Iterator[str]:
    """Yield the keys of the calls of a run that brought a reply."""
    from claimeval.runs.directory import read_results

    return (call.key for result in read_results(run) for call in result.calls if call.reply is not None)


def _export(store: Store, file: Path, keys: Iterable[str] | None) -> transfer.ExportCounts:
    """Write a file that is complete or missing, and readable by its owner alone."""
    from claimeval.store import transfer
    from claimeval.types.errors import UsageError

    if file.exists():
        raise UsageError(f"{file} exists already; give the name of a new file")
    part = file.with_name(file.name + ".part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as out:
            done = transfer.write(store, out, keys)
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error
    return done


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions(CacheOptions):
    """Add the replies of an exported file to the cache, each line checked. Importing it again changes nothing.

    If the cache has another reply to the same question, it keeps that one; conflicts are counted and the exit code is
    1.

    Example: claimeval cache import replies.jsonl --cache other/cache
    """

    file: Annotated[Path, Argument("FILE")]
    """A file that `claimeval cache export` wrote; `-` for standard input."""


def import_(given: ImportOptions) -> int:
    """Add the replies, and return the exit code."""
    from claimeval.store import transfer
    from claimeval.store.store import Store, cache_folder

    with _reading(given.file) as lines, Store(cache_folder(given.cache)) as store:
        done = transfer.read(lines, "standard input" if str(given.file) == "-" else str(given.file), store)
    given.output.line(f"replies added: {done.added}, there already: {done.present}")
    if done.conflicts:
        keys = ", ".join(key[:12] for key in done.conflicting)
        more = ", ..." if done.conflicts > len(done.conflicting) else ""
        say(f"questions with another reply in the cache, which was kept: {done.conflicts} ({keys}{more})")
    code = 1 if done.conflicts else 0
    return given.output.result("cache import", {"file": str(given.file), **done._asdict()}, exit_code=code)


def _reading(file: Path) -> BinaryIO | nullcontext[BinaryIO]:
    from claimeval.types.errors import UsageError

    if str(file) == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return file.open("rb")
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from error


def _open(folder: Path | None) -> Store:
    """Open a cache that exists already."""
    from claimeval.store.store import Store, existing_cache

    return Store(existing_cache(folder))


cache = group(
    "cache",
    "Inspect, verify, export and import cached replies.",
    command("stats", StatsOptions, stats),
    command("verify", VerifyOptions, verify),
    command("export", ExportOptions, export),
    command("import", ImportOptions, import_),
)
