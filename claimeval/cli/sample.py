"""`claimeval sample`: a test set drawn from a log of real questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from claimeval.cli import options as o


def sample(
    log: Annotated[
        Path,
        typer.Argument(
            help="Questions as they were asked: .jsonl, .json, .csv or .parquet; `-` is JSON Lines on standard input."
        ),
    ],
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="How many rows to draw.")] = 200,
    by: Annotated[
        str | None,
        typer.Option(
            help="A field whose values get their share each, but --at-least so many, as in `generator` or "
            "`metadata.topic`.",
            show_default=False,
        ),
    ] = None,
    at_least: Annotated[int, typer.Option(min=0, help="With --by: rows of each value, where there are so many.")] = 15,
    seed: Annotated[int, typer.Option(help="Another one draws other rows; the same one draws the same again.")] = 0,
    text: Annotated[
        str | None,
        typer.Option(help="The field with the question, where it has none of the usual names.", show_default=False),
    ] = None,
    keep_copies: Annotated[
        bool,
        typer.Option(
            "--keep-copies",
            help="Draw rows and not questions: what is asked often comes often. Otherwise equal questions are one, and "
            "of near copies one stays.",
        ),
    ] = False,
    near: Annotated[
        float,
        typer.Option(min=1, max=100, help="From which likeness of words on, of 100, two questions are near copies."),
    ] = 90.0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The .jsonl file to write; standard output unless said.", show_default=False),
    ] = None,
    json: o.Json = False,
) -> None:
    """Draw a test set from real traffic, in one pass over a log of any size, seeded.

    Each row keeps its fields and gets `drawn`: the file and row it comes from, its stratum, and the probability with
    which a question like it is drawn, for estimates about the whole log.

    Example: `claimeval sample log.jsonl --n 200 --by metadata.topic -o test.jsonl`

    Example: `zcat logs/*.jsonl.gz | claimeval sample - --n 200 -o test.jsonl`
    """
    from claimeval.cli.drawing import draw_and_tell

    draw_and_tell(
        log,
        n,
        by=by,
        at_least=at_least,
        seed=seed,
        text=text,
        keep_copies=keep_copies,
        near=near,
        out=out,
        as_json=json,
    )
