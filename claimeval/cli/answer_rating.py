"""What `claimeval answers` does: have whole answers rated, keep the scores, hold them against the claims of the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from claimeval.cli.answer_tables import print_baselines, print_family, print_members
from claimeval.cli.beside_a_run import Place, tell
from claimeval.cli.judged_rows import gate, judged_rows
from claimeval.cli.quoting import quote_and_tell
from claimeval.evaluation.baseline import compare_ratings
from claimeval.evaluation.raters import kin, members
from claimeval.evaluation.ratings import askable, prospects, rating_plan, rating_work, tallies
from claimeval.runs import scores
from claimeval.runs.directory import RESULTS, read_results
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions


def rate_and_tell(
    data: Path,
    judges: Sequence[str],
    ask: Sequence[str] | None,
    options: RunOptions,
    *,
    prompts: Sequence[str],
    panel: PanelOptions,
    out: Path | None,
    only_plan: bool,
    limit: int | None,
    cluster: str | None,
    fields: tuple[str, ...],
    max_missing: float,
    as_json: bool,
) -> None:
    """Rates all answers; scores are written when every sample has its turn."""
    named = _named(prompts)
    if ask is not None:
        rating_plan(judges, ask, prompts=named, settings=panel.given)
    place = Place(data, "answers", out=out, fields=fields, limit=limit, cluster=cluster)
    plan = rating_plan(judges, askable(place.samples(), ask), prompts=named, settings=panel.given)
    if only_plan:
        quote_and_tell(prospects(place.samples(), plan), options, as_json=as_json)
        return
    family = kin(place.samples(), plan)
    rows = judged_rows(place, rating_work(plan), options)
    summary = scores.write(place.folder, "answers", rows, plan.settings, place.cluster)
    run = place.folder if (place.folder / RESULTS).exists() else None
    held = compare_ratings(read_results(run), rows) if run else ()
    counts, judged = tallies(rows, plan), members(rows, plan)
    if as_json:
        remarks: dict[str, JsonValue] = {
            "ratings": {name: {**row} for name, row in counts.items()},
            "members": {name: one.model_dump() for name, one in judged.items()},
            "same_family": [one.model_dump() for one in family],
            "against_claims": [one.model_dump() for one in held],
        }
        tell(summary, place.folder, remarks, as_json=True)
    else:
        said = {name: ", ".join(f"{n} {word}" for word, n in row.items()) for name, row in counts.items()}
        tell(summary, place.folder, said, as_json=False)
        print_members(judged)
        print_family(family, plan)
        print_baselines(held)
    gate(rows, max_missing)


def _named(pairs: Sequence[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        question, equals, path = pair.partition("=")
        if not equals or not path:
            raise UsageError(f"prompt {pair!r} is not of the form QUESTION=FILE, as in faithful=my/strict.j2")
        found[question] = path
    return found
