"""Grades of judges compared with grades of people, in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from claimeval.cli.printer import Output
from claimeval.statistics.formatting import decimal, interval

if TYPE_CHECKING:
    from claimeval.evaluation.validity import Refused, Validity
    from claimeval.types.estimates import Estimate
    from claimeval.types.scales import Scale

SHOWN = 5
"""Refused grades that are named."""


def print_validity(output: Output, compared: Mapping[str, Validity], *, confusions: bool) -> None:
    """Print a row for each assessor; with `confusions` also how each grade is confused, and the order of systems."""
    if not compared:
        return
    first = next(iter(compared.values()))
    columns = ("against people", "pairs", "unassessed", "kappa", "95 % interval", "quadratic", "binary")
    rows = [
        (
            name,
            str(one.pairs),
            str(one.unassessed),
            _number(one.kappa),
            interval(one.kappa.interval if one.kappa else None),
            _number(one.kappa_quadratic),
            _number(one.kappa_binary),
            *(decimal(order.tau) for order in one.orders),
        )
        for name, one in compared.items()
    ]
    output.table((*columns, *(f"tau {order.measure}" for order in first.orders)), rows)
    for name, one in compared.items() if confusions else ():
        if one.kappa is not None:
            output.line()
            output.line(f" (columns) where people gave (rows); the same in {_number(one.exact)} of the pairs:",
                        bold=f" Grades of {name}")  # fmt: skip
            table = [(str(label), *map(str, row)) for label, row in zip(one.labels, one.confusion, strict=True)]
            output.table(("", *map(str, one.labels)), table)
    for order in first.orders if confusions else ():
        output.line()
        output.line(f", {order.queries} questions: people, then assessor", bold=f" Systems by {order.measure}")
        for system in sorted(order.human, key=lambda name: -(order.human[name] or 0.0)):
            output.line(f"   {system}  {decimal(order.human[system], 4)}  {decimal(order.assessor[system], 4)}")


def print_refused(output: Output, refused: Mapping[str, Sequence[Refused]], scale: Scale) -> None:
    """Print the grades that are not on the scale, the first of each assessor by name."""
    for name, grades in refused.items():
        if grades:
            first = ", ".join(f"{one.query} {one.document}: {one.grade}" for one in grades[:SHOWN])
            more = f" and {len(grades) - SHOWN} more" if len(grades) > SHOWN else ""
            ends = f"{scale.steps[0]} to {scale.steps[-1]}"
            output.line(f" {name}: {len(grades)} refused, off the scale {ends} ({first}{more})")


def _number(value: Estimate | None) -> str:
    return decimal(value.value if value else None)
