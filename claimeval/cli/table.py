"""The table at the end of a run, for a person who reads it at 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from claimeval.cli.panel_table import MEMBERS, members, print_orders, print_panel, range_of_members
from claimeval.cli.whole_tables import print_whole
from claimeval.data.foreign.records import RECORDED
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary.run import Summary
from claimeval.metrics.derived import derived
from claimeval.metrics.scoring import MetricSummary, ends_in_words
from claimeval.runs.directory import read_results
from claimeval.runs.overview import WorstClaim, WorstClaims
from claimeval.runs.scores import ScoresSummary
from claimeval.runs.scores import read as read_sides
from claimeval.statistics.formatting import decimal, interval
from claimeval.types.clusters import sample_count
from claimeval.types.records import Part, Reason

BOUNDED = "* bounds, not an interval: judges abstained on over a tenth"
WORST = 5
WIDTH = 66
"""Characters of a text that fit on a line beside its name."""


def print_run(folder: Path, manifest: Manifest, summary: Summary, total: int) -> None:
    """Scores, the worst claims, and where the run lies."""
    console = Console(highlight=False, emoji=False)
    console.print(_heading(manifest, summary, total))
    for note in summary.notes:
        console.print(f"[bold yellow]Note:[/] {escape(note)}.")
    print_whole(console, _scores(summary, manifest.short_names))
    rows = [m for metric in summary.metrics.values() for m in (metric, *metric.members.values())]
    if any(metric.shown == "bounds" for metric in rows):
        console.print(f" {BOUNDED} of the claims")
    against = {row.name: row.against for row in manifest.metrics}
    for name, metric in summary.metrics.items():
        said = _counted(name, metric) if name in manifest.derived else _details(metric, against[name])
        console.print(Padding(f"[dim]{escape(name)}: {said}[/]", (0, 0, 0, 1)))
    _print_missing(console, {name: summary[name].missing for name in manifest.derived})
    print_panel(console, manifest, summary)
    if summary.orders:
        print_orders(console, summary.orders)
    if sides := list(read_sides(folder)):
        print_sides(console, sides)
    worst = WorstClaims([metric.against for metric in manifest.metrics if not metric.prompt], WORST)
    for result in read_results(folder):
        worst.add(result)
    if troubles := worst.troubles():
        console.print("\n[bold]Worst claims[/], one a sample")
    for trouble in troubles:
        _print_trouble(console, trouble)
    console.print(f"\nRun: {escape(str(folder))} (results.jsonl, summary.json, manifest.json)", soft_wrap=True)


def _heading(manifest: Manifest, summary: Summary, total: int) -> str:
    named = [judge.name for judge in manifest.judges]
    judges = ", ".join(named) if len(named) <= MEMBERS else f"{len(named)} judges"
    taker = manifest.extractor
    named_already = taker is None or taker.name == judges or taker.provider == RECORDED
    taken = "" if taker is None or named_already else f", claims taken by {taker.name}"
    taken = ", each on claims of its own" if manifest.panel.own_claims else taken
    count = sample_count(summary.samples, summary.clusters, manifest.cluster)
    if not summary.complete:
        count = f"{count.replace(' samples', f' of {total} samples', 1)} (stopped early)"
    return f"\n[bold]{escape(Path(manifest.data or 'samples').name)}[/]: {count}, judged by {escape(judges + taken)}"


def _scores(summary: Summary, names: dict[str, str]) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("metric", overflow="fold")
    for name in ("mean", "95 % interval", "n", "missing", "micro", "bounds"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, metric in summary.metrics.items():
        table.add_row(escape(name), *_cells(metric))
        for judge, member in members(metric, names):
            table.add_row(f"  {escape(judge)}", *_cells(member), style="dim")
    return table


def _cells(metric: MetricSummary) -> tuple[str, ...]:
    return (
        decimal(metric.mean),
        ends_in_words(metric, "*"),
        str(metric.n),
        str(sum(metric.missing.values())),
        decimal(metric.micro),
        interval(metric.bounds),
    )


def print_sides(console: Console, summaries: Sequence[ScoresSummary]) -> None:
    """Scores that are not of claims, a row a metric; the bounds where something undefined lies between known ends."""
    metrics = {name: metric for summary in summaries for name, metric in summary.metrics.items()}
    bounded = any(m.bounds and m.bounds[0] < m.bounds[1] for m in metrics.values())
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("metric", overflow="fold")
    for name in ("mean", "95 % interval", "n", "missing", *(("bounds",) if bounded else ())):
        table.add_column(name, justify="right", no_wrap=True)
    for name, metric in metrics.items():
        unit = "" if metric.unit == "share" else f" ({metric.unit})"
        missing = str(sum(metric.missing.values()))
        ends = (interval(metric.bounds),) if bounded else ()
        cells = decimal(metric.mean), ends_in_words(metric, "*"), str(metric.n), missing
        table.add_row(escape(name + unit), *cells, *ends)
    print_whole(console, table)
    if any(metric.shown == "bounds" for metric in metrics.values()):
        console.print(f" {BOUNDED} of the samples")
    for said in dict.fromkeys(
        sample_count(metric.n, metric.clusters, summary.cluster)
        for summary in summaries
        for metric in summary.metrics.values()
        if metric.clusters < metric.n
    ):
        console.print(Padding(f"[dim]{escape(said)}[/]", (0, 0, 0, 1)))
    _print_missing(console, {name: metric.missing for name, metric in metrics.items()})


def _print_missing(console: Console, missing: Mapping[str, Mapping[Any, int]]) -> None:
    """Why samples have no score, metrics that miss the same together."""
    names: dict[str, list[str]] = {}
    for name, reasons in missing.items():
        if reasons:
            names.setdefault(", ".join(f"{n} {reason}" for reason, n in reasons.items()), []).append(name)
    for said, those in names.items():
        console.print(Padding(f"[dim]missing: {escape(said)} ({escape(', '.join(those))})[/]", (0, 0, 0, 1)))


def _details(metric: MetricSummary, against: Part) -> str:
    parts = [f"{metric.supported} of {metric.judged} judged claims supported"]
    if metric.unassessed:
        parts.append(f"{sum(metric.unassessed.values())} more unassessed ({_reasons(metric.unassessed)})")
    if metric.ungrounded:
        parts.append(f"{metric.ungrounded} ungrounded")
    if metric.unasked:
        lack = "an answer" if against == "answer" else "documents"
        one = metric.unasked == 1
        parts.append(f"{metric.unasked} sample{'' if one else 's'} without {lack} count{'s' if one else ''} 0")
    if metric.missing:
        parts.append(f"samples without a score: {_reasons(metric.missing)}")
    if range_ := range_of_members(metric):
        parts.append(range_)
    return "; ".join(parts)


def _counted(name: str, metric: MetricSummary) -> str:
    """What a derived metric is, of how many, and of how many it is not known."""
    said = derived(name).says + (f": {metric.supported} of {metric.judged}" if metric.judged else "")
    lost = sum(metric.unassessed.values())
    return said + (f"; {lost} more not known ({_reasons(metric.unassessed)})" if lost else "")


def _reasons(counts: dict[Reason, int]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in counts.items())


def _print_trouble(console: Console, trouble: WorstClaim) -> None:
    label = "contradicted by" if trouble.label == "contradicted" else "not found in"
    why = f": {_short(trouble.explanation)}" if trouble.explanation else ""
    lines = {
        "question": escape(_short(trouble.question, 2 * WIDTH)),
        "claim": escape(_short(trouble.claim, 2 * WIDTH)),
        "verdict": f"[red]{label} the {escape(str(trouble.evidence))}[/]{escape(why)}",
        "evidence": escape(_short(trouble.excerpt or f"none of {trouble.documents} documents named", 2 * WIDTH)),
    }
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in lines.items():
        grid.add_row(name, text)
    console.print(f"\n [bold]{escape(trouble.sample_id)}[/]")
    console.print(Padding(grid, (0, 0, 0, 3)))


def _short(text: str, width: int = WIDTH) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= width else line[: width - 3] + "..."
