"""`claimeval compare`: two or more runs, sample by sample."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Argument, command
from claimeval.cli.printer import BOUNDED, Output
from claimeval.cli.shared import Metrics, Out
from claimeval.types.errors import UsageError
from claimeval.types.options import require_at_least

if TYPE_CHECKING:
    from claimeval.runs.compare import Change, MetricSeries, Series
    from claimeval.runs.overview import MetricComparison, PairedRuns

LISTED = ("Look", 3, "Compare two or more runs, sample by sample.")
COLUMNS = ("metric", "n", "A", "B", "B minus\nA", "95 %\ninterval", "p", "p\n(Holm)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """Compare two or more runs, sample by sample: paired differences, intervals, tests, and the claims that flipped.

    Samples are aligned by id, and those that only one run has are counted. Two systems, two judges, two prompts:
    whatever was scored with the same metrics can be compared, also runs without a judge. Of three or more runs, oldest
    first, each is compared with the one before; p-values are Holm's over all steps and metrics. Nothing is asked.

    Example: claimeval compare runs/before runs/after --out comparison.html

    Example: claimeval compare runs/2026-09 runs/2026-10 runs/2026-11 -m faithfulness
    """

    runs: Annotated[tuple[Path, ...], Argument("RUN")]
    """Run directories over the same samples. Differences are later minus earlier."""
    metrics: Metrics = None
    """Comma-separated; prints the series of these metrics, for two runs too."""
    baseline: str | None = None
    """Compare every other run with this one: its name, or its place from 0."""
    by: str | None = None
    """Also a table by this field, as in metadata.topic."""
    flips: int = 10
    """Flipped claims to print, or with three or more runs changed samples, at most 5."""
    out: Out = None
    """File for the page of both runs."""
    cluster: str | None = None
    """Equal values count as one cluster.  [default: as in the first run]"""
    output: Output = Output()

    def __post_init__(self) -> None:
        require_at_least(self, 0, "flips")


def do(given: CompareOptions) -> int:
    """Compare the runs, print what differs, and return the exit code."""
    from claimeval.api import comparison
    from claimeval.cli.running import notes_on_stderr

    baseline: int | str = 0 if given.baseline is None else given.baseline
    if isinstance(baseline, str) and baseline.isdecimal():
        baseline = int(baseline)
    with notes_on_stderr(quiet=given.output.quiet):
        found = comparison.compare(
            *given.runs, baseline=baseline, metrics=given.metrics, by=given.by, cluster=given.cluster
        )
    in_pairs = len(given.runs) == 2 and given.metrics is None
    if given.out and not in_pairs:
        raise UsageError("--out writes the page of two runs")
    if not in_pairs and given.baseline is None and given.by is None:
        return _print_series(given, found.trend)
    pairs = [found.against(i) for i in range(len(found.runs)) if i != found.baseline]
    for pair in pairs:
        _print_pair(given, pair)
    if given.out:
        found.report(given.out)
        given.output.line()
        given.output.line(f"Report: {given.out}")
    record = pairs[0].model_dump() if len(pairs) == 1 else {"pairs": [pair.model_dump() for pair in pairs]}
    return given.output.result("compare", record)


compare = command("compare", CompareOptions, do)


def _print_pair(given: CompareOptions, comparison: PairedRuns) -> None:
    from claimeval.metrics.flips import words
    from claimeval.statistics.formatting import decimal, p_value

    output = given.output
    output.line()
    output.line(f"{comparison.a} (A) and {comparison.b} (B), {_aligned(comparison)}")
    for setting in comparison.settings:
        output.line(setting, indent=2)
    output.table(COLUMNS, map(_cells, comparison.metrics))
    for caution in comparison.abstained:
        output.note(caution, kind="Caution")
    for metric in comparison.metrics:
        text = (
            f"{metric.metric}: {metric.higher} samples higher in B, {metric.lower} lower, "
            f"{metric.dropped} without a value in one"
        )
        if counts := metric.supported_in_one_only:
            text += (
                f"; claims supported only in A {counts.only_a}, only in B {counts.only_b} (McNemar, claims taken as "
                f"independent: p {p_value(counts.p)})"
            )
        output.line(text, style="dim", indent=1)
    if comparison.by:
        output.line()
        rows = [[value or "-", *_cells(metric)] for value, metrics in comparison.by.items() for metric in metrics]
        output.table((str(given.by), *COLUMNS), rows, words=(0, 1))
    for metric in comparison.metrics:
        if metric.moved:
            most = ", ".join(f"{one.sample} {decimal(one.before)} to {decimal(one.after)}" for one in metric.moved)
            output.line()
            output.line(f": {most}", bold=f"Changed most in {metric.metric}")
    if comparison.flipped:
        first = f", the first {min(given.flips, len(comparison.flips))}" if given.flips else ""
        output.line()
        output.line(first, bold=f"{comparison.flipped} of {comparison.compared} claims flipped")
    for flip in comparison.flips[: given.flips]:
        output.line()
        output.line(f"  against the {flip.evidence}", bold=flip.sample_id, indent=1)
        output.line(flip.claim, indent=3)
        output.line(f"A {words(flip.a, flip.a_word)}, B {words(flip.b, flip.b_word)}", indent=3)
    if other := comparison.other_changes:
        output.line()
        output.line(f"Not counted as flips: {other}", style="dim")


def _aligned(comparison: PairedRuns) -> str:
    from claimeval.types.clusters import sample_count

    shared = sample_count(comparison.shared, comparison.clusters, comparison.cluster)
    parts = [shared.replace("samples", "samples in both", 1)]
    if comparison.only_a or comparison.only_b:
        parts.append(f"{comparison.only_a} only in A, {comparison.only_b} only in B")
    if comparison.other_texts:
        parts.append(f"{comparison.other_texts} of them with other texts")
    if comparison.other_claims:
        parts.append(f"{comparison.other_claims} with other claims")
    return ", ".join(parts)


def _cells(metric: MetricComparison) -> list[str]:
    from claimeval.statistics.formatting import p_value

    a, b, difference, ends, adjusted, _, n = metric.cells
    return [metric.metric, n, a, b, difference, ends, p_value(metric.p), adjusted]


def _print_series(given: CompareOptions, found: Series) -> int:
    from claimeval.metrics.scoring import ends_in_words
    from claimeval.statistics.formatting import decimal

    output = given.output
    columns = ("n", "mean", "95 %\ninterval", "change", "95 %\ninterval", "p\n(Holm)", "up", "down")
    for series in found.tracks:
        steps = zip(series.points, (None, *series.changes), strict=True)
        rows = [
            (point.run, str(point.n), decimal(point.mean), ends_in_words(point, "*"), *_step(change))
            for point, change in steps
        ]
        output.table((series.metric, *columns), rows)
        if any(point.shown == "bounds" for point in series.points):
            output.line(f" {BOUNDED} of the claims")
        _print_changed(output, series, min(given.flips, 3))
        output.line()
    points = found.tracks[0].points
    for before, after, changed in zip(points, points[1:], found.settings, strict=False):
        for setting in changed:
            output.line(f"{before.run} to {after.run}: {setting}")
    metrics = {one.metric: one.model_dump(exclude={"metric"}) for one in found.tracks}
    return output.result("compare", {"metrics": metrics, "settings": found.settings})


def _step(change: Change | None) -> tuple[str, ...]:
    from claimeval.statistics.formatting import p_value, signed, signed_interval

    if change is None:
        return ("", "", "", "", "")
    ends = signed_interval(change.difference.interval)
    return signed(change.difference.value), ends, p_value(change.p_adjusted), str(change.higher), str(change.lower)


def _print_changed(output: Output, series: MetricSeries, shown: int) -> None:
    from claimeval.statistics.formatting import decimal

    for point, change in zip(series.points[1:], series.changes, strict=True):
        counts = {
            "without a value in one": change.dropped,
            "gone": change.only_before,
            "new": change.only_after,
        }
        if lost := [f"{count} {what}" for what, count in counts.items() if count]:
            output.line(f" {point.run}: {', '.join(lost)}", style="dim")
        if most := [f"{one.sample} {decimal(one.before)} to {decimal(one.after)}" for one in change.moved[:shown]]:
            output.line(f" {point.run} changed most: {', '.join(most)}")
