"""What `claimeval compare` does: align two runs, compare them in pairs, print what differs."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from claimeval.cli.whole_tables import print_whole
from claimeval.metrics.flips import claim_pairs, counted_differently, words
from claimeval.report import forms
from claimeval.runs import scores
from claimeval.runs.compare import Compared, SamplePair, compare, pair_up, shared_metrics
from claimeval.runs.directory import load_manifest, read_results
from claimeval.runs.overview import Comparison, MetricComparison
from claimeval.statistics import holm, mcnemar_exact
from claimeval.statistics.formatting import decimal, p_value, signed, signed_interval
from claimeval.types.clusters import cluster_noun, cluster_of, sample_count
from claimeval.types.errors import UsageError

MOVED = 5
"""Samples that moved most, to be shown for each metric."""


class DiscordantCounts(NamedTuple):
    """Claims that both runs have and judged, counted as supported or not in each: the table of McNemar's test."""

    only_a: int
    only_b: int
    p_value: float


class _Watch:
    """Looks at every shared sample for what the comparison itself does not keep."""

    def __init__(self, metrics: dict[str, tuple[str, str]]) -> None:
        self.of_claims = metrics
        self.moved: dict[str, list[tuple[float, str, float, float]]] = {name: [] for name in metrics}
        self._only: Counter[tuple[str, str]] = Counter()

    def look(self, pair: SamplePair, flipped: int) -> None:
        for name in self.of_claims:
            a, b = pair.a.score(name).value, pair.b.score(name).value
            if a is not None and b is not None and a != b:
                heapq.heappush(self.moved[name], (abs(b - a), pair.a.sample.id, a, b))
                if len(self.moved[name]) > MOVED:
                    heapq.heappop(self.moved[name])
        for claim, before, after in claim_pairs(pair.a, pair.b):
            for name, way in self.of_claims.items():
                if (claim.of, before.evidence.part) == way and counted_differently(before, after, graded=False):
                    self._only[name, "a" if before.label == "supported" else "b"] += 1

    def labels(self, name: str) -> DiscordantCounts:
        only_a, only_b = self._only[name, "a"], self._only[name, "b"]
        return DiscordantCounts(only_a, only_b, mcnemar_exact(only_a, only_b))


def side_metrics(
    run_a: Path, run_b: Path, cluster: str | None = None, of_claims: Collection[str] = ()
) -> list[MetricComparison]:
    """Scores that are not of claims, where both runs have them from the same kind: the same differences and tests.

    A name that two kinds have, or that is one `of_claims`, stands with its kind behind it.
    """
    kinds = {kind: names for kind, names in scores.shared(run_a, run_b).items() if names}
    names = Counter([*of_claims, *(name for shared in kinds.values() for name in shared)])
    together: dict[str, int] = {}
    if kinds and not scores.stand_alone(run_a):
        together = {result.sample.id: cluster_of(result.sample, cluster) for result in read_results(run_a)}
    found = []
    for kind, shared in kinds.items():
        ours = {row.id: row for row in scores.rows(run_a, kind)}
        both = [(ours[row.id], row) for row in scores.rows(run_b, kind) if row.id in ours]
        clusters = [together.get(a.id, a.cluster_key) for a, _ in both]
        for name in shared if both else ():
            label = f"{name} ({kind})" if names[name] > 1 else name
            found.append(pair_up(label, [(a.values.get(name), b.values.get(name)) for a, b in both], clusters))
    tested = [i for i, metric in enumerate(found) if metric.p_value is not None]
    adjusted = dict(zip(tested, holm([found[i].p_value or 0.0 for i in tested]), strict=True))
    return [metric.model_copy(update={"p_adjusted": adjusted.get(i)}) for i, metric in enumerate(found)]


def compare_and_tell(
    run_a: Path, run_b: Path, *, shown: int, out: Path | None, cluster: str | None = None, as_json: bool
) -> None:
    """Compares two runs and prints what differs; with `out`, writes the page of both too.

    Of folders that hold scores without claims, as `claimeval retrieval` writes them, it compares these scores.
    """
    if scores.stand_alone(run_a) or scores.stand_alone(run_b):
        _compare_sides(run_a, run_b, out=out, cluster=cluster, as_json=as_json)
        return
    metrics = shared_metrics(load_manifest(run_a), load_manifest(run_b))
    watch = _Watch({metric.name: (metric.claims_of, metric.against) for metric in metrics})
    found = compare(run_a, run_b, watch.look, cluster=cluster)
    of_claims = [metric.metric for metric in found.comparison.metrics]
    sides = side_metrics(run_a, run_b, found.comparison.cluster, of_claims)
    changed = list(scores.changed_settings(run_a, run_b))
    if out:
        forms.write(run_a, "html", out, compared=run_b)
    if as_json:
        labels = {metric.name: watch.labels(metric.name)._asdict() for metric in metrics}
        content = {
            "supported_in_one_only": labels,
            "side_scores": [metric.model_dump() for metric in sides],
            "side_settings": changed,
        }
        print(json.dumps({**found.comparison.model_dump(), **content}, indent=1))
        return
    _tell(Console(highlight=False, emoji=False), found, watch, shown, sides, changed)
    if out:
        print(f"\nReport: {out}")


def _compare_sides(run_a: Path, run_b: Path, *, out: Path | None, cluster: str | None, as_json: bool) -> None:
    field = scores.clustering(run_a, cluster)
    scores.clustering(run_b, cluster if scores.stand_alone(run_b) else None)
    if out:
        raise UsageError("--out writes the page of two runs with claims; these folders hold other scores")
    kinds = [kind for kind, names in scores.shared(run_a, run_b).items() if names]
    if not kinds:
        has = [", ".join(f"{s.kind}: {', '.join(s.metrics)}" for s in scores.read(run)) for run in (run_a, run_b)]
        raise UsageError(
            f"{run_a} and {run_b} have no metric in common: one has {has[0] or 'none'}; the other {has[1] or 'none'}"
        )
    a, b = ({row.id for kind in kinds for row in scores.rows(run, kind)} for run in (run_a, run_b))
    if not a & b:
        raise UsageError(f"{run_a} and {run_b} have no sample id in common")
    sides = side_metrics(run_a, run_b, field)
    changed = list(scores.changed_settings(run_a, run_b))
    counts = {"shared": len(a & b), "only_a": len(a - b), "only_b": len(b - a)}
    if as_json:
        content = {"side_scores": [metric.model_dump() for metric in sides], "side_settings": changed}
        print(json.dumps({"a": str(run_a), "b": str(run_b), **counts, **content}, indent=1))
        return
    console = Console(highlight=False, emoji=False)
    groups = max(metric.clusters for metric in sides)
    said = f"{len(a & b)} samples in both"
    if groups < max(metric.n for metric in sides):
        said += f", {groups} {cluster_noun(field)}"
    if a != b:
        said += f", {counts['only_a']} only in A, {counts['only_b']} only in B"
    console.print(f"\n[bold]{escape(str(run_a))}[/] (A) and [bold]{escape(str(run_b))}[/] (B), {said}")
    print_whole(console, _table(sides))
    for setting in changed:
        console.print(Padding(escape(setting), (0, 0, 0, 2)))


def _tell(
    console: Console, found: Compared, watch: _Watch, shown: int, sides: list[MetricComparison], changed: list[str]
) -> None:
    comparison = found.comparison
    console.print(
        f"\n[bold]{escape(comparison.a)}[/] (A) and [bold]{escape(comparison.b)}[/] (B), {_aligned(comparison)}"
    )
    for setting in comparison.settings:
        console.print(Padding(escape(setting), (0, 0, 0, 2)))
    print_whole(console, _table(comparison.metrics))
    for caution in comparison.abstained:
        console.print(f"[bold yellow]Caution:[/] {escape(caution)}")
    if sides:
        print_whole(console, _table(sides))
    for setting in changed:
        console.print(Padding(escape(setting), (0, 0, 0, 2)))
    for metric in comparison.metrics:
        said = (
            f"{metric.metric}: {metric.higher} samples higher in B, {metric.lower} lower, "
            f"{metric.dropped} without a value in one"
        )
        if metric.metric in watch.of_claims:
            labels = watch.labels(metric.metric)
            said += (
                f"; claims supported only in A {labels.only_a}, only in B {labels.only_b} (McNemar, claims taken as "
                f"independent: p {p_value(labels.p_value)})"
            )
        console.print(Padding(f"[dim]{escape(said)}[/]", (0, 0, 0, 1)))
    for name, moved in watch.moved.items():
        if moved:
            most = sorted(moved, reverse=True)
            said = ", ".join(f"{escape(sample)} {decimal(a)} to {decimal(b)}" for _, sample, a, b in most)
            console.print(f"\n[bold]Moved most in {escape(name)}[/]: {said}")
    if comparison.flipped:
        first = f", the first {min(shown, len(comparison.flips))}" if shown else ""
        console.print(f"\n[bold]{comparison.flipped} of {comparison.compared} claims flipped[/]{first}")
    for flip in comparison.flips[:shown]:
        console.print(f"\n [bold]{escape(flip.sample_id)}[/]  against the {escape(str(flip.evidence))}")
        console.print(Padding(escape(flip.claim), (0, 0, 0, 3)))
        console.print(f"   A {words(flip.a, flip.a_grade)}, B {words(flip.b, flip.b_grade)}")
    if other := comparison.other_changes:
        console.print(f"\nNot counted as flips: {other}", style="dim", soft_wrap=True)


def _aligned(comparison: Comparison) -> str:
    shared = sample_count(comparison.shared, comparison.clusters, comparison.cluster)
    parts = [shared.replace("samples", "samples in both", 1)]
    if comparison.only_a or comparison.only_b:
        parts.append(f"{comparison.only_a} only in A, {comparison.only_b} only in B")
    if comparison.other_texts:
        parts.append(f"{comparison.other_texts} of them with other texts")
    if comparison.other_claims:
        parts.append(f"{comparison.other_claims} with other claims")
    return ", ".join(parts)


def _table(metrics: Iterable[MetricComparison]) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("metric", no_wrap=True)
    for name in ("n", "A", "B", "B minus\nA", "95 %\ninterval", "p", "p\n(Holm)"):
        table.add_column(name, justify="right", no_wrap=True)
    for metric in metrics:
        table.add_row(*_cells(metric))
    return table


def _cells(metric: MetricComparison) -> list[str]:
    return [
        escape(metric.metric),
        str(metric.n),
        decimal(metric.a),
        decimal(metric.b),
        signed(metric.difference.value),
        signed_interval((metric.difference.low, metric.difference.high)),
        p_value(metric.p_value),
        p_value(metric.p_adjusted),
    ]
