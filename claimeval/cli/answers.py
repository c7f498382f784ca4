"""`claimeval answers`: whole answers rated by judges."""

from __future__ import annotations

from typing import Annotated

import typer

from claimeval.cli import batch_options as b
from claimeval.cli import options as o
from claimeval.cli import panel_options as p

Raters = Annotated[
    list[str],
    typer.Option(
        "--judge",
        "-j",
        help="Who rates: `openai:MODEL`, `mistral:MODEL`, `openai:MODEL@URL` for any OpenAI-compatible server, or a "
        "YAML file. Repeat for a panel.",
    ),
]


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
            "relevance; of two in the middle the lower), `mean`, `unanimous`, `any`.",
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
        float, typer.Option(min=0, max=1, help="Exit with 1 when a larger share of ratings was lost to failures.")
    ] = 0.01,
    offline: o.Offline = False,
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
    from claimeval.cli.judged_rows import Way
    from claimeval.execution.limits import Limits

    limits = Limits(concurrency=concurrency, rpm=rpm, tpm=tpm, timeout=timeout, max_calls=max_calls, max_cost=max_cost)
    rate_and_tell(
        data,
        judge,
        tuple(name.strip() for name in ask.split(",")) if ask is not None else None,
        Way(cache, limits, b.said(batch, batch_retries, detach, by_hand, online), offline),
        prompts=tuple(prompt or ()),
        panel=p.said(vote, tie, quorum, replicates, None, on_same_family, leave_own_family_out, families),
        out=out,
        only_plan=plan,
        limit=limit,
        fields=tuple(field or ()),
        max_missing=max_missing,
        as_json=json,
    )
