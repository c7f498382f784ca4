"""Three or more runs as a page or in a notebook: a picture and a table a metric, drawn without a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlencode

from claimeval.metrics.scoring import ends_in_words
from claimeval.report.assets import page
from claimeval.runs import pictures
from claimeval.runs.overview import MetricComparison
from claimeval.runs.series import MetricSeries, Series
from claimeval.statistics.formatting import decimal, p_value, signed, signed_interval
from claimeval.types.html import Html, element, joined, table

HEAD = (
    "run",
    "n",
    "mean",
    "95 %",
    "change",
    "95 %",
    "p (Holm)",
    "up, down",
    "against the baseline",
    "95 %",
    "p (Holm)",
)
EMPTY = ("", "", "", "")
Address = Callable[[Sequence[int]], str]
"""The address of the report of one run, or of two that are compared, by their positions."""


def rows(runs: Series, metric: MetricSeries) -> Iterator[tuple[str, ...]]:
    """Yield the row of each run: its mean, the step from the run before, and the difference to the baseline."""
    for point, change, against in zip(metric.points, (None, *metric.changes), metric.against, strict=True):
        mean = (point.run, str(point.n), decimal(point.mean), ends_in_words(point))
        yield (*mean, *_difference(change), *_difference(against)[:3])


def _difference(comparison: MetricComparison | None) -> tuple[str, ...]:
    if comparison is None:
        return EMPTY
    ends = signed_interval(comparison.difference.interval)
    return (
        signed(comparison.difference.value),
        ends,
        p_value(comparison.p_adjusted),
        f"{comparison.increased}, {comparison.decreased}",
    )


def parts(
    runs: Series, address: Address | None = None, rebase: Address | None = None, heading: str = "h4"
) -> Iterator[Html]:
    """Yield what a page and a notebook show of a series.

    Args:
        runs: The series.
        address: Where runs and pairs can be read; None for no links.
        rebase: Where the same runs stand with another baseline; None for no links.
        heading: The element of headings.
    """
    samples = max(point.n for metric in runs.tracks for point in metric.points)
    intro = f"{len(runs.runs)} runs, the oldest first, over up to {samples:,} samples; the baseline is"
    yield element("p", intro, Html(" "), element("b", runs.runs[runs.baseline]), ".")
    if rebase:
        others = [place for place in range(len(runs.runs)) if place != runs.baseline]
        choices = [Html(" ") + element("a", runs.runs[place], href=rebase([place])) for place in others]
        yield element("p", "Against another:", joined(map(Html, choices)))
    links = [address([place]) for place in range(len(runs.runs))] if address else []
    for metric, drawn in zip(runs.tracks, pictures.of_series(runs, links), strict=True):
        yield element(heading, metric.metric)
        sentences = (element("p", runs.against_in_words(metric)), element("p", metric.trend.in_words))
        yield element("div", Html(drawn.svg), element("div", *sentences), class_="lead")
        frame = {"class_": "scroll", "tabindex": 0, "role": "region", "aria_label": metric.metric}
        yield element("div", table(HEAD, _linked(runs, metric, address)), **frame)
    changed = [
        f"{runs.runs[place]} to {runs.runs[place + 1]}: {setting}"
        for place, settings in enumerate(runs.settings)
        for setting in settings
    ]
    if changed:
        yield element(heading, "What was changed")
        yield element("ul", *(element("li", line) for line in changed))
    yield element("p", element("small", EXPLAINED))


EXPLAINED = (
    "Each change is of the samples that two neighboring runs share, its p adjusted over all steps and metrics. The "
    "last run against the baseline and the trend (the mean slope of the values of each sample) are tested on their "
    "own, adjusted over the metrics, so that a slow fall is not lost in its steps."
)


def _linked(runs: Series, metric: MetricSeries, address: Address | None) -> Iterator[Sequence[str]]:
    for place, row in enumerate(rows(runs, metric)):
        if address is None:
            yield row
            continue
        run = element("a", row[0], href=address([place]))
        step = element("a", row[4], href=address([place - 1, place])) if place and row[4] else row[4]
        against = element("a", row[8], href=address([runs.baseline, place])) if row[8] else row[8]
        yield (run, *row[1:4], step, *row[5:8], against, *row[9:])


def render(runs: Series, title: str, *, served: bool = False) -> str:
    """Return the page of a series.

    Args:
        runs: The series.
        title: What the runs are of.
        served: Whether the viewer serves it, so that it can lead to the runs, to pairs of them, and to other baselines.
    """
    brand = element("a", "claimeval", href="/") if served else Html("claimeval")
    address, rebase = addresses(runs.runs) if served else (None, None)
    content = parts(runs, address, rebase, heading="h2")
    filled = page("series").html
    for name, text in (
        ("title", element("span", title)[len("<span>") : -len("</span>")]),
        ("brand", brand),
        ("content", joined((element("h1", title), *content))),
    ):
        filled = filled.replace(f"<!--{name}-->", text)
    return filled


def addresses(names: Sequence[str]) -> tuple[Address, Address]:
    """Return the addresses of runs and pairs in the viewer, and those of all runs with one of them as the baseline."""
    return (
        lambda places: f"/report?{urlencode([('run', names[place]) for place in places])}",
        lambda places: f"/compare?{urlencode([*(('run', name) for name in names), ('baseline', names[places[0]])])}",
    )
