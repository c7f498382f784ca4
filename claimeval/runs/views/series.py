"""What is shown of a series of runs: for each metric its means, its steps, and the last run against
the baseline."""

from __future__ import annotations

from collections.abc import Iterator

from claimeval.metrics.derived import directed
from claimeval.runs.overview import MetricComparison
from claimeval.runs.series import MetricSeries, Series
from claimeval.runs.views import Block, Cell, Column, Data, Table, heading, line, remark, table
from claimeval.runs.views.comparison import changes

COLUMNS = (
    Column("run"),
    Column("n", "count", 2),
    Column("mean", "number"),
    Column("95% interval", "ends"),
    Column("change", "signed"),
    Column("95% interval", "signed_ends"),
    Column("p (Holm)", "p"),
    Column("up", "count", 1),
    Column("down", "count", 1),
    Column("against the baseline", "signed", 3),
    Column("95% interval", "signed_ends", 3),
    Column("p (Holm)", "p", 3),
)
CHANGE = 4
AGAINST = 9
"""Positions of the columns with the step from the previous run, and with the difference to the
baseline."""
CHANGED = 3
"""Samples that changed most, for each step."""


def view(runs: Series, changed: int = CHANGED) -> Iterator[Block]:
    """Yield what is shown of a series, with at most `changed` samples for each step."""
    for metric in runs.tracks:
        if len(runs.runs) > 2:
            yield heading(Data(directed(metric.metric)), ": ", metric.trend.in_words)
    for metric in runs.tracks:
        yield steps(metric)
        yield from sentences(runs, metric)
        yield from _changed(metric, changed)
    yield from settings(runs)


def steps(metric: MetricSeries) -> Table:
    """Return a row for each run: its mean, the step from the previous run, and the difference to
    the baseline."""
    rows = [
        (Data(point.run), point.n, point.mean, point, *_step(change), *_difference(against))
        for point, change, against in zip(
            metric.points, (None, *metric.changes), metric.against, strict=True
        )
    ]
    return table(f"series/{metric.metric}", COLUMNS, rows, Data(directed(metric.metric)))


def _step(change: MetricComparison | None) -> tuple[Cell, ...]:
    return (*_difference(change), change.increased, change.decreased) if change else ("",) * 5


def _difference(change: MetricComparison | None) -> tuple[Cell, ...]:
    return (change.difference.value, change.difference, change.p_adjusted) if change else ("",) * 3


def sentences(runs: Series, metric: MetricSeries) -> Iterator[Block]:
    """Yield the last run against the baseline, and the trend; nothing for two runs."""
    if len(runs.runs) > 2:
        yield line(Data(runs.against_in_words(metric)))
        yield line(metric.trend.in_words)


def _changed(metric: MetricSeries, shown: int) -> Iterator[Block]:
    for point, change in zip(metric.points[1:], metric.changes, strict=True):
        counts = {
            "without a value": change.dropped,
            "gone": change.only_before,
            "new": change.only_after,
        }
        if gaps := [f"{count} {what}" for what, count in counts.items() if count]:
            yield remark(Data(point.run), f": {', '.join(gaps)}")
        if most := change.changed_samples[:shown]:
            yield remark(Data(point.run), " changed most: ", Data(changes(most)))


def settings(runs: Series) -> Iterator[Block]:
    """Yield the settings that changed, by step."""
    for before, after, changed in zip(runs.runs, runs.runs[1:], runs.settings, strict=False):
        yield from (
            remark(Data(before), " to ", Data(after), ": ", Data(setting)) for setting in changed
        )
