"""What `rejudge` prints: every source judged again, and what was asked and taken over."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer

from claimeval.api.claims import Prepared, rejudge
from claimeval.cli.running import Gates, exit_code, watch
from claimeval.cli.table import print_run
from claimeval.runs.rejudge.known import ReuseCounts
from claimeval.runs.rejudge.prepare import Results
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions


def rejudge_and_print(
    sources: tuple[Path, ...],
    out: Path,
    settings: Mapping[str, Any],
    options: RunOptions,
    gates: Gates,
    *,
    json_output: bool,
) -> None:
    """Judge every source again and exit with the gravest code; `settings` are further arguments of `rejudge`."""
    folders = [out if len(sources) == 1 else out / source.stem for source in sources]
    if len(set(folders)) < len(folders):
        raise UsageError("two sources have the same name and would be written over each other; judge them one by one")
    told: list[dict[str, Any]] = []
    codes = [
        _one(source, folder, settings, options, gates, None if json_output else print, told)
        for source, folder in zip(sources, folders, strict=True)
    ]
    if json_output:
        print(json.dumps(told[0] if len(told) == 1 else told, indent=1, ensure_ascii=False))
    raise typer.Exit(max(codes))


def _one(
    source: Path,
    folder: Path,
    settings: Mapping[str, Any],
    options: RunOptions,
    gates: Gates,
    show: Callable[[str], None] | None,
    told: list[dict[str, Any]],
) -> int:
    jobs: list[Prepared] = []

    def inspect(prepared: Prepared) -> None:
        gates.check(prepared)
        jobs.append(prepared)

    finished = watch(lambda options: rejudge(source, out=folder, options=options, **settings), options, inspect)
    run, progress, items = finished.run, finished.progress, jobs[0].items
    saved = items.saved if isinstance(items, Results) else ReuseCounts()
    made = {
        "made": progress.calls,
        "from_store": progress.cached,
        "spared_claims": saved.extractions,
        "spared_verdicts": saved.assessments,
    }
    told.append({"run": str(folder), "calls_of_this_command": made, **run.summary.model_dump()})
    if show:
        print_run(folder, run.manifest, run.summary, jobs[0].total or run.summary.samples)
        show(
            f"Calls: {progress.calls} made, {progress.cached} answered by the store, {saved.calls} spared (the run had "
            f"the claims of {saved.extractions} texts and {saved.assessments} lists of verdicts)"
        )
        if run.complete:
            show(f"Report: {folder / 'report.html'}")
    return exit_code(finished, gates)
