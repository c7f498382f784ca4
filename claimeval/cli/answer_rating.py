"""What `claimeval answers` does: have whole answers rated, keep the scores, hold them against the claims of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from claimeval import side_scores
from claimeval.answers.baseline import Baseline, Share, baselines, words
from claimeval.answers.rating import askable, prospects, rating_plan, rating_work, tallies
from claimeval.cli.beside_a_run import Place, tell
from claimeval.cli.judged_rows import Way, gate, judged_rows
from claimeval.cli.quoting import quote_and_tell
from claimeval.errors import UsageError
from claimeval.run import RESULTS, read_results

SHOWN = 10
"""Samples where whole answer and claims part that are named in the table; `--json` names all."""


def rate_and_tell(
    data: Path,
    judges: Sequence[str],
    ask: Sequence[str] | None,
    way: Way,
    *,
    prompts: Sequence[str],
    panel: Mapping[str, Any],
    out: Path | None,
    only_plan: bool,
    limit: int | None,
    fields: tuple[str, ...],
    max_missing: float,
    as_json: bool,
) -> None:
    """Rates all answers; scores are written when every sample has its turn."""
    named = _named(prompts)
    if ask is not None:
        rating_plan(judges, ask, prompts=named, settings=panel)
    place = Place(data, "answers", out=out, fields=fields, limit=limit)
    plan = rating_plan(judges, askable(place.samples(), ask), prompts=named, settings=panel)
    if only_plan:
        quote_and_tell(prospects(place.samples(), plan), way.cache, as_json=as_json)
        return
    rows = judged_rows(place, rating_work(plan), way)
    units = dict.fromkeys(plan.metrics, "share")
    summary = side_scores.write(place.folder, "answers", rows, units, plan.settings)
    run = place.folder if (place.folder / RESULTS).exists() else None
    held = baselines(read_results(run), rows) if run else ()
    counts = tallies(rows, plan)
    if as_json:
        ratings: JsonValue = {name: {**row} for name, row in counts.items()}
        against: JsonValue = [one.model_dump() for one in held]
        tell(summary, place.folder, {"ratings": ratings, "against_claims": against}, as_json=True)
    else:
        said = {name: ", ".join(f"{n} {word}" for word, n in row.items()) for name, row in counts.items()}
        tell(summary, place.folder, said, as_json=False)
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


def print_baselines(held: Sequence[Baseline]) -> None:
    """Whole-answer ratings and claims side by side, and where they part."""
    if not held:
        return
    console = Console(highlight=False, emoji=False)
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("whole answer against claims", no_wrap=True)
    for name in ("share", "95 % interval", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in held:
        rows = {
            f"{one.rating}: yes": one.whole,
            f"{one.metric}: every claim supported": one.claims,
            "  agreement": one.agreement,
            "  kappa": one.kappa,
        }
        for name, share in rows.items():
            table.add_row(escape(name), *_cells(share))
    console.print(table)
    for one in held:
        shown = ", ".join(words(apart) for apart in one.apart[:SHOWN])
        rest = f", and {len(one.apart) - SHOWN} more" if len(one.apart) > SHOWN else ""
        text = f"{one.rating} and {one.metric} part in {len(one.apart)} of {one.agreement.n}"
        console.print(f" {text}{': ' if shown else ''}{shown}{rest}", style="dim", markup=False, soft_wrap=True)


def _cells(share: Share) -> tuple[str, str, str]:
    value = "-" if share.value is None else f"{share.value:.3f}"
    ends = "" if share.low is None or share.high is None else f"{share.low:.2f} to {share.high:.2f}"
    return value, ends, str(share.n)
