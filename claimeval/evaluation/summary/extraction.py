"""Summary of an extraction run: ratios of sums over all texts, also for gold claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from claimeval.evaluation.manifest import Manifest
from claimeval.lexical.extraction import MEASURES
from claimeval.metrics.claim_quality import ExtractionSummary
from claimeval.metrics.extraction import F1Tally, RatioTally, metric_summary
from claimeval.metrics.scoring import MetricSummary
from claimeval.statistics.formatting import decimal
from claimeval.types.clusters import cluster_of
from claimeval.types.records import Reason, SampleResult


class ExtractionTallies:
    """Computes the summary of an extraction run."""

    def __init__(self, record: Manifest) -> None:
        self._record = record
        self._cluster = record.cluster
        self._ratios = {
            name: (F1Tally if name == "claim_f1" else RatioTally)(name) for name in record.names
        }
        self._people = {name: RatioTally(name) for name in MEASURES}
        self._missing: Counter[tuple[str, Reason]] = Counter()
        self._kinds: Counter[str] = Counter()
        self._texts = self._with_gold = self._all = 0

    def add(self, result: SampleResult) -> None:
        """Add one sample."""
        cluster = cluster_of(result.sample, self._cluster)
        self._all += 1
        for name, score in result.scores.items():
            if score.value is None and score.because:
                self._missing[name, score.because] += 1
            if name != "claim_f1" and score.judged:
                self._ratios[name].add((score.hits or 0, score.judged), cluster)
        counts = result.details.get("extraction")
        if not isinstance(counts, dict):
            return
        self._texts += 1
        self._kinds.update({kind: n for kind, (n,) in _counts(counts.get("kinds"))})
        if isinstance(people := counts.get("people"), dict):
            self._add_gold(result, people, cluster)

    def _add_gold(self, result: SampleResult, people: Mapping[str, Any], cluster: int) -> None:
        """Add the counts of the gold claims of one sample, and how its claims match them."""
        self._with_gold += 1
        for name, row in _counts(people):
            self._people[name].add(row, cluster)
        precision = result.scores["claim_precision"]
        recall = result.scores["claim_recall"]
        row = (precision.hits or 0, precision.judged or 0, recall.hits or 0, recall.judged or 0)
        self._ratios["claim_f1"].add(row, cluster)

    def metrics(self) -> dict[str, MetricSummary]:
        """Return the summary of each metric, in the order of the manifest."""
        ratios = {name: tally.ratio() for name, tally in self._ratios.items()}
        missing: dict[str, dict[Reason, int]] = {name: {} for name in ratios}
        for (name, because), n in self._missing.items():
            missing[name][because] = n
        return {
            name: metric_summary(name, ratio, missing[name], self._all)
            for name, ratio in ratios.items()
        }

    def summary(self) -> ExtractionSummary:
        """Return the summary other than the metrics."""
        measures = {name: self._ratios[name].ratio() for name in MEASURES}
        return ExtractionSummary(
            part=str(self._record.settings.get("part", "answer")),
            texts=self._texts,
            all_texts=self._all,
            sentences=measures["claims_per_sentence"].total,
            claims=measures["claims_per_sentence"].hits,
            measures=measures,
            unclaimed=dict(self._kinds.most_common()),
            people=(
                {name: tally.ratio() for name, tally in self._people.items()}
                if self._with_gold
                else {}
            ),
            remarks=tuple(self._remarks()),
        )

    def _remarks(self) -> Iterator[str]:
        yield from self._record.notes
        if self._with_gold:
            missed = decimal(self._people["statements_lost"].ratio().value)
            yield (
                f"the gold claims ({self._record.settings['gold']}, of {self._with_gold} texts)"
                f" leave {missed} of the sentences that assert something without a claim"
            )


def _counts(value: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    if isinstance(value, Mapping):
        for name, row in value.items():
            yield name, tuple(row) if isinstance(row, list) else (row,)
