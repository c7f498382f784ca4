"""Options for asking in batches, which every command that asks judges has."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

Batch = Annotated[
    bool,
    typer.Option(
        "--batch",
        help="Ask through the provider's batch files: half the price, an answer within 24 hours. Local judges run here "
        "all the same. Stop the command at any time; the same command goes on, and `claimeval batch status` says how "
        "far the batches are.",
    ),
]
BatchRetries = Annotated[
    Literal["batch", "online"],
    typer.Option(
        help="With --batch: how questions are put again that a judge left open or that came back without a reply; "
        "`online` is dearer and spares another round."
    ),
]
Detach = Annotated[
    bool,
    typer.Option("--detach", help="With --batch: submit, read what has come, and exit with 3 instead of waiting."),
]
Online = Annotated[
    list[str] | None,
    typer.Option("--online", help="With --batch: ask this judge online all the same. Repeat.", show_default=False),
]


def remind(cache: Path) -> None:
    """Warn on standard error if batches are pending while a run is about to ask online."""
    from claimeval.execution.batch.state import pending_requests

    if count := pending_requests(cache):
        print(
            f"claimeval: {count:,} requests are pending in batches. This run will send and pay for the ones it needs "
            "again. Add --batch to wait for them instead (see `claimeval batch list`).",
            file=sys.stderr,
        )
