"""What the commands share that have every sample judged for scores beside the claims."""

from __future__ import annotations

import asyncio
import sys

import typer

from claimeval.cli.beside_a_run import Place
from claimeval.cli.endings import ending_code, say
from claimeval.cli.progress_line import ProgressLine
from claimeval.evaluation.job import Reiterable
from claimeval.evaluation.run import Work, lost, score_each
from claimeval.metrics.scoring import SampleScores
from claimeval.statistics.formatting import percent
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress


def judged_rows(place: Place, work: Work, options: RunOptions) -> list[SampleScores]:
    """A row a sample; ends the command with its code where the work did not reach the last one."""
    total = sum(1 for _ in place.samples())
    with ProgressLine(sys.stderr) as line:
        rows, ending = asyncio.run(
            score_each(
                Reiterable(place.samples),
                work,
                options=options,
                progress=Progress(total, line.show),
            )
        )
    if code := ending_code(ending):
        raise typer.Exit(code)
    return list(place.clustered(rows))


def gate(rows: list[SampleScores], max_missing: float) -> None:
    """Ends the command with code 1 where a larger share of the scores was lost to failures of judges."""
    share = lost(rows)
    if share > max_missing:
        say(f"gate failed: {percent(share)} of the scores were lost to failures, over --max-missing")
        raise typer.Exit(1)
