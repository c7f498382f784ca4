"""What `claimeval answerability` does: have the answers sorted, keep the scores, say what came of it."""

from __future__ import annotations

from pathlib import Path

from claimeval import side_scores
from claimeval.answerability import METRICS, answerability_plan, answerability_work, outcomes
from claimeval.answers.rating import prospects
from claimeval.cli.beside_a_run import Place, tell
from claimeval.cli.judged_rows import Way, judged_rows
from claimeval.cli.quoting import quote_and_tell


def sort_and_tell(
    data: Path,
    judges: tuple[str, ...],
    prompt: str,
    way: Way,
    *,
    out: Path | None,
    only_plan: bool,
    limit: int | None,
    fields: tuple[str, ...],
    as_json: bool,
) -> None:
    """Sorts all answers; scores are written when every sample has its turn."""
    plan = answerability_plan(judges, prompt)
    place = Place(data, "answerability", out=out, fields=fields, limit=limit)
    if only_plan:
        quote_and_tell(prospects(place.samples(), plan), way.cache, as_json=as_json)
        return
    rows = judged_rows(place, answerability_work(plan), way)
    units = dict.fromkeys(METRICS, "share")
    summary = side_scores.write(place.folder, "answerability", rows, units, plan.settings)
    tell(summary, place.folder, dict(outcomes(place.samples(), rows)), as_json=as_json)
