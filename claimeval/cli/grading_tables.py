"""The tables of `claimeval relevance`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from claimeval.cli.whole_tables import print_whole
from claimeval.evaluation.relevance_run import Counts, RelevanceSummary
from claimeval.evaluation.validity import Refused, Validity
from claimeval.providers.specs import short_names
from claimeval.statistics.formatting import decimal, interval
from claimeval.types.estimates import Estimate
from claimeval.types.scales import Scale

SHOWN = 5
"""Refused grades that are named."""


def print_grading(summary: RelevanceSummary, folder: Path) -> None:
    """How often each grade was given by whom, and the holes with their reasons."""
    console = Console(highlight=False, emoji=False)
    console.print(
        f"\n[bold]{escape(str(folder))}[/]  scale {escape(summary.scale.name)} (relevant from "
        f"{summary.scale.positive_from:g}), prompt {escape(summary.prompt.name)}"
    )
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("", no_wrap=True)
    for name in ("pairs", *(str(grade) for grade in summary.scale.steps), "holes"):
        table.add_column(name, justify="right", no_wrap=True)
    names = short_names(summary.members)
    rows = {names[judge]: counts for judge, counts in summary.members.items()}
    if len(rows) > 1:
        rows[f"panel ({summary.panel.vote})"] = summary.counts
    for name, counts in rows.items():
        given = [str(counts.grades.get(grade, 0)) for grade in summary.scale.steps]
        table.add_row(escape(name), str(counts.pairs), *given, _holes(counts))
    print_whole(console, table)
    if summary.alpha:
        value = "undefined" if summary.alpha.value is None else decimal(summary.alpha.value)
        ci = f" ({interval(summary.alpha.interval)})" if summary.alpha.interval else ""
        console.print(f" [dim]Krippendorff's alpha of the judges, ordinal: {value}{ci}, {summary.alpha.n} pairs[/]")


def _holes(counts: Counts) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in counts.holes.items()) or "0"


def print_validity(held: Mapping[str, Validity], *, confusions: bool) -> None:
    """Assessors against people, a row each; with `confusions` also how each grade is mistaken."""
    if not held:
        return
    console = Console(highlight=False, emoji=False)
    first = next(iter(held.values()))
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("against people", no_wrap=True)
    orders = [f"tau {order.measure}" for order in first.orders]
    for name in ("pairs", "holes", "kappa", "95 % interval", "quadratic", "binary", *orders):
        table.add_column(name, justify="right", no_wrap=True)
    for name, one in held.items():
        table.add_row(
            escape(name),
            str(one.pairs),
            str(one.holes),
            _number(one.kappa),
            _interval(one.kappa),
            _number(one.kappa_quadratic),
            _number(one.kappa_binary),
            *(decimal(order.tau) for order in one.orders),
        )
    print_whole(console, table)
    for name, one in held.items() if confusions else ():
        if one.kappa is not None:
            console.print(f"\n [bold]Grades of {escape(name)}[/] (columns) where people gave (rows); the same in")
            console.print(f" {_number(one.exact)} of the pairs:")
            print_whole(console, _confusion(one))
    for order in first.orders if confusions else ():
        console.print(
            f"\n [bold]Systems by {escape(order.measure)}[/], {order.queries} questions: people, then assessor"
        )
        for system in sorted(order.human, key=lambda name: -(order.human[name] or 0.0)):
            console.print(
                f"   {escape(system)}  {decimal(order.human[system], 4)}  {decimal(order.assessor[system], 4)}"
            )


def print_refused(refused: Mapping[str, Sequence[Refused]], scale: Scale) -> None:
    """The grades that were left out because they are not on the scale, the first of each assessor by name."""
    console = Console(highlight=False, emoji=False)
    for name, grades in refused.items():
        if grades:
            first = ", ".join(f"{one.query} {one.document}: {one.grade}" for one in grades[:SHOWN])
            more = f" and {len(grades) - SHOWN} more" if len(grades) > SHOWN else ""
            said = (
                f" {name}: {len(grades)} refused, off the scale {scale.steps[0]} to {scale.steps[-1]} ({first}{more})"
            )
            console.print(said, markup=False, soft_wrap=True)


def _confusion(one: Validity) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("", justify="right")
    for label in one.labels:
        table.add_column(str(label), justify="right")
    for label, row in zip(one.labels, one.confusion, strict=True):
        table.add_row(f"[bold]{label}[/]", *map(str, row))
    return table


def _number(value: Estimate | None) -> str:
    return decimal(value.value if value else None)


def _interval(value: Estimate | None) -> str:
    return interval(value.interval if value else None)
