"""`claimeval queries`: a test set of questions that the documents of a corpus answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from claimeval.cli import options as o
from claimeval.cli.judging_options import asking
from claimeval.cli.option_groups import takes
from claimeval.types.options import RunOptions

Plan = Annotated[bool, typer.Option("--plan", help="Only say what would be asked and paid; make no call.")]


@takes(options=asking)
def queries(
    corpus: Annotated[Path, typer.Argument(help="Documents: .jsonl with id and text, .tsv, or a BEIR folder.")],
    judge: Annotated[
        str,
        typer.Option("--judge", "-j", help="Who writes the questions: `openai:gpt-5-mini`, ... or a YAML file."),
    ],
    checker: Annotated[
        str | None,
        typer.Option(help="Who looks at them a second time; the writer unless said.", show_default=False),
    ] = None,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="How many documents to draw and write about.")] = 50,
    per_document: Annotated[int, typer.Option(min=1, max=10, help="Questions about each, at most.")] = 1,
    seed: Annotated[int, typer.Option(help="Another one draws other documents.")] = 0,
    write_prompt: Annotated[str, typer.Option(help="Prompt for writing: `plain`, or a .j2 file.")] = "plain",
    check_prompt: Annotated[str, typer.Option(help="Prompt for the second look: `plain`, or a .j2 file.")] = "plain",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The folder to write. Default: `runs/CORPUS-queries`.", show_default=False),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a test set of other settings in the same --out.")
    ] = False,
    plan: Plan = False,
    *,
    options: RunOptions,
    json: o.Json = False,
) -> None:
    """Have a judge write questions that documents answer, sort out the useless ones, and keep the rest as a test set.

    A question is kept when its passage stands in the document, it does not point at the document, copy it or give its
    answer away, is not nearly another one, and a second look finds it answerable, self-contained and realistic. Comes
    out: `queries.jsonl`, which every command reads, with answers, passages and where each question comes from;
    `qrels.txt` with the source document of each; and all that was rejected, with the reason.

    Example: `claimeval queries docs.jsonl --judge openai:gpt-5-mini --n 200 --plan`
    """
    from claimeval.cli.query_making import make_and_tell
    from claimeval.evaluation.queries_run import writing_plan

    make_and_tell(
        corpus,
        writing_plan(judge, checker, write_prompt=write_prompt, check_prompt=check_prompt, per_document=per_document),
        count=n,
        seed=seed,
        out=out,
        only_plan=plan,
        options=options,
        overwrite=overwrite,
        as_json=json,
    )
