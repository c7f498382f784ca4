"""Summary of an extraction run: ratios of sums, also for gold claims and for another extractor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from claimeval.evaluation.claim_checks import ELEMENTS, ELEMENTS_F1
from claimeval.evaluation.manifest import Manifest
from claimeval.lexical.extraction import MEASURES
from claimeval.metrics.extraction import (
    COVERAGE,
    SURE,
    UNITS,
    ElementTally,
    ExtractionSummary,
    MatchTally,
    PairTally,
    RatioDifference,
    RatioTally,
    metric_summary,
    order_remark,
)
from claimeval.metrics.scoring import MetricSummary, failure_rate
from claimeval.metrics.tally import Keyed, Tally
from claimeval.statistics.formatting import decimal, signed, signed_interval
from claimeval.types.clusters import cluster_of
from claimeval.types.records import Reason, SampleResult, Score

RELIABLE = 0.8
"""Minimum sensitivity of a judge whose results are reliable."""
SENSITIVITY = "judge_sensitivity"
_F1, _MACRO = "_f1", "_f1_macro"


class _Missing(Tally):
    """Reasons for missing values of one metric."""

    ADDED = ("texts", "items")

    def __init__(self) -> None:
        self.texts: Counter[Reason] = Counter()
        self.items: Counter[Reason] = Counter()


class ExtractionTallies(Tally):
    """Computes the summary of an extraction run."""

    ADDED = (
        "_matched",
        "_elements",
        "_ratios",
        "_missing",
        "_people",
        "_pairs",
        "_kinds",
        "_texts",
        "_with_gold",
        "_all",
    )

    def __init__(self, record: Manifest) -> None:
        self._record = record
        self._cluster = record.cluster
        matched = [name.removesuffix(_F1) for name in record.names if name.endswith(_F1) and name != ELEMENTS_F1]
        self._matched = {name: MatchTally() for name in matched}
        self._ratios = {name: RatioTally(name) for name in record.names if not name.endswith((_F1, _MACRO))}
        self._elements = ElementTally()
        self._missing = {name: _Missing() for name in record.names}
        self._people = {name: RatioTally(name) for name in MEASURES}
        self._pairs: Keyed[str, PairTally] = Keyed(PairTally)
        self._kinds: Counter[str] = Counter()
        self._texts = self._with_gold = self._all = 0

    def add(self, result: SampleResult) -> None:
        """Add one sample."""
        cluster = cluster_of(result.sample, self._cluster)
        planted = "planted" in result.sample.metadata and result.sample.id.startswith("planted-")
        self._all += not planted
        for name, score in result.scores.items():
            self._add_missing(name, score, result)
            if name in self._ratios and score.judged:
                self._ratios[name].add((score.hits or 0, score.judged), cluster)
        for name, tally in self._matched.items():
            if (row := _row(name, result.scores)) is not None:
                tally.add(row, cluster)
        counts = result.details.get("extraction")
        if not isinstance(counts, dict):
            return
        self._texts += 1
        self._kinds.update(_numbers(counts.get("kinds")))
        if isinstance(cells := counts.get(ELEMENTS), list):
            self._elements.add([int(str(cell)) for cell in cells], cluster)
        for name, (hits, of) in _counts(counts.get("people")):
            self._people[name].add((hits, of), cluster)
        self._with_gold += "people" in counts
        for name, other in _counts(counts.get("against")):
            mine = (
                _row(name.removesuffix(_F1), result.scores) if name.endswith(_F1) else _score_row(name, result.scores)
            )
            self._pairs[name].add(mine or (0,) * len(other), other, cluster)

    def _add_missing(self, name: str, score: Score, result: SampleResult) -> None:
        missing = self._missing[name]
        if score.value is None and score.because:
            missing.texts[score.because] += 1
        if score.total and (score.judged or 0) < score.total:
            open_ = [a.unassessed for a in result.assessments if a.question == name and a.unassessed]
            missing.items.update(open_)

    def metrics(self) -> dict[str, MetricSummary]:
        """Return the summary of each metric, in the order of the manifest."""
        return {name: self._metric(name) for name in self._record.names}

    def _metric(self, name: str) -> MetricSummary:
        if name == ELEMENTS_F1:
            ratio = self._elements.f1()
        elif name.endswith(_MACRO):
            ratio = self._matched[name.removesuffix(_MACRO)].macro_f1()
        elif name.endswith(_F1):
            ratio = self._matched[name.removesuffix(_F1)].f1()
        else:
            ratio = self._ratios[name].ratio()
        missing = self._missing[name]
        unassessed = dict(sorted(missing.items.items()))
        metric = metric_summary(ratio, UNITS.get(name, "share"), missing.texts, unassessed)
        return metric.model_copy(
            update={"failure_rate": failure_rate(missing.texts, missing.items, self._all, ratio.total)}
        )

    def summary(self, metrics: Mapping[str, MetricSummary]) -> ExtractionSummary:
        """Return the summary other than the metrics."""
        settings = self._record.settings
        against = {name: pair.difference(SURE if name in COVERAGE else 0.95) for name, pair in self._pairs.items()}
        measures = {name: ratio.ratio() for name, ratio in self._ratios.items() if name in MEASURES}
        return ExtractionSummary(
            part=str(settings.get("part", "answer")),
            texts=self._texts,
            all_texts=self._all,
            sentences=measures["claims_per_sentence"].total,
            claims=measures["claims_per_sentence"].hits,
            measures=measures,
            unclaimed=dict(self._kinds.most_common()),
            people={name: tally.ratio() for name, tally in self._people.items()} if self._with_gold else {},
            against=against,
            remarks=tuple(self._remarks(metrics, against)),
        )

    def _remarks(self, metrics: Mapping[str, MetricSummary], against: Mapping[str, RatioDifference]) -> Iterator[str]:
        settings = self._record.settings
        listed = settings.get("remarks")
        yield from map(str, listed if isinstance(listed, list) else ())
        if settings.get("gold") and self._with_gold:
            missed = decimal(self._people["statements_lost"].ratio().value)
            yield (
                f"the gold claims ({settings['gold']}, of {self._with_gold} texts) are measured too: they leave "
                f"{missed} of the sentences that assert something without a claim"
            )
        if against:
            yield from _compared(str(settings.get("against")), against, self._record.names)
        sensitivity = metrics.get(SENSITIVITY)
        if sensitivity and sensitivity.mean is not None and sensitivity.mean < RELIABLE:
            yield (
                f"unreliable: the judge noticed {sensitivity.hits} of {sensitivity.judged} planted faults, under "
                f"{RELIABLE:g}; do not rely on what it says of these claims"
            )


def _compared(other: str, against: Mapping[str, RatioDifference], names: tuple[str, ...]) -> Iterator[str]:
    for less, sure in ((other, 1), ("this one", -1)):
        worse = next((n for n in COVERAGE if n in against and against[n].beyond(COVERAGE[n]) == sure), None)
        if worse:
            difference = against[worse].difference
            change = (
                f"{worse} {signed(difference.value)} {signed_interval(difference.interval)}, the other minus this one"
            )
            yield f"of the two extractors {less} covers less ({change}): their scores are not comparable"
    f1 = [name for name in names if name.endswith(_F1) and name in against]
    if len(f1) > 1 and (remark := order_remark(against[f1[0]], against[f1[1]], [n.removesuffix(_F1) for n in f1])):
        yield remark


def _score_row(name: str, scores: Mapping[str, Score]) -> tuple[int, int] | None:
    score = scores.get(name)
    return (score.hits or 0, score.judged or 0) if score else None


def _row(matching: str, scores: Mapping[str, Score]) -> tuple[int, int, int, int] | None:
    """Return the numbers of right claims, claims, found gold claims and gold claims; None if they are unknown."""
    precision, recall = scores.get(f"{matching}_precision"), scores.get(f"{matching}_recall")
    if precision is None or recall is None:
        return None
    if any(score.value is None and score.because != "no_evidence" for score in (precision, recall)):
        return None
    return (precision.hits or 0, precision.judged or 0, recall.hits or 0, recall.judged or 0)


def _counts(value: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    if isinstance(value, dict):
        for name, row in value.items():
            yield name, tuple(row)


def _numbers(value: Any) -> dict[str, int]:
    return dict(value) if isinstance(value, dict) else {}
