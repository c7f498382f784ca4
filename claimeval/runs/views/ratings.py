"""What is shown of ratings of whole answers and grades of documents: counts by word, judges, and
people beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from claimeval.evaluation.grade import Grades
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.raters import Members, RatingComparison, words
from claimeval.evaluation.validity import GraderReport, Validity
from claimeval.providers.specs import short_names
from claimeval.runs.views import (
    Block,
    Column,
    Data,
    Named,
    confusion,
    heading,
    line,
    named,
    remark,
    table,
)
from claimeval.statistics.formatting import decimal, estimate, tally
from claimeval.types.estimates import Estimate
from claimeval.types.scales import Scale

APART = 5
"""Answers that are shown of those which ratings and claims judge differently."""
SHOWN = 5
"""Refused grades that are shown for each assessor."""


BESIDE = (
    Column("whole answer against claims"),
    Column("share", "number"),
    Column("95% interval", "ends"),
    Column("n", "count"),
)


def view(
    counts: Mapping[str, Mapping[str, int]],
    judged: Mapping[str, Members],
    compared: Sequence[RatingComparison],
) -> Iterator[Block]:
    """Yield counts by word, the judges of a panel with their agreement, and ratings next to metrics
    of claims."""
    for name, of_word in counts.items():
        yield line(Data(name), f": {tally(of_word)}")
    for question, panel in judged.items():
        yield from _members(question, panel)
    beside = []
    for one in compared:
        for name, share in (
            (Data(f"{one.rating}: yes"), one.whole),
            (Data(f"{one.metric}: every claim supported"), one.claims),
            ("agreement", one.agreement),
            ("kappa", one.kappa),
        ):
            beside.append((name, share.value, share, share.n))
    if beside:
        yield table("beside", BESIDE, beside)
    for one in compared:
        shown = ", ".join(words(disagreement) for disagreement in one.apart[:APART])
        more = f", and {len(one.apart) - APART} more" if len(one.apart) > APART else ""
        differ = f" differ in {len(one.apart)} of {one.agreement.n}{': ' if shown else ''}"
        yield remark(Data(f"{one.rating} and {one.metric}"), differ, Data(shown), more)


def _members(question: str, panel: Members) -> Iterator[Block]:
    """Yield the words of each judge of a panel, and how far they agree; nothing for one judge."""
    if not panel.alpha:
        return
    of_first = next(iter(panel.judges.values())).words
    shorter = short_names(list(panel.judges))
    columns = (
        Column(Data(question)),
        *(Column(Data(word), "count") for word in of_first),
        Column("unassessed"),
    )
    rows = [
        (Data(shorter[name]), *member.words.values(), tally(member.unassessed) or "0")
        for name, member in panel.judges.items()
    ]
    yield table(f"members/{question}", columns, rows)
    alpha = estimate(panel.alpha.value, panel.alpha.reported)
    yield remark(f"Krippendorff's alpha: {alpha}, {panel.alpha.n} answers")


def next_step(qrels: Path, runs: str, scale: Scale) -> list[str]:
    """Return where the grades are, and the command that ranks runs by them."""
    command = f"claimeval rank {qrels} {runs} -l {scale.positive_from:g}"
    return [f"Grades: {qrels}", f"Rank by them: {command}"]


def grades(grades: Grades, manifest: Manifest) -> Iterator[Block]:
    """Yield the counts of grades by judge, and of pairs without a grade by reason."""
    question = manifest.questions[0]
    names = short_names(grades.members)
    scale = question.scale
    of = f" (relevant from {scale.positive_from:g}), prompt "
    yield line(
        "scale ",
        Data(scale.name),
        of,
        Data(manifest.prompts[0].name),
    )
    graded = {names[judge]: counted for judge, counted in grades.members.items()}
    if len(graded) > 1:
        graded[f"panel ({manifest.panel.vote})"] = grades.counts
    columns = (
        Column(""),
        Column("pairs", "count"),
        *(Column(str(step), "count") for step in scale.steps),
        Column("unassessed"),
    )
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


def has_interval(estimate: Estimate | None) -> bool:
    """Return whether there is an estimate with both ends."""
    return estimate is not None and estimate.reported is not None


AGAINST = (
    Column("pairs", "count", at="pairs"),
    Column("unassessed", "count", at="unassessed"),
    Column("kappa", "number", at="kappa.value"),
    Column("95% interval", "ends", at="kappa"),
    Column("quadratic", "number", at="kappa_quadratic.value"),
    Column(
        "95% interval",
        "ends",
        2,
        lambda report: report.kappa_quadratic if has_interval(report.kappa_quadratic) else None,
        sparse=True,
        estimate="Validity.kappa_quadratic",
    ),
    Column("binary", "number", at="kappa_binary.value"),
)


def validity(compared: Mapping[str, Validity], *, confusions: bool = False) -> Iterator[Block]:
    """Yield a row for each assessor, and with `confusions` also the confusion of grades and the
    order of systems."""
    if not compared:
        return
    orders = next(iter(compared.values())).orders

    def tau(i: int) -> Column:
        return Column(
            Data(f"tau {orders[i].measure}"), "number", at=lambda report: report.orders[i].tau
        )

    taus = map(tau, range(len(orders)))
    rows = [Named(Data(name), report) for name, report in compared.items()]
    yield table("grades", named("against people", (*AGAINST, *taus)), rows)
    for name, report in compared.items() if confusions else ():
        if report.kappa is not None:
            same = decimal(report.exact.value)
            yield heading(
                "Grades of ",
                Data(name),
                f" (columns) where people gave (rows); the same in {same} of the pairs:",
            )
            yield confusion(f"confusion/{name}", "", report.labels, report.confusion)
    for order in orders if confusions else ():
        yield heading(
            Data(f"Systems by {order.measure}"),
            f", {order.queries} questions: people, then assessor",
        )
        for system in sorted(order.human, key=lambda name: -(order.human[name] or 0.0)):
            yield line(
                Data(system),
                f"  {decimal(order.human[system], 4)}  {decimal(order.assessor[system], 4)}",
            )


def refused(compared: Mapping[str, GraderReport]) -> Iterator[Block]:
    """Yield the number of grades that are not on the scale, and the first of them, for each
    assessor."""
    for name, report in compared.items():
        if found := report.refused:
            first = ", ".join(
                f"{grade.query} {grade.document}: {grade.grade}" for grade in found[:SHOWN]
            )
            more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
            ends = f"{report.steps[0]} to {report.steps[-1]}"
            yield line(
                Data(name),
                f": {len(found)} refused, off the scale {ends} (",
                Data(first),
                f"{more})",
            )
