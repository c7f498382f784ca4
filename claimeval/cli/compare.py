"""`claimeval compare`: two or more runs, sample by sample."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from claimeval.cli.command import Argument, command
from claimeval.cli.printer import Output, notes_on_stderr
from claimeval.cli.shared import Metrics, Out
from claimeval.types.options import require_at_least

if TYPE_CHECKING:
    from claimeval.api.comparison import Comparison
    from claimeval.report.charts import Picture

LISTED = {"compare": ("Look", 3, "Compare two or more runs, sample by sample.")}
FORMS: dict[str, Literal["md", "json"]] = {".md": "md", ".json": "json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """Compare two or more runs, sample by sample: what changed, in the first line, and the numbers that it rests on.

    The first line names the cause where the data can tell it: a document that retrieval lost, other answers, another
    judge, one slice. --details prints tests, the causes of all metrics and the claims that flipped.

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
    details: bool = False
    """Print all numbers: settings, tests, causes of every metric, flipped claims."""
    flips: int = 10
    """Flipped claims that --details prints; with three or more runs, changed samples (at most 5)."""
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
    from claimeval.runs.views import comparison as views
    from claimeval.runs.views import series

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
        args.output.draw(series.view(compared.trend, min(args.flips, series.CHANGED)))
        _write(args, compared)
        trend = compared.trend
        metrics = {track.metric: track.model_dump(exclude={"metric"}) for track in trend.tracks}
        return args.output.result("compare", {**trend.model_dump(exclude={"tracks"}), "metrics": metrics})
    pairs = [compared.against(i) for i in range(len(compared.runs)) if i != compared.baseline]
    for pair, path in zip(pairs, (path for i, path in enumerate(args.runs) if i != compared.baseline), strict=True):
        args.output.draw(views.front(pair))
        if args.details:
            args.output.draw(views.details(pair, args.by or "", args.flips))
        elif args.by:
            args.output.draw([views.slices(pair, args.by)])
        args.output.line()
        if pair.culprit.separate:
            args.output.line(f"To tell them apart: {pair.culprit.separate}")
        baseline_run = args.runs[compared.baseline]
        more = "" if args.details else " (all causes, tests and flips: --details)"
        args.output.line(f"Next: claimeval report {baseline_run} --compare {path}{more}")
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
