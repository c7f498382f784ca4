"""`claimeval serve` and `merge`: a shared server for the calls of many machines, and merging of shards."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.printer import Output, notes_on_stderr
from claimeval.cli.shared import Gated, Gates, Judges
from claimeval.cli.terminal import ProgressLine
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress

if TYPE_CHECKING:
    from claimeval.distributed.asker import Status
    from claimeval.distributed.server import Address

LISTED = {
    "serve": ("Upkeep", 4, "Ask for many machines: one cache, one pace, one budget."),
    "merge": ("Upkeep", 5, "Merge the shards of a run."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Ask judges for many machines: with one reply cache, one pace, one budget, and the API keys in one place.

    Commands with judges use it with --via HOST:PORT. Press Ctrl-C to stop; replies in flight are still stored.

    It speaks plain HTTP: for TLS put a proxy in front. From other machines it needs a token in $CLAIMEVAL_TOKEN.

    Example: claimeval serve -j openai:gpt-5-mini --cache replies --max-cost 50
    """

    judges: Judges
    """Judge that clients may use: PROVIDER:MODEL[@URL] or judge file; repeatable."""
    listen: str = "127.0.0.1:8812"
    """HOST:PORT that clients use."""
    names: Annotated[tuple[str, ...], Names("--name")] = ()
    """Another host name that clients use. Repeatable."""
    budget: str = "serve"
    """Name of the budget for the limits; a new name starts at 0."""
    options: Annotated[
        RunOptions,
        Heading(
            "Cost and speed",
            "max_cost", "max_calls", "prices", "cache", "concurrency", "rpm", "tpm", "timeout",
        ),
    ] = RunOptions()  # fmt: skip
    output: Output = Output()


def do_serve(args: ServeOptions) -> int:
    """Serve until a signal, and return the exit code."""
    try:
        from claimeval.distributed import server
    except ImportError as error:
        raise UsageError(f"`claimeval serve` needs {error.name}: pip install 'claimeval[serve]'") from error
    address = server.Address.parse(args.listen, args.names)
    token = server.read_token(address)
    status = asyncio.run(_serve(args, address, token))
    args.output.line(f"Calls: {status.calls} sent, {status.cached} answered without one")
    if status.spending:
        args.output.line(f"Budget {args.budget}: {status.spending}")
    return args.output.result("serve", status._asdict(), stopped=status.ended)


async def _serve(args: ServeOptions, address: Address, token: str | None) -> Status:
    from claimeval.distributed.asker import SharedAsker
    from claimeval.distributed.server import AskerServer
    from claimeval.providers.specs import parse_panel

    panel, quiet = parse_panel(args.judges), args.output.quiet
    with notes_on_stderr(quiet=quiet), ProgressLine(None if quiet else sys.stderr) as line:
        shown = 0

        def show(progress: Progress) -> None:
            nonlocal shown
            if shown != (shown := progress.done + progress.calls) or progress.in_flight:
                line.show(progress)

        progress = Progress(None, show, unit="answers")
        async with SharedAsker(panel.members, args.options, progress, f"serve {args.budget}") as asker:
            server = AskerServer(asker, token, address)
            host = f"[{address.host}]" if ":" in address.host else address.host
            args.output.line(f"Serving {', '.join(asker.judges)}; clients connect with --via {host}:{server.port}")
            if token is None:
                args.output.note("anyone on this machine can ask; set $CLAIMEVAL_TOKEN to require a token")
            elif not address.is_loopback:
                args.output.note("connections are plain HTTP and expose the token; use a TLS proxy or a tunnel")
            args.output.line("Press Ctrl-C to stop")
            await server.serve_asker()
            return asker.status


serve = command("serve", ServeOptions, do_serve)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOptions:
    """Merge the shards of a run. The files are then those of a run by one process.

    No judge is asked. Votes that need the whole run are counted now.

    Example: claimeval merge runs/a
    """

    run: Annotated[Path, Argument("RUN")]
    """The run directory: the --out of the shards."""
    compress: bool = False
    """Write `results.jsonl.gz` instead of `results.jsonl`."""
    output: Output = Output()
    gates: Gated = Gates()


def do_merge(args: MergeOptions) -> int:
    """Merge the shards, print the run, and return the exit code."""
    from claimeval.cli.running import print_merged

    return print_merged(args.run, args.gates, args.output, compress=args.compress)


merge = command("merge", MergeOptions, do_merge)
