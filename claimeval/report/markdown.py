"""Reports in Markdown, for a pull request or a CI comment: views with pictures and a footer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import quote

from claimeval.judging.prompts import PromptRecord
from claimeval.report import render
from claimeval.report.render import code
from claimeval.runs.overview import Overview, PairedRuns
from claimeval.runs.series import Series
from claimeval.runs.views import comparison, line, run
from claimeval.runs.views import series as of_series

Images = Iterable[tuple[str, str]]
"""Titles and files of pictures."""


def summary(overview: Overview, images: Images = ()) -> str:
    """Return what is shown of a run."""
    heading, *blocks = run.of(overview)
    first = render.markdown([heading, *([line(overview.front.sentence)] if overview.front.sentence else ())])
    return _page(first, _images(images), render.markdown(blocks), _footer(overview))


def compared(pair: PairedRuns, overview: Overview, images: Images = ()) -> str:
    """Return what is shown of two runs. `overview` is that of the first."""
    return _page(render.markdown(comparison.view(pair)), _images(images), _footer(overview))


def series(runs: Series, images: Images = ()) -> str:
    """Return what is shown of a series of runs."""
    title = f"### claimeval: {len(runs.runs)} runs, baseline {code(runs.runs[runs.baseline])}"
    return _page(title, _images(images), render.markdown(of_series.view(runs)))


def _page(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _images(images: Images) -> str:
    """Return images with their titles as alternative text."""
    return "\n\n".join(f"![{render.plain(title)}]({quote(file)})" for title, file in images)


def _judges_of(overview: Overview, prompt: PromptRecord) -> str:
    """Return the judges that used a prompt, unless all judges did."""
    asked_with = overview.manifest.asked_with
    judges = [judge for judge, prompts in asked_with.items() if prompt.id in prompts]
    return f" ({', '.join(map(code, judges))})" if judges and len(judges) < len(overview.manifest.judges) else ""


def _footer(overview: Overview) -> str:
    def parts() -> Iterator[str]:
        yield f"claimeval {code(overview.manifest.claimeval)}"
        for prompt in overview.manifest.prompts:
            yield f"{prompt.step} prompt {code(prompt.name)} {code(prompt.digest[:12])}{_judges_of(overview, prompt)}"

    return f"<sub>{', '.join(parts())}</sub>"
