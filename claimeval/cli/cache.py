"""`claimeval cache`: look after the store of replies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from claimeval.cli import options as o

cache = typer.Typer(
    name="cache",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Look after the store of replies: what is in it, whether it is whole, and how it gets to another machine.",
)


@cache.command()
def stats(cache: o.Cache = None, json: o.Json = False) -> None:
    """Say what the store holds: replies and bytes by model and prompt, and from when.

    Example: `claimeval cache stats`
    """
    from claimeval.cli.cache_tables import tell_stats

    tell_stats(cache, as_json=json)


@cache.command()
def verify(
    cache: o.Cache = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Drop the damaged rows; a run asks their questions again.")
    ] = False,
    json: o.Json = False,
) -> None:
    """Check the checksum of every reply. Exits with 1 when rows are damaged and were not dropped.

    Example: `claimeval cache verify --repair`
    """
    from claimeval.cli.cache_tables import verify_and_tell

    verify_and_tell(cache, repair=repair, as_json=json)


@cache.command()
def export(
    file: Annotated[Path, typer.Argument(help="The file to write, `-` for standard output.")],
    cache: o.Cache = None,
    json: o.Json = False,
) -> None:
    """Write all replies as JSON Lines: key, origin, checksum, and the body as it was received.

    The file holds the judges' words in plain text, never a key. Exits with 1 when damaged rows had to be left out.

    Example: `claimeval cache export replies.jsonl`, or `claimeval cache export - | gzip > replies.jsonl.gz`
    """
    from claimeval.cli.cache_tables import export_and_tell

    export_and_tell(file, cache, as_json=json)


@cache.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A file that `claimeval cache export` wrote, `-` for standard input.")],
    cache: o.Cache = None,
    json: o.Json = False,
) -> None:
    """Add the replies of an exported file to the store, each line checked. Importing it again changes nothing.

    Where the store has another reply to the same question it keeps its own; the conflicts are counted and the exit
    code is 1.

    Example: `claimeval cache import replies.jsonl --cache other/store`
    """
    from claimeval.cli.cache_tables import import_and_tell

    import_and_tell(file, cache, as_json=json)
