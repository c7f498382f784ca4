"""`claimeval score`, `demo`, `rejudge`, `merge` and `experiment`: judging answers claim by
claim."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import claimeval as ce
from claimeval.cli import shared
from claimeval.cli.command import Heading, command
from claimeval.cli.printer import Output
from claimeval.cli.terminal import ProgressLine, say
from claimeval.statistics.formatting import number_of
from claimeval.types.errors import StoppedEarly, UsageError
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.questions import Questions

if TYPE_CHECKING:
    from claimeval.cli.running import Finished

Voting = Annotated[
    PanelOptions, Heading("Panel", "vote", "tie", "quorum", "replicates", "families")
]


@command("score")
class ScoreCommand(shared.JobOptions):
    """Judge the answers of a data file, claim by claim.

    Stop at any time; the same command resumes and pays nothing twice.

    Example: claimeval score answers.jsonl -j openai:gpt-5-mini -o runs/a
    """

    data: shared.Data
    """The samples: .jsonl, .json, .csv, .xlsx or .parquet."""
    judges: shared.Judges
    """PROVIDER:MODEL[@URL] or judge file; repeatable."""
    metrics: shared.Metrics = None
    """Comma-separated; `claimeval metrics` lists them."""
    sources: Path | None = None
    """Folder of the sources of a report with citations."""
    source_names: Path | None = None
    """CSV of file and url, where sources do not say it."""
    questions: Annotated[Questions, shared.QUESTIONS] = Questions()
    language: Annotated[str | None, shared.QUESTIONS] = None
    """Prompts in de, fr, es, pt, hi, zh, ja, ar; auto."""
    shown: shared.Front = shared.Shown()

    def door(self, options: RunOptions) -> ce.Run:
        return ce.score(**self.settings(options), gates=self.gates.limits)

    def do(self) -> int:
        return self.watch("score").show(shown=self.shown)


@command("demo")
class DemoCommand:
    """Score the bundled samples from recorded replies of a language model. Needs no key, no model
    and no network.

    The samples have planted mistakes: wrong numbers, swapped names, negations, inventions. One
    capable language model was asked once with the shipped prompts; its version and temperature are
    not known.
    """

    out: Annotated[Path, "-o", "--out"] = Path("runs/demo")
    """Run directory."""
    output: Output = Output()
    shown: shared.Front = shared.Shown()

    def do(self) -> int:
        from claimeval.cli.running import watch
        from claimeval.types.bundled import bundled

        judge = {"name": "recorded replies", "model": "recorded:demo"}
        door = partial(
            ce.score,
            bundled("demo.jsonl"),
            judges=judge,
            out=self.out,
            overwrite=True,
        )
        watched = watch(
            "demo",
            lambda options: door(options=options),
            RunOptions(),
            shared.GateOptions(),
            self.output,
        )
        return watched.show(shown=self.shown)


@command("rejudge")
class RejudgeCommand(shared.JobOptions):
    """Judge or vote again on a run, and pay only for what is new.

    Claims are reused from the run, and so are verdicts whose judge would be asked the same again.
    With only `--vote`, `--tie`, `--quorum`, `--families` or fewer `--metrics`, the votes are
    counted again without a call.

    \b
    Add a judge:          claimeval rejudge runs/a -j mistral:NAME --keep-verdicts -o runs/b
    Try another prompt:   claimeval rejudge runs/a --assess-prompt binary
    Only vote again:      claimeval rejudge runs/b --vote unanimous
    """

    sources: Annotated[tuple[Path, ...], "SOURCE"]
    """Run directories, files of samples, or results of RAGChecker; several go to OUT/NAME."""
    judges: shared.Judges = ()
    """As for score, or a judge of the run by name; repeatable.  [default: all judges of the run]"""
    keep_verdicts: bool = False
    """Keep the verdicts of the run's judges next to those of new judges."""
    metrics: shared.Metrics = None
    """Comma-separated.  [default: as in the run]"""
    out: shared.Out = None
    """Run directory.  [default: runs/DATA-SETTINGS]"""
    questions: Annotated[Questions, shared.OF_RUN] = Questions()
    panel: Voting = PanelOptions()
    shown: shared.Front = shared.Shown()

    def door(self, options: RunOptions) -> ce.Run:
        if len(self.sources) > 1:
            raise UsageError("plan the sources one by one")
        return self._rejudge(self.sources[0], self.out or shared.DEFAULT_FOLDER, options)

    def do(self) -> int:
        folders = self._folders()
        finished, records = zip(*map(self._show, self.sources, folders), strict=True)
        return self.output.result(
            "rejudge",
            records[0] if len(records) == 1 else {"runs": records},
            path=finished[0].run.path if len(finished) == 1 else self.out,
            exit_code=max(one.ending.code for one in finished),
            stopped=next((one.stopped for one in finished if one.stopped), None),
        )

    def _folders(self) -> list[Path | str]:
        """Return the `out` of each source: without --out, a folder by its settings."""
        if self.out is None:
            return [shared.DEFAULT_FOLDER] * len(self.sources)
        if len(self.sources) == 1:
            return [self.out]
        names = [source.stem for source in self.sources]
        if len(set(names)) < len(names):
            raise UsageError(
                "two sources have the same name and would overwrite each other; rejudge them one"
                " by one"
            )
        return [self.out / name for name in names]

    def _rejudge(self, source: Path, folder: Path | str, options: RunOptions) -> ce.Run:
        settings = shared.arguments(
            self, source=source, judges=self.judges or None, out=folder, options=options
        )
        del settings["sources"]
        return ce.rejudge(**settings, gates=self.gates.limits)

    def _show(self, source: Path, folder: Path | str) -> tuple[Finished, dict[str, Any]]:
        """Judge a source again, print the run, and return it with the fields of its JSON object."""
        from claimeval.cli.running import watch

        door = partial(self._rejudge, source, folder)
        finished = watch("rejudge", door, self.options, self.gates, self.output)
        if finished.of_shard:
            return finished, finished.record()
        claims, verdicts = finished.reused
        calls = {"reused_claims": claims, "reused_verdicts": verdicts}
        sent = finished.progress.record() if finished.progress else {}
        record = {
            "run": str(finished.run.path or folder),
            **finished.record(shown=self.shown),
            "calls_of_this_command": {**sent, **calls},
        }
        return finished, record


@command("merge")
class MergeCommand:
    """Merge the shards of a run. The files are then those of a run by one process.

    No judge is asked. Votes that need the whole run are counted now.

    Example: claimeval merge runs/a
    """

    run: Annotated[Path, "RUN"]
    """The run directory: the --out of the shards."""
    compress: bool = False
    """Write `results.jsonl.gz` instead of `results.jsonl`."""
    output: Output = Output()
    gates: shared.Gated = shared.GateOptions()

    def do(self) -> int:
        from claimeval.cli.running import watch

        door = partial(ce.Run.merge, self.run, compress=self.compress)
        return watch(
            "merge",
            lambda _: door(),
            RunOptions(),
            self.gates,
            self.output,
        ).show()


@command("experiment")
class ExperimentCommand:
    """Compare prompts and judges over the same samples, and test which differences are more than
    noise.

    Requests that arms share are sent once: an arm with another assessment prompt does not pay for
    extraction. Stop at any time; the same command resumes and pays nothing twice.

    A file may be: {data: answers.jsonl, judges: openai:gpt-5-mini, grid: {assess_prompt:
    [three_way, binary]}}
    """

    file: Annotated[Path, "FILE"]
    """YAML file with data, judges and a grid or arms."""
    out: shared.Out = None
    """Folder to write.  [default: experiments/FILE]"""
    labels: Path | None = None
    """Human labels: a file, or a run with labels.  [default: those of FILE]"""
    select: bool = False
    """Choose an arm by the labels of half of the questions, report its gain on the other half, and
    write its prompt."""
    anyway: bool = False
    """Select with fewer than 60 labels."""
    details: bool = False
    """Print all tables: every metric, cost, agreement with people, and claims that flipped."""
    output: Output = Output()
    options: shared.Asking = RunOptions()

    def do(self) -> int:
        from claimeval.runs.views.experiment import first, view

        output = self.output
        with ProgressLine(quiet=output.quiet) as line:
            options = replace(self.options, progress=line.show)
            code = 0
            stopped = None
            try:
                settings = shared.arguments(self, out=self.out or "experiments/", options=options)
                del settings["details"]
                result = ce.experiment(settings.pop("file"), **settings)
            except StoppedEarly as early:
                if early.run is None:
                    raise
                result = early.run
                code = early.exit_code
                stopped = str(early)
        table = result.table
        path = result.runs[0].path
        assert table, "an experiment has a table"
        assert path, "the arms are on disk"
        folder = path.parent.parent
        output.draw(view(table) if self.details else first(table))
        output.line()
        output.lines(None if self.details else "All tables: --details")
        output.line(f"Tables: {folder}/experiment.md, .csv, .json; flipped claims: flips.jsonl")
        if stopped and (output.quiet or not table.failed):
            say(*stopped.splitlines())
        elif stopped:
            failed = (
                f"{number_of(len(table.failed), 'arm')} failed ({', '.join(table.failed)}), as said"
                " above"
            )
            say(f"{failed}. Fix the problem, then run the same command to resume.")
        return output.result(
            "experiment", table.model_dump(), path=folder, exit_code=code, stopped=stopped
        )
