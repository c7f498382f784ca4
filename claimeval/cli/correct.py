"""`claimeval correct`: a run's score corrected by human labels of some of its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from claimeval.cli import options as o


def correct(
    run: Annotated[Path, typer.Argument(help="A run directory, as `claimeval score --out` writes it.")],
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Human labels of claims or of whole samples (.csv, .jsonl, ...). Default: those given with `claimeval "
            "annotate`, else those that the run was imported with.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Which metric; the run's first unless said.", show_default=False)
    ] = None,
    method: Annotated[
        Literal["auto", "ppi", "stratified", "active", "rogan-gladen"],
        typer.Option(
            help="`auto` fits how the claims were drawn (PPI++ for a random sample); `rogan-gladen` is for labels from "
            "elsewhere."
        ),
    ] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of the resampled interval of the judge's own score.")] = 0,
    cluster: o.Cluster = None,
    json: o.Json = False,
) -> None:
    """Correct a score by a few human labels: the judge's number, the corrected one and the people's own, side by side.

    The judge is measured against people on the labelled claims, and its number on all claims is shifted by what it gets
    wrong. What is corrected is the micro score: supported claims over judged claims, and intervals take all
    samples of a question together.

    Example: `claimeval annotate runs/a --sample 150`, then `claimeval correct runs/a`
    """
    from claimeval.cli.corrections import correct_and_tell

    correct_and_tell(run, labels, metric, method, seed, cluster, as_json=json)
