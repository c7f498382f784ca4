"""Compare ratings of whole answers: between judges, and with metrics over claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from types import MappingProxyType

from claimeval.evaluation.manifest import Manifest, QuestionRecord
from claimeval.judging.panel.rules import cast_ballots
from claimeval.statistics import cohen_kappa, krippendorff_alpha, mean_interval, raw_agreement
from claimeval.types.clusters import cluster_of
from claimeval.types.estimates import Estimate
from claimeval.types.records import Reason, Record, Sample, SampleResult, Score, Verdict

PAIRS = MappingProxyType({"rated_faithfulness": "faithfulness", "rated_correctness": "correctness"})
"""The metric over claims that corresponds to each rating."""


class Disagreement(Record):
    """A sample whose rating disagrees with its claims."""

    id: str
    whole: bool
    """The rating of the whole answer."""
    supported: int
    """Number of supported claims."""
    judged: int
    """Number of claims with a label."""


class RatingComparison(Record):
    """Comparison of a whole-answer rating with a metric over claims."""

    rating: str
    metric: str
    whole: Estimate
    """Share of rated answers with a yes."""
    claims: Estimate
    """Share of answers whose claims are all supported, among those for which this is known."""
    agreement: Estimate
    """Share of answers for which both agree, among those for which both are known."""
    kappa: Estimate
    """Cohen's kappa of the two; undefined if both give the same value to all answers."""
    apart: tuple[Disagreement, ...]
    """In the order of the samples."""


def all_claims_supported(score: Score) -> bool | None:
    """Return whether all claims are supported; None without claims, or if it depends on unassessed
    claims."""
    if (score.hits or 0) < (score.judged or 0):
        return False
    return True if score.judged and score.judged == score.total else None


def compare_ratings(
    results: Iterable[SampleResult],
    ratings: Iterable[SampleResult],
    cluster: str | None = None,
) -> tuple[RatingComparison, ...]:
    """Return a comparison for each rating in `PAIRS` whose metric is in the results of the claims
    job.

    `ratings` are results of the rate job for the same samples, in the same order. `cluster` is the
    field that defines clusters of samples in intervals, None for the question.
    """
    by_question: dict[str, _RatingPairs] = {}
    for result, rated in zip(results, ratings, strict=True):
        for rating, metric in PAIRS.items():
            if rating in rated.scores and metric in result.scores:
                pairs = by_question.setdefault(rating, _RatingPairs(cluster))
                pairs.add(rated.sample, rated.scores[rating].value, result.scores[metric])
    return tuple(
        by_question[rating].baseline(rating, metric)
        for rating, metric in PAIRS.items()
        if rating in by_question
    )


class _RatingPairs:
    def __init__(self, cluster: str | None) -> None:
        self._cluster = cluster
        self._whole: list[bool | None] = []
        self._claims: list[bool | None] = []
        self._clusters: list[int] = []
        self._apart: list[Disagreement] = []

    def add(self, sample: Sample, value: float | None, score: Score) -> None:
        """Add the rating and the claim score of a sample."""
        whole = None if value is None else value == 1.0
        claims = all_claims_supported(score)
        self._whole.append(whole)
        self._claims.append(claims)
        self._clusters.append(cluster_of(sample, self._cluster))
        if whole is not None and claims is not None and whole != claims:
            hits = score.hits or 0
            judged = score.judged or 0
            self._apart.append(
                Disagreement(id=sample.id, whole=whole, supported=hits, judged=judged)
            )

    def baseline(self, rating: str, metric: str) -> RatingComparison:
        """Return the comparison of the rating with the metric."""
        return RatingComparison(
            rating=rating,
            metric=metric,
            whole=_passing(self._whole, self._clusters),
            claims=_passing(self._claims, self._clusters),
            agreement=Estimate.of(
                raw_agreement(self._whole, self._claims, clusters=self._clusters)
            ),
            kappa=Estimate.of(
                cohen_kappa(
                    self._whole,
                    self._claims,
                    labels=(False, True),
                    clusters=self._clusters,
                )
            ),
            apart=tuple(self._apart),
        )


def _passing(passed: Sequence[bool | None], clusters: Sequence[int]) -> Estimate:
    results = [
        (float(result), cluster)
        for result, cluster in zip(passed, clusters, strict=True)
        if result is not None
    ]
    return Estimate.of(
        mean_interval([value for value, _ in results], clusters=[cluster for _, cluster in results])
    )


def words(of: Disagreement) -> str:
    """Describe a disagreement: `q1 (no; 5 of 5 claims supported)`."""
    return (
        f"{of.id} ({'yes' if of.whole else 'no'}; {of.supported} of {of.judged} claims supported)"
    )


class Member(Record):
    """One judge's ratings for one question."""

    words: dict[str, int]
    """How often it gave each word; replicates count once."""
    unassessed: dict[Reason, int]
    """Answers without a rating, by reason."""


class Members(Record):
    """The judges of one question."""

    judges: dict[str, Member]
    alpha: Estimate | None
    """Krippendorff's alpha, ordinal for more than two words; None for a single judge."""


def members(results: Iterable[SampleResult], record: Manifest) -> dict[str, Members]:
    """Return each judge's ratings, by question."""
    tallies = {question.name: MemberVotes(question) for question in record.questions}
    for result in results:
        cluster = cluster_of(result.sample, record.cluster)
        for rating in result.whole:
            if rating.question in tallies:
                tallies[rating.question].add(rating.verdicts, cluster)
    return {name: tally.members() for name, tally in tallies.items()}


class MemberVotes:
    """Counts each judge's ratings for one question; replicates count once."""

    def __init__(self, question: QuestionRecord) -> None:
        self._question = question
        self._words: dict[str, Counter[str]] = {}
        self._unassessed: dict[str, Counter[Reason]] = {}
        self._ratings: list[dict[str, str]] = []
        self._clusters: list[int] = []

    def add(self, verdicts: Sequence[Verdict], cluster: int) -> None:
        """Count the verdicts on one subject."""
        ratings = {}
        for ballot in cast_ballots(verdicts, self._question.panel):
            counts = self._words.setdefault(ballot.judge, Counter())
            gaps = self._unassessed.setdefault(ballot.judge, Counter())
            if ballot.choice is not None:
                counts[ballot.choice] += 1
                ratings[ballot.judge] = ballot.choice
            elif ballot.because:
                gaps[ballot.because] += 1
        self._ratings.append(ratings)
        self._clusters.append(cluster)

    def members(self) -> Members:
        """Return each judge's ratings so far, and their agreement."""
        words = self._question.scale.words
        return Members(
            judges={
                name: Member(
                    words={word: counts[word] for word in words},
                    unassessed=dict(self._unassessed[name].most_common()),
                )
                for name, counts in self._words.items()
            },
            alpha=self._alpha(list(self._words)),
        )

    def _alpha(self, judges: Sequence[str]) -> Estimate | None:
        if len(judges) < 2:
            return None
        words = self._question.scale.words
        alpha = krippendorff_alpha(
            [[ratings.get(name) for name in judges] for ratings in self._ratings],
            scale="ordinal" if len(words) > 2 else "nominal",
            labels=words[::-1],
            clusters=self._clusters,
        )
        return Estimate.of(alpha)
