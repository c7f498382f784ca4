"""`claimeval answerability`: does the system answer what it can, and decline what it cannot?"""

from __future__ import annotations

from typing import Annotated

import typer

from claimeval.cli import batch_options as b
from claimeval.cli import options as o
from claimeval.cli import panel_options as p


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
    tie: p.Tie = None,
    quorum: p.Quorum = None,
    replicates: p.Replicates = None,
    on_same_family: p.OnSameFamily = None,
    leave_own_family_out: p.LeaveOwnFamilyOut = False,
    families: p.Families = None,
    out: o.Out = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be asked and paid; make no call.")] = False,
    cache: o.Cache = None,
    concurrency: o.Concurrency = None,
    rpm: o.Rpm = None,
    tpm: o.Tpm = None,
    timeout: o.Timeout = 300.0,
    max_calls: o.MaxCalls = None,
    max_cost: o.MaxCost = None,
    prices: o.Prices = None,
    batch: b.Batch = False,
    batch_retries: b.BatchRetries = "batch",
    detach: b.Detach = False,
    by_hand: b.ByHand = False,
    online: b.Online = None,
    limit: o.Limit = None,
    field: o.Field = None,
    max_missing: Annotated[
        float, typer.Option(min=0, max=1, help="Exit with 1 when a larger share of scores was lost to failures.")
    ] = 0.01,
    offline: o.Offline = False,
    json: o.Json = False,
) -> None:
    """Have judges tell refusals from answers, and hold them against `is_answerable`.

    `answered` is the share of samples whose answer gives at least a part of what was asked for; `right_to_answer` the
    share that answers an answerable question or declines an unanswerable one. Of a run directory, the scores stand
    beside the judges' other scores.

    Example: `claimeval answerability answers.jsonl --judge openai:gpt-5-mini`
    """
    from claimeval.cli.answer_sorting import sort_and_tell
    from claimeval.cli.judged_rows import Way
    from claimeval.execution.limits import Limits

    limits = Limits(concurrency=concurrency, rpm=rpm, tpm=tpm, timeout=timeout, max_calls=max_calls, max_cost=max_cost)
    sort_and_tell(
        data,
        tuple(judge),
        prompt,
        p.said(vote, tie, quorum, replicates, None, on_same_family, leave_own_family_out, families),
        Way(cache, limits, b.said(batch, batch_retries, detach, by_hand, online), offline),
        out=out,
        only_plan=plan,
        limit=limit,
        fields=tuple(field or ()),
        max_missing=max_missing,
        as_json=json,
    )
