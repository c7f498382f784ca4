"""The commands of jobs from other packages, built from the rows of the jobs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from claimeval.cli.command import Heading, RecordCommand, command
from claimeval.cli.shared import Data, JobOptions, Judges, Out, arguments
from claimeval.statistics.formatting import tally
from claimeval.types.options import RunOptions

if TYPE_CHECKING:
    from claimeval.api.run import Run
    from claimeval.evaluation.kinds import JobKind


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedOptions(JobOptions):
    """The options that all judged jobs share."""

    data: Data
    """The samples, or a run over them."""
    judges: Judges
    """PROVIDER:MODEL[@URL] or judge file; repeatable."""
    out: Out = None
    """Run directory; default RUN/JOB or runs/DATA-SETTINGS."""


def command_of(name: str) -> RecordCommand:
    """Return the command of a job of another package: the shared options, and the job's own."""
    from claimeval.api.judged import made_kind

    kind = made_kind(name)
    assert kind.options, "a made kind has options"
    questions = {
        "__annotations__": {"questions": Annotated[kind.options, Heading("Questions")]},
        "questions": kind.options(),
        "__module__": __name__,
        "__doc__": kind.options.__doc__,
    }
    record: type[Any] = dataclass(frozen=True, kw_only=True)(type("JudgedCommand", (JudgedOptions,), questions))
    return command(name, record, partial(do, kind), partial(door, kind))


def do(kind: JobKind, args: Any) -> int:
    """Judge the data, print the counts and the run, and return the exit code."""
    from claimeval.cli.running import print_finished, watch

    finished = watch(lambda options: door(kind, args, options), args.options, args.gates, args.output)
    if finished.of_shard:
        return print_finished(kind.name, finished, args.output)
    counts = kind.counts(finished.run.manifest, finished.run.results) if kind.counts else {}
    for name, words in counts.items() if not finished.stopped else ():
        args.output.line(f"{name}: {tally(words)}", indent=1)
    return print_finished(kind.name, finished, args.output, {"counts": counts})


def door(kind: JobKind, args: Any, options: RunOptions) -> Run:
    """Call the function of the API."""
    from claimeval.api.judged import judge

    settings = arguments(args, out=args.out or "runs/", options=options)
    own = settings.pop("questions")
    return judge(kind.name, **settings, settings={field.name: getattr(own, field.name) for field in fields(own)})
