"""The front of a run: what a reader sees first, made once for the terminal, Markdown, notebooks and
pages.

One line for each metric, one sentence on where the answers fail, and the claims to read first with
the nearest sentence of their evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import Summary
from claimeval.metrics.derived import directed
from claimeval.metrics.scoring import MetricSummary
from claimeval.providers import reads_prompts
from claimeval.runs.by_rank import ByRank, ByRankTally
from claimeval.runs.directory import attached, load_summary
from claimeval.runs.notes import Note, notes
from claimeval.runs.slices import DiagnosisCounts, DiagnosisTally
from claimeval.runs.worst import (
    LocatedClaims,
    LowestScores,
    WorstAnswer,
    WorstAnswers,
    WorstClaim,
    WorstClaims,
)
from claimeval.statistics.formatting import interval, number_of
from claimeval.statistics.intervals import FEW_CLUSTERS
from claimeval.types.clusters import cluster_noun, sample_count
from claimeval.types.records import COUNTED, Record, SampleResult
from claimeval.types.requests import IMPORTED

TOP = 3
"""Default number of claims to read first."""
NAMED = 4
"""Judges that are named; of more, the number is shown."""


class FrontScore(Record):
    """A metric in one line."""

    name: str
    value: str
    """The mean, in words if it is undefined."""
    share: float | None
    """The mean, if it is a share."""
    ends: str
    """The reported interval or bounds; empty if there is none."""
    bounds: bool
    """Whether the ends are bounds."""
    counts: str
    """What was counted; empty if there is nothing to add."""
    labels: tuple[int, int, int] | None = None
    """Claims that are supported, contradicted and not found; None for metrics of anything else."""


class Front(Record):
    """What a reader sees first."""

    head: str
    notes: tuple[Note, ...]
    scores: tuple[FrontScore, ...]
    missing: str | None
    """How many samples have no score, and why."""
    few: str | None
    """How little the samples can show, if they are few."""
    sentence: str | None
    """What judges found, counted: `headline` of the summary; None if there is nothing to say."""
    read: tuple[WorstClaim, ...]
    """The claims to read first."""
    answers: tuple[WorstAnswer, ...] = ()
    """The answers to read first, of a run without claims."""


class FrontBuilder:
    """Builds the front of a run from its results, one by one."""

    def __init__(self, manifest: Manifest, top: int = TOP) -> None:
        self._manifest = manifest
        computed = {judge.name for judge in manifest.judges if not reads_prompts(judge)}
        cites = any(name.startswith("citation_") for name in manifest.derived)
        self._worst = WorstClaims(manifest.rows, top, computed, citations=cites)
        self._rated = any(question.subjects == "answer" for question in manifest.questions)
        self._answers = WorstAnswers(top)
        self._located = LocatedClaims(top) if manifest.job == "locate" else None
        self._lowest = None if manifest.of_claims or self._rated else LowestScores(top)
        self._diagnosis = DiagnosisTally(concludes=manifest.concludes)
        self._by_rank = ByRankTally(manifest.cluster)

    def add(self, result: SampleResult) -> None:
        """Add the result of a sample."""
        if self._rated:
            self._answers.add(result)
            return
        if self._located:
            self._located.add(result)
            return
        if self._lowest:
            self._lowest.add(result)
            return
        self._worst.add(result)
        self._diagnosis.add(result)
        self._by_rank.add(result)

    @property
    def diagnosis(self) -> DiagnosisCounts | None:
        """Whether retrieval or generation is to blame; None if that cannot be said."""
        return self._diagnosis.counts()

    @property
    def by_rank(self) -> ByRank | None:
        """Gold claims in the answer by the rank of their evidence; None if no rank is known."""
        return self._by_rank.by_rank()

    def front(self, summary: Summary, folder: Path | None = None) -> Front:
        """Return the front; with the run directory, which may have judged causes."""
        manifest = self._manifest
        return Front(
            head="".join(head(manifest, summary)),
            notes=notes(summary, manifest.short_names),
            scores=tuple(
                _score(name, metric, summary.contradicted.get(name))
                for name, metric in summary.metrics.items()
            ),
            missing=_missing(summary),
            few=_few(summary, manifest.cluster),
            sentence=sentence(summary, folder) or None,
            read=self._located.first() if self._located else self._worst.worst(),
            answers=self._lowest.worst() if self._lowest else self._answers.worst(),
        )


WEAK = re.compile("^(Retrieval|The model) is the weak part: (.)")


def sentence(summary: Summary, folder: Path | None) -> str:
    """Return the first sentence of a run. If its failed claims were located, their judged causes
    take the place of which part is weak, which is inferred from labels."""
    located = attached(folder).get("locate") if folder else None
    if located is None:
        return summary.headline
    own = WEAK.sub(lambda match: match[2].upper(), summary.headline)
    return f"{own} {load_summary(located).headline}".strip()


def front(
    manifest: Manifest,
    summary: Summary,
    results: Iterable[SampleResult],
    top: int = TOP,
    folder: Path | None = None,
) -> Front:
    """Return the front of a run.

    Args:
        manifest: The manifest of the run.
        summary: Its summary.
        results: The results to search for claims to read first.
        top: Number of these claims.
        folder: The run directory, which may have judged causes.
    """
    builder = FrontBuilder(manifest, top)
    for result in results:
        builder.add(result)
    return builder.front(summary, folder)


def samples_of(manifest: Manifest, summary: Summary) -> str:
    """Return how many samples have results, and of how many if the run stopped early."""
    count = sample_count(summary.samples, summary.clusters, manifest.cluster)
    if summary.complete:
        return count
    number, _, rest = count.partition(" sample")
    of = f" of {total:,}" if (total := manifest.data.samples) else ""
    why = "stopped when decided" if summary.decided else "stopped early"
    return f"{number}{of} samples{rest.removeprefix('s')} ({why})"


def head(manifest: Manifest, summary: Summary) -> tuple[str, ...]:
    """Return what was judged, and by whom; every second part is a name of the data."""
    count = samples_of(manifest, summary)
    if not manifest.judges:
        return (count,)
    if not manifest.concludes:
        return (f"{count}, judged by shared words, without a model: try-out numbers",)
    short = manifest.short_names
    extractor = manifest.extractor
    names = ", ".join(short[judge.name] for judge in manifest.judges)
    few = len(manifest.judges) <= NAMED
    by = (
        (f"{count}, judged by ", names, "")
        if few
        else (f"{count}, judged by {len(manifest.judges)} judges",)
    )
    if extractor and short[extractor.name] != names and extractor.provider != IMPORTED:
        return (*by[:-1], f"{by[-1]}, claims extracted by ", short[extractor.name])
    return by


def _score(name: str, metric: MetricSummary, contradicted: int | None) -> FrontScore:
    is_share = metric.unit == "share"
    value = metric.mean_in_words if metric.mean is not None else "no score"
    noun = COUNTED.get(name, "claim")
    supported = metric.hits or 0
    judged = metric.judged or 0
    labels = None
    if contradicted is not None and judged:
        labels = (supported, contradicted, judged - supported - contradicted)
    return FrontScore(
        name=directed(name) if is_share else f"{directed(name)} ({metric.unit})",
        labels=labels,
        value=value,
        share=metric.mean if is_share else None,
        ends=interval(metric.reported) if metric.reported else "",
        bounds=metric.ends == "bounds",
        counts=(f"{supported:,} of {number_of(judged, noun)}" if metric.total else f"n {metric.n}"),
    )


def _missing(summary: Summary) -> str | None:
    """Return how many samples lack a score, and the most frequent reasons."""
    most: Counter[str] = Counter()
    for metric in summary.metrics.values():
        for reason, count in metric.missing.items():
            # Metrics mostly lack the same samples, whose counts would add up to more than there
            # are.
            most[reason] = max(most[reason], count)
    without = max((sum(metric.missing.values()) for metric in summary.metrics.values()), default=0)
    if not without:
        return None
    reasons = ", ".join(f"{count} {reason}" for reason, count in most.most_common(3))
    return f"Without a score: up to {without:,} of {summary.samples:,} ({reasons})."


def _few(summary: Summary, cluster: str | None) -> str | None:
    """Return a sentence on a run of few samples; None for others, and for none."""
    least = min(
        (metric.clusters for metric in summary.metrics.values() if metric.clusters),
        default=FEW_CLUSTERS,
    )
    if least >= FEW_CLUSTERS:
        return None
    wide = "intervals are wide, and " * any(metric.reported for metric in summary.metrics.values())
    return f"Few {cluster_noun(cluster)} ({least:,}): {wide}ten more may move a score far."
