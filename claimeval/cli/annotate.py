"""`claimeval annotate`: label some claims of a run by hand, or mark what was retrieved as good or not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from claimeval.cli import options as o

DOCUMENTS = "Documents"


def annotate(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|DATA",
            help="A run directory, as `claimeval score --out` writes it. With --documents also samples (.jsonl, .json, "
            ".csv, .parquet), or queries where there is a --corpus.",
        ),
    ],
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            "--n",
            "-n",
            min=1,
            help="How many claims to draw, 100 unless said; with --documents how many questions, 50 unless said.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Claims of which metric; the run's first unless said.", show_default=False)
    ] = None,
    design: Annotated[
        Literal["uniform", "stratified", "uncertainty"],
        typer.Option(
            help="How to draw: all alike, enough of each of the judge's labels, or likelier where it is unsure."
        ),
    ] = "uniform",
    seed: Annotated[int, typer.Option(help="Another seed draws other claims or questions.")] = 0,
    annotator: Annotated[str | None, typer.Option(help="Your name, kept with each label.", show_default=False)] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            help="Write the drawn claims to this CSV file for labelling elsewhere, and end.", show_default=False
        ),
    ] = None,
    documents: Annotated[
        bool,
        typer.Option(
            "--documents",
            help="Mark what was retrieved instead: is each of the first documents good or not? Comes out: LGTM@10 and "
            "qrels.",
            rich_help_panel=DOCUMENTS,
        ),
    ] = False,
    first: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="So many documents of each question, 10 unless said.",
            rich_help_panel=DOCUMENTS,
            show_default=False,
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="The documents of a collection: .jsonl with id and text, or .tsv.",
            rich_help_panel=DOCUMENTS,
            show_default=False,
        ),
    ] = None,
    trec_run: Annotated[
        Path | None,
        typer.Option("--run", help="The TREC run to be marked.", rich_help_panel=DOCUMENTS, show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The qrels to write. Default: `RUN/annotation/documents.qrels`, or `runs/DATA-documents.qrels`.",
            rich_help_panel=DOCUMENTS,
            show_default=False,
        ),
    ] = None,
    figure: Annotated[
        bool,
        typer.Option(
            "--figure", help="Only print LGTM@10 of the marks there are; ask nothing.", rich_help_panel=DOCUMENTS
        ),
    ] = False,
    field: o.Field = None,
    json: o.Json = False,
) -> None:
    """Draw claims of a run at random, label them in the terminal: y supported, c contradicted, n not found, ? unsure.

    You see the question, the claim and the evidence, and nothing of what the judge said. Every answer is saved at
    once; stop with q and go on later with the same command. `claimeval correct RUN` then says what labels change.

    With --documents you mark the first documents that were retrieved: y good, n not, ? unsure, b back, m all of a long
    text. The share of good ones is LGTM@10, and the marks are qrels, which `claimeval rank` reads.

    Example: `claimeval annotate answers.jsonl --documents --n 30 --out marks.qrels`

    Example: `claimeval annotate queries.tsv --documents --corpus docs.jsonl --run bm25.run`
    """
    from claimeval.types.errors import UsageError

    if documents:
        from claimeval.cli.marking import Asked, mark_and_tell

        if metric or design != "uniform" or annotator or export:
            raise UsageError(
                "--metric, --design, --annotator and --export are for claims; with --documents give every person a "
                "file of their own with --out"
            )
        mark_and_tell(Asked(run, corpus, trec_run, first, sample, seed, out, tuple(field or ()), figure, json))
        return
    from claimeval.cli.labelling import label_and_tell

    if first or corpus or trec_run or out or figure or field or json:
        raise UsageError("--first, --corpus, --run, --out, --figure, --field and --json go with --documents")
    label_and_tell(run, sample or 100, metric, design, seed, annotator, export)
