"""Adds up, in one pass over the results of a run, what the report says of it as a whole."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

from claimeval import side_scores
from claimeval.calls import Judge
from claimeval.derived import derived
from claimeval.prices import price
from claimeval.records import Assessment, Call, Claim, Reason, SampleResult
from claimeval.report.cautions import cautions
from claimeval.report.facts import BINS, Facts, JudgeFacts, LabelCounts, MetricFacts, RankFacts
from claimeval.report.troubles import Worst
from claimeval.run import Manifest, load_manifest, load_summary, read_results

RANKS = 20
"""Ranks that are looked at."""


def gather(folder: Path, each: Callable[[SampleResult], None] | None = None) -> Facts:
    """The facts of a run directory, whose results also go to `each`; DataError where it holds no finished run."""
    gathered = Gathering(load_manifest(folder))
    for result in read_results(folder):
        gathered.add(result)
        if each:
            each(result)
    return gathered.facts(folder)


class Gathering:
    """Takes the results of a run one by one."""

    def __init__(self, manifest: Manifest) -> None:
        shorter = manifest.short_names
        self._manifest = manifest
        self._labels: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._distributions = {
            name: [0] * BINS for name in (*(metric.name for metric in manifest.metrics), *manifest.derived)
        }
        self._judges = {
            judge.name: _JudgeTally(judge, shorter[judge.name]) for judge in (*manifest.judges, manifest.extractor)
        }
        self._ranks = _RankTally()
        self._worst = Worst(tuple(metric.against for metric in manifest.metrics if not metric.prompt))

    def add(self, result: SampleResult) -> None:
        """Counts one sample in."""
        claims = {claim.id: claim for claim in result.claims}
        for assessment in result.assessments:
            pair = claims[assessment.claim_id].of, assessment.evidence.part
            self._labels[pair][assessment.label] += 1
            for verdict in assessment.verdicts:
                if tally := self._judges.get(verdict.judge):
                    tally.labels[verdict.label] += 1
        for score in result.scores:
            if score.value is not None:
                self._distributions[score.metric][bar(score.value)] += 1
        for call in result.calls:
            if tally := self._judges.get(call.judge):
                tally.add(call)
        self._ranks.add(result, claims)
        self._worst.add(result)

    def facts(self, folder: Path) -> Facts:
        """What the samples so far come to, with what the run directory itself adds up to."""
        summary = load_summary(folder)
        return Facts(
            name=folder.resolve().name,
            manifest=self._manifest.model_copy(update={"data": data_name(self._manifest)}),
            summary=summary,
            cautions=cautions(summary, {name: tally.short for name, tally in self._judges.items()}),
            metrics=tuple(
                MetricFacts(
                    metric=metric,
                    labels=LabelCounts(**self._labels[metric.claims_of, metric.against]),
                    distribution=tuple(self._distributions[metric.name]),
                )
                for metric in self._manifest.metrics
            ),
            derived={name: derived(name).says for name in self._manifest.derived},
            sides=tuple(side_scores.read(folder)),
            judges=tuple(tally.facts() for tally in self._judges.values()),
            ranks=self._ranks.facts(),
            worst=self._worst.troubles(),
        )


def data_name(manifest: Manifest) -> str | None:
    """The name of the data file; its folder is nobody's business who is sent a report."""
    return manifest.data and re.split(r"[\\/]", manifest.data)[-1]


def bar(value: float) -> int:
    """The bar of a distribution that a value from 0 to 1 stands in: 0, then (0, 0.1] to (0.9, 1), then 1."""
    if value in (0, 1):
        return 0 if value == 0 else BINS - 1
    return next(i for i in range(1, BINS) if value <= i / 10)


class _JudgeTally:
    """What one judge was asked and said."""

    def __init__(self, judge: Judge, short: str) -> None:
        self._judge = judge
        self.short = short
        self._steps: Counter[str] = Counter()
        self._served: Counter[str] = Counter()
        self._failed: Counter[Reason] = Counter()
        self._tokens = [0, 0]
        self._uncounted = 0
        self.labels: Counter[str] = Counter()

    def add(self, call: Call) -> None:
        self._steps[call.step] += 1
        if call.failed_because:
            self._failed[call.failed_because] += 1
        if call.served_model:
            self._served[call.served_model] += 1
        self._tokens[0] += call.prompt_tokens or 0
        self._tokens[1] += call.completion_tokens or 0
        self._uncounted += call.reply is not None and call.prompt_tokens is None

    def facts(self) -> JudgeFacts:
        return JudgeFacts(
            name=self._judge.name,
            short=self.short,
            model=self._judge.model,
            endpoint=self._judge.endpoint,
            served_models=dict(self._served.most_common()),
            extractions=self._steps["extract"],
            assessments=self._steps["assess"],
            failed=dict(self._failed.most_common()),
            prompt_tokens=self._tokens[0],
            completion_tokens=self._tokens[1],
            uncounted=self._uncounted,
            cost=self._cost(),
            labels=LabelCounts(**self.labels),
        )

    def _cost(self) -> float | None:
        stated = price(self._judge.model, self._judge.endpoint)
        if stated is None or (self._uncounted and stated.input + stated.output > 0):
            return None
        return (self._tokens[0] * stated.input + self._tokens[1] * stated.output) / 1e6


class _RankTally:
    """What the ranks of the retrieved contexts are good for."""

    def __init__(self) -> None:
        self._samples: Counter[int] = Counter()
        self._cited: Counter[int] = Counter()
        self._relevant: Counter[int] = Counter()
        self._any_named = False
        self._any_relevant = False

    def add(self, result: SampleResult, claims: dict[str, Claim]) -> None:
        named = {document for a in result.assessments if a.evidence.part == "contexts" for document in cited(a)}
        relevant = set(result.sample.reference_context_ids)
        self._any_named |= bool(named)
        self._any_relevant |= bool(relevant)
        for rank, document in enumerate((result.sample.contexts or ())[:RANKS], 1):
            self._samples[rank] += 1
            self._cited[rank] += document.id in named
            self._relevant[rank] += document.id in relevant

    def facts(self) -> tuple[RankFacts, ...]:
        """Empty where no judge named a document and no sample says which contexts are relevant."""
        if not (self._any_named or self._any_relevant):
            return ()
        return tuple(
            RankFacts(
                rank=rank,
                samples=self._samples[rank],
                cited=self._cited[rank],
                relevant=self._relevant[rank] if self._any_relevant else None,
            )
            for rank in sorted(self._samples)
        )


def cited(assessment: Assessment) -> set[str]:
    """The documents that judges named for a supported claim; those of judges who were outvoted do not count."""
    if assessment.label != "supported":
        return set()
    return {document for v in assessment.verdicts if v.label == "supported" for document in v.cites}
