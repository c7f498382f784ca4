"""What is shown of grades of documents: counts by judge, and agreement with grades by people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from claimeval.evaluation.grade import Grades
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.validity import Refused, Validity
from claimeval.providers.specs import short_names
from claimeval.runs.views import Block, Column, Data, confusion, heading, line, remark, table
from claimeval.statistics.formatting import decimal, estimate, tally
from claimeval.types.scales import Scale

SHOWN = 5
"""Refused grades that are shown for each assessor."""


def counts(grades: Grades, manifest: Manifest) -> Iterator[Block]:
    """Yield the counts of grades by judge, and of pairs without a grade by reason."""
    question, names = manifest.questions[0], short_names(grades.members)
    scale = question.scale
    of = f" (relevant from {scale.positive_from:g}), prompt "
    yield line("scale ", Data(scale.name), of, Data(manifest.prompts[0].name))
    graded = {names[judge]: counted for judge, counted in grades.members.items()}
    if len(graded) > 1:
        graded[f"panel ({manifest.panel.vote})"] = grades.counts
    columns = (
        Column(""), Column("pairs", "count"), *(Column(str(step), "count") for step in scale.steps),
        Column("unassessed"),
    )  # fmt: skip
    rows = [
        (
            Data(name),
            counted.pairs,
            *(counted.grades.get(step, 0) for step in scale.steps),
            tally(counted.unassessed) or "0",
        )
        for name, counted in graded.items()
    ]
    yield table("grades", columns, rows)
    if alpha := grades.alpha:
        value = "undefined" if alpha.value is None else estimate(alpha.value, alpha.reported)
        yield remark(f"Krippendorff's alpha of the judges, ordinal: {value}, {alpha.n} pairs")


AGAINST = (
    Column("against people"), Column("pairs", "count"), Column("unassessed", "count"), Column("kappa", "number"),
    Column("95 % interval", "ends"), Column("quadratic", "number"), Column("binary", "number"),
)  # fmt: skip


def validity(compared: Mapping[str, Validity], *, confusions: bool = False) -> Iterator[Block]:
    """Yield a row for each assessor, and with `confusions` also the confusion of grades and the order of systems."""
    if not compared:
        return
    orders = next(iter(compared.values())).orders
    rows = [
        (
            Data(name),
            report.pairs,
            report.unassessed,
            report.kappa.value if report.kappa else None,
            report.kappa,
            report.kappa_quadratic.value if report.kappa_quadratic else None,
            report.kappa_binary.value,
            *(order.tau for order in report.orders),
        )
        for name, report in compared.items()
    ]
    yield table("grades", (*AGAINST, *(Column(Data(f"tau {order.measure}"), "number") for order in orders)), rows)
    for name, report in compared.items() if confusions else ():
        if report.kappa is not None:
            same = decimal(report.exact.value)
            yield heading(
                "Grades of ", Data(name), f" (columns) where people gave (rows); the same in {same} of the pairs:"
            )
            yield confusion(f"confusion/{name}", "", report.labels, report.confusion)
    for order in orders if confusions else ():
        yield heading(Data(f"Systems by {order.measure}"), f", {order.queries} questions: people, then assessor")
        for system in sorted(order.human, key=lambda name: -(order.human[name] or 0.0)):
            yield line(Data(system), f"  {decimal(order.human[system], 4)}  {decimal(order.assessor[system], 4)}")


def refused(grades: Mapping[str, Sequence[Refused]], scale: Scale) -> Iterator[Block]:
    """Yield the number of grades that are not on the scale, and the first of them, for each assessor."""
    for name, found in grades.items():
        if found:
            first = ", ".join(f"{grade.query} {grade.document}: {grade.grade}" for grade in found[:SHOWN])
            more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
            ends = f"{scale.steps[0]} to {scale.steps[-1]}"
            yield line(Data(name), f": {len(found)} refused, off the scale {ends} (", Data(first), f"{more})")
