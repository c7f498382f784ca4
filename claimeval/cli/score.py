"""`claimeval score`: judge the answers of a data file, claim by claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from claimeval.cli.command import command
from claimeval.cli.printer import Output
from claimeval.cli.shared import (
    AskedFirst,
    AskingAndCluster,
    Data,
    Gated,
    Gates,
    Judges,
    Metrics,
    Out,
    Panel,
    ReadingOptions,
    ScoreQuestions,
    arguments,
)
from claimeval.types.options import PanelOptions, RunOptions

if TYPE_CHECKING:
    from claimeval.api.run import Run

LISTED = ("Judge", 2, "Judge answers claim by claim.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """Judge the answers of a data file, claim by claim.

    Stop at any time; the same command resumes and pays nothing twice.

    Example: claimeval score answers.jsonl -j openai:gpt-5-mini -o runs/a
    """

    data: Data
    """The samples: .jsonl, .json, .csv or .parquet."""
    judges: Judges
    """PROVIDER:MODEL[@URL] or judge file; repeatable."""
    metrics: Metrics = None
    """Comma-separated; `claimeval metrics` lists them."""
    out: Out = None
    """Run directory; default runs/DATA-SETTINGS."""
    overwrite: bool = False
    """Replace a run of other settings in --out."""
    reading: ReadingOptions = ReadingOptions()
    output: Output = Output()
    questions: AskedFirst = ScoreQuestions()
    panel: Panel = PanelOptions()
    gates: Gated = Gates()
    options: AskingAndCluster = RunOptions()


def do(given: ScoreOptions) -> int:
    """Score the data, print the run, and return the exit code."""
    from claimeval.cli.running import print_finished, watch

    finished = watch(lambda options: door(given, options), given.options, given.gates, given.output)
    return print_finished("score", finished, given.output)


def door(given: ScoreOptions, options: RunOptions) -> Run:
    """Call the function of the API."""
    from claimeval.api.claims import score

    return score(**arguments(given, out=given.out or "runs/", options=options))


score = command("score", ScoreOptions, do)
