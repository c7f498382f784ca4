"""`claimeval plan`: what a run will ask and cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from claimeval.cli import batch_options as b
from claimeval.cli import options as o
from claimeval.cli import panel_options as p
from claimeval.cli.option_groups import takes
from claimeval.types.options import PanelOptions, RunOptions


@takes(panel=p.panel)
def plan(
    data: o.Data,
    judge: o.JudgesOrNone = None,
    metrics: o.Metrics = None,
    extractor: o.Extractor = None,
    extract_prompt: o.ExtractPrompt = "atomic",
    assess_prompt: o.AssessPrompt = None,
    references: o.References = None,
    *,
    panel: PanelOptions,
    per_document: p.PerDocument = None,
    shuffle_contexts: p.ShuffleContexts = None,
    own_claims: p.OwnClaims = False,
    cache: o.Cache = None,
    prices: o.Prices = None,
    limit: o.Limit = None,
    field: o.Field = None,
    batch: b.Batch = False,
    online: b.Online = None,
    json: o.Json = False,
    # What follows is accepted so that `plan` can stand in place of `score` in any command; it changes no question.
    out: Annotated[Path | None, typer.Option("--out", "-o", hidden=True)] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", hidden=True)] = False,
    concurrency: Annotated[int | None, typer.Option(hidden=True)] = None,
    rpm: Annotated[int | None, typer.Option("--rpm", hidden=True)] = None,
    tpm: Annotated[int | None, typer.Option("--tpm", hidden=True)] = None,
    timeout: Annotated[float | None, typer.Option(hidden=True)] = None,
    max_calls: Annotated[int | None, typer.Option(hidden=True)] = None,
    max_cost: Annotated[float | None, typer.Option(hidden=True)] = None,
    batch_retries: Annotated[str | None, typer.Option(hidden=True)] = None,
    detach: Annotated[bool, typer.Option("--detach", hidden=True)] = False,
    fail_under: Annotated[list[str] | None, typer.Option(hidden=True)] = None,
    fail_over: Annotated[list[str] | None, typer.Option(hidden=True)] = None,
    max_missing: Annotated[float | None, typer.Option(hidden=True)] = None,
    offline: Annotated[bool, typer.Option("--offline", hidden=True)] = False,
    cluster: Annotated[str | None, typer.Option("--cluster", hidden=True)] = None,
) -> None:
    """Say what `score` with the same options would ask and cost, without asking anything.

    Counts the calls of each step and judge minus what the store holds, and estimates tokens and money as a range. Calls
    are exact where the claims are stored; a price that nobody stated is said to be unknown. Put `plan` in place of
    `score` in the command that you are about to run. With --batch it goes by the price of batches.

    The YAML file of an experiment in place of DATA plans all its arms; what two arms share is counted once.

    Example: `claimeval plan answers.jsonl --judge openai:gpt-5-mini --metrics faithfulness,correctness`
    """
    from claimeval.cli.forecast_table import forecast_and_tell, forecast_experiment_and_tell
    from claimeval.evaluation.claims import ClaimsOptions
    from claimeval.types.errors import UsageError

    options = RunOptions(cache=cache, prices=prices, batch=batch, online=tuple(online or ()))
    if data.suffix in (".yaml", ".yml"):
        forecast_experiment_and_tell(data, options, as_json=json)
        return
    if not judge:
        raise UsageError("plan needs a --judge, or the YAML file of an experiment in place of the data")
    forecast_and_tell(
        data,
        ClaimsOptions(
            judges=tuple(judge),
            metrics=tuple(metrics.split(",")) if metrics is not None else None,
            extractor=extractor,
            extract_prompt=extract_prompt,
            assess_prompt=assess_prompt,
            per_document=per_document,
            shuffle_contexts=shuffle_contexts,
            extract_per_judge=own_claims or None,
            panel=panel,
        ),
        references=references,
        options=options,
        limit=limit,
        fields=tuple(field or ()),
        as_json=json,
    )
