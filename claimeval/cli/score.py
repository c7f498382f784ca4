"""`claimeval score` and `demo`: judging answers claim by claim."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Names, command
from claimeval.cli.front import Shown
from claimeval.cli.printer import Output
from claimeval.cli.shared import (
    AskedFirst,
    Data,
    Details,
    Front,
    Gates,
    JobOptions,
    Judges,
    Metrics,
    Out,
    ScoreQuestions,
    arguments,
)
from claimeval.types.options import RunOptions

if TYPE_CHECKING:
    from claimeval.api.run import Run

LISTED = {
    "score": ("Judge", 2, "Judge answers claim by claim."),
    "demo": ("Start", 1, "Score bundled samples from recorded replies: no key."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions(JobOptions):
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
    questions: AskedFirst = ScoreQuestions()
    shown: Details = Shown()


def do_score(args: ScoreOptions) -> int:
    """Score the data, print the run, and return the exit code."""
    from claimeval.cli.running import print_finished, watch

    finished = watch(lambda options: door(args, options), args.options, args.gates, args.output)
    return print_finished("score", finished, args.output, shown=args.shown)


def door(args: ScoreOptions, options: RunOptions) -> Run:
    """Call the function of the API."""
    from claimeval.api.claims import score

    return score(**arguments(args, out=args.out or "runs/", options=options))


score = command("score", ScoreOptions, do_score, door)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """Score the bundled samples from recorded replies of a language model. Needs no key, no model and no network.

    The samples have planted mistakes: wrong numbers, swapped names, negations, inventions. One capable language model
    was asked once with the shipped prompts; its version and temperature are not known.
    """

    out: Annotated[Path, Names("-o", "--out")] = Path("runs/demo")
    """Run directory."""
    output: Output = Output()
    shown: Front = Shown()


def do_demo(args: DemoOptions) -> int:
    """Score the samples, print the run, and return the exit code."""
    from claimeval.api.claims import score
    from claimeval.cli.running import print_finished, watch
    from claimeval.types.bundled import bundled

    judge = {"name": "recorded replies", "model": "recorded:demo"}
    finished = watch(
        lambda options: score(bundled("demo.jsonl"), judges=judge, out=args.out, overwrite=True, options=options),
        RunOptions(),
        Gates(),
        args.output,
    )
    return print_finished("demo", finished, args.output, shown=args.shown)


demo = command("demo", DemoOptions, do_demo)
