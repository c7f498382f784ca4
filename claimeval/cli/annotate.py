"""`claimeval annotate`: label some claims of a run by hand, to know how far its judge can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def annotate(
    run: Annotated[Path, typer.Argument(help="A run directory, as `claimeval score --out` writes it.")],
    sample: Annotated[int, typer.Option("--sample", "-n", min=1, help="How many claims to draw.")] = 100,
    metric: Annotated[
        str | None, typer.Option(help="Claims of which metric; the run's first unless said.", show_default=False)
    ] = None,
    design: Annotated[
        Literal["uniform", "stratified", "uncertainty"],
        typer.Option(
            help="How to draw: all alike, enough of each of the judge's labels, or likelier where it is unsure."
        ),
    ] = "uniform",
    seed: Annotated[int, typer.Option(help="Another seed draws other claims.")] = 0,
    annotator: Annotated[str | None, typer.Option(help="Your name, kept with each label.", show_default=False)] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            help="Write the drawn claims to this CSV file for labelling elsewhere, and end.", show_default=False
        ),
    ] = None,
) -> None:
    """Draw claims of a run at random, label them in the terminal: y supported, c contradicted, n not found, ? unsure.

    You see the question, the claim and the evidence, and nothing of what the judge said. Every answer is saved at
    once; stop with q and go on later with the same command. `claimeval correct RUN` then says what labels change.
    """
    from claimeval.cli.labelling import label_and_tell

    label_and_tell(run, sample, metric, design, seed, annotator, export)
