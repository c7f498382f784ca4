"""`claimeval experiment`: comparison of prompts and judges over the same samples."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from claimeval.cli.command import Argument, command
from claimeval.cli.printer import Output, notes_on_stderr
from claimeval.cli.shared import Asking, Out, arguments
from claimeval.cli.terminal import ProgressLine, say
from claimeval.types.errors import StoppedEarly
from claimeval.types.options import RunOptions

LISTED = {"experiment": ("Judge", 5, "Compare prompts and judges over the same samples.")}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentOptions:
    """Compare prompts and judges over the same samples, and test which differences are more than noise.

    Requests that arms share are sent once: an arm with another assessment prompt does not pay for extraction. Stop at
    any time; the same command resumes and pays nothing twice.

    A file may be: {data: answers.jsonl, judges: openai:gpt-5-mini, grid: {assess_prompt: [three_way, binary]}}
    """

    file: Annotated[Path, Argument("FILE")]
    """YAML file with data, judges and a grid or arms."""
    out: Out = None
    """Folder to write.  [default: experiments/FILE]"""
    labels: Path | None = None
    """Human labels: a file, or a run with labels.  [default: those of FILE]"""
    select: bool = False
    """Choose an arm by the labels of half of the questions, report its gain on the other half, and write its prompt."""
    anyway: bool = False
    """Select with fewer than 60 labels."""
    output: Output = Output()
    options: Asking = RunOptions()


def do(args: ExperimentOptions) -> int:
    """Run the arms, print the differences, and return the exit code."""
    from claimeval.api import comparison
    from claimeval.runs.views.experiment import view

    output = args.output
    with notes_on_stderr(quiet=output.quiet), ProgressLine(None if output.quiet else sys.stderr) as line:
        options = replace(args.options, progress=line.show)
        code, stopped = 0, None
        try:
            settings = arguments(args, out=args.out or "experiments/", options=options)
            result = comparison.experiment(settings.pop("file"), **settings)
        except StoppedEarly as early:
            if early.run is None:
                raise
            result, code, stopped = early.run, early.exit_code, str(early)
    table, path = result.table, result.runs[0].path
    assert table, "an experiment has a table"
    assert path, "the arms are on disk"
    folder = path.parent.parent
    output.draw(view(table))
    output.line()
    output.line(f"Tables: {folder}/experiment.md, .csv, .json; flipped claims: flips.jsonl")
    if stopped:
        say(*stopped.splitlines())
    return output.result("experiment", table.model_dump(), path=folder, exit_code=code, stopped=stopped)


experiment = command("experiment", ExperimentOptions, do)
