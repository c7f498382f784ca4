"""`claimeval answerability`: does the system answer what it can, and decline what it cannot?"""

from __future__ import annotations

from typing import Annotated

import typer

from claimeval.cli import options as o
from claimeval.cli import panel_options as p
from claimeval.cli.judging_options import asking
from claimeval.cli.option_groups import takes
from claimeval.types.options import PanelOptions, RunOptions


@takes(options=asking, rating=p.rating)
def answerability(
    data: o.DataOrRun,
    judge: o.Judges,
    prompt: Annotated[str, typer.Option(help="`plain`, or a .j2 file.")] = "plain",
    vote: Annotated[
        str | None,
        typer.Option(
            help="How several opinions on whether it answers become one: `majority` (unless said), `unanimous`, `any`.",
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
        float, typer.Option(min=0, max=1, help="Exit with 1 when a larger share of scores was lost to failures.")
    ] = 0.01,
    json: o.Json = False,
) -> None:
    """Have judges tell refusals from answers, and hold them against `is_answerable`.

    `answered` is the share of samples whose answer gives at least a part of what was asked for; `abstention_accuracy`
    the share that answers an answerable question or declines an unanswerable one. If FILE is a run directory, the
    scores are added to its other scores.

    Example: `claimeval answerability answers.jsonl --judge openai:gpt-5-mini`
    """
    from claimeval.cli.answer_sorting import sort_and_tell

    sort_and_tell(
        data,
        tuple(judge),
        prompt,
        p.voting(rating, vote),
        options,
        out=out,
        only_plan=plan,
        limit=limit,
        cluster=cluster,
        fields=tuple(field or ()),
        max_missing=max_missing,
        as_json=json,
    )
