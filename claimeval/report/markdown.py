"""A short summary in Markdown, for a pull request or a CI comment.

Texts of others stand in code spans, in which Markdown, HTML, links and mentions mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from claimeval.evaluation.summary.orders import OrderEffects
from claimeval.judging.prompts import PromptRecord
from claimeval.metrics.flips import words
from claimeval.metrics.scoring import MetricSummary, ends_in_words
from claimeval.report.visible import visible
from claimeval.runs.overview import Comparison, MetricComparison, Overview
from claimeval.statistics.formatting import decimal, interval, p_value, signed, signed_interval
from claimeval.types.clusters import sample_count
from claimeval.types.records import Reason

WORST = 5
FLIPS = 10
WIDTH = 160
"""Characters of a claim that are shown."""


def summary(facts: Overview) -> str:
    """What a run comes to: the means, what to beware of, and the worst claims."""
    shorter = {judge.name: judge.short for judge in facts.judges}
    judges = ", ".join(code(shorter[judge.name]) for judge in facts.manifest.judges)
    return _page(
        f"### claimeval: {code(facts.manifest.data or facts.name)}",
        f"{_samples(facts)}, judged by {judges}.",
        _table(
            ("metric", "mean", "95 % interval", "n", "without a score", "counted", "bounds"),
            (_row(name, metric) for name, metric in facts.summary.metrics.items()),
        ),
        _table(
            ("other scores", "of", "mean", "95 % interval", "n", "without a score", "bounds"),
            (_side(side.kind, name, metric) for side in facts.sides for name, metric in side.metrics.items()),
        )
        if facts.sides
        else "",
        _orders(facts.summary.orders) if facts.summary.orders else "",
        _list((code(caution.text, 1000) for caution in facts.cautions), "Before you believe these numbers:"),
        _list(
            (
                f"{code(trouble.sample_id)}: {code(trouble.claim, WIDTH)} {trouble.label.replace('_', ' ')} "
                f"in {code(str(trouble.evidence))}"
                for trouble in facts.worst[:WORST]
            ),
            "Worst claims:",
        ),
        _footer(facts),
    )


def compared(comparison: Comparison, facts: Overview) -> str:
    """What two runs differ by; `facts` are those of the first."""
    only = [f"{n} only in {run}" for n, run in ((comparison.only_a, "a"), (comparison.only_b, "b")) if n]
    return _page(
        f"### claimeval: a = {code(comparison.a)}, b = {code(comparison.b)}",
        f"{_shared(comparison)}{''.join(f', {text}' for text in only)}; differences are b - a.",
        _list((code(text, 1000) for text in comparison.settings), "Asked differently:"),
        _list(comparison.abstained, "Before you believe these differences:"),
        _table(
            ("metric", "a", "b", "b - a", "95 % interval", "p (Holm)", "higher, lower in b", "n"),
            (_difference(metric) for metric in comparison.metrics),
        ),
        _list(
            (
                f"{code(flip.sample_id)}: {code(flip.claim, WIDTH)} {words(flip.a, flip.a_grade)} → "
                f"{words(flip.b, flip.b_grade)} against {code(str(flip.evidence))}"
                for flip in comparison.flips[:FLIPS]
            ),
            f"{comparison.flipped} of {comparison.compared} claims flipped:",
        ),
        f"Not counted as flips: {other}." if (other := comparison.other_changes) else "",
        _footer(facts),
    )


def _shared(comparison: Comparison) -> str:
    return sample_count(comparison.shared, comparison.clusters, comparison.cluster).replace(
        "samples", "shared samples", 1
    )


def code(text: str, width: int | None = None) -> str:
    """The text as a code span that also holds inside a table."""
    line = visible(text, width).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    padded = f" {line} " if line.startswith("`") or line.endswith("`") else line
    return f"{fence}{padded}{fence}" if line else "(empty)"


def _page(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _samples(facts: Overview) -> str:
    summary = facts.summary
    return sample_count(summary.samples, summary.clusters, facts.manifest.cluster) + (
        "" if summary.complete else " (stopped early)"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def _list(entries: Iterable[str], heading: str) -> str:
    lines = [f"- {entry}" for entry in entries]
    return "\n".join([heading, "", *lines]) if lines else ""


def _row(name: str, found: MetricSummary) -> Sequence[str]:
    return (
        code(name),
        decimal(found.mean),
        ends_in_words(found),
        str(found.n),
        _reasons(found.missing),
        _counted(found),
        interval(found.bounds),
    )


def _counted(found: MetricSummary) -> str:
    """Of how many claims (or documents) the metric holds; nothing for one that is no share of them."""
    if not found.claims:
        return "-"
    lost = sum(found.unassessed.values())
    return f"{found.supported} of {found.judged}" + (f", {lost} unassessed" if lost else "")


def _side(kind: str, name: str, found: MetricSummary) -> Sequence[str]:
    unit = "" if found.unit == "share" else f" ({code(found.unit)})"
    missing = ", ".join(f"{n} {reason}" for reason, n in found.missing.items()) or "none"
    return (
        code(name) + unit,
        kind,
        decimal(found.mean),
        ends_in_words(found),
        str(found.n),
        missing,
        interval(found.bounds),
    )


def _orders(found: OrderEffects) -> str:
    return (
        f"{found.flipped} of {found.claims} claims flip in one of {found.orders} other orders of the "
        f"documents; {found.lost} labels lose support, {found.gained} gain it."
    )


def _difference(metric: MetricComparison) -> Sequence[str]:
    difference = metric.difference
    return (
        code(metric.metric),
        decimal(metric.a),
        decimal(metric.b),
        signed(difference.value),
        signed_interval((difference.low, difference.high)),
        p_value(metric.p_adjusted),
        f"{metric.higher}, {metric.lower}",
        str(metric.n),
    )


def _reasons(missing: dict[Reason, int]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in missing.items()) or "none"


def _asked(facts: Overview, prompt: PromptRecord) -> str:
    """Who was asked with a prompt, where not all judges were."""
    asked_with = facts.manifest.asked_with
    judges = [judge for judge, prompts in asked_with.items() if prompt.id in prompts]
    return f" ({', '.join(map(code, judges))})" if judges and len(judges) < len(facts.manifest.judges) else ""


def _footer(facts: Overview) -> str:
    def parts() -> Iterator[str]:
        yield f"claimeval {code(facts.manifest.versions.get('claimeval', 'unknown'))}"
        for prompt in facts.manifest.prompts:
            yield f"{prompt.step} prompt {code(prompt.name)} {code(prompt.digest[:12])}{_asked(facts, prompt)}"

    return f"<sub>{', '.join(parts())}</sub>"
