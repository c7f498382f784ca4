"""What `rejudge` does: prepare each source, ask what is new or only count again, and say what was made and saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from claimeval.cli.running import Settings, carry_out_into, exit_code, gates_of
from claimeval.cli.table import print_run
from claimeval.data.reading import parse_fields
from claimeval.report import forms
from claimeval.runs.directory import RunWriter
from claimeval.runs.jobs import recount_into
from claimeval.runs.rejudge.prepare import prepare
from claimeval.runs.rejudge.sources import open_source
from claimeval.types.errors import UsageError


def rejudge_and_tell(sources: tuple[Path, ...], settings: Settings, *, keep_verdicts: bool) -> None:
    """Judges every source and exits with the gravest code."""
    assert settings.out is not None, "the command asks for --out"
    folders = [settings.out if len(sources) == 1 else settings.out / source.stem for source in sources]
    if len(set(folders)) < len(folders):
        raise UsageError("two sources have the same name and would be written over each other; judge them one by one")
    told: list[dict[str, Any]] = []
    codes = [
        _one(source, folder, settings, told, keep_verdicts) for source, folder in zip(sources, folders, strict=True)
    ]
    if settings.json:
        print(json.dumps(told[0] if len(told) == 1 else told, indent=1, ensure_ascii=False))
    raise typer.Exit(max(codes))


def _one(path: Path, folder: Path, settings: Settings, told: list[dict[str, Any]], keep_verdicts: bool) -> int:
    source = open_source(path, fields=parse_fields(list(settings.fields)))
    if folder.resolve() == path.resolve():
        raise UsageError(f"{folder} is the run that is judged again; give another --out")
    prepared = prepare(source, settings.claims, keep_verdicts=keep_verdicts, offline=settings.options.offline)
    gates = gates_of(settings, prepared.plan)
    calls = cached = 0
    writer = RunWriter(folder, prepared.manifest, overwrite=settings.overwrite)
    if prepared.asks:
        outcome, progress = carry_out_into(writer, prepared.plan, prepared.results, prepared.samples, settings)
        calls, cached = progress.calls, progress.cached
    else:
        outcome = recount_into(writer, prepared, settings.claims.panel)
    report = forms.write(folder, "html") if outcome.summary.complete else None
    saved = prepared.results.saved
    made = {
        "made": calls,
        "from_store": cached,
        "spared_claims": saved.extractions,
        "spared_verdicts": saved.assessments,
    }
    told.append({"run": str(folder), "calls_of_this_command": made, **outcome.summary.model_dump()})
    if not settings.json:
        print_run(folder, prepared.manifest, outcome.summary, prepared.samples or outcome.summary.samples)
        print(
            f"Calls: {calls} made, {cached} answered by the store, {saved.calls} spared (the run had the claims of "
            f"{saved.extractions} texts and {saved.assessments} lists of verdicts)"
        )
        if report:
            print(f"Report: {report}")
    return exit_code(outcome, gates, settings.max_missing)
