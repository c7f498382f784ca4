"""`claimeval extraction`: how good claims are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import command
from claimeval.cli.shared import QUESTIONS, Data, JobOptions, Out, arguments
from claimeval.types.options import RunOptions

if TYPE_CHECKING:
    from claimeval.api.run import Run

LISTED = {"extraction": ("Judge", 6, "Measure the quality of extracted claims.")}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionCommand(JobOptions):
    """Measure the quality of claims: what they lose of their texts, and how they compare with claims by people.

    From the words alone, without a call: statements without a claim, and the numbers, dates, names, negations and
    hedges that no claim has. With --gold, precision and recall against claims by people, paired one to one.

    A field may be inside lists, such as sentences.facts.text. The metrics of a run become RUN/extraction.

    Example: claimeval extraction runs/a

    Example: claimeval extraction answers.jsonl --extractor local:lexical --gold human_claims
    """

    source: Data
    """A run directory, or samples (.jsonl, .json, .csv, .parquet)."""
    out: Out = None
    """Run directory; default RUN/extraction or runs/DATA-SETTINGS."""
    claims: Annotated[str | None, QUESTIONS] = None
    """A field, or a prompt for --extractor.  [default: those of the run]"""
    extractor: Annotated[str | None, QUESTIONS] = None
    """Model that extracts claims with the prompt.  [default: local:lexical without a run]"""
    gold: Annotated[str | None, QUESTIONS] = None
    """Claims by people: a field, or a file with id and claims."""


def do(args: ExtractionCommand) -> int:
    """Measure the claims, print the numbers, and return the exit code."""
    from claimeval.cli.running import print_finished, watch
    from claimeval.runs.views.extraction import view

    finished = watch(lambda options: door(args, options), args.options, args.gates, args.output)
    run = finished.run
    summary = run.record.extraction
    assert summary, "an extraction run has its summary"
    if summary.all_texts:
        args.output.draw(view(summary, run.manifest, run.summary))
    return print_finished("extraction", finished, args.output, table=False)


def door(args: ExtractionCommand, options: RunOptions) -> Run:
    """Call the function of the API."""
    from claimeval.api.measures import extraction

    return extraction(**arguments(args, out=args.out or "runs/", options=options))


extraction = command("extraction", ExtractionCommand, do, door)
