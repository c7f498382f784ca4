"""`claimeval merge`: merging of the shards of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from claimeval.cli.command import Argument, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Gated, Gates

LISTED = {"merge": ("Upkeep", 4, "Merge the shards of a run.")}


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
