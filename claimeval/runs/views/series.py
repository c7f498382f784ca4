"""What is shown of a series of runs: for each metric its means, its steps, and the last run against
the baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from claimeval.metrics.derived import directed
from claimeval.runs.causes import CHANCE
from claimeval.runs.overview import MetricComparison
from claimeval.runs.series import MetricSeries, Series
from claimeval.runs.views import (
    Block,
    Cell,
    Column,
    Data,
    Sentence,
    Table,
    heading,
    line,
    remark,
    table,
)
from claimeval.runs.views.comparison import by_chance, changes
from claimeval.statistics.formatting import DIGITS, decimal, digits_of, p_value
from claimeval.types.estimates import Estimate

COLUMNS = (
    Column("run"),
    Column("n", "count", 2),
    Column("mean", "number"),
    Column("95% interval", "ends"),
    Column("change", "signed"),
    Column("95% interval", "signed_ends", estimate="RunStep.difference"),
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
NAMED = 4
"""Metrics without a trend that are named; of more, the number is shown."""
METRICS = 12
"""Metrics that are shown first."""


def first(runs: Series) -> Iterator[Block]:
    """Yield what a reader sees first: the trends, a row for each metric, and samples to read."""
    yield heading("", Sentence(in_words(runs)))
    names = runs.runs[runs.baseline], runs.runs[runs.last]
    yield remark("baseline = ", Data(names[0]), ", last = ", Data(names[1]))
    yield _against_baseline(runs)
    if len(runs.tracks) > METRICS:
        yield remark(f"{len(runs.tracks) - METRICS} more metrics: --details")
    for position, changed in runs.marks.items():
        others = [name for name in changed.split(", ") if name != "data"]
        if others:
            yield remark("changed with ", Data(runs.runs[position]), f": {', '.join(others)}")
    moved = [track for track in runs.tracks if _move(runs, track).sure]
    if moved:  # nothing is explained that may be chance
        yield from _read(runs, min(moved, key=lambda track: _move(runs, track).p))


def _against_baseline(runs: Series) -> Table:
    """Return a row for each metric: its mean in the baseline and in the last run, and its trend."""

    def at(name: str) -> Callable[[MetricSeries], Any]:
        return lambda track: getattr(track.against[runs.last], name, None)

    def difference(track: MetricSeries) -> Estimate | str:
        found = track.against[runs.last]
        return found.difference if found else ""

    several = len(runs.runs) > 2
    trend = Column("trend per run", "signed", 1, "trend.slope.value")
    columns = (
        Column("metric", "metric", at="metric"),
        Column("baseline", "number", at=at("a")),
        Column("last", "number", at=at("b")),
        Column("change", "signed", at=lambda track: getattr(difference(track), "value", None)),
        Column("95% interval", "signed_ends", at=difference, estimate="RunStep.difference"),
        Column("p (Holm)", "p", 2, at("p_adjusted")),
        *([trend] if several else ()),
    )
    tracks = runs.tracks[:METRICS]
    last = filter(None, (track.against[runs.last] for track in tracks))
    return table("trends", columns, tracks, notes=by_chance(last))


def _read(runs: Series, track: MetricSeries) -> Iterator[Block]:
    """Yield the samples that changed most, in the direction in which a metric moves."""
    rises = (_move(runs, track).size or 0.0) > 0
    compared = track.against[runs.last]
    samples = compared.changed_samples if compared else ()
    along = [one for one in samples if ((one.after or 0.0) > (one.before or 0.0)) == rises]
    if along:
        most = Data(changes(tuple(along[:CHANGED])))
        yield line("First to read, changed most in ", Data(directed(track.metric)), ": ", most)


class _Move(NamedTuple):
    """How a metric moves over the runs: its trend, or of two runs its difference."""

    size: float | None
    p: float
    digits: int

    @classmethod
    def of(cls, change: Estimate, p: float | None) -> _Move:
        """Return a movement; one that was not tested may be chance."""
        return cls(change.value, 1.0 if p is None else p, digits_of(change.reported))

    @property
    def sure(self) -> bool:
        """Whether it moves beyond chance."""
        return self.size is not None and self.p < CHANCE

    @property
    def words(self) -> str:
        """Where it moves, and how far."""
        size = self.size or 0.0
        return f"{'rises' if size > 0 else 'falls'} {decimal(abs(size), self.digits)}"


def _move(runs: Series, track: MetricSeries) -> _Move:
    against = track.against[runs.last]
    if len(runs.runs) > 2:
        return _Move.of(track.trend.slope, track.trend.p_adjusted)
    if not against:
        return _Move(None, 1.0, DIGITS)
    return _Move.of(against.difference, against.p_adjusted)


def in_words(runs: Series) -> str:
    """Return which metrics have a trend beyond chance, and for others that they have none."""
    several = len(runs.runs) > 2
    per = " per run" if several else ""
    moved = list[str]()
    still = list[str]()
    for track in runs.tracks:
        move = _move(runs, track)
        if move.sure:
            moved.append(f"{directed(track.metric)} {move.words}{per} (p {p_value(move.p)})")
        else:
            still.append(directed(track.metric))
    over = f"Over {len(runs.runs)} runs" if several else "From the first run to the second"
    others = ", ".join(still)
    if len(still) > NAMED:
        others = f"{len(still)} {'others' if moved else 'metrics'}"
    what = "trend" if several else "difference"
    rest = f"no {what} beyond chance in {others}" if still else ""
    return f"{over}, {'; '.join(filter(None, (', '.join(moved), rest)))}."


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
    for before, after, changed in zip(
        runs.runs,
        runs.runs[1:],
        runs.settings,
        strict=False,
    ):
        yield from (
            remark(Data(before), " to ", Data(after), ": ", Data(setting)) for setting in changed
        )
