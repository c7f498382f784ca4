"""The judges of a panel beside its rating: what each said, and how far they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from claimeval.evaluation.manifest import Manifest, QuestionRecord
from claimeval.judging.panel.ballots import cast_ballots
from claimeval.statistics import krippendorff_alpha
from claimeval.types.clusters import cluster_of
from claimeval.types.estimates import Estimate
from claimeval.types.records import Reason, Record, SampleResult, Verdict
from claimeval.types.scales import Scale


class Member(Record):
    """What one judge said to one question."""

    words: dict[str, int]
    """How often it gave each word; its repeats are one."""
    holes: dict[Reason, int]
    """Answers that it was asked about and gave no rating, by reason."""


class Members(Record):
    """The judges of one question."""

    judges: dict[str, Member]
    alpha: Estimate | None
    """Krippendorff's alpha, ordinal for more than two words; None for a single judge."""


def members(results: Iterable[SampleResult], record: Manifest) -> dict[str, Members]:
    """Return per question what each judge said about the answers."""
    said: dict[str, list[tuple[tuple[Verdict, ...], int]]] = {question.name: [] for question in record.questions}
    for result in results:
        cluster = cluster_of(result.sample, record.cluster)
        for rating in result.assessments:
            if rating.question in said:
                said[rating.question].append((rating.verdicts, cluster))
    return {question.name: _members(said[question.name], question) for question in record.questions}


def _members(said: Iterable[tuple[Sequence[Verdict], int]], question: QuestionRecord) -> Members:
    scale = question.scale
    settings = question.panel
    words: dict[str, Counter[str]] = {}
    holes: dict[str, Counter[Reason]] = {}
    ratings: list[dict[str, str]] = []
    clusters: list[int] = []
    for verdicts, cluster in said:
        given = {}
        for ballot in cast_ballots(verdicts, settings):
            counts, gaps = words.setdefault(ballot.judge, Counter()), holes.setdefault(ballot.judge, Counter())
            if ballot.choice is not None:
                counts[ballot.choice] += 1
                given[ballot.judge] = ballot.choice
            elif ballot.because:
                gaps[ballot.because] += 1
        ratings.append(given)
        clusters.append(cluster)
    judges = {
        name: Member(words={word: counts[word] for word in scale.words}, holes=dict(holes[name].most_common()))
        for name, counts in words.items()
    }
    return Members(judges=judges, alpha=_alpha(ratings, scale, settings.asked_about_all(list(judges)), clusters))


def _alpha(ratings: list[dict[str, str]], scale: Scale, judges: Sequence[str], clusters: list[int]) -> Estimate | None:
    if len(judges) < 2:
        return None
    found = krippendorff_alpha(
        [[given.get(name) for name in judges] for given in ratings],
        scale="ordinal" if len(scale.words) > 2 else "nominal",
        labels=scale.words[::-1],
        clusters=clusters,
    )
    return Estimate.of(found)
