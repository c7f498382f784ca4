"""What `agreement` does: join labels to a run, measure, print."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from claimeval.cli.whole_tables import print_whole
from claimeval.data.labels import LabelFile, read_labels
from claimeval.runs.directory import cluster_field, load_manifest, read_results
from claimeval.runs.import_replies import LABELS
from claimeval.runs.labels.agreement import AgreementReport, Number, RaterReport, measure
from claimeval.runs.labels.join import join
from claimeval.statistics.bootstrap import UNASKED
from claimeval.statistics.formatting import decimal, interval
from claimeval.types.clusters import cluster_noun
from claimeval.types.errors import UsageError

PAIRS = 15
"""Pairs of raters that are printed; of more only the range is."""
COLUMNS = 3
"""Raters that stand side by side; more stand below each other."""
TABLES = 4
"""Raters whose mistaken labels are printed."""


def measure_and_tell(
    run: Path, labels: Path | None, against: str | None, cluster: str | None = None, *, as_json: bool
) -> None:
    """Measures and prints."""
    manifest = load_manifest(run)
    judges = tuple(judge.name for judge in manifest.judges)
    given = _labels(run, labels)
    field = cluster_field(run, cluster)
    joined = join(read_results(run), judges, manifest.panel, given, against, field)
    report = measure(joined, manifest.panel)
    if given:
        counts = report.labels.model_copy(update={"blank": given.blank, "undecided": given.undecided})
        report = report.model_copy(update={"labels": counts})
        if not report.raters:
            stray = f"; {report.unmatched} fit no claim or sample" if report.unmatched else ""
            raise UsageError(f"no label can be compared with {run}: {counts.words() or 'none counts'}{stray}")
    if as_json:
        print(json.dumps(report.model_dump(), indent=1, ensure_ascii=False))
    else:
        _tell(Console(highlight=False, emoji=False), run, report, manifest.short_names, field)


def _labels(run: Path, given: Path | None) -> LabelFile | None:
    path = given or run / LABELS
    return read_labels(path) if given or path.exists() else None


def _tell(console: Console, run: Path, report: AgreementReport, names: dict[str, str], field: str | None) -> None:
    what = "labelled items" if report.raters else "claims, no human labels"
    console.print(
        f"\n[bold]{escape(str(run))}[/]: {report.items} {what} on {report.questions} {cluster_noun(field)}",
        soft_wrap=True,
    )
    if report.unmatched:
        console.print(f"[bold yellow]Caution:[/] {report.unmatched} labels fit no claim or sample of this run")
    if words := report.labels.words():
        console.print(f"Labels {escape(words)}", soft_wrap=True)
    if report.raters:
        print_whole(console, _numbers(report.raters, names))
    for rater in report.raters[:TABLES]:
        print_whole(console, _confusion(rater, names))
    if report.pairs:
        print_whole(console, _pairs(report, names))
    if report.alpha and report.ac1:
        later = " and ".join(names.get(name, name) for name in report.asked_later)
        of = f" (without {later}, who saw disputed claims only)" if later else ""
        console.print(f" Judges{escape(of)}: Krippendorff's alpha {_of(report.alpha)}, Gwet's AC1 {_of(report.ac1)}")
    for reason, those in _without_interval(report, names).items():
        console.print(f" [dim]No interval for {escape(', '.join(those))}: {escape(reason)}.[/]")


def _without_interval(report: AgreementReport, names: dict[str, str]) -> dict[str, list[str]]:
    """By reason the printed values that have no interval; that pairs of many raters have none needs no reason."""
    said = [("alpha", report.alpha), ("AC1", report.ac1)]
    if len(report.raters) <= COLUMNS:
        for name, numbers in _rows(report.raters):
            said += [
                (f"{name} of {names.get(r.rater, r.rater)}", n) for r, n in zip(report.raters, numbers, strict=True)
            ]
    for pair in report.pairs if len(report.pairs) <= PAIRS else ():
        who = " / ".join(names.get(rater, rater) for rater in (pair.first, pair.second))
        said += [(f"equal of {who}", pair.raw), (f"kappa of {who}", pair.kappa)]
    found: dict[str, list[str]] = {}
    for what, number in said:
        if number and number.value is not None and number.ci is None and number.because != UNASKED:
            found.setdefault(str(number.because), []).append(what)
    return found


def _numbers(raters: Sequence[RaterReport], names: dict[str, str]) -> Table:
    """A column a rater with intervals; where they are many, a row a rater with the numbers that tell most."""
    table = Table(box=None, header_style="bold", padding=(0, 1))
    if len(raters) > COLUMNS:
        graded = raters[0].weighted_kappa is not None
        table.add_column("rater")
        for name in ("compared", "accuracy", "balanced", "F1", "kappa", *(("grades", "kappa^2") if graded else ())):
            table.add_column(name, justify="right", no_wrap=True)
        for rater in raters:
            shown = [rater.accuracy, rater.balanced_accuracy, rater.f1, rater.kappa]
            shown += [rater.kappa_of_labels, rater.weighted_kappa or rater.kappa] if graded else []
            table.add_row(escape(names.get(rater.rater, rater.rater)), str(rater.compared), *map(_short, shown))
        return table
    table.add_column("")
    for rater in raters:
        table.add_column(escape(names.get(rater.rater, rater.rater)), justify="right")
    counts = (f"{r.compared}" + (f" (+{r.unassessed})" if r.unassessed else "") for r in raters)
    table.add_row("compared (+ unassessed)", *counts)
    for name, numbers in _rows(raters):
        if any(numbers):
            table.add_row(name, *map(_of, numbers))
    return table


def _rows(raters: Sequence[RaterReport]) -> list[tuple[str, list[Number | None]]]:
    graded = any(rater.weighted_kappa for rater in raters)
    return [
        ("accuracy", [rater.accuracy for rater in raters]),
        ("balanced accuracy", [rater.balanced_accuracy for rater in raters]),
        ("precision", [rater.precision for rater in raters]),
        ("recall", [rater.recall for rater in raters]),
        ("F1", [rater.f1 for rater in raters]),
        ("kappa, yes or no", [rater.kappa for rater in raters]),
        ("AUROC", [rater.auroc for rater in raters]),
        ("same grade" if graded else "same label", [rater.same for rater in raters]),
        ("kappa, all grades" if graded else "kappa, all labels", [rater.kappa_of_labels for rater in raters]),
        ("kappa, squared", [rater.weighted_kappa for rater in raters]),
    ]


def _confusion(rater: RaterReport, names: dict[str, str]) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 1))
    table.add_column(f"people \\ {escape(names.get(rater.rater, rater.rater))}", style="dim")
    for label in rater.labels:
        table.add_column(label, justify="right")
    for label, counts in zip(rater.labels, rater.confusion, strict=True):
        table.add_row(label, *map(str, counts))
    return table


def _pairs(report: AgreementReport, names: dict[str, str]) -> Table | str:
    if len(report.pairs) > PAIRS:
        kappas = sorted(pair.kappa.value for pair in report.pairs if pair.kappa.value is not None)
        return f" Cohen's kappa of {len(report.pairs)} pairs: {decimal(kappas[0])} to {decimal(kappas[-1])}"
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("pair")
    for name in ("items", "equal", "kappa"):
        table.add_column(name, justify="right")
    for pair in report.pairs:
        who = " / ".join(names.get(rater, rater) for rater in (pair.first, pair.second))
        table.add_row(escape(who), str(pair.items), _of(pair.raw), _of(pair.kappa))
    return table


def _of(number: Number | None) -> str:
    if number is None or number.value is None:
        return "-"
    return decimal(number.value) + (f" ({interval(number.ci)})" if number.ci else "")


def _short(number: Number | None) -> str:
    return decimal(number.value if number else None)
