"""`claimeval experiment`: prompt variants, judges and panels over the same samples, compared in pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from claimeval.cli import batch_options as b
from claimeval.cli import options as o


def experiment(
    file: Annotated[Path, typer.Argument(help="The experiment: a YAML file with data, judges and a grid or arms.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The folder. Default: `experiments/FILE`.", show_default=False),
    ] = None,
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
    select: Annotated[
        bool,
        typer.Option(
            "--select",
            help="Choose the arm that agrees best with the human labels on one half of the questions, and report it on "
            "the other.",
        ),
    ] = False,
    offline: o.Offline = False,
    json: o.Json = False,
) -> None:
    """Judge the same samples in several ways and say which differences are more than noise.

    Questions that two arms share are asked once: an arm that changes only the assessment prompt pays no extraction.
    Stop it at any time; the same command goes on and pays nothing twice.

    A FILE may be: `{data: answers.jsonl, judges: openai:gpt-5-mini, grid: {assess_prompt: [three_way, binary]}}`
    """
    from claimeval.cli.experimenting import experiment_and_tell
    from claimeval.execution.limits import set_limits

    limits = set_limits(
        concurrency=concurrency, rpm=rpm, tpm=tpm, timeout=timeout, max_calls=max_calls, max_cost=max_cost
    )
    batching = b.said(batch, batch_retries, detach, by_hand, online)
    experiment_and_tell(file, out, cache, limits, batching, select=select, offline=offline, as_json=json)
