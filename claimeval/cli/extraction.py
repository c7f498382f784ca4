"""`claimeval extraction`: how good claims are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Heading, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import AskingAndCluster, Data, Gated, Gates, Out, ReadingOptions, arguments
from claimeval.metrics.extraction import GOLD_METRICS
from claimeval.statistics.formatting import decimal, interval
from claimeval.types.options import RunOptions

if TYPE_CHECKING:
    from claimeval.api.run import Run
    from claimeval.metrics.extraction import ExtractionSummary, Ratio

LISTED = {"extraction": ("Judge", 6, "Measure the quality of extracted claims.")}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionQuestions:
    """Options for the claims to measure, and for comparing them."""

    claims: str | None = None
    """A field, or a prompt for --extractor.  [default: those of the run]"""
    extractor: str | None = None
    """Model that extracts claims with the prompt.  [default: local:lexical without a run]"""
    gold: str | None = None
    """Claims by people: a field, or a file with id and claims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionCommand:
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
    overwrite: bool = False
    """Replace a run with other settings in --out."""
    reading: ReadingOptions = ReadingOptions()
    output: Output = Output()
    questions: Annotated[ExtractionQuestions, Heading("Questions")] = ExtractionQuestions()
    gates: Gated = Gates()
    options: AskingAndCluster = RunOptions()


def do(args: ExtractionCommand) -> int:
    """Measure the claims, print the numbers, and return the exit code."""
    from claimeval.cli.running import print_finished, watch

    finished = watch(lambda options: door(args, options), args.options, args.gates, args.output)
    run = finished.run
    summary = run.record.extraction
    assert summary, "an extraction run has its summary"
    if summary.all_texts:
        _print(args.output, run, summary)
    return print_finished("extraction", finished, args.output, table=False)


def door(args: ExtractionCommand, options: RunOptions) -> Run:
    """Call the function of the API."""
    from claimeval.api.measures import extraction

    return extraction(**arguments(args, out=args.out or "runs/", options=options))


def _print(output: Output, run: Run, summary: ExtractionSummary) -> None:
    settings = run.manifest.settings
    claims = f"{summary.claims:,} claims ({settings['claims']})"
    heading = f": {claims} of {summary.sentences:,} sentences, {summary.texts:,} texts"
    output.line()
    output.line(heading, bold=Path(run.manifest.data.path or "data").name)
    output.line()
    people = summary.people
    rows = [
        (name.replace("_", " "), *_cells(ratio), *([people[name].in_words] if people else ()))
        for name, ratio in summary.measures.items()
    ]
    output.text_table(("", "claims", "95 % interval", "counts", *(["people"] if people else ())), rows)
    if summary.unclaimed:
        kinds = (f"{kind.replace('_', '-')} {count:,}" for kind, count in summary.unclaimed.items())
        output.line(f" sentences without a claim: {', '.join(kinds)}", style="dim")
    if summary.people:
        _print_match(output, run)
    for remark in summary.remarks:
        output.line(f"- {remark}")


def _cells(ratio: Ratio) -> tuple[str, str, str]:
    return ratio.in_words, interval(ratio.reported) if ratio.reported else "", f"{ratio.hits:,} of {ratio.total:,}"


def _print_match(output: Output, run: Run) -> None:
    precision, recall, f1, size = (run.summary[name] for name in GOLD_METRICS)
    cells = (decimal(precision.mean), decimal(recall.mean), decimal(f1.mean), interval(f1.reported))
    output.text_table(("against gold claims", "precision", "recall", "F1", "95 % interval"), [("", *cells)])
    output.line(f" {decimal(size.mean, 2)} claims per gold claim", style="dim")


extraction = command("extraction", ExtractionCommand, do, door)
