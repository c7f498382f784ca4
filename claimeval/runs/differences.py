"""What two runs differ by besides the comparison itself: discordant claims, changed samples, scores without claims."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from claimeval.metrics.flips import claim_pairs, counted_differently
from claimeval.runs import directory
from claimeval.runs.compare import Compared, SamplePair, compare, pair_up, shared_metrics
from claimeval.runs.directory import load_manifest, read_results
from claimeval.runs.overview import MetricComparison
from claimeval.statistics import holm, mcnemar_exact
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import UsageError

CHANGED = 5
"""Samples that changed most, kept for each metric."""


class DiscordantCounts(NamedTuple):
    """Claims that both runs have and judged, counted as supported in one of them only, with McNemar's test."""

    only_a: int
    only_b: int
    p: float


class ChangedSample(NamedTuple):
    """A sample whose value differs between two runs."""

    change: float
    id: str
    a: float
    b: float


class Differences(NamedTuple):
    """What two runs with claims differ by."""

    compared: Compared
    discordant: dict[str, DiscordantCounts]
    changed: dict[str, list[ChangedSample]]
    """By metric the samples that changed most, the largest change first."""


class ScoreDifferences(NamedTuple):
    """What scores without claims differ by, in two runs that both have them."""

    metrics: list[MetricComparison]
    settings: list[str]
    """Settings that differ, in words."""
    cluster: str | None
    shared: int
    only_a: int
    only_b: int


class _Tally:
    """Counts discordant claims and keeps the most changed samples while runs are compared."""

    def __init__(self, metrics: dict[str, tuple[str, str]]) -> None:
        self._metrics = metrics
        self._changed: dict[str, list[ChangedSample]] = {name: [] for name in metrics}
        self._only: Counter[tuple[str, str]] = Counter()

    def add(self, pair: SamplePair, flipped: int) -> None:
        """Add a pair of samples."""
        for name, of in self._changed.items():
            a, b = pair.a.score(name).value, pair.b.score(name).value
            if a is not None and b is not None and a != b:
                heapq.heappush(of, ChangedSample(abs(b - a), pair.a.sample.id, a, b))
                if len(of) > CHANGED:
                    heapq.heappop(of)
        for claim, before, after in claim_pairs(pair.a, pair.b):
            for name, parts in self._metrics.items():
                if (claim.of, before.evidence.part) == parts and counted_differently(before, after, graded=False):
                    self._only[name, "a" if before.support == "supported" else "b"] += 1

    def discordant(self) -> dict[str, DiscordantCounts]:
        """Return the counts of claims that hold in one run only, with McNemar's test."""
        counts = {name: (self._only[name, "a"], self._only[name, "b"]) for name in self._metrics}
        return {name: DiscordantCounts(*both, mcnemar_exact(*both)) for name, both in counts.items()}

    def changed(self) -> dict[str, list[ChangedSample]]:
        """Return the samples that changed most, per metric."""
        return {name: sorted(found, reverse=True) for name, found in self._changed.items()}


def differences(a: Path, b: Path, cluster: str | None = None) -> Differences:
    """Compare two runs with claims; UsageError if they share no metric or no sample."""
    metrics = shared_metrics(load_manifest(a), load_manifest(b))
    tally = _Tally({metric.name: (metric.claims_of, metric.against) for metric in metrics})
    compared = compare(a, b, tally.add, cluster=cluster)
    return Differences(compared, tally.discordant(), tally.changed())


def score_differences(a: Path, b: Path, cluster: str | None = None) -> ScoreDifferences:
    """Compare the scores of two folders without claims; UsageError if they share no metric or no sample."""
    field = directory.clustering(a, cluster)
    directory.clustering(b, cluster if directory.stand_alone(b) else None)
    kinds = [kind for kind, names in directory.shared(a, b).items() if names]
    if not kinds:
        has = [
            ", ".join(f"{s.kind}: {', '.join(s.metrics)}" for s in directory.sources(run).values()) for run in (a, b)
        ]
        raise UsageError(
            f"{a} and {b} have no metric in common: one has {has[0] or 'none'}; the other {has[1] or 'none'}"
        )
    ours, theirs = ({row.id for kind in kinds for row in directory.rows(run, kind)} for run in (a, b))
    if not ours & theirs:
        raise UsageError(f"{a} and {b} have no sample id in common")
    return ScoreDifferences(
        metrics_without_claims(a, b, field),
        list(directory.changed_settings(a, b)),
        field,
        len(ours & theirs),
        len(ours - theirs),
        len(theirs - ours),
    )


def metrics_without_claims(
    a: Path, b: Path, cluster: str | None = None, of_claims: Collection[str] = ()
) -> list[MetricComparison]:
    """Compare scores without claims that both runs have, with the same tests as scores of claims.

    A name that two jobs have, or that is one of `of_claims`, is `JOB/NAME`.

    Args:
        a: The first run.
        b: The second run.
        cluster: Field by which intervals and tests draw samples together.
        of_claims: Names of the metrics of claims.

    Returns:
        A comparison for each metric that both runs have from the same kind.
    """
    kinds = {kind: names for kind, names in directory.shared(a, b).items() if names}
    names = directory.joint_names([(kind, name) for kind, shared in kinds.items() for name in shared], of_claims)
    together: dict[str, int] = {}
    if kinds and not directory.stand_alone(a):
        together = {result.sample.id: cluster_of(result.sample, cluster) for result in read_results(a)}
    found = []
    for kind, shared in kinds.items():
        ours = {row.id: row for row in directory.rows(a, kind)}
        both = [(ours[row.id], row) for row in directory.rows(b, kind) if row.id in ours]
        clusters = [together.get(row.id, row.cluster) for row, _ in both]
        for name in shared if both else ():
            found.append(
                pair_up(names[kind, name], [(x.values.get(name), y.values.get(name)) for x, y in both], clusters)
            )
    tested = [i for i, metric in enumerate(found) if metric.p is not None]
    adjusted = dict(zip(tested, holm([found[i].p or 0.0 for i in tested]), strict=True))
    return [metric.model_copy(update={"p_adjusted": adjusted.get(i)}) for i, metric in enumerate(found)]
