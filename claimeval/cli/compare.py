"""`claimeval compare`: what changed between two runs, and whether it is more than noise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from claimeval.cli import options as o


def compare(
    run_a: Annotated[Path, typer.Argument(help="The run to compare with, a directory.")],
    run_b: Annotated[Path, typer.Argument(help="The other run over the same samples. Differences are B minus A.")],
    flips: Annotated[int, typer.Option(min=0, help="How many flipped claims to print.")] = 10,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Also write the page of both runs to this file.", show_default=False),
    ] = None,
    cluster: o.Cluster = None,
    json: o.Json = False,
) -> None:
    """Compare two runs sample by sample: paired differences, intervals, tests, and the claims that flipped.

    Samples are aligned by id, and those that only one run has are counted. Two systems, two judges, two prompts:
    whatever was scored with the same metrics can be compared, also directories that `claimeval retrieval`, `lexical` or
    `relevance` wrote. Nothing is asked and nothing is paid.

    Example: `claimeval compare runs/before runs/after --out comparison.html`
    """
    from claimeval.cli.comparing import compare_and_tell

    compare_and_tell(run_a, run_b, shown=flips, out=out, cluster=cluster, as_json=json)
