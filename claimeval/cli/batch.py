"""`claimeval batch`: see to the batches that runs have submitted, without a run."""

from __future__ import annotations

from typing import Annotated

import typer

from claimeval.cli import options as o

batch = typer.Typer(
    name="batch",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="See to the batches of `claimeval score ... --batch`: which there are, how far they are, what came of them. "
    "The same `score` command goes on by itself; these commands are for the time in between.",
)
Names = Annotated[
    list[str] | None,
    typer.Argument(help="Names as `claimeval batch list` shows them, or their beginnings; all unless said."),
]


@batch.command("list")
def list_(
    every: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
    cache: o.Cache = None,
    json: o.Json = False,
) -> None:
    """List the batches that a store waits for, as they were last seen. Makes no call.

    Example: `claimeval batch list --all`
    """
    from claimeval.cli.batch_tables import tell_list

    tell_list(cache, every=every, as_json=json)


@batch.command()
def status(names: Names = None, cache: o.Cache = None, json: o.Json = False) -> None:
    """Ask the providers how far the batches are. Reads no results.

    Example: `claimeval batch status`
    """
    from claimeval.cli.batch_tables import tell_status

    tell_status(cache, tuple(names or ()), as_json=json)


@batch.command()
def collect(cache: o.Cache = None, json: o.Json = False) -> None:
    """Read the results of all batches that have ended into the store. Exits with 3 while others are under way.

    Providers keep results for a limited time (Mistral: 24 hours), so collect them soon; the run itself can go on later.

    Example: `claimeval batch collect`
    """
    from claimeval.cli.batch_tables import collect_and_tell

    collect_and_tell(cache, as_json=json)


@batch.command()
def cancel(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="All that are open.")] = False,
    forget: Annotated[
        bool,
        typer.Option(
            "--forget",
            help="Do not ask the provider, only drop the batch here: for one that is lost or never ends. What it still "
            "costs is not known.",
        ),
    ] = False,
    cache: o.Cache = None,
    json: o.Json = False,
) -> None:
    """Give batches up: the provider runs no more of them, and a run asks their requests again.

    What has run by then is charged; `claimeval batch collect` still reads it.

    Example: `claimeval batch cancel 3f2a9c01`
    """
    from claimeval.cli.batch_tables import cancel_and_tell

    cancel_and_tell(cache, tuple(names or ()), every=every, forget=forget, as_json=json)
