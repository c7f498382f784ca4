"""Summaries in Markdown, for a pull request or a CI comment.

Texts from data are in code spans, so that Markdown, HTML, links and mentions in them have no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote

from claimeval.evaluation.summary.cost import RunCost
from claimeval.evaluation.summary.orders import OrderEffects
from claimeval.evaluation.summary.panel import PanelSummary
from claimeval.judging.prompts import PromptRecord
from claimeval.metrics.extraction import ExtractionSummary
from claimeval.metrics.scoring import MetricSummary, ends_in_words
from claimeval.report import render
from claimeval.report.render import code
from claimeval.report.render import plain as _plain
from claimeval.runs.overview import Overview, PairedRuns
from claimeval.runs.series import Series
from claimeval.runs.views import comparison as comparison_view
from claimeval.runs.views import series as series_view
from claimeval.runs.worst import WorstClaim
from claimeval.statistics.formatting import decimal, dollars, interval
from claimeval.types.clusters import sample_count
from claimeval.types.records import Reason

MAX_WORST = 5
MAX_WIDTH = 160
"""Characters of a claim."""


def summary(overview: Overview, images: Iterable[tuple[str, str]] = ()) -> str:
    """Return the means, the cautions and the worst claims of a run. `images` are titles and files of pictures."""
    short_names = {judge.name: judge.short for judge in overview.judges}
    judges = ", ".join(code(short_names[judge.name]) for judge in overview.manifest.judges)
    panel = overview.summary.panel
    alone = {name: f"{code(short)} alone" for name, short in short_names.items()}
    if panel and panel.measured_on:
        alone |= {name: f"{alone[name]} (disputed claims)" for name in panel.judges if name not in panel.measured_on}
    return _page(
        f"### claimeval: {code(overview.manifest.data.path or overview.name)}",
        f"{_samples(overview)}, judged by {judges}.",
        overview.front.sentence or "",
        _table(
            ("metric", "mean", "95 % interval", "n", "without a score", "counted", "bounds"),
            (row for name, metric in overview.summary.metrics.items() for row in _rows(name, metric, alone)),
        ),
        _panel(panel, short_names) if panel and panel.measured_on else "",
        _images(images),
        _table(
            ("other scores", "of", "mean", "95 % interval", "n", "without a score", "bounds"),
            (_side(side.kind, name, metric) for side in overview.sides for name, metric in side.metrics.items()),
        )
        if overview.sides
        else "",
        f"Retrieval or generation: {overview.diagnosis.words}." if overview.diagnosis else "",
        _orders(overview.summary.order_effects) if overview.summary.order_effects else "",
        _claims(overview.extraction) if overview.extraction else "",
        _costs(overview.summary.cost, short_names) if overview.summary.cost else "",
        _list((code(caution.text, 1000) for caution in overview.cautions), "Before you trust these numbers:"),
        _list(
            (
                f"{code(claim.sample_id)}: {code(claim.claim, MAX_WIDTH)} {claim.label.replace('_', ' ')} "
                f"in {code(str(claim.evidence))} ({claim.standing}){_near(claim)}"
                for claim in overview.front.read[:MAX_WORST]
            ),
            "First to read:",
        ),
        _footer(overview),
    )


def _near(claim: WorstClaim) -> str:
    """Return the nearest sentence of the evidence."""
    if claim.is_word_for_word:
        return "; the evidence has it word for word, so look at the judge"
    return f"; nearest: {code(claim.excerpt, MAX_WIDTH)}" if claim.excerpt else "; nothing like it there"


def compared(comparison: PairedRuns, overview: Overview, images: Iterable[tuple[str, str]] = ()) -> str:
    """Return the differences of two runs. `overview` is that of the first; `images` are titles and files."""
    return _page(render.markdown(comparison_view.view(comparison)), _images(images), _footer(overview))


def series(runs: Series, images: Iterable[tuple[str, str]] = ()) -> str:
    """Return a series of runs: a table for each metric, the last run against the baseline, and the trend."""
    return _page(
        f"### claimeval: {len(runs.runs)} runs, baseline {code(runs.runs[runs.baseline])}",
        _images(images),
        render.markdown(series_view.view(runs)),
    )


def _images(images: Iterable[tuple[str, str]]) -> str:
    """Return images with their titles as alternative text."""
    return "\n\n".join(f"![{_plain(title)}]({quote(file)})" for title, file in images)


def _page(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _samples(overview: Overview) -> str:
    summary = overview.summary
    return sample_count(summary.samples, summary.clusters, overview.manifest.cluster) + (
        "" if summary.complete else " (stopped early)"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def _list(entries: Iterable[str], heading: str) -> str:
    lines = [f"- {entry}" for entry in entries]
    return "\n".join([heading, "", *lines]) if lines else ""


def _panel(panel: PanelSummary, names: Mapping[str, str]) -> str:
    """Return the agreement of the judges who saw all claims."""
    labeled = panel.unanimous + panel.split
    some = len(panel.measured_on) < len(panel.judges)
    whose = f" of {' and '.join(code(names[judge]) for judge in panel.measured_on)}, who saw all claims" if some else ""
    return (
        f"Judges: {panel.unanimous} of {labeled} claims with equal labels{whose}; {panel.ties} ties; "
        f"Krippendorff's alpha {decimal(panel.alpha)}, Gwet's AC1 {decimal(panel.ac1)}."
    )


def _rows(name: str, metric: MetricSummary, alone: Mapping[str, str]) -> Iterator[Sequence[str]]:
    """Yield the row of a metric, and one for each judge alone."""
    yield _row(code(name), metric)
    for judge, of_judge in metric.by_judge.items():
        yield _row(alone[judge], of_judge)


def _row(name: str, metric: MetricSummary) -> Sequence[str]:
    return (
        name,
        decimal(metric.mean),
        ends_in_words(metric),
        str(metric.n),
        _reasons(metric.missing),
        _counted(metric),
        interval(metric.bounds),
    )


def _counted(metric: MetricSummary) -> str:
    """Return the counts of a metric that is a share of claims or documents."""
    if not metric.total:
        return "-"
    unassessed = sum(metric.unassessed.values())
    return f"{metric.hits} of {metric.judged}" + (f", {unassessed} unassessed" if unassessed else "")


def _side(kind: str, name: str, metric: MetricSummary) -> Sequence[str]:
    unit = "" if metric.unit == "share" else f" ({code(metric.unit)})"
    return (
        code(name) + unit,
        kind,
        decimal(metric.mean),
        ends_in_words(metric),
        str(metric.n),
        _reasons(metric.missing),
        interval(metric.bounds),
    )


def _costs(cost: RunCost, names: Mapping[str, str]) -> str:
    """Return calls, tokens and cost by judge and step; empty for local judges."""
    if cost.total.dollars == 0 and cost.total.prompt_tokens is None:
        return ""
    return _table(
        ("judge", "step", "questions", "tokens in + out", "worth"),
        (
            (
                code(names.get(line.judge, line.judge)),
                line.step,
                f"{line.cost.calls + line.cost.reused:,}",
                f"{line.cost.prompt_tokens or 0:,} + {line.cost.completion_tokens or 0:,}",
                "price unknown" if line.cost.dollars is None else f"${dollars(line.cost.dollars)}",
            )
            for line in cost.by
        ),
    )


def _claims(summary: ExtractionSummary) -> str:
    """Return the quality of the claims, with remarks."""
    of = (
        f"{summary.texts} of {summary.all_texts} texts"
        if summary.texts < summary.all_texts
        else f"{summary.texts} texts"
    )
    heading = (
        f"The claims of the {summary.part} ({summary.claims} of {summary.sentences} sentences, {of}), by their words:"
    )
    measures = summary.measures.items()
    table = _table(
        ("claims", "value", "counts"),
        ((name.replace("_", " "), ratio.in_words, f"{ratio.hits} of {ratio.total}") for name, ratio in measures),
    )
    return _page(heading, table, _list(map(code, summary.remarks), "")).rstrip()


def _orders(effects: OrderEffects) -> str:
    return (
        f"{effects.flipped} of {effects.claims} claims flip in one of {effects.orders} other orders of the "
        f"documents; {effects.lost} labels lose support, {effects.gained} gain it."
    )


def _reasons(missing: dict[Reason, int]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in missing.items()) or "none"


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
