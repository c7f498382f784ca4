"""What is shown of agreement: judges with people and with each other, scores with ratings, grades
with grades."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from claimeval.evaluation.summary.panel import PANEL
from claimeval.runs.ratings import RatingAgreement
from claimeval.runs.views import (
    Block,
    Cell,
    Column,
    Data,
    Table,
    caution,
    confusion,
    heading,
    kappas,
    line,
    remark,
    table,
    tables,
    text,
)
from claimeval.runs.views.ratings import refused, validity
from claimeval.runs.views.run import CONFUSIONS, disputes, judges
from claimeval.statistics.classification import RARE_EXTREMES
from claimeval.statistics.estimates import coverage_notes
from claimeval.statistics.formatting import (
    decimal,
    interval,
    number_of,
    percent,
    percent_interval,
)
from claimeval.types.clusters import cluster_noun
from claimeval.types.estimates import Estimate

if TYPE_CHECKING:
    from claimeval.runs.agreement import Agreement, CalibrationReport, RaterReport, RaterSlice
    from claimeval.runs.correct import Correction

PAIRS = 15
"""Maximum number of pairs of raters that are shown; for more, the range is shown."""
COLUMNS = 3
"""Maximum number of raters that are shown in columns; more are shown in rows."""
MAIN = ("accuracy", "balanced", "F1", "kappa", "same")
"""Measures that rows of raters have: names begin with one of these."""
UNKNOWN = (
    "How often judges agree with people is not known: `claimeval annotate RUN` draws claims to"
    " label. Below, judges are compared with each other."
)
FIRST = 3
"""Disputed claims that are shown first."""
DISPUTES = 10
"""Disputed claims that are shown."""


RELIABILITY = (
    Column("Krippendorff's alpha", "estimate", at="alpha"),
    Column("Gwet's AC1", "estimate", at="ac1"),
)


class ShortNames(dict[str, str]):
    """Short names of judges in tables; other raters, such as the panel, keep their name."""

    def __missing__(self, name: str) -> str:
        return name


def view(
    report: Agreement,
    names: Mapping[str, str] = ShortNames(),
    source: str = "agreement",
    field: str | None = None,
) -> Iterator[Block]:
    """Yield what is shown of agreement.

    Args:
        report: The agreement.
        names: Short names of judges.
        source: What was compared, such as the path of a run.
        field: The field whose equal values are one cluster; None for the question.
    """
    if report.ratings:
        yield from ratings(report.ratings, source)
        return
    if report.assessors:
        yield from validity(report.assessors, confusions=len(report.assessors) == 1)
        yield from refused(report.assessors)
        return
    yield _heading(report, source, field)
    yield from with_people(report, names)
    yield from map(caution, report.notes)
    if report.raters:
        yield numbers(report.raters, names)
    for rater in report.raters[:CONFUSIONS]:
        name = names[rater.rater]
        yield confusion(
            f"confusion/{name}", Data(f"people \\ {name}"), rater.labels, rater.confusion
        )
    if report.slices:
        yield slices(report.slices, names)
    if report.pairs:
        yield pairs(report, names)
    if report.alpha and report.ac1:
        yield table(
            "reliability",
            RELIABILITY,
            [report],
            "Judges with each other",
        )
    if report.effective_votes is not None:
        judged = sum(rater.rater != PANEL for rater in report.raters)
        yield remark(
            f"{judged} judges whose errors coincide are worth {decimal(report.effective_votes, 1)}"
            f" independent votes, by {report.items:,} labels of people"
        )
    yield from judges(report.judges, names)
    for rater in report.raters:
        if rater.calibration and rater.calibration.n:
            yield calibration(names[rater.rater], rater.calibration)
    if report.disputes:
        yield heading("Disputed claims", ", most divided first; --json has up to 20")
        yield from disputes(report.disputes, names, DISPUTES)


def first(
    report: Agreement,
    names: Mapping[str, str] = ShortNames(),
    source: str = "agreement",
    field: str | None = None,
) -> Iterator[Block]:
    """Yield what a reader sees first: how often judges and people agree, a row for each rater, and
    the claims to read. The arguments are those of `view`."""
    if not report.of_claims:
        yield from view(report, names, source, field)
        return
    yield _heading(report, source, field)
    yield from map(caution, report.notes)
    if report.raters:
        yield _people_in_words(report.raters, names)
        yield _raters(report, names)
    elif report.pairs:
        yield line(UNKNOWN)
        yield from islice(tables(judges(report.judges, names)), 1)
    if report.slices:
        yield slices(report.slices, names)
    if report.disputes:
        yield line("First to read: the claims that divide the judges most")
        yield from disputes(report.disputes, names, FIRST)


def _heading(report: Agreement, source: str, field: str | None) -> Block:
    """Return what is compared: labels by people and the claims, answers or documents that they are
    about, of which one label of a claim may have two, in the answer and in the gold answer."""
    on = f" on {report.questions:,} {cluster_noun(field, report.questions)}"
    labels = report.strays.labels - report.unmatched
    if not report.raters:
        return heading(Data(source), f": {number_of(report.items, 'claim')}{on}, no human labels")
    items = f"{number_of(report.items, 'labeled item')}{on}"
    if 0 < labels < report.items:
        items += f" ({number_of(labels, 'label')}: a label is about each claim with its words)"
    return heading(Data(source), f": {items}")


def _people_in_words(raters: Sequence[RaterReport], names: Mapping[str, str]) -> Block:
    """Return which rater gives the label of people most often, and what it gets wrong most."""
    rated = [rater for rater in raters if rater.same.value is not None]
    if not rated:
        return line("No result: no item has a label by people and one by a judge.")
    best = max(rated, key=lambda rater: rater.same.value or 0.0)
    within = ""
    if best.same.reported:
        within = f" (95% interval {percent_interval(best.same.reported)})"
    alike = sum(rater.same.value == best.same.value for rater in rated)
    most = f", the most of {len(rated)} raters" if alike == 1 else ", no rater to more"
    parts = (
        f" gives the label of people to {percent(best.same.value)} of"
        f" {number_of(best.compared, 'item')}{within}{most if len(rated) > 1 else ''}.",
        *_mistakes(best),
    )
    return line(Data(names[best.rater]), " ".join(parts))


def _mistakes(rater: RaterReport) -> Iterator[str]:
    """Yield the most frequent mistake of a rater, and how often it has no label."""
    wrong = list[tuple[int, str, str]]()
    for of_people, row in zip(rater.labels, rater.confusion, strict=True):
        pairs = zip(rater.labels, row, strict=True)
        wrong += [(count, of_people, label) for label, count in pairs if label != of_people]
    count, of_people, of_rater = max(wrong, default=(0, "", ""))
    if count:
        verb = "are" if count > 1 else "is"
        yield (
            f"Its most frequent mistake: {count:,} that {verb} {_spoken(of_people)} for people"
            f" {verb} {_spoken(of_rater)} for it."
        )
    if rater.unassessed:
        every = number_of(rater.compared + rater.unassessed, "item")
        yield f"It has no label for {rater.unassessed:,} of {every}."


def _spoken(label: str) -> str:
    return label.replace("_", " ")


def _raters(report: Agreement, names: Mapping[str, str]) -> Table:
    """Return a row for each rater: how often it agrees with people, and what it costs."""
    costs = {judge.judge: judge.dollars_per_1000 for judge in report.judges}

    def cost(rater: RaterReport) -> Cell:
        return costs.get(rater.rater, "")

    columns = (
        Column("rater", at=lambda rater: Data(names[rater.rater])),
        Column("items", "count", at="compared"),
        Column("as people", "percent", at="same.value"),
        Column("95% interval", "percent_ends", at="same"),
        Column("balanced accuracy", "number", 1, "balanced_accuracy.value"),
        Column("kappa", "number", at="kappa_of_labels.value"),
        Column("per 1,000", "dollars", 2, cost, sparse=True),
    )
    return table("raters", columns, report.raters)


def with_people(report: Agreement, names: Mapping[str, str]) -> Iterator[Block]:
    """Yield how often judges and people agree, or what is missing for it."""
    if not report.raters and report.pairs:
        yield line(UNKNOWN)
    for rater in report.raters[:CONFUSIONS]:
        if rater.same.value is None:
            continue
        within = f" (95% interval {interval(rater.same.reported)})" if rater.same.reported else ""
        yield line(
            Data(names[rater.rater]),
            f" gives the label of people to {percent(rater.same.value)} of"
            f" {number_of(rater.compared, 'item')}{within}",
        )


def numbers(raters: Sequence[RaterReport], names: Mapping[str, str]) -> Table:
    """Return a column with intervals for each rater, or for many raters a row with the main
    numbers."""
    from claimeval.runs.agreement import by_measure

    if len(raters) <= COLUMNS:
        columns = (Column(""), *(Column(Data(names[rater.rater]), "estimate") for rater in raters))
        counts = (f"{r.compared}" + (f" (+{r.unassessed})" if r.unassessed else "") for r in raters)
        lines: list[tuple[Cell, ...]] = [("compared (+ unassessed)", *counts)]
        lines += [(name, *found) for name, found in by_measure(raters) if any(found)]
        graded = any(rater.weighted_kappa for rater in raters)
        low = coverage_notes("kappa, squared", "RaterReport.weighted_kappa") if graded else ()
        return table("people", columns, lines, notes=low)
    shown = [
        (name, values)
        for name, values in by_measure(raters)
        if name.startswith(MAIN) and any(values)
    ]
    rows = [
        (Data(names[rater.rater]), rater.compared, *numbers)
        for rater, *numbers in zip(
            raters, *([v and v.value for v in values] for _, values in shown), strict=True
        )
    ]
    head = (
        Column("rater"),
        Column("compared", "count"),
        *(Column(name, "number") for name, _ in shown),
    )
    return table("people", head, rows)


def slices(parts: Sequence[RaterSlice], names: Mapping[str, str]) -> Table:
    """Return the agreement of each rater with people by value of a field, with its confusions."""

    def confused(part: RaterSlice) -> Data:
        wrong = list[str]()
        for people, counts in zip(part.labels, part.confusion, strict=True):
            for rater, count in zip(part.labels, counts, strict=True):
                if count and people != rater:
                    wrong.append(f"{count} {people} as {rater}")
        return Data(", ".join(wrong))

    columns = (
        Column("value", at="value"),
        Column("rater", at=lambda part: Data(names[part.rater])),
        Column("n", "count", at="compared"),
        Column("equal", "estimate", at="same"),
        Column("kappa", "estimate", at="kappa"),
        Column("confused", at=confused),
    )
    return table("slices", columns, parts)


def pairs(report: Agreement, names: Mapping[str, str]) -> Block:
    """Return the agreement of any two raters, or its range if there are many."""
    rows = [
        (Data(f"{names[pair.first]} / {names[pair.second]}"), pair.items, pair.raw, pair.kappa)
        for pair in report.pairs
    ]
    return kappas("items", rows, [pair.kappa.value for pair in report.pairs], PAIRS, "estimate")


def calibration(name: str, report: CalibrationReport) -> Table:
    """Return how often people support what a judge states with some probability."""
    note = f"calibration error {decimal(report.error)}, Brier score {decimal(report.brier)}"
    columns = (
        Column(Data(f"{name}: stated"), "number", at="probability"),
        Column("supported", "number", at="share"),
        Column("95% interval", "range", at=lambda bin_: (bin_.low, bin_.high)),
        Column("claims", "count", at="n"),
    )
    return table(f"calibration/{name}", columns, report.bins, notes=(note,))


def ratings(found: RatingAgreement, source: str) -> Iterator[Block]:
    """Yield how scores of whole answers go with ratings by people."""
    what = "pairs of answers" if found.pairs else "answers"
    yield heading(Data(source), f": {found.items:,} {what} with a rating by people")
    scores = _last_parts(pair.score for pair in found.correlations)
    people = _last_parts(pair.rating for pair in found.correlations)
    columns = (
        Column("score", at=lambda pair: Data(scores[pair.score])),
        Column("people", at=lambda pair: Data(people[pair.rating])),
        Column("n", "count", at="items"),
        Column("Spearman", "estimate", at="spearman"),
        Column("Pearson", "estimate", at="pearson"),
        *([Column("same preference", "estimate", at="agreeing")] if found.pairs else ()),
    )
    note = f"Pearson has no interval: {RARE_EXTREMES}"
    yield table("ratings", columns, found.correlations, notes=(note,))
    for pair in found.people:
        both = f": Spearman {text(pair.spearman, 'estimate')}, {pair.items} {what}"
        yield remark("two annotators of ", Data(pair.rating), " with each other", both)
    if found.unmatched:
        yield remark(
            f"left out: {number_of(found.unmatched, 'row')} without a rating or of no sample"
        )


def _last_parts(names: Iterable[str]) -> dict[str, str]:
    """Return the last part of each path if these are unique, else the paths."""
    short = {name: name.rpartition(".")[2] for name in names}
    return short if len(set(short.values())) == len(short) else {name: name for name in short}


CORRECTED = (
    Column("number"),
    Column("by"),
    Column("value", "number"),
    Column("95% interval", "ends"),
    Column("width", "number"),
    Column("labels", "count", 1),
)
_MICRO = {"claim": "micro", "sample": "share", "answer": "mean"}


def quoted(found: Correction) -> Block:
    """Return which number to quote."""
    score = found.macro or found.micro
    best = score.corrected
    if best.value is None or not best.reported:
        return line(
            f"Quote no number yet: {best.because or 'the corrected score has no interval'}. The"
            f" judges alone say {decimal(score.judged.value, 2)}."
        )
    labels = number_of(found.labeled, "label")
    return line(
        f"Quote {decimal(best.value, 2)} (95% interval {interval(best.reported)}): the judges'"
        f" score {decimal(score.judged.value, 2)}, corrected with {labels}"
    )


def correction(found: Correction) -> Iterator[Block]:
    """Yield the numbers in the order in which `score` prints them, and what to know of them."""
    of = {
        "claim": "judged claims",
        "sample": "samples with a judged claim",
        "answer": "rated answers",
    }[found.unit]
    what = ", share of samples with every claim supported" if found.unit == "sample" else ""
    yield heading(
        Data(found.metric), f"{what}: {found.items} {of}, {found.labeled} of them labeled"
    )
    yield quoted(found)
    if stray := found.strays.words():
        yield caution(stray)
    rows = list[tuple[Cell, ...]]()
    for name, score in (("macro", found.macro), (_MICRO[found.unit], found.micro)):
        if score:
            rows.append((name, "the judges alone", *_cells(score.judged), ""))
            rows.append(
                ("", f"corrected ({found.method})", *_cells(score.corrected), found.labeled)
            )
            rows.append(("", "people alone", *_cells(score.people), found.labeled))
    notes = coverage_notes("macro, corrected", "CorrectedScore.corrected") if found.macro else ()
    yield table("corrected", CORRECTED, rows, notes=notes)
    scores = [score for score in (found.macro, found.micro) if score]
    for because in dict.fromkeys(score.corrected.because for score in scores):
        if because:
            yield line("- ", Data(because))
    weights = [score.ppi_lambda for score in scores if score.ppi_lambda is not None]
    if weights:
        words = ", ".join(decimal(weight, 2) for weight in weights)
        stated = " by the probabilities that they state" if found.by_probability else ""
        yield line(f"- weight of the judges{stated}: {words} (0: ignored, 1: full weight)")
    yield line("- the judges' interval ignores their errors")
    if found.micro.labels_needed is not None:
        yield line(f"- {found.micro.labels_needed} more labels would halve the corrected interval")
    for note in found.notes:
        if note != stray:
            yield line("- ", Data(note))


def _cells(number: Estimate) -> tuple[Cell, ...]:
    ends = number.reported
    return number.value, number, ends[1] - ends[0] if ends else None
