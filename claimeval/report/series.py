"""A series of runs as a page or in a notebook: a picture and a table for each metric, without a
script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from urllib.parse import urlencode

from claimeval.metrics.derived import directed
from claimeval.report import pictures
from claimeval.report.assets import fill
from claimeval.runs.series import MetricSeries, Series
from claimeval.runs.views import Table, through
from claimeval.runs.views import series as view
from claimeval.runs.views.notebook import drawn, html
from claimeval.types.html import Html, element, joined

Address = Callable[[Sequence[int]], str]
"""Returns the address of the report of one run, or of two compared runs, by position."""


def parts(
    runs: Series, address: Address | None = None, rebase: Address | None = None, heading: str = "h4"
) -> Iterator[Html]:
    """Yield the elements for a series in a page or notebook.

    Args:
        runs: The series.
        address: Returns the address of the report of a run or pair; None for no links.
        rebase: Returns the address of the series with another baseline; None for no links.
        heading: The element of headings.
    """
    samples = max(point.n for point in chain.from_iterable(metric.points for metric in runs.tracks))
    intro = (
        f"{len(runs.runs)} runs, the oldest first, over up to {samples:,} samples; the baseline is"
    )
    yield element(
        "p",
        intro,
        Html(" "),
        element("b", runs.runs[runs.baseline]),
        ".",
    )
    if rebase:
        others = [i for i in range(len(runs.runs)) if i != runs.baseline]
        choices = [
            Html(" ")
            + element(
                "a",
                runs.runs[i],
                href=rebase([i]),
            )
            for i in others
        ]
        yield element("p", "Other baselines:", joined(map(Html, choices)))
    links = [address([i]) for i in range(len(runs.runs))] if address else []
    for metric, picture in zip(runs.tracks, pictures.of_series(runs, links), strict=True):
        yield element(heading, directed(metric.metric))
        sentences = (
            element("p", runs.against_in_words(metric)),
            element("p", metric.trend.in_words),
        )
        yield element("div", Html(picture.svg), element("div", *sentences), class_="lead")
        frame = {
            "class_": "scroll",
            "tabindex": 0,
            "role": "region",
            "aria_label": directed(metric.metric),
        }
        yield element("div", _table(runs, metric, address), **frame)
    if any(runs.settings):
        yield element(heading, "Changed settings")
        yield html(view.settings(runs))
    yield element("p", element("small", EXPLAINED))


EXPLAINED = (
    "Each change is over the samples that two neighboring runs share, with p adjusted over all"
    " steps and metrics. The difference of the last run to the baseline and the trend (the mean"
    " slope of each sample's values) are tested separately, adjusted over the metrics, to detect a"
    " slow decline that no single step shows."
)


def _table(runs: Series, metric: MetricSeries, address: Address | None) -> Html:
    """Return the table of the runs, in which names and differences lead to reports."""
    shown: Table = through(view.steps(metric)._replace(title=""), str)
    rows: list[list[str]] = [list(row) for row in shown.rows]
    for i, row in enumerate(rows if address else ()):
        assert address, "there are links"
        for column, positions in (
            (0, [i]),
            (view.CHANGE, [i - 1, i]),
            (view.AGAINST, [runs.baseline, i]),
        ):
            if row[column]:
                row[column] = element("a", row[column], href=address(positions))
    return drawn(shown._replace(rows=tuple(map(tuple, rows))))


def render(runs: Series, title: str, *, served: bool = False) -> str:
    """Return the page of a series.

    Args:
        runs: The series.
        title: The title of the page.
        served: Whether the viewer serves it, so that it can link to runs, pairs and other
            baselines.
    """
    brand = element("a", "claimeval", href="/") if served else Html("claimeval")
    address, rebase = addresses(runs.runs) if served else (None, None)
    content = parts(runs, address, rebase, heading="h2")
    escaped = element("span", title)[len("<span>") : -len("</span>")]
    return fill(
        "series", title=escaped, brand=brand, content=joined((element("h1", title), *content))
    )


def addresses(names: Sequence[str]) -> tuple[Address, Address]:
    """Return functions for the viewer's addresses of runs and pairs, and of the series with another
    baseline."""
    return (
        lambda runs: f"/report?{urlencode([('run', names[i]) for i in runs])}",
        lambda runs: (
            "/compare?"
            + urlencode([*(("run", name) for name in names), ("baseline", names[runs[0]])])
        ),
    )
