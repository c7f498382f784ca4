"""What `claimeval answerability` does: have the answers sorted, keep the scores, say what came of it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import typer

from claimeval import side_scores
from claimeval.answerability import METRICS, answerability_plan, outcomes, run
from claimeval.cli.beside_a_run import Place, tell
from claimeval.cli.endings import ending_code
from claimeval.cli.progress_line import ProgressLine
from claimeval.evaluation import Anew
from claimeval.execution.batch import Batching
from claimeval.execution.limits import Limits
from claimeval.execution.progress import Progress
from claimeval.store import default_folder


def sort_and_tell(
    data: Path,
    judges: tuple[str, ...],
    prompt: str,
    *,
    out: Path | None,
    cache: Path | None,
    limits: Limits,
    batching: Batching | None,
    limit: int | None,
    fields: tuple[str, ...],
    offline: bool,
    as_json: bool,
) -> None:
    """Sorts all answers; scores are written when every sample has its turn."""
    plan = answerability_plan(judges, prompt)
    place = Place(data, "answerability", out=out, fields=fields, limit=limit)
    total = sum(1 for _ in place.samples())
    with ProgressLine(sys.stderr) as line:
        rows, ending = asyncio.run(
            run(
                Anew(place.samples),
                plan,
                cache=cache or default_folder(),
                limits=limits,
                progress=Progress(total, line.show),
                offline=offline,
                batching=batching,
            )
        )
    if code := ending_code(ending):
        raise typer.Exit(code)
    settings = {
        "judges": ", ".join(judge.name for judge in plan.judges),
        "prompt": f"{plan.prompt.name} {plan.prompt.digest[:12]}",
        "vote": plan.panel.vote,
    }
    units = dict.fromkeys(METRICS, "share")
    summary = side_scores.write(place.folder, "answerability", rows, units, settings)
    tell(summary, place.folder, dict(outcomes(place.samples(), rows)), as_json=as_json)
