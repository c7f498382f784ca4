"""`claimeval extraction`: how good claims are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Heading, Names, command
from claimeval.cli.printer import Output
from claimeval.cli.shared import AskingAndCluster, Data, Gated, Gates, Out, ReadingOptions, arguments
from claimeval.statistics.formatting import decimal, interval, signed, signed_interval
from claimeval.types.options import RunOptions

if TYPE_CHECKING:
    from claimeval.api.run import Run
    from claimeval.metrics.extraction import ExtractionSummary, Ratio
    from claimeval.metrics.scoring import MetricSummary

LISTED = {"extraction": ("Judge", 6, "Measure the quality of extracted claims.")}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionQuestions:
    """Options for the claims to measure, and for comparing them."""

    claims: str | None = None
    """local, sentences, a field, or a prompt for --extractor.  [default: those of the run, else local]"""
    extractor: str | None = None
    """Model that extracts claims with the prompt (default: atomic)."""
    gold: str | None = None
    """Claims by people: a field, or a file with id and claims."""
    matching: str = "guarded"
    """Second matching: pairs, contain (the default), support, judge."""
    against: Path | None = None
    """A run with the claims of a second extractor."""
    judge: Annotated[str | None, Names("-j", "--judge")] = None
    """Judge of whether claims are entailed, cover the text, ..."""
    sample: int = 200
    """Texts that the judge is asked about."""
    elements: bool = False
    """Have the judge list the elements of each text, and check which of them the claims cover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionCommand:
    """Measure the quality of claims: how much of their texts they cover, and their faults.

    From the words alone, without a call: sentences without a claim; numbers, dates, names, negations and hedges that no
    claim has; claims with foreign numbers or words, with unresolved references, duplicates, fragments, compound claims,
    and claims assigned to the wrong sentence. With --gold, precision and recall by two matchings, one guarded by
    numbers and negation. With --judge, entailment, coverage and more, and whether the judge notices planted faults.

    A field may be inside lists, such as sentences.facts.text. The metrics of a run become RUN/extraction.

    Example: claimeval extraction runs/a

    Example: claimeval extraction answers.jsonl --claims local --gold human_claims
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
    people = [("people", summary.people)] if summary.people else []
    names = [str(settings["against"])] if summary.against else []
    rows = []
    for name, ratio in summary.measures.items():
        cells = [name.replace("_", " "), *_cells(ratio), *(side[name].in_words for _, side in people)]
        if summary.against:
            difference = summary.against.get(name)
            cells += _difference(difference)
        rows.append(tuple(cells))
    columns = ("", "claims", "95 % interval", "counts", *(name for name, _ in people), *names)
    output.table((*columns, *(("difference", "95 %") if summary.against else ())), rows)
    if summary.unclaimed:
        kinds = (f"{kind.replace('_', '-')} {count:,}" for kind, count in summary.unclaimed.items())
        output.line(f" sentences without a claim: {', '.join(kinds)}", style="dim")
    _print_matchings(output, run, summary)
    _print_judge(output, run)
    for remark in summary.remarks:
        output.line(f"- {remark}", wrap=True)


def _cells(ratio: Ratio) -> tuple[str, str, str]:
    return ratio.in_words, interval(ratio.interval) if ratio.interval else "", f"{ratio.hits:,} of {ratio.total:,}"


def _difference(value: object) -> list[str]:
    from claimeval.metrics.extraction import RatioDifference

    if not isinstance(value, RatioDifference):
        return ["", "", ""]
    ends = value.difference.interval
    return [decimal(value.b), signed(value.difference.value), signed_interval(ends) if ends else ""]


def _print_matchings(output: Output, run: Run, summary: ExtractionSummary) -> None:
    names = [name.removesuffix("_f1") for name in run.summary if name.endswith("_f1") and name != "elements_f1"]
    if not names:
        return

    def row(name: str) -> Iterator[str]:
        yield name
        f1 = run.summary[f"{name}_f1"]
        yield from (decimal(run.summary[f"{name}_{share}"].mean) for share in ("precision", "recall"))
        yield from (decimal(f1.mean), interval(f1.interval), decimal(run.summary[f"{name}_f1_macro"].mean))
        yield from _difference(summary.against.get(f"{name}_f1"))

    more = (str(run.manifest.settings["against"]), "difference", "95 %") if summary.against else ("", "", "")
    width = None if summary.against else 6
    columns = ("matching with gold", "precision", "recall", "F1", "95 % interval", "mean of texts", *more)
    output.table(columns[:width], [tuple(row(name))[:width] for name in names])
    if "false_matches" in run.summary:
        wrong, size = run.summary["false_matches"], run.summary["granularity"]
        share = f"{decimal(wrong.mean)} of the claims match gold claims about another question by chance ({names[0]})"
        output.line(f" {share}; {decimal(size.mean, 2)} claims per gold claim", style="dim")


def _print_judge(output: Output, run: Run) -> None:
    of_elements = ("elements_right", "elements_f1")
    checks = ("entailed", "covered", "atomic", "alone", *of_elements, "judge_sensitivity", "judge_specificity")
    checked: list[tuple[str, MetricSummary]] = [(name, run.summary[name]) for name in checks if name in run.summary]
    rows = []
    for name, metric in checked:
        counts = (
            f"{metric.judged or 0:,} elements"
            if name == "elements_f1"
            else f"{metric.hits or 0:,} of {metric.judged or 0:,}"
        )
        unread = (
            f", {metric.total - (metric.judged or 0):,} unassessed"
            if metric.total and metric.total > (metric.judged or 0)
            else ""
        )
        rows.append((name.replace("_", " "), decimal(metric.mean), interval(metric.interval), counts + unread))
    if rows:
        output.table((f"by {run.manifest.judges[0].name}", "share", "95 % interval", "counts"), rows)


extraction = command("extraction", ExtractionCommand, do, door)
