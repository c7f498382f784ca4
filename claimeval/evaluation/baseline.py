"""Whole-answer yes or no beside the claims of the same run: how many pass, how far the two agree, where they part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from claimeval.statistics import cohen_kappa, mean_interval, raw_agreement
from claimeval.types.clusters import cluster_of
from claimeval.types.estimates import Estimate
from claimeval.types.records import Record, Sample, SampleResult, Score

PAIRS = MappingProxyType({"rated_faithfulness": "faithfulness", "rated_correctness": "correctness"})
"""Per rating the metric by claims that asks the same."""


class Disagreement(Record):
    """A sample where the two part."""

    id: str
    whole: bool
    """What the judges say of the whole answer."""
    supported: int
    judged: int
    """Claims supported, and claims with a label."""


class RatingComparison(Record):
    """A whole-answer rating held against a metric by claims."""

    rating: str
    metric: str
    whole: Estimate
    """Of the rated answers, those with a yes."""
    claims: Estimate
    """Of the answers for which it is known, those of which every claim is supported."""
    agreement: Estimate
    """Of the answers for which both are known, those where they say the same."""
    kappa: Estimate
    """Cohen's kappa of the two; undefined where both say the same of all."""
    apart: tuple[Disagreement, ...]
    """In the order of the samples."""


def every_claim(score: Score) -> bool | None:
    """Whether every claim is supported; None without claims, or where the unassessed ones leave it open."""
    if (score.hits or 0) < (score.judged or 0):
        return False
    return True if score.judged and score.judged == score.total else None


def compare_ratings(
    results: Iterable[SampleResult], ratings: Iterable[SampleResult], cluster: str | None = None
) -> tuple[RatingComparison, ...]:
    """Return a comparison for each rating of `PAIRS` whose metric the run of claims has.

    Args:
        results: The results of the run of claims.
        ratings: Ratings of the same samples, in the same order.
        cluster: The field by which samples belong together in intervals; None for their question.
    """
    found: dict[str, _Pairs] = {}
    for result, rated in zip(results, ratings, strict=True):
        values = {score.metric: score.value for score in rated.scores}
        scores = {score.metric: score for score in result.scores}
        for rating, metric in PAIRS.items():
            if rating in values and metric in scores:
                found.setdefault(rating, _Pairs(cluster)).add(rated.sample, values[rating], scores[metric])
    return tuple(found[rating].baseline(rating, metric) for rating, metric in PAIRS.items() if rating in found)


class _Pairs:
    def __init__(self, cluster: str | None) -> None:
        self._cluster = cluster
        self._whole: list[bool | None] = []
        self._claims: list[bool | None] = []
        self._clusters: list[int] = []
        self._apart: list[Disagreement] = []

    def add(self, sample: Sample, value: float | None, score: Score) -> None:
        """Add the rating and the claim score of a sample."""
        whole, claims = None if value is None else value == 1.0, every_claim(score)
        self._whole.append(whole)
        self._claims.append(claims)
        self._clusters.append(cluster_of(sample, self._cluster))
        if whole is not None and claims is not None and whole != claims:
            hits, judged = score.hits or 0, score.judged or 0
            self._apart.append(Disagreement(id=sample.id, whole=whole, supported=hits, judged=judged))

    def baseline(self, rating: str, metric: str) -> RatingComparison:
        """Return the comparison of the rating with the metric."""
        return RatingComparison(
            rating=rating,
            metric=metric,
            whole=_passing(self._whole, self._clusters),
            claims=_passing(self._claims, self._clusters),
            agreement=Estimate.of(raw_agreement(self._whole, self._claims, clusters=self._clusters)),
            kappa=Estimate.of(cohen_kappa(self._whole, self._claims, labels=(False, True), clusters=self._clusters)),
            apart=tuple(self._apart),
        )


def _passing(said: Sequence[bool | None], clusters: Sequence[int]) -> Estimate:
    known = [(float(one), cluster) for one, cluster in zip(said, clusters, strict=True) if one is not None]
    return Estimate.of(mean_interval([value for value, _ in known], clusters=[cluster for _, cluster in known]))


def words(apart: Disagreement, names: Mapping[bool, str] = MappingProxyType({True: "yes", False: "no"})) -> str:
    """Such a sample in a few words: `q1 (no; 5 of 5 claims supported)`."""
    return f"{apart.id} ({names[apart.whole]}; {apart.supported} of {apart.judged} claims supported)"
