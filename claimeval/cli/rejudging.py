"""What `rejudge` does: prepare each source, ask what is new or only count again, and say what was made and saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from claimeval.api.claims import recount
from claimeval.cli.running import Settings, carry_out_into, exit_code, gates_of
from claimeval.cli.table import print_run
from claimeval.data.labels import read_labels
from claimeval.data.reading import parse_fields
from claimeval.evaluation.run import Outline, identity
from claimeval.evaluation.summary.run import Tallies
from claimeval.report import forms
from claimeval.runs.directory import RunWriter
from claimeval.runs.rejudge.prepare import PreparedRejudge, RejudgeOptions, prepare
from claimeval.runs.rejudge.sources import open_source
from claimeval.runs.revote import settle
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions


def rejudge_and_tell(sources: tuple[Path, ...], wanted: RejudgeOptions, settings: Settings) -> None:
    """Judges every source and exits with the gravest code."""
    assert settings.out is not None, "the command asks for --out"
    folders = [settings.out if len(sources) == 1 else settings.out / source.stem for source in sources]
    if len(set(folders)) < len(folders):
        raise UsageError("two sources have the same name and would be written over each other; judge them one by one")
    told: list[dict[str, Any]] = []
    codes = [_one(source, folder, wanted, settings, told) for source, folder in zip(sources, folders, strict=True)]
    if settings.json:
        print(json.dumps(told[0] if len(told) == 1 else told, indent=1, ensure_ascii=False))
    raise typer.Exit(max(codes))


def _one(path: Path, folder: Path, wanted: RejudgeOptions, settings: Settings, told: list[dict[str, Any]]) -> int:
    source = open_source(path, fields=parse_fields(list(settings.fields)))
    if folder.resolve() == path.resolve():
        raise UsageError(f"{folder} is the run that is judged again; give another --out")
    prepared = prepare(source, wanted)
    gates = gates_of(settings, prepared.plan)
    calls = cached = 0
    if prepared.asks:
        plan = prepared.plan
        run = identity(plan, (result.sample for result in source.results())) if settings.options.capped else ""
        outline, progress = carry_out_into(
            folder, prepared.manifest, plan, prepared.results, prepared.samples, settings, run
        )
        calls, cached = progress.calls, progress.cached
    else:
        outline = count_again(folder, prepared, settings.panel, overwrite=settings.overwrite)
    report = forms.write(folder, "html") if outline.summary.complete else None
    saved = prepared.results.saved
    made = {
        "made": calls,
        "from_store": cached,
        "spared_claims": saved.extractions,
        "spared_verdicts": saved.assessments,
    }
    told.append({"run": str(folder), "calls_of_this_command": made, **outline.summary.model_dump()})
    if not settings.json:
        print_run(folder, prepared.manifest, outline.summary, prepared.samples or outline.summary.samples)
        print(
            f"Calls: {calls} made, {cached} answered by the store, {saved.calls} spared (the run had the claims of "
            f"{saved.extractions} texts and {saved.assessments} lists of verdicts)"
        )
        if report:
            print(f"Report: {report}")
    return exit_code(outline, gates, settings.max_missing)


def count_again(folder: Path, prepared: PreparedRejudge, panel: PanelOptions, *, overwrite: bool) -> Outline:
    """Counts the votes of a source about which nobody is asked anything, and writes the run directory."""
    record = prepared.manifest
    with RunWriter(folder, record, overwrite=overwrite) as writer:
        tallies = Tallies.of(record)
        for result in recount(prepared):
            writer.add(result)
            tallies.add(result)
        summary = tallies.summary()
        if record.panel.needs_whole_run:
            given = read_labels(Path(panel.labels)) if panel.labels else None
            summary = settle(writer, record, prepared.plan.families, given, complete=True).summary
        writer.finish(summary)
    return Outline(summary=summary, interrupted=False, stopped={}, over_budget=None)
