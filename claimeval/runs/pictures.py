"""Pictures of what runs come to: one of each kind of record, the same in notebooks, Markdown, pages and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from claimeval.runs.slices import CELLS
from claimeval.statistics import pictures
from claimeval.statistics.pictures import WIDTH, Cell, Curve, Mark, Picture

if TYPE_CHECKING:
    from claimeval.evaluation.summary.panel import PanelSummary
    from claimeval.metrics.scoring import MetricSummary
    from claimeval.runs.agreement import Agreement, CalibrationReport, RaterReport
    from claimeval.runs.experiments.results import ExperimentResult
    from claimeval.runs.judges import JudgeNumbers
    from claimeval.runs.overview import PairedRuns, RankOverview
    from claimeval.runs.series import Series
    from claimeval.runs.slices import ChangeSlices, DiagnosisCounts, Slices

SHARE = "mean, from 0 to 1"
PEOPLE = "human"
TREND = 460.0
"""Points that a trend is wide, so that it can be read on a telephone."""
Link = Callable[..., str | None]
"""Says which address a mark leads to."""
ROWS = 30
"""Rows of a picture; more are in tables only."""


def mark(name: str, summary: MetricSummary, link: str | None = None) -> Mark:
    """Return a mean with what tables print beside it: its interval, or the bounds in its place."""
    low, high = summary.ends or (None, None)
    ends = "bounds" if summary.shown == "bounds" else "95 %"
    return Mark(name, summary.mean, low, high, summary.n, ends, link)


def of_metrics(metrics: Mapping[str, MetricSummary], title: str) -> Picture | None:
    """Draw the means of a run that are shares; None if it has none."""
    marks = [mark(name, one) for name, one in metrics.items() if one.unit == "share" and one.mean is not None]
    return pictures.slices(marks[:ROWS], title, SHARE) if marks else None


def of_comparison(pair: PairedRuns, *, width: float = WIDTH) -> Picture:
    """Draw the differences of two runs, metric by metric; of metrics that are no shares only if there is no other."""
    shares = [one for one in pair.metrics if 0 <= (one.a or 0) <= 1 and 0 <= (one.b or 0) <= 1]
    marks = [
        Mark(one.metric, one.difference.value, one.difference.low, one.difference.high, one.n)
        for one in (shares or pair.metrics)[:ROWS]
    ]
    return pictures.forest(marks, f"{pair.b} minus {pair.a}", "difference of the means", width=width)


def of_series(series: Series, links: Sequence[str] = (), *, width: float = TREND) -> list[Picture]:
    """Draw a picture a metric: its mean in each run, what changed there, and the baseline's mean as a line.

    Args:
        series: The runs.
        links: The address of each run; none for no links.
        width: Points.
    """
    drawn = []
    for one in series.tracks:
        addresses: Sequence[str | None] = links or [None] * len(one.points)
        marks = [mark(point.run, point, link) for point, link in zip(one.points, addresses, strict=True)]
        unit = SHARE if one.points[0].unit == "share" else f"mean, {one.points[0].unit}"
        drawn.append(
            pictures.trend(marks, one.metric, unit, changes=series.marks, baseline=series.baseline, width=width)
        )
    return drawn


def of_arms(table: ExperimentResult, *, width: float = TREND) -> dict[str, tuple[Picture, Picture]]:
    """Draw an experiment: by metric the mean of each arm, and the differences to the baseline.

    Args:
        table: The experiment.
        width: Points.
    """
    drawn = {}
    for metric, first in table.arms[0].metrics.items():
        cells = {arm.name: arm.metrics[metric] for arm in table.arms}
        means = [mark(name, cell) for name, cell in cells.items()]
        others = [
            Mark(name, cell.difference.value, cell.difference.low, cell.difference.high, cell.difference.n)
            for name, cell in cells.items()
            if cell.difference
        ]
        label = SHARE if first.unit == "share" else f"mean, {first.unit}"
        drawn[metric] = (
            pictures.slices(means[:ROWS], metric, label, width=width),
            pictures.forest(others[:ROWS], f"{metric}: arm minus {table.baseline}", "difference", width=width),
        )
    return drawn


def no_link(*_: str | None) -> str | None:
    """Return no address."""
    return None


def of_slices(slices: Slices, link: Link = no_link, *, width: float = WIDTH) -> list[Picture]:
    """Draw a picture a metric: its mean for each value of the field, the greatest part of the loss first.

    Args:
        slices: The slices of a field.
        link: The address that a row leads to, by its metric and value.
        width: Points.
    """
    drawn = []
    for metric in dict.fromkeys(row.metric for row in slices):
        rows = sorted((row for row in slices if row.metric == metric), key=lambda row: -(row.contribution or 0))[:ROWS]
        if not any(row.contribution is not None for row in rows):
            continue
        marks = [
            Mark(
                row.value or "(without)", row.estimate.value, row.estimate.low, row.estimate.high, row.estimate.n,
                link=link(metric, row.value),
            )
            for row in rows
        ]  # fmt: skip
        share = [row.contribution for row in rows]
        mean = 1 - sum(row.contribution or 0 for row in slices if row.metric == metric)
        title = f"{metric} by {slices.field}, the greatest loss first"
        drawn.append(pictures.slices(marks, title, SHARE, mean=mean, share=share, width=width))
    return drawn


def of_changes(changes: ChangeSlices, link: Link = no_link, *, width: float = WIDTH) -> list[Picture]:
    """Draw a picture a metric: the difference of two runs for each value of the field, the greatest part first."""
    drawn = []
    for metric in dict.fromkeys(row.metric for row in changes.rows):
        estimated = [row for row in changes.rows if row.metric == metric and row.difference.value is not None]
        rows = sorted(estimated, key=lambda row: -abs(row.contribution or 0))[:ROWS]
        marks = [
            Mark(
                row.value or "(without)", row.difference.value, row.difference.low, row.difference.high, row.n,
                link=link(metric, row.value),
            )
            for row in rows
        ]  # fmt: skip
        title = f"{metric} by {changes.field}, b - a"
        drawn.append(pictures.forest(marks, title, "difference of the means, b - a", width=width))
    return drawn


def of_diagnosis(counts: DiagnosisCounts, link: Link = no_link) -> Picture:
    """Draw whether retrieval or generation is to blame, as a square of four cells."""
    cells = [
        [Cell(CELLS[name], counts.cells[name], link(name)) for name in two]
        for two in (("fine", "ignored"), ("missed", "made_up"))
    ]
    title = f"Retrieval or generation, in samples; high is {counts.threshold:g} or more"
    columns = ("high faithfulness", "low faithfulness")
    return pictures.square(cells, title, ("high recall", "low recall"), columns, width=420)


def of_ranks(ranks: Sequence[RankOverview], *, width: float = WIDTH) -> Picture:
    """Draw what each rank of the contexts is good for: shares of the samples that have a context there."""
    shares = {"cited by a judge": [one.cited for one in ranks]}
    if all(one.relevant is not None for one in ranks):
        shares["a reference context"] = [one.relevant or 0 for one in ranks]
    curves = [
        Curve(
            name, [(one.rank, Mark("", n / one.samples, n=one.samples)) for one, n in zip(ranks, counts, strict=True)]
        )
        for name, counts in shares.items()
    ]
    return pictures.lines(curves, "Contexts by rank", "rank", "share of samples", width=width)


def of_panel(panel: PanelSummary, names: Mapping[str, str] = {}, link: Link = no_link) -> Picture:
    """Draw Cohen's kappa of each two judges, and of each with the panel."""
    pairs = {frozenset((one.first, one.second)): one.kappa for one in (*panel.judge_pairs, *panel.judge_vs_panel)}
    raters = list(dict.fromkeys(name for one in pairs for name in sorted(one)))
    raters = [name for name in (*panel.judges, "panel") if name in raters]
    shown = [names.get(name, name) for name in raters]
    cells = [
        [
            Cell(f"{names.get(a, a)} and {names.get(b, b)}", pairs.get(frozenset((a, b))) if a != b else None, link(a))
            for b in raters
        ]
        for a in raters
    ]
    return pictures.heat_map(shown, shown, cells, "Cohen's kappa of judges")


def of_cost(judges: Sequence[JudgeNumbers], names: Mapping[str, str] = {}) -> Picture | None:
    """Draw agreement over cost, with the line of the judges that no other beats; None unless two judges have both."""
    priced = [one for one in judges if one.dollars_per_1000 is not None and one.kappa is not None]
    if len(priced) < 2:
        return None
    marks = [
        (one.dollars_per_1000 or 0.0, Mark(names.get(one.judge, one.judge), one.kappa, n=one.compared))
        for one in priced
    ]
    compared = f"Cohen's kappa with {'people' if priced[0].agrees_with == 'people' else 'the panel'}"
    return pictures.points(marks, "Agreement and cost", "dollars per 1,000 verdicts", compared, front=True)


def of_confusion(one: JudgeNumbers, name: str) -> Picture | None:
    """Draw the labels of a judge against those of people or the panel; None if it is compared with nobody."""
    if not one.confusion or not one.agrees_with:
        return None
    rows = [label.replace("_", " ") for label in one.labels]
    cells = [
        [Cell(f"{one.agrees_with} {a}, {name} {b}", count) for b, count in zip(rows, counts, strict=True)]
        for a, counts in zip(rows, one.confusion, strict=True)
    ]
    title = f"{name} and {one.agrees_with}"
    return pictures.heat_map(rows, rows, cells, title, labels=(one.agrees_with, name), counts=True)


def of_calibration(report: CalibrationReport, name: str) -> Picture:
    """Draw stated probabilities against the share that people call supported."""
    marks = [(one.probability, Mark("people", one.share, one.low, one.high, one.n)) for one in report.bins]
    return pictures.calibration(marks, f"{name}: probabilities and people", y_label="share supported by people")


def of_agreement(agreement: Agreement, names: Mapping[str, str] = {}) -> Picture | None:
    """Draw the kappa of each two raters and the confusion of each with people; None for no two raters.

    Args:
        agreement: The agreement.
        names: How raters are shown.
    """
    raters = list(dict.fromkeys(rater for pair in agreement.pairs for rater in (pair.first, pair.second)))
    kappas = {(pair.first, pair.second): pair.kappa.value for pair in agreement.pairs}
    parts = []
    if raters:
        shown = [names.get(rater, rater) for rater in raters]
        cells = [
            [Cell(f"{names.get(a, a)} and {names.get(b, b)}", kappas.get((a, b), kappas.get((b, a)))) for b in raters]
            for a in raters
        ]
        parts.append(pictures.heat_map(shown, shown, cells, "Cohen's kappa of raters"))
    parts += [_confusion(rater, names.get(rater.rater, rater.rater)) for rater in agreement.raters]
    return pictures.beside("Agreement of raters", parts) if parts else None


def _confusion(rater: RaterReport, name: str) -> Picture:
    rows = [label.replace("_", " ") for label in rater.labels]
    cells = [
        [Cell(f"{PEOPLE} {a}, {name} {b}", count) for b, count in zip(rows, counts, strict=True)]
        for a, counts in zip(rows, rater.confusion, strict=True)
    ]
    return pictures.heat_map(rows, rows, cells, f"{name} and people", labels=("people", name), counts=True)
