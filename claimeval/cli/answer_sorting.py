"""What `claimeval answerability` does: have the answers sorted, keep the scores, say what came of it."""

from __future__ import annotations

from pathlib import Path

from claimeval.cli.answer_tables import print_family
from claimeval.cli.beside_a_run import Place, tell
from claimeval.cli.judged_rows import gate, judged_rows
from claimeval.cli.quoting import quote_and_tell
from claimeval.evaluation.raters import kin
from claimeval.evaluation.ratings import answerability_plan, answerability_work, outcomes, prospects
from claimeval.runs import scores
from claimeval.types.options import PanelOptions, RunOptions


def sort_and_tell(
    data: Path,
    judges: tuple[str, ...],
    prompt: str,
    panel: PanelOptions,
    options: RunOptions,
    *,
    out: Path | None,
    only_plan: bool,
    limit: int | None,
    cluster: str | None,
    fields: tuple[str, ...],
    max_missing: float,
    as_json: bool,
) -> None:
    """Sorts all answers; scores are written when every sample has its turn."""
    plan = answerability_plan(judges, prompt, panel.given)
    place = Place(data, "answerability", out=out, fields=fields, limit=limit, cluster=cluster)
    if only_plan:
        quote_and_tell(prospects(place.samples(), plan), options, as_json=as_json)
        return
    family = kin(place.samples(), plan)
    rows = judged_rows(place, answerability_work(plan), options)
    summary = scores.write(place.folder, "answerability", rows, plan.settings, place.cluster)
    tell(summary, place.folder, dict(outcomes(place.samples(), rows)), as_json=as_json)
    if not as_json:
        print_family(family, plan)
    gate(rows, max_missing)
