"""Pictures of runs: one function for each kind of record, used by notebooks, Markdown, pages and
files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from claimeval.metrics.derived import directed, loss
from claimeval.report import charts
from claimeval.report.charts import WIDTH, Cell, Curve, Mark, Picture
from claimeval.runs.slices import CELLS

if TYPE_CHECKING:
    from claimeval.evaluation.summary.panel import PanelSummary
    from claimeval.metrics.scoring import MetricSummary
    from claimeval.runs.agreement import Agreement, CalibrationReport, RaterReport
    from claimeval.runs.by_rank import ByRank
    from claimeval.runs.experiments.results import ExperimentResult
    from claimeval.runs.judges import JudgeNumbers
    from claimeval.runs.overview import PairedRuns, RankOverview
    from claimeval.runs.series import Series
    from claimeval.runs.slices import ChangeSlices, DiagnosisCounts, Slice, Slices
    from claimeval.types.estimates import Estimate

SHARE = "mean, from 0 to 1"
TREND = 460.0
"""Width of a trend in points, readable on a phone."""
Link = Callable[..., str | None]
"""Returns the address that a mark links to."""
ROWS = 30
"""Maximum number of rows in a picture."""


def mark(name: str, found: Estimate | MetricSummary, link: str | None = None) -> Mark:
    """Return a value with its interval, or with the bounds that are shown instead."""
    low, high = found.reported or (None, None)
    return Mark(
        name, found.value, low, high, found.n, "bounds" if found.ends == "bounds" else "95%", link
    )


def axis_label(metric: MetricSummary) -> str:
    """Return the label of an axis with means."""
    return SHARE if metric.unit == "share" else f"mean, {metric.unit}"


def of_metrics(metrics: Mapping[str, MetricSummary], title: str) -> Picture | None:
    """Draw the means of a run that are shares; None if it has none."""
    marks = [
        mark(directed(name), metric)
        for name, metric in metrics.items()
        if metric.unit == "share" and metric.mean is not None
    ]
    return charts.slices(marks[:ROWS], title, SHARE) if marks else None


def of_comparison(pair: PairedRuns, *, width: float = WIDTH) -> Picture:
    """Draw the differences of two runs by metric; metrics that are not shares only if there are no
    others."""
    shares = [
        metric for metric in pair.metrics if 0 <= (metric.a or 0) <= 1 and 0 <= (metric.b or 0) <= 1
    ]
    marks = [
        mark(directed(metric.metric), metric.difference)
        for metric in (shares or pair.metrics)[:ROWS]
    ]
    return charts.forest(marks, f"{pair.b} minus {pair.a}", "difference of the means", width=width)


def of_series(series: Series, links: Sequence[str] = (), *, width: float = TREND) -> list[Picture]:
    """Draw a picture for each metric: its mean in each run, changed settings, and the baseline's
    mean as a line.

    `links` has the address of each run, or is empty for no links; `width` is in points.
    """
    drawn = []
    for track in series.tracks:
        addresses: Sequence[str | None] = links or [None] * len(track.points)
        marks = [
            mark(point.run, point, link)
            for point, link in zip(track.points, addresses, strict=True)
        ]
        label = axis_label(track.points[0])
        at = series.baseline
        drawn.append(
            charts.trend(
                marks, directed(track.metric), label, changes=series.marks, baseline=at, width=width
            )
        )
    return drawn


def of_arms(table: ExperimentResult, *, width: float = TREND) -> dict[str, tuple[Picture, Picture]]:
    """Draw an experiment: by metric, the mean of each arm and the differences to the baseline."""
    drawn = {}
    changes = {
        metric: [
            mark(arm.name, difference)
            for arm in table.arms
            if (difference := arm.metrics[metric].difference)
        ][:ROWS]
        for metric in table.arms[0].metrics
    }
    units = {metric: axis_label(first) for metric, first in table.arms[0].metrics.items()}
    for metric, first in table.arms[0].metrics.items():
        cells = {arm.name: arm.metrics[metric] for arm in table.arms}
        means = [mark(name, cell) for name, cell in cells.items()]
        beside = _of_unit(changes, units, metric)
        drawn[metric] = (
            charts.slices(means[:ROWS], directed(metric), axis_label(first), width=width),
            charts.forest(
                changes[metric],
                f"{directed(metric)}: arm minus {table.baseline}",
                "difference",
                beside=beside,
                width=width,
            ),
        )
    return drawn


def _of_unit(
    marks: Mapping[str, Sequence[Mark]], units: Mapping[str, str], metric: str
) -> list[Mark]:
    """Return the marks of all metrics of the unit of one, which share its axis."""
    return list(
        chain.from_iterable(of for name, of in marks.items() if units[name] == units[metric])
    )


def no_link(*_: str | None) -> str | None:
    """Return no address."""
    return None


def of_slices(slices: Slices, link: Link = no_link, *, width: float = WIDTH) -> list[Picture]:
    """Draw a picture for each metric: its mean by value of the field, largest contribution to the
    loss first.

    `link` returns the address of a row by metric and value; `width` is in points.
    """
    drawn = []
    by_metric: dict[str, list[Slice]] = {}
    for row in slices:
        by_metric.setdefault(row.metric, []).append(row)
    for metric, of_metric in by_metric.items():
        # A mean grade has no best value, so that nothing adds to a distance from it.
        if all(row.contribution is None for row in of_metric):
            continue
        rows = sorted(of_metric, key=lambda row: -(row.contribution or 0))[:ROWS]
        marks = [
            mark(row.value or "(without)", row.estimate, link(metric, row.value)) for row in rows
        ]
        share = [row.contribution for row in rows]
        mean = loss(metric, sum(row.contribution or 0 for row in of_metric))
        title = f"{directed(metric)} by {slices.field}, the greatest loss first"
        drawn.append(
            charts.slices(
                marks,
                title,
                SHARE,
                mean=mean,
                share=share,
                width=width,
            )
        )
    return drawn


def of_changes(
    changes: ChangeSlices, link: Link = no_link, *, width: float = WIDTH
) -> list[Picture]:
    """Draw a picture for each metric: the difference of two runs by value of the field, largest
    contribution first."""
    by_metric: dict[str, list[Mark]] = {}
    units = dict[str, str]()
    for metric in dict.fromkeys(row.metric for row in changes.rows):
        estimated = [
            row for row in changes.rows if row.metric == metric and row.difference.value is not None
        ]
        rows = sorted(estimated, key=lambda row: -abs(row.contribution or 0))[:ROWS]
        by_metric[metric] = [
            mark(row.value or "(without)", row.difference, link(metric, row.value)) for row in rows
        ]
        is_share = all(row.unit == "share" for row in rows)
        units[metric] = SHARE if is_share else metric
    label = "difference of the means, b - a"
    return [
        charts.forest(
            marks,
            f"{directed(metric)} by {changes.field}, b - a",
            label,
            beside=_of_unit(by_metric, units, metric),
            width=width,
        )
        for metric, marks in by_metric.items()
    ]


def of_diagnosis(counts: DiagnosisCounts, link: Link = no_link) -> Picture:
    """Draw whether retrieval or generation is to blame, as a square of four cells."""
    cells = [
        [Cell(CELLS[name], counts.cells[name], link(name)) for name in row]
        for row in (("fine", "ignored"), ("missed", "made_up"))
    ]
    title = f"Retrieval or generation, in samples; high is {counts.threshold:g} or more"
    columns = ("high faithfulness", "low faithfulness")
    return charts.square(cells, title, ("high recall", "low recall"), columns)


def of_ranks(ranks: Sequence[RankOverview], *, width: float = WIDTH) -> Picture:
    """Draw how often contexts are cited and relevant by rank, as shares of the samples with a
    context at the rank."""
    shares = {"cited by a judge": [rank.cited for rank in ranks]}
    if all(rank.relevant is not None for rank in ranks):
        shares["a reference context"] = [rank.relevant or 0 for rank in ranks]
    curves = [
        Curve(
            name,
            [
                (r.rank, Mark("", n / r.samples, n=r.samples))
                for r, n in zip(ranks, counts, strict=True)
            ],
        )
        for name, counts in shares.items()
    ]
    return charts.lines(curves, "Contexts by rank", "rank", "share of samples", width=width)


def of_by_rank(by_rank: ByRank, *, width: float = WIDTH) -> Picture:
    """Draw the share of gold claims in the answer by the rank of their evidence."""
    points = []
    for one in by_rank.ranks:
        low, high = one.share.reported or (None, None)
        points.append(
            (
                one.rank,
                Mark(
                    "",
                    one.share.value,
                    low,
                    high,
                    one.share.n,
                ),
            )
        )
    curve = Curve("gold claims in the answer", points)
    title = "Gold claims in the answer, by the rank of their evidence"
    return charts.lines([curve], title, "rank", "share of gold claims", width=width)


def of_panel(panel: PanelSummary, names: Mapping[str, str] = {}, link: Link = no_link) -> Picture:
    """Draw Cohen's kappa of each pair of judges, and of each judge with the panel."""
    kappas = {
        frozenset((pair.first, pair.second)): pair.kappa
        for pair in (*panel.judge_pairs, *panel.judge_vs_panel)
    }
    raters = [name for name in (*panel.judges, "panel") if any(name in pair for pair in kappas)]
    return _kappas(raters, kappas, "Cohen's kappa of judges", names, link)


def _kappas(
    raters: Sequence[str],
    kappas: Mapping[frozenset[str], float | None],
    title: str,
    names: Mapping[str, str],
    link: Link = no_link,
) -> Picture:
    """Draw the kappa of each pair of raters; `names` are shown instead of the raters."""
    shown = [names.get(rater, rater) for rater in raters]
    cells = [
        [
            Cell(f"{name} and {other_name}", kappas.get(frozenset((rater, other))), link(rater))
            for other, other_name in zip(raters, shown, strict=True)
        ]
        for rater, name in zip(raters, shown, strict=True)
    ]
    return charts.heat_map(shown, shown, cells, title)


def of_cost(judges: Sequence[JudgeNumbers], names: Mapping[str, str] = {}) -> Picture | None:
    """Draw agreement over cost, with the Pareto front; None unless two judges have both."""
    priced = [
        judge for judge in judges if judge.dollars_per_1000 is not None and judge.kappa is not None
    ]
    if len(priced) < 2:
        return None
    marks = [
        (
            judge.dollars_per_1000 or 0.0,
            Mark(
                names.get(judge.judge, judge.judge),
                judge.kappa,
                n=judge.compared,
            ),
        )
        for judge in priced
    ]
    compared = (
        f"Cohen's kappa with {'people' if priced[0].agrees_with == 'people' else 'the panel'}"
    )
    return charts.points(
        marks, "Agreement and cost", "dollars per 1,000 verdicts", compared, front=True
    )


def of_confusion(judge: JudgeNumbers, name: str) -> Picture | None:
    """Draw the labels of a judge against those of people or the panel; None if it is compared with
    neither."""
    if not judge.confusion or not judge.agrees_with:
        return None
    return _confusion(judge, judge.agrees_with, name)


def of_calibration(report: CalibrationReport, name: str) -> Picture:
    """Draw stated probabilities against the share that people label supported."""
    marks = [
        (
            point.probability,
            Mark(
                "people",
                point.share,
                point.low,
                point.high,
                point.n,
            ),
        )
        for point in report.bins
    ]
    return charts.calibration(
        marks, f"{name}: probabilities and people", y_label="share supported by people"
    )


def of_agreement(agreement: Agreement, names: Mapping[str, str] = {}) -> Picture | None:
    """Draw the kappa of each pair of raters, and the confusion of each rater with people; None for
    a single rater.

    `names` are shown instead of the raters.
    """
    raters = list[str]()
    for pair in agreement.pairs:
        raters += (rater for rater in (pair.first, pair.second) if rater not in raters)
    kappas = {frozenset((pair.first, pair.second)): pair.kappa.value for pair in agreement.pairs}
    parts = [_kappas(raters, kappas, "Cohen's kappa of raters", names)] if raters else []
    parts += [
        _confusion(rater, "people", names.get(rater.rater, rater.rater))
        for rater in agreement.raters
    ]
    return charts.beside("Agreement of raters", parts) if parts else None


def _confusion(counts: JudgeNumbers | RaterReport, reference: str, name: str) -> Picture:
    labels = [label.replace("_", " ") for label in counts.labels]
    cells = [
        [Cell(f"{reference} {a}, {name} {b}", count) for b, count in zip(labels, row, strict=True)]
        for a, row in zip(labels, counts.confusion, strict=True)
    ]
    return charts.heat_map(
        labels, labels, cells, f"{name} and {reference}", labels=(reference, name), counts=True
    )
