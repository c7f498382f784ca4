"""Reports in Markdown, for a pull request or a CI comment: views with pictures and a footer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

from claimeval.report import render
from claimeval.report.render import code
from claimeval.runs.overview import Overview, PairedRuns
from claimeval.runs.views import comparison, run

if TYPE_CHECKING:
    from claimeval.runs.series import Series

Images = Iterable[tuple[str, str]]
"""Titles and files of pictures."""


def summary(overview: Overview, images: Images = ()) -> str:
    """Return what is shown of a run."""
    front, details = run.of(overview)
    return _page(render.markdown(front), images, render.markdown(details), _footer(overview))


def compared(pair: PairedRuns, overview: Overview, images: Images = ()) -> str:
    """Return what is shown of two runs. `overview` is that of the first."""
    front = comparison.front(pair)
    details = comparison.details(pair)
    return _page(render.markdown(front), images, render.markdown(details), _footer(overview))


def series(runs: Series, images: Images = ()) -> str:
    """Return what is shown of a series of runs."""
    from claimeval.runs.views import series as of_series

    title = f"### claimeval: {len(runs.runs)} runs, baseline {code(runs.runs[runs.baseline])}"
    return _page(title, images, render.markdown(of_series.view(runs)))


def _page(first: str, images: Images, *parts: str) -> str:
    """Return the parts; images stand after the first, with their titles as alternative text."""
    drawn = (f"![{render.plain(title)}]({quote(file)})" for title, file in images)
    return "\n\n".join(filter(None, (first, *drawn, *parts))) + "\n"


def _footer(overview: Overview) -> str:
    """Return the version and the prompts, with the judges that used each unless all did."""
    manifest = overview.manifest
    parts = [f"claimeval {code(manifest.claimeval)}"]
    for prompt in manifest.prompts:
        judges = [judge for judge, prompts in manifest.asked_with.items() if prompt.id in prompts]
        some = (
            f" ({', '.join(map(code, judges))})" if 0 < len(judges) < len(manifest.judges) else ""
        )
        parts.append(f"{prompt.step} prompt {code(prompt.name)} {code(prompt.digest[:12])}{some}")
    return f"<sub>{', '.join(parts)}</sub>"
