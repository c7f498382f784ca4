"""`claimeval rejudge`: judging a run again, or counting its votes again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from claimeval.cli.command import Argument, Heading, Names, command
from claimeval.cli.front import Shown
from claimeval.cli.shared import Asked, Front, JobOptions, Judges, Metrics, Questions, arguments
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions

if TYPE_CHECKING:
    from claimeval.api.run import Run
    from claimeval.cli.running import Finished


Voting = Annotated[PanelOptions, Heading("Panel", "vote", "tie", "quorum", "replicates", "families", "labels")]
LISTED = {"rejudge": ("Judge", 4, "Judge or vote again on a run; pay only for what is new.")}


@dataclass(frozen=True, slots=True, kw_only=True)
class RejudgeOptions(JobOptions):
    """Judge or vote again on a run, and pay only for what is new.

    Claims are reused from the run, and so are verdicts whose judge would be asked the same again. With only `--vote`,
    `--tie`, `--quorum`, `--families` or fewer `--metrics`, the votes are counted again without a call.

    \b
    Add a judge:          claimeval rejudge runs/a -j mistral:mistral-large-latest --keep-verdicts -o runs/b
    Try another prompt:   claimeval rejudge runs/a --assess-prompt binary -o runs/c
    Only vote again:      claimeval rejudge runs/b --vote unanimous -o runs/d
    """

    sources: Annotated[tuple[Path, ...], Argument("SOURCE")]
    """Run directories, files of samples, or results of RAGChecker; several go to OUT/NAME."""
    judges: Judges = ()
    """As for score, or a judge of the run by name; repeatable.  [default: all judges of the run]"""
    keep_verdicts: bool = False
    """Keep the verdicts of the run's judges next to those of new judges."""
    metrics: Metrics = None
    """Comma-separated.  [default: as in the run]"""
    out: Annotated[Path, Names("-o", "--out")]
    """Run directory."""
    questions: Asked = Questions()
    panel: Voting = PanelOptions()
    shown: Front = Shown()


def do(args: RejudgeOptions) -> int:
    """Judge every source again, print the runs, and return the highest exit code."""
    folders = [args.out if len(args.sources) == 1 else args.out / source.stem for source in args.sources]
    if len(set(folders)) < len(folders):
        raise UsageError("two sources have the same name and would overwrite each other; rejudge them one by one")
    results = [_rejudge_and_print(args, source, folder) for source, folder in zip(args.sources, folders, strict=True)]
    records = [record for _, record in results]
    return args.output.result(
        "rejudge",
        records[0] if len(records) == 1 else {"runs": records},
        path=args.out,
        exit_code=max(finished.ending.code for finished, _ in results),
        stopped=next((finished.stopped for finished, _ in results if finished.stopped), None),
    )


def door(args: RejudgeOptions, options: RunOptions) -> Run:
    """Call the function of the API for the only source."""
    if len(args.sources) > 1:
        raise UsageError("plan the sources one by one")
    return _rejudge(args, args.sources[0], args.out, options)


def _rejudge(args: RejudgeOptions, source: Path, folder: Path, options: RunOptions) -> Run:
    from claimeval.api.claims import rejudge

    settings = arguments(args, source=source, judges=args.judges or None, out=folder, options=options)
    del settings["sources"]
    return rejudge(**settings)


def _rejudge_and_print(args: RejudgeOptions, source: Path, folder: Path) -> tuple[Finished, dict[str, Any]]:
    from claimeval.cli.running import print_screen, print_shard, say_ending, watch
    from claimeval.runs.rejudge import Results, ReuseCounts

    finished = watch(lambda options: _rejudge(args, source, folder, options), args.options, args.gates, args.output)
    if finished.of_shard:
        say_ending(finished.ending)
        return finished, print_shard(finished, args.output)
    run, progress, items = finished.run, finished.progress, finished.prepared.items
    reused = items.saved if isinstance(items, Results) else ReuseCounts()
    reuse = f"{reused.calls} reused from the run (claims of {reused.extractions} texts, {reused.assessments} lists of "
    screen = print_screen(
        finished,
        args.output,
        args.shown,
        f"Calls: {progress.calls} sent, {progress.cached} answered from the reply cache, {reuse}verdicts)",
    )
    say_ending(finished.ending)
    made = {
        **progress.record(),
        "reused_claims": reused.extractions,
        "reused_verdicts": reused.assessments,
    }
    return finished, {
        "run": run.path and str(run.path),
        "calls_of_this_command": made,
        **run.record.model_dump(),
        "notes": run.notes,
        **screen,
    }


rejudge = command("rejudge", RejudgeOptions, do, door)
