"""What `claimeval retrieval` does: match contexts with references, score the ranks, say what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from claimeval.cli.beside_a_run import Place, tell
from claimeval.cli.judged_rows import gate, judged_rows
from claimeval.cli.quoting import quote_and_tell
from claimeval.evaluation import matching
from claimeval.evaluation import retrieval as retrieved
from claimeval.evaluation.relevance_run import prospects
from claimeval.runs import scores
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions


class Judged(NamedTuple):
    """Who compares texts, and how."""

    judges: tuple[str, ...]
    prompt: str
    per_call: int
    panel: PanelOptions


def score_and_tell(
    data: Path,
    match: retrieved.Match,
    fold: str | None,
    measures: str,
    *,
    out: Path | None,
    fields: tuple[str, ...],
    limit: int | None,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Matches by ids or texts; nobody is asked."""
    asked = retrieved.asked(measures)
    place = Place(data, "retrieval", out=out, fields=fields, limit=limit, cluster=cluster)
    rows = retrieved.score(place.samples(), asked, match, fold=fold)
    settings = {"match": match, **({"fold": fold} if fold else {})}
    summary = scores.write(place.folder, "retrieval", place.clustered(rows), settings, place.cluster)
    tell(summary, place.folder, {}, as_json=as_json)


def match_by_judges(
    data: Path,
    judged: Judged,
    options: RunOptions,
    measures: str,
    *,
    only_plan: bool,
    max_missing: float,
    out: Path | None,
    fields: tuple[str, ...],
    limit: int | None,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Matches by texts and, where these leave it open, by judges."""
    asked = retrieved.asked(measures)
    plan = matching.matching_plan(judged.judges, judged.prompt, per_call=judged.per_call, panel=judged.panel.given)
    place = Place(data, "retrieval", out=out, fields=fields, limit=limit, cluster=cluster)
    if not any(sample.reference_contexts for sample in place.samples()):
        raise UsageError("no sample has reference_contexts to compare the contexts with")
    if only_plan:
        items = matching.every_candidate(place.samples(), plan.per_call)
        quote_and_tell(prospects(items, plan), options, as_json=as_json)
        return
    rows = judged_rows(place, matching.matching_work(plan, asked), options)
    summary = scores.write(place.folder, "retrieval", rows, matching.settings(plan), place.cluster)
    tell(summary, place.folder, {"pairs_judged": matching.judged_pairs(rows)}, as_json=as_json)
    gate(rows, max_missing)
