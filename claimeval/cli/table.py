"""The table at the end of a run, for a person who reads it at 80 columns."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from claimeval.cli.panel_table import MEMBERS, members, print_panel, range_of_members
from claimeval.data.judged import RECORDED
from claimeval.records import Assessment, Claim, Part, Reason, SampleResult
from claimeval.run import Manifest, Summary, read_results
from claimeval.scoring import MetricSummary
from claimeval.side_scores import SideSummary
from claimeval.side_scores import read as read_sides

WORST = 5
WIDTH = 66
"""Characters of a text that fit on a line beside its name."""


def print_run(folder: Path, manifest: Manifest, summary: Summary, total: int) -> None:
    """Scores, the worst claims, and where the run lies."""
    console = Console(highlight=False, emoji=False)
    console.print(_heading(manifest, summary, total))
    for note in summary.notes:
        console.print(f"[bold yellow]Note:[/] these numbers are a {escape(note)}.")
    console.print(_scores(summary))
    for name, metric in summary.metrics.items():
        console.print(Padding(f"[dim]{escape(name)}: {_details(metric)}[/]", (0, 0, 0, 1)))
    print_panel(console, manifest, summary)
    order = [metric.against for metric in manifest.metrics]
    if sides := list(read_sides(folder)):
        print_sides(console, sides)
    worst = heapq.nsmallest(WORST, _troubles(read_results(folder), order), key=lambda trouble: trouble.rank)
    if worst:
        console.print("\n[bold]Worst claims[/], one a sample")
    for trouble in worst:
        _print_trouble(console, trouble)
    console.print(f"\nRun: {escape(str(folder))} (results.jsonl, summary.json, manifest.json)", soft_wrap=True)


def _heading(manifest: Manifest, summary: Summary, total: int) -> str:
    named = [judge.name for judge in manifest.judges]
    judges = ", ".join(named) if len(named) <= MEMBERS else f"{len(named)} judges"
    own = manifest.extractor.name == judges or manifest.extractor.provider == RECORDED
    taker = "" if own else f", claims taken by {manifest.extractor.name}"
    count = (
        f"{summary.samples} samples" if summary.complete else f"{summary.samples} of {total} samples (stopped early)"
    )
    return f"\n[bold]{escape(Path(manifest.data or 'samples').name)}[/]: {count}, judged by {escape(judges + taker)}"


def _scores(summary: Summary) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("metric", no_wrap=True)
    for name in ("mean", "95 % interval", "n", "missing", "micro", "bounds"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, metric in summary.metrics.items():
        table.add_row(escape(name), *_cells(metric))
        for judge, member in members(metric):
            table.add_row(f"  {escape(judge)}", *_cells(member), style="dim")
    return table


def _cells(metric: MetricSummary) -> tuple[str, ...]:
    return (
        _number(metric.mean),
        _range(metric.ci),
        str(metric.n),
        str(sum(metric.missing.values())),
        _number(metric.micro),
        _range(metric.bounds),
    )


def print_sides(console: Console, summaries: Sequence[SideSummary]) -> None:
    """Scores that no judge gave, a row a metric."""
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("metric", no_wrap=True)
    for name in ("mean", "95 % interval", "n", "missing"):
        table.add_column(name, justify="right", no_wrap=True)
    metrics = {name: metric for summary in summaries for name, metric in summary.metrics.items()}
    for name, metric in metrics.items():
        unit = "" if metric.unit == "share" else f" ({metric.unit})"
        missing = str(sum(metric.missing.values()))
        table.add_row(escape(name + unit), _number(metric.mean), _range(metric.ci), str(metric.n), missing)
    console.print(table)
    reasons: dict[str, list[str]] = {}
    for name, metric in metrics.items():
        if metric.missing:
            reasons.setdefault(", ".join(f"{n} {reason}" for reason, n in metric.missing.items()), []).append(name)
    for reason, names in reasons.items():
        console.print(Padding(f"[dim]missing: {escape(reason)} ({escape(', '.join(names))})[/]", (0, 0, 0, 1)))


def _details(metric: MetricSummary) -> str:
    parts = [f"{metric.supported} of {metric.judged} judged claims supported"]
    if metric.unassessed:
        parts.append(f"{sum(metric.unassessed.values())} more unassessed ({_reasons(metric.unassessed)})")
    if metric.ungrounded:
        parts.append(f"{metric.ungrounded} ungrounded")
    if metric.missing:
        parts.append(f"samples without a score: {_reasons(metric.missing)}")
    if range_ := range_of_members(metric):
        parts.append(range_)
    return "; ".join(parts)


def _reasons(counts: dict[Reason, int]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in counts.items())


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _range(ends: tuple[float, float] | None) -> str:
    return "-" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"


class _Trouble(NamedTuple):
    """A claim that its evidence does not carry, worst first."""

    rank: tuple[int, int, float, str]
    result: SampleResult
    claim: Claim
    assessment: Assessment


def _troubles(results: Iterator[SampleResult], order: list[Part]) -> Iterator[_Trouble]:
    """The worst claim of every sample that has one: contradicted before not found, earlier metrics before later."""
    for result in results:
        claims = {claim.id: claim for claim in result.claims}
        troubles = [
            _Trouble(_rank(result, assessment, order), result, claims[assessment.claim_id], assessment)
            for assessment in result.assessments
            if assessment.label in ("contradicted", "not_found") and claims[assessment.claim_id].of == "answer"
        ]
        if troubles:
            yield min(troubles, key=lambda trouble: trouble.rank)


def _rank(result: SampleResult, assessment: Assessment, order: list[Part]) -> tuple[int, int, float, str]:
    likely = [v.probability for v in assessment.verdicts if v.probability is not None]
    mean = sum(likely) / len(likely) if likely else 0.5
    return 0 if assessment.label == "contradicted" else 1, order.index(assessment.against), mean, result.sample.id


def _print_trouble(console: Console, trouble: _Trouble) -> None:
    result, claim, assessment = trouble.result, trouble.claim, trouble.assessment
    label = "contradicted by" if assessment.label == "contradicted" else "not found in"
    lines = {
        "question": escape(_short(result.sample.question, 2 * WIDTH)),
        "claim": escape(_short(claim.text, 2 * WIDTH)),
        "verdict": f"[red]{label} the {escape(assessment.against)}[/]{escape(_why(assessment))}",
        "evidence": escape(_evidence(trouble)),
    }
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in lines.items():
        grid.add_row(name, text)
    console.print(f"\n [bold]{escape(result.sample.id)}[/]")
    console.print(Padding(grid, (0, 0, 0, 3)))


def _why(assessment: Assessment) -> str:
    said = next((v.reason for v in assessment.verdicts if v.label == assessment.label and v.reason), None)
    return f": {_short(said)}" if said else ""


def _evidence(trouble: _Trouble) -> str:
    documents = {d.id: d for d in trouble.result.sample.documents(trouble.assessment.against) or ()}
    named = [i for v in trouble.assessment.verdicts for i in v.evidence if i in documents]
    if not named:
        return f"none of {len(documents)} documents named"
    return _short(f"[{named[0]}] {documents[named[0]].text}", 2 * WIDTH)


def _short(text: str, width: int = WIDTH) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= width else line[: width - 3] + "..."
