"""`claimeval track`: a metric over runs of the same test set in time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from claimeval.cli import options as o


def track(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Run directories over the same samples, the oldest first; also those of `claimeval retrieval`, "
            "`lexical` and the like, which hold scores without claims."
        ),
    ],
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            "-m",
            help="Comma-separated, lexical and retrieval scores included. Default: all metrics that every run has.",
            show_default=False,
        ),
    ] = None,
    moved: Annotated[int, typer.Option(min=0, max=5, help="How many of the samples that changed most to list.")] = 3,
    cluster: o.Cluster = None,
    json: o.Json = False,
) -> None:
    """Compare a series of runs, oldest first: means, paired tests between neighbors, and the samples that changed most.

    Samples are aligned by id. The p-values are Holm's over all steps and metrics of the table, so that a long history
    does not find a change by chance. Other changes between two runs (judges, prompts) are listed.

    Example: `claimeval track runs/2026-09 runs/2026-10 runs/2026-11 -m faithfulness`
    """
    from claimeval.cli.tracks import track_and_tell

    track_and_tell(runs, tuple(metrics.split(",")) if metrics else (), moved=moved, cluster=cluster, as_json=json)
