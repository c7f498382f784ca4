"""`claimeval answers`: whole answers rated by judges."""

from __future__ import annotations

from typing import Annotated

import typer

from claimeval.cli import options as o
from claimeval.cli import panel_options as p
from claimeval.cli.judging_options import asking
from claimeval.cli.option_groups import takes
from claimeval.types.options import PanelOptions, RunOptions

Raters = Annotated[
    list[str],
    typer.Option(
        "--judge",
        "-j",
        help="Who rates: `openai:MODEL`, `mistral:MODEL`, `openai:MODEL@URL` for any OpenAI-compatible server, or a "
        "YAML file. Repeat for a panel.",
    ),
]


@takes(options=asking, rating=p.rating)
def answers(
    data: o.DataOrRun,
    judge: Raters,
    ask: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated: `relevance` (does it answer the question: fully, partly, no; and is it "
            "noncommittal), `faithful` (yes or no against the contexts), `correct` (yes or no against the reference "
            "answers). Default: those that the data can feed.",
            show_default=False,
        ),
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            help="QUESTION=FILE: a .j2 file of your own in place of the shipped prompt, as in "
            "`faithful=my/strict.j2`. Repeat.",
            show_default=False,
        ),
    ] = None,
    vote: Annotated[
        str | None,
        typer.Option(
            help="How several ratings become one: `majority` (unless said, for yes and no), `median` (unless said, for "
            "relevance; of two in the middle the lower), `mean`, `unanimous`, `any`, `weighted`.",
            rich_help_panel=p.PANEL,
            show_default=False,
        ),
    ] = None,
    *,
    rating: PanelOptions,
    out: o.Out = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be asked and paid; make no call.")] = False,
    options: RunOptions,
    limit: o.Limit = None,
    field: o.Field = None,
    cluster: o.Cluster = None,
    max_missing: Annotated[
        float, typer.Option(min=0, max=1, help="Exit with 1 when a larger share of ratings was lost to failures.")
    ] = 0.01,
    json: o.Json = False,
) -> None:
    """Have judges rate whole answers: relevant to the question? faithful to the contexts? correct?

    One call a question, answer and judge, where claims take one for each handful: cheaper, and coarser. It is the
    baseline that a score by claims should be compared with; of a run directory the ratings stand beside the scores by
    claims, and the command says how far the two agree and where they part. A rating that failed is a hole with its
    reason, never a 0.

    Example: `claimeval answers answers.jsonl --judge openai:gpt-5-mini --ask relevance`

    Example: `claimeval answers runs/a --judge openai:gpt-5-mini --judge mistral:mistral-large-latest`
    """
    from claimeval.cli.answer_rating import rate_and_tell

    rate_and_tell(
        data,
        judge,
        tuple(name.strip() for name in ask.split(",")) if ask is not None else None,
        options,
        prompts=tuple(prompt or ()),
        panel=p.voting(rating, vote),
        out=out,
        only_plan=plan,
        limit=limit,
        cluster=cluster,
        fields=tuple(field or ()),
        max_missing=max_missing,
        as_json=json,
    )
