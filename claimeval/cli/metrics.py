"""`claimeval metrics`: list of all metrics and vote rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple

from claimeval.cli.command import Argument, command
from claimeval.cli.printer import Output
from claimeval.runs.views import columns, table
from claimeval.types.errors import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator


LISTED = {"metrics": ("Start", 3, "List all metrics and vote rules, or explain one.")}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsOptions:
    """List all metrics and vote rules, or explain one.

    Example: claimeval metrics faithfulness
    """

    name: Annotated[str | None, Argument("NAME")] = None
    """A metric, a group of metrics, or a vote rule.  [default: all]"""
    output: Output = Output()


class MetricRow(NamedTuple):
    """A row of the list: a metric, a group or a vote rule."""

    name: str
    kind: str
    """The command that computes it and, for metrics of claims, their part and evidence."""
    description: str


def do(args: MetricsOptions) -> int:
    """Print the table or one row of it, and return the exit code."""
    from claimeval.metrics.rows import canonical_name

    listed = {row.name: row for row in rows()}
    if args.name is None:
        args.output.draw([table("metrics", columns("name", "of", "description"), listed.values())])
        args.output.line("Custom metrics: NAME=CLAIMS_OF:AGAINST, as in on_policy=answer:policy.")
    else:
        name = args.name if args.name in listed else canonical_name(args.name)
        if name not in listed:
            raise unknown_name("metric or vote rule", args.name, listed)
        listed = {name: listed[name]}
        args.output.line(f" ({listed[name].kind}): {listed[name].description}", bold=name)
    return args.output.result("metrics", {"metrics": [row._asdict() for row in listed.values()]})


metrics = command("metrics", MetricsOptions, do)


def rows() -> Iterator[MetricRow]:
    """Yield all metrics, groups and vote rules."""
    from claimeval import lexical
    from claimeval.evaluation import measure
    from claimeval.judging.panel import rules
    from claimeval.metrics.derived import DERIVED, GROUPS, NUMBERED
    from claimeval.metrics.rows import METRICS

    for row in METRICS.values():
        yield MetricRow(row.name, f"score: {row.claims_of} against {row.against}", row.description)
    for derived in DERIVED.values():
        yield MetricRow(derived.name, f"score: from {', '.join(derived.needs)}", derived.description)
    for name, (needs, _, text) in NUMBERED.items():
        yield MetricRow(f"{name}@N", f"score: from {', '.join(needs)}", text.format("N"))
    for name, members in GROUPS.items():
        yield MetricRow(name, "score: group", ", ".join(members))
    for name, metric in lexical.ALL_METRICS.items():
        yield MetricRow(name, "measure: words", metric.meaning)
    for name, members in measure.GROUPS.items():
        yield MetricRow(name, "measure: group", ", ".join(members))
    for name, rule in rules.VOTES.items():
        yield MetricRow(name, "vote rule", (rule.decide.__doc__ or "").partition("\n")[0].rstrip("."))
