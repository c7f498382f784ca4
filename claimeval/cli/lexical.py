"""`claimeval lexical`: word-overlap metrics, alone or beside the scores of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from claimeval.cli import options as o


def lexical(
    data: o.DataOrRun,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics", "-m", help="Comma-separated; all that the data can feed unless said.", show_default=False
        ),
    ] = None,
    normalisation: Annotated[
        str, typer.Option(help="`squad` (English: case, punctuation and articles off) or `multilingual`.")
    ] = "squad",
    out: o.Out = None,
    field: o.Field = None,
    cluster: o.Cluster = None,
    limit: o.Limit = None,
    json: o.Json = False,
) -> None:
    """Compare the words of answers with contexts and reference answers: deterministic, free, no judge.

    With a run directory instead of a file the scores are added to that run, so that one table shows them beside the
    judges' scores. With `--out RUN` the scores of a file go into that run directory.

    Example: `claimeval lexical runs/a --metrics k_precision,token_recall`
    """
    from claimeval.cli.word_scores import score_and_tell

    score_and_tell(
        data,
        metrics=tuple(metrics.split(",")) if metrics is not None else None,
        normalisation=normalisation,
        out=out,
        fields=tuple(field or ()),
        limit=limit,
        cluster=cluster,
        as_json=json,
    )
