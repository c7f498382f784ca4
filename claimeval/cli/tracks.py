"""What `claimeval track` prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from claimeval.cli.run_table import BOUNDED
from claimeval.cli.whole_tables import print_whole
from claimeval.metrics.scoring import ends_in_words
from claimeval.runs.track import Change, MetricSeries, track
from claimeval.statistics.formatting import decimal, p_value, signed, signed_interval


def track_and_tell(
    runs: Sequence[Path], metrics: Sequence[str], *, moved: int, cluster: str | None = None, as_json: bool
) -> None:
    """Tracks the metrics and prints a table for each."""
    found = track(runs, metrics, cluster=cluster)
    if as_json:
        shown = {one.metric: one.model_dump(exclude={"metric"}) for one in found.tracks}
        print(json.dumps({"metrics": shown, "settings": found.settings}, indent=1, ensure_ascii=False))
        return
    console = Console(highlight=False, emoji=False)
    for one in found.tracks:
        print_whole(console, _table(one))
        if any(point.shown == "bounds" for point in one.points):
            console.print(f" {BOUNDED} of the claims")
        for point, change in zip(one.points[1:], one.changes, strict=True):
            _say_moved(console, point.run, change, moved)
        console.print()
    points = found.tracks[0].points
    for before, after, changed in zip(points, points[1:], found.settings, strict=False):
        for setting in changed:
            console.print(f"{before.run} to {after.run}: {setting}", markup=False, soft_wrap=True)


def _table(one: MetricSeries) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column(escape(one.metric), no_wrap=True)
    for name in ("n", "mean", "95 %\ninterval", "change", "95 %\ninterval", "p\n(Holm)", "up", "down"):
        table.add_column(name, justify="right", no_wrap=True)
    for point, change in zip(one.points, (None, *one.changes), strict=True):
        cells = str(point.n), decimal(point.mean), ends_in_words(point, "*")
        table.add_row(escape(point.run), *cells, *_cells(change))
    return table


def _cells(change: Change | None) -> tuple[str, ...]:
    if change is None:
        return ("", "", "", "", "")
    return (
        signed(change.difference),
        signed_interval((change.low, change.high)),
        p_value(change.p_adjusted),
        str(change.higher),
        str(change.lower),
    )


def _say_moved(console: Console, run: str, change: Change, shown: int) -> None:
    lost = [f"{n} {what}" for n, what in ((change.dropped, "without a value in one"),) if n]
    lost += [f"{n} {what}" for n, what in ((change.only_before, "gone"), (change.only_after, "new")) if n]
    if lost:
        console.print(f" {run}: {', '.join(lost)}", style="dim", markup=False, soft_wrap=True)
    if change.moved[:shown]:
        most = ", ".join(f"{one.sample} {decimal(one.before)} to {decimal(one.after)}" for one in change.moved[:shown])
        console.print(f" {run} moved most: {most}", markup=False, soft_wrap=True)
