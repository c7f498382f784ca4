"""`claimeval compare`: two or more runs, sample by sample."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from claimeval.cli.command import Argument, command
from claimeval.cli.printer import BOUNDED, Output, notes_on_stderr
from claimeval.cli.shared import Metrics, Out
from claimeval.statistics.formatting import decimal, p_value, signed, signed_interval
from claimeval.types.options import require_at_least

if TYPE_CHECKING:
    from claimeval.api.comparison import Comparison
    from claimeval.report.charts import Picture
    from claimeval.runs.overview import MetricComparison, PairedRuns, SampleChange
    from claimeval.runs.series import MetricSeries, RunStep, Series

LISTED = {"compare": ("Look", 3, "Compare two or more runs, sample by sample.")}
FORMS: dict[str, Literal["md", "json"]] = {".md": "md", ".json": "json"}
COLUMNS = ("metric", "n", "A", "B", "B minus\nA", "95 %\ninterval", "p", "p\n(Holm)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """Compare two or more runs, sample by sample: paired differences, intervals, tests, and the claims that flipped.

    Samples are paired by id, and samples of one run only are counted. Runs of two systems, judges or prompts can be
    compared if they have metrics in common, also runs without a judge. With three or more runs, oldest first, each is
    compared with the previous one and the last with the first (or with --baseline), and the trend over all of them is
    tested, which also finds a slow decline. No judge is asked.

    Example: claimeval compare runs/before runs/after --out comparison.html

    Example: claimeval compare runs/2026-09 runs/2026-10 runs/2026-11 -m faithfulness --plot trend.svg
    """

    runs: Annotated[tuple[Path, ...], Argument("RUN")]
    """Run directories over the same samples. Differences are later minus earlier."""
    metrics: Metrics = None
    """Comma-separated; prints the series of these metrics, also for two runs."""
    baseline: str | None = None
    """Run to compare the others with: its name, or its position from 0.  [default: the first]"""
    by: str | None = None
    """Also print a table by this field, as in metadata.topic."""
    flips: int = 10
    """Flipped claims to print; with three or more runs, changed samples (at most 5)."""
    out: Out = None
    """File for the report: a page (.html), Markdown with pictures next to it (.md) or the numbers (.json)."""
    plot: Path | None = None
    """SVG file for a picture: the differences of two runs, or each metric over three or more."""
    cluster: str | None = None
    """Equal values count as one cluster.  [default: as in the first run]"""
    output: Output = Output()

    def __post_init__(self) -> None:
        require_at_least(self, 0, "flips")


def do(args: CompareOptions) -> int:
    """Compare the runs, print the differences, and return the exit code."""
    from claimeval.api import comparison
    from claimeval.report.charts import check_name

    if args.plot:
        check_name(args.plot)
    baseline: int | str = 0 if args.baseline is None else args.baseline
    if isinstance(baseline, str) and baseline.isdecimal():
        baseline = int(baseline)
    with notes_on_stderr(quiet=args.output.quiet):
        compared = comparison.compare(
            *args.runs, baseline=baseline, metrics=args.metrics, by=args.by, cluster=args.cluster
        )
    if args.by is None and (len(args.runs) > 2 or args.metrics is not None):
        print_series(args.output, compared.trend, args.flips)
        _write(args, compared)
        trend = compared.trend
        metrics = {series.metric: series.model_dump(exclude={"metric"}) for series in trend.tracks}
        return args.output.result("compare", {**trend.model_dump(exclude={"tracks"}), "metrics": metrics})
    pairs = [compared.against(i) for i in range(len(compared.runs)) if i != compared.baseline]
    for pair in pairs:
        _print_pair(args, pair)
    _write(args, compared)
    record = pairs[0].model_dump() if len(pairs) == 1 else {"pairs": [pair.model_dump() for pair in pairs]}
    return args.output.result("compare", record)


def _picture(compared: Comparison) -> Picture:
    from claimeval.report import pictures
    from claimeval.report.charts import beside

    if len(compared.runs) > 2:
        return beside("Trend", pictures.of_series(compared.trend), across=2)
    return pictures.of_comparison(compared.against(1 - compared.baseline))


def _write(args: CompareOptions, compared: Comparison) -> None:
    if args.out or args.plot:
        args.output.line()
    if args.out:
        compared.report(args.out, format=FORMS.get(args.out.suffix.lower(), "html"))
        args.output.line(f"Report: {args.out}")
    if args.plot:
        _picture(compared).save(args.plot)
        args.output.line(f"Picture: {args.plot}")


compare = command("compare", CompareOptions, do)


def _print_pair(args: CompareOptions, comparison: PairedRuns) -> None:
    from claimeval.metrics.flips import words
    from claimeval.runs.slices import chance_of_many

    output = args.output
    output.line()
    output.line(f"{comparison.a} (A) and {comparison.b} (B), {_aligned(comparison)}")
    for setting in comparison.settings:
        output.line(setting, indent=2)
    output.table(COLUMNS, map(_cells, comparison.metrics))
    for caution in comparison.abstained:
        output.note(caution, kind="Caution")
    for metric in comparison.metrics:
        text = (
            f"{metric.metric}: {metric.increased} samples higher in B, {metric.decreased} lower, "
            f"{metric.dropped} without a value in one"
        )
        if counts := metric.discordant:
            text += (
                f"; claims supported only in A {counts.only_a}, only in B {counts.only_b} (McNemar, claims taken as "
                f"independent: p {p_value(counts.p)})"
            )
        output.line(text, style="dim", indent=1)
    _print_causes(output, comparison)
    if comparison.by:
        output.line()
        rows = [
            [value or "-", *_cells(metric)[:6], p_value(metric.p_adjusted), signed(metric.contribution)]
            for value, metrics in comparison.by.items()
            for metric in metrics
        ]
        output.table((str(args.by), *COLUMNS[:6], COLUMNS[7], "adds to\nall"), rows, words=(0, 1))
        if repeated_tests := chance_of_many(
            [metric.difference for metrics in comparison.by.values() for metric in metrics]
        ):
            output.note(repeated_tests, kind="Caution")
    for metric in comparison.metrics:
        if metric.changed_samples:
            output.line()
            output.line(f": {_changes(metric.changed_samples)}", bold=f"Changed most in {metric.metric}")
    if comparison.flipped:
        first = f", the first {min(args.flips, len(comparison.flips))}" if args.flips else ""
        output.line()
        output.line(first, bold=f"{comparison.flipped} of {comparison.compared} claims flipped")
    for flip in comparison.flips[: args.flips]:
        output.line()
        output.line(f"  against the {flip.evidence}", bold=flip.sample_id, indent=1)
        output.line(flip.claim, indent=3)
        output.line(f"A {words(flip.a, flip.a_word)}, B {words(flip.b, flip.b_word)}", indent=3)
    if other := comparison.other_changes:
        output.line()
        output.line(f"Not counted as flips: {other}", style="dim")


def _print_causes(output: Output, comparison: PairedRuns) -> None:
    from claimeval.runs.causes import of_whole_samples

    rows = comparison.cause_cells
    if not rows:
        return
    output.line()
    output.line(": what the difference consists of", bold="Why it changed")
    output.table(("metric", "because of", "B minus A", "claims", "samples"), rows, words=(0, 1))
    if whole := [metric.metric for metric in comparison.metrics if of_whole_samples(metric.because)]:
        output.line(f"without a count of claims, whole samples are counted: {', '.join(whole)}", style="dim", indent=1)


def _aligned(comparison: PairedRuns) -> str:
    from claimeval.types.clusters import sample_count

    shared = sample_count(comparison.shared, comparison.clusters, comparison.cluster)
    parts = [re.sub("samples?", r"\g<0> in both", shared, count=1)]
    if comparison.only_a or comparison.only_b:
        parts.append(f"{comparison.only_a} only in A, {comparison.only_b} only in B")
    if comparison.changed_texts:
        parts.append(f"{comparison.changed_texts} of them with other texts")
    if comparison.changed_claims:
        parts.append(f"{comparison.changed_claims} with other claims")
    return ", ".join(parts)


def _cells(metric: MetricComparison) -> list[str]:
    a, b, difference, ends, adjusted, _, n = metric.cells
    return [metric.metric, n, a, b, difference, ends, p_value(metric.p), adjusted]


def print_series(output: Output, runs: Series, changed: int) -> None:
    """Print a table for each metric, and the samples that changed most in each step, at most `changed` and 3."""
    from claimeval.metrics.scoring import ends_in_words

    columns = ("n", "mean", "95 %\ninterval", "change", "95 %\ninterval", "p\n(Holm)", "up", "down")
    for series in runs.tracks:
        steps = zip(series.points, (None, *series.changes), strict=True)
        rows = [
            (point.run, str(point.n), decimal(point.mean), ends_in_words(point, "*"), *_step(change))
            for point, change in steps
        ]
        output.table((series.metric, *columns), rows)
        if any(point.ends == "bounds" for point in series.points):
            output.line(f" {BOUNDED} of the claims")
        if len(runs.runs) > 2:
            output.line(f" {runs.against_in_words(series)}")
            output.line(f" {series.trend.in_words}")
        _print_changed(output, series, min(changed, 3))
        output.line()
    for before, after, settings in zip(runs.runs, runs.runs[1:], runs.settings, strict=False):
        for setting in settings:
            output.line(f"{before} to {after}: {setting}")


def _changes(samples: Iterable[SampleChange]) -> str:
    return ", ".join(f"{sample.sample} {decimal(sample.before)} to {decimal(sample.after)}" for sample in samples)


def _step(change: RunStep | None) -> tuple[str, ...]:
    if change is None:
        return ("", "", "", "", "")
    ends = signed_interval(change.difference.reported)
    return (
        signed(change.difference.value),
        ends,
        p_value(change.p_adjusted),
        str(change.increased),
        str(change.decreased),
    )


def _print_changed(output: Output, series: MetricSeries, shown: int) -> None:
    for point, change in zip(series.points[1:], series.changes, strict=True):
        counts = {
            "without a value in one": change.dropped,
            "gone": change.only_before,
            "new": change.only_after,
        }
        if gaps := [f"{count} {what}" for what, count in counts.items() if count]:
            output.line(f" {point.run}: {', '.join(gaps)}", style="dim")
        if change.changed_samples[:shown]:
            output.line(f" {point.run} changed most: {_changes(change.changed_samples[:shown])}")
