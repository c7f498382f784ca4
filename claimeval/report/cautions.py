"""What a reader must know before believing the numbers of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from claimeval.report.facts import Caution
from claimeval.run import Summary
from claimeval.scoring import MetricSummary
from claimeval.statistics.formatting import interval, percent

LOST = 0.01
"""Shares of lost samples and of ungrounded claims above this are said; `--max-missing` has the same default."""
TIES = 0.1
"""The share of claims without a majority above which it is said."""
ROLES = {"judge": "judge", "extractor": "extractor", "reference_author": "author of the reference answers"}


def cautions(summary: Summary, shorter: Mapping[str, str]) -> tuple[Caution, ...]:
    """All that applies, gravest first; `shorter` has the names of judges as they are shown."""
    return (
        *_incomplete(summary),
        *_stopped(summary, shorter),
        *(Caution(kind="note", text=f"{note[0].upper()}{note[1:]}.") for note in summary.notes),
        *_same_family(summary, shorter),
        *_lost(summary.metrics),
        *_abstained(summary.metrics),
        *_ungrounded(summary.metrics),
        *_ties(summary.metrics),
    )


def _incomplete(summary: Summary) -> Iterator[Caution]:
    if not summary.complete:
        yield Caution(
            kind="incomplete",
            text=f"The run stopped early: the numbers cover the first {summary.samples} samples. "
            "The same command goes on from there.",
        )


def _stopped(summary: Summary, shorter: Mapping[str, str]) -> Iterator[Caution]:
    if summary.panel and summary.panel.stopped:
        who = ", ".join(f"{shorter.get(name, name)} on {n}" for name, n in summary.panel.stopped.items())
        yield Caution(
            kind="incomplete_panel",
            text=f"The panel is incomplete: of {summary.panel.claims} claims there is no verdict of {who}, stopped by "
            "an error (bad key, no quota, unknown model).",
        )


def _same_family(summary: Summary, shorter: Mapping[str, str]) -> Iterator[Caution]:
    for kin in summary.same_family:
        who = f"The {ROLES[kin.role]} {shorter.get(kin.name, kin.name)}"
        yield Caution(
            kind="same_family",
            text=f"{who} is of the family ({kin.family}) that wrote {kin.samples} of {summary.samples} answers. "
            "Models tend to favour their own kind.",
        )


def _lost(metrics: Mapping[str, MetricSummary]) -> Iterator[Caution]:
    found = [f"{name} {percent(m.failure_rate)}{_between(m)}" for name, m in metrics.items() if m.failure_rate > LOST]
    if found:
        yield Caution(kind="missing", text=f"Samples or claims were lost to failures: {', '.join(found)}.")


def _abstained(metrics: Mapping[str, MetricSummary]) -> Iterator[Caution]:
    if found := open_to_doubt(metrics):
        yield Caution(kind="abstained", text=f"The bounds stand in the place of an interval: {found}.")


def open_to_doubt(metrics: Mapping[str, MetricSummary]) -> str:
    """The metrics whose mean is over the claims that judges were sure of while many others are open; empty for none."""
    found = [f"{m.abstained} of {m.claims} in {name}" for name, m in metrics.items() if m.shown == "bounds"]
    return f"judges abstained on claims ({', '.join(found)}), and a mean is over the others" if found else ""


def _ungrounded(metrics: Mapping[str, MetricSummary]) -> Iterator[Caution]:
    found = [
        f"{m.ungrounded} of {m.claims} in {name}"
        for name, m in metrics.items()
        if m.claims and m.ungrounded / m.claims > LOST
    ]
    if found:
        yield Caution(
            kind="ungrounded",
            text=f"Claims that could not be tied to the text they were taken from: {', '.join(found)}.",
        )


def _ties(metrics: Mapping[str, MetricSummary]) -> Iterator[Caution]:
    found = [
        f"{m.unassessed['tie']} of {m.claims} in {name}{_between(m)}"
        for name, m in metrics.items()
        if m.claims and m.unassessed.get("tie", 0) / m.claims > TIES
    ]
    if found:
        yield Caution(
            kind="ties",
            text=f"Claims on which the judges are divided, which count neither way: {', '.join(found)}.",
        )


def _between(metric: MetricSummary) -> str:
    return f" (bounds {interval(metric.bounds)})" if metric.bounds else ""
