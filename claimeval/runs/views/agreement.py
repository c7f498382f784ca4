"""What is shown of agreement: judges with people and with each other, scores with ratings, grades
with grades."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from claimeval.evaluation.summary.panel import PANEL
from claimeval.runs.agreement import may_be_chance
from claimeval.runs.ratings import RatingAgreement
from claimeval.runs.views import (
    Block,
    Cell,
    Column,
    Data,
    Named,
    Table,
    caution,
    confusion,
    heading,
    kappas,
    line,
    named,
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
    digits_of,
    estimate,
    interval,
    number_of,
    percent,
    percent_interval,
)
from claimeval.types.clusters import cluster_noun
from claimeval.types.estimates import Estimate

if TYPE_CHECKING:
    from claimeval.evaluation.validity import GraderReport
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
FIRST_COLUMNS = 7
"""Columns of a table that is shown first."""
ROWS = 10
"""Assessors of grades that are shown first."""
ASSESSORS = (
    Column("pairs", "count", at="pairs"),
    Column("same grade", "percent", at="exact.value"),
    Column("kappa", "number", at="kappa.value"),
    Column("95% interval", "ends", at="kappa"),
    Column("relevant or not: kappa", "number", at="kappa_binary.value"),
)


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
    yield from _with_each_other(report)
    yield from judges(report.judges, names)
    for rater in report.raters:
        if rater.calibration and rater.calibration.n:
            yield calibration(names[rater.rater], rater.calibration)
    if report.disputes:
        yield heading("Disputed claims", ", most divided first; --json has up to 20")
        yield from disputes(report.disputes, names, DISPUTES)


def _with_each_other(report: Agreement) -> Iterator[Block]:
    """Yield how far judges agree with each other, and how many votes they are worth."""
    if report.alpha and report.ac1:
        yield table("reliability", RELIABILITY, [report], "Judges with each other")
    if report.effective_votes is not None:
        yield remark(_votes(report, report.effective_votes))


def _votes(report: Agreement, votes: float) -> str:
    """Return how many votes the judges are worth, and whether their errors coincide by more than
    chance."""
    judged = sum(rater.rater != PANEL for rater in report.raters)
    ends = report.effective_votes_interval
    within = f" (95% interval {interval(ends, 1)})" if ends else ""
    coincide = " whose errors coincide" if ends and ends[1] < judged else ""
    return (
        f"{judged} judges{coincide} are worth {decimal(votes, 1)} independent votes{within}, by"
        f" {number_of(report.labeled, 'label')} of people"
    )


def first(
    report: Agreement,
    names: Mapping[str, str] = ShortNames(),
    source: str = "agreement",
    field: str | None = None,
) -> Iterator[Block]:
    """Yield what a reader sees first: how often judges and people agree, a row for each rater, and
    the claims to read.

    Args:
        report: The agreement.
        names: Short names of judges.
        source: What the heading says is measured.
        field: The field of the data that the labels come from, if any.
    """
    if report.assessors:
        yield from _assessors(report.assessors, source)
        return
    if not report.of_claims:
        yield from view(report, names, source, field)
        return
    yield _heading(report, source, field)
    yield from map(caution, report.notes)
    if report.raters:
        yield _people_in_words(report, names)
        yield _raters(report, names)
    elif report.pairs:
        yield line(UNKNOWN)
        for wide in islice(tables(judges(report.judges, names)), 1):
            rows = tuple(row[:FIRST_COLUMNS] for row in wide.rows)
            yield wide._replace(columns=wide.columns[:FIRST_COLUMNS], rows=rows)
    else:
        yield line("How often the judge agrees with people is not known: there are no labels.")
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


def _assessors(found: Mapping[str, GraderReport], source: str) -> Iterator[Block]:
    """Yield which assessor grades as people do, a row for each of the best, and its most frequent
    mistake."""
    pairs = max(report.pairs for report in found.values())
    yield heading(Data(source), f": {number_of(pairs, 'pair')} graded by people")
    rated = {name: one for name, one in found.items() if one.exact.value is not None}
    if not rated:
        yield line("No result: no pair has a grade by people and one by an assessor.")
        return
    ordered = sorted(rated, key=lambda name: -_closeness(rated[name]))
    best = rated[ordered[0]]
    yield _closest_assessor(rated, ordered[0])
    taus = tuple(
        Column(Data(f"tau {order.measure}"), "number", at=lambda report: report.orders[0].tau)
        for order in best.orders[:1]
    )
    columns = named("against people", (*ASSESSORS, *taus))
    yield table("grades", columns, [Named(Data(name), rated[name]) for name in ordered[:ROWS]])
    if len(ordered) > ROWS:
        yield remark(f"and {len(ordered) - ROWS} more: --details")
    yield from refused(found)


def _closest_assessor(rated: Mapping[str, GraderReport], name: str) -> Block:
    """Return how often the closest of several assessors grades as people do."""
    best = rated[name]
    most = f", the closest of {len(rated)} assessors" if len(rated) > 1 else ""
    kappa = f" (kappa {estimate(best.kappa.value, best.kappa.reported)})" if best.kappa else ""
    lower = _lower(
        best.kappa or best.exact,
        [(one.kappa or one.exact, other) for other, one in rated.items()],
    )
    return line(
        Data(name),
        f" gives the grade of people to {percent(best.exact.value)} of"
        f" {number_of(best.pairs, 'pair')}{kappa}{most}",
        *_may_be_lower(lower),
        " ".join((".", *_misgraded(best))),
    )


def _closeness(report: GraderReport) -> float:
    kappa = report.kappa.value if report.kappa else None
    return (report.exact.value or 0.0) if kappa is None else kappa


def _misgraded(report: GraderReport) -> Iterator[str]:
    """Yield the most frequent mistake of an assessor."""
    wrong = list[tuple[int, int, int]]()
    for of_people, row in zip(report.labels, report.confusion, strict=True):
        pairs = zip(report.labels, row, strict=True)
        wrong += [(count, of_people, grade) for grade, count in pairs if grade != of_people]
    most, people, grade = max(wrong, default=(0, 0, 0))
    if most:
        verb = "are" if most > 1 else "is"
        yield f"Most frequent mistake: {most:,} of grade {people} {verb} given {grade}."


def _people_in_words(report: Agreement, names: Mapping[str, str]) -> Block:
    """Return which rater gives the label of people most often, and what it gets wrong most."""
    rated = [rater for rater in report.raters if rater.same.value is not None]
    if not rated:
        return line("No result: no item has a label by people and one by a judge.")
    best = max(rated, key=lambda rater: rater.same.value or 0.0)
    within = ""
    if best.same.reported:
        within = f" (95% interval {percent_interval(best.same.reported)})"
    return line(
        Data(names[best.rater]),
        f" gives the label of people to {percent(best.same.value)} of"
        f" {number_of(best.compared, 'item')}{within}",
        *_beside(best, rated, report.leads, names),
        " ".join((".", *_mistakes(best))),
    )


def _beside(
    best: RaterReport,
    rated: Sequence[RaterReport],
    leads: Mapping[str, Estimate],
    names: Mapping[str, str],
) -> Iterator[str]:
    """Yield how the rater that agrees with people most compares with the others."""
    if len(rated) == 1:
        return
    others = [rater for rater in rated if rater.same.value != best.same.value]
    tied = len(others) < len(rated) - 1
    yield ", no rater to more" if tied else f", the most of {len(rated)} raters"
    yield from _may_be_lower(
        [
            (percent(rater.same.value), names[rater.rater])
            for rater in others
            if may_be_chance(leads.get(rater.rater))
        ]
    )


def _may_be_lower(others: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield that others, with their values and names, may be lower than the best by chance."""
    if len(others) == 1:
        yield from (f", but the {others[0][0]} of ", Data(others[0][1]))
    elif others:
        yield f", but {len(others)} others"
    if others:
        yield " may be lower by chance alone"


def _lower(first: Estimate, others: Iterable[tuple[Estimate, str]]) -> list[tuple[str, str]]:
    """Return the values and names of the estimates that may be below the best one by chance: one of
    both has no interval, or their intervals have a value in common."""
    lower = list[tuple[str, str]]()
    for other, name in others:
        apart = first.reported and other.reported and other.reported[1] < first.reported[0]
        if not apart and (other.value or 0.0) < (first.value or 0.0):
            lower.append((decimal(other.value, 2), name))
    return lower


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

    measures = [(name, values) for name, values in by_measure(raters) if any(values)]
    if len(raters) <= COLUMNS:
        return _in_columns(raters, measures, names)
    shown = [(name, values) for name, values in measures if name.startswith(MAIN)]
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


def _in_columns(
    raters: Sequence[RaterReport],
    measures: Iterable[tuple[str, Sequence[Estimate | None]]],
    names: Mapping[str, str],
) -> Table:
    """Return a column for each rater, with a row for each measure."""
    columns = (Column(""), *(Column(Data(names[rater.rater]), "estimate") for rater in raters))
    counts = (f"{r.compared}" + (f" (+{r.unassessed})" if r.unassessed else "") for r in raters)
    rows: list[tuple[Cell, ...]] = [("compared (+ unassessed)", *counts)]
    rows += [(name, *values) for name, values in measures]
    graded = any(rater.weighted_kappa for rater in raters)
    notes = coverage_notes("kappa, squared", "RaterReport.weighted_kappa") if graded else ()
    return table("people", columns, rows, notes=notes)


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


def _closest(found: RatingAgreement) -> Block:
    """Return which score goes with ratings by people most, and what two people reach."""
    known = [pair for pair in found.correlations if pair.spearman.value is not None]
    if not known:
        return line("No result: no score varies with a rating, or too few answers have both.")
    best = max(known, key=lambda pair: pair.spearman.value or 0.0)
    value = text(best.spearman, "estimate")
    if (best.spearman.value or 0.0) <= 0:
        return line(
            "No score goes with the ratings by people: the closest is ",
            Data(best.score),
            f", Spearman {value}.",
        )
    chance = ", without an interval" if not best.spearman.reported else ""
    if best.spearman.reported and best.spearman.reported[0] <= 0:
        chance = ", which may be chance"
    # What goes with another rating, and how alike people are in it, is no limit for this one.
    alike = [pair for pair in known if pair.rating == best.rating]
    among = f", the closest of {len(alike)} scores" if len(alike) > 1 else ""
    estimates = [(pair.spearman, pair.score) for pair in alike]
    rating = (" of ", Data(best.rating)) if len(alike) < len(known) else ()
    return line(
        Data(best.score),
        " goes with the ratings by people",
        *rating,
        f": Spearman {value}{chance}{among}",
        *_may_be_lower(_lower(best.spearman, estimates)),
        f".{_among_people(found, best.rating)}",
    )


def _among_people(found: RatingAgreement, rating: str) -> str:
    """Return what two annotators of a rating reach with each other; empty if it is not known."""
    people = next((one for one in found.people if one.rating == rating), None)
    if people is None or people.spearman.value is None:
        return ""
    return f" Two annotators reach {decimal(people.spearman.value)} with each other."


def ratings(found: RatingAgreement, source: str) -> Iterator[Block]:
    """Yield how scores of whole answers go with ratings by people."""
    what = "pairs of answers" if found.pairs else "answers"
    yield heading(Data(source), f": {found.items:,} {what} with a rating by people")
    yield _closest(found)
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
        why = best.because or "the corrected score has no interval"
        if found.too_few:
            # What they count as, and how to give more, is said below the table.
            be = "is" if found.labeled == 1 else "are"
            why = f"{number_of(found.labeled, 'label')} {be} too few"
        return line(
            f"Quote no number yet: {why}. The judges alone say {decimal(score.judged.value, 2)}."
        )
    labels = number_of(found.labeled, "label")
    value = decimal(best.value, digits_of(best.reported))
    return line(
        f"Quote {value} (95% interval {interval(best.reported)}): the judges'"
        f" score {decimal(score.judged.value, 2)}, corrected with {labels}."
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
    yield _corrected(found)
    yield from _remarks(found)
    for note in found.notes:
        if note != stray:
            yield line("- ", Data(note))


def _corrected(found: Correction) -> Table:
    """Return each number by the judges, corrected, and by people."""
    rows = list[tuple[Cell, ...]]()
    for name, score in (("macro", found.macro), (_MICRO[found.unit], found.micro)):
        if score:
            rows.append((name, "the judges alone", *_cells(score.judged), ""))
            rows.append(
                ("", f"corrected ({found.method})", *_cells(score.corrected), found.labeled)
            )
            rows.append(("", "people alone", *_cells(score.people), found.labeled))
    notes: tuple[str, ...] = ()
    if found.macro and found.macro.corrected.reported:
        notes = coverage_notes("macro, corrected", "CorrectedScore.corrected")
    drawn = table("corrected", CORRECTED, rows, notes=notes)
    # Why there is no interval is said in the sentence above.
    return drawn._replace(notes=notes) if found.too_few else drawn


def _remarks(found: Correction) -> Iterator[Block]:
    """Yield why a number has no interval, how much the judges weigh, and what labels would add."""
    scores = [score for score in (found.macro, found.micro) if score]
    for because in dict.fromkeys(score.corrected.because for score in scores):
        if because and not found.too_few:
            yield line("- ", Data(because))
    weights = [score.ppi_lambda for score in scores if score.ppi_lambda is not None]
    if weights:
        words = ", ".join(decimal(weight, 2) for weight in weights)
        stated = " by the probabilities that they state" if found.by_probability else ""
        yield line(f"- weight of the judges{stated}: {words} (0: ignored, 1: full weight)")
    yield line("- the judges' interval ignores their errors")
    if found.micro.labels_needed is not None:
        yield line(f"- {found.micro.labels_needed} more labels would halve the corrected interval")


def _cells(number: Estimate) -> tuple[Cell, ...]:
    ends = number.reported
    return number.value, number, ends[1] - ends[0] if ends else None
