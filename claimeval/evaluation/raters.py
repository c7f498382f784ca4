"""The judges of a panel beside its rating: what each said, how far they agree, and whose family wrote the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from claimeval.evaluation.baseline import Share
from claimeval.evaluation.opinions import Asked
from claimeval.evaluation.ratings import RatingsJob
from claimeval.evaluation.summary.preference import Kinship
from claimeval.evaluation.summary.records import SameFamily
from claimeval.judging.panel.ballots import cast_ballots
from claimeval.metrics.scoring import SampleScores
from claimeval.statistics import krippendorff_alpha
from claimeval.types.errors import UsageError
from claimeval.types.records import Reason, Record, Sample, Verdict


class Member(Record):
    """What one judge said to one question."""

    words: dict[str, int]
    """How often it gave each word; its repeats are one."""
    holes: dict[Reason, int]
    """Answers that it was asked about and gave no rating, by reason."""


class Members(Record):
    """The judges of one question."""

    judges: dict[str, Member]
    alpha: Share | None
    """Krippendorff's alpha, ordinal for more than two words; None for a single judge."""


def members(rows: Iterable[SampleScores], plan: RatingsJob) -> dict[str, Members]:
    """Per question what each judge said, from what the rows keep of it."""
    every = list(rows)
    return {
        one.question.name: _members([(row.details.get(one.question.name), row.cluster_key) for row in every], one)
        for one in plan.asked
    }


def _members(said: Iterable[tuple[object, int]], asked: Asked) -> Members:
    question = asked.question
    words: dict[str, Counter[str]] = {}
    holes: dict[str, Counter[Reason]] = {}
    ratings: list[dict[str, int]] = []
    clusters: list[int] = []
    for opinions, cluster in said:
        if not isinstance(opinions, list):
            continue
        given = {}
        for ballot in cast_ballots([_verdict(opinion, asked) for opinion in opinions], asked.panel):
            counts, gaps = words.setdefault(ballot.judge, Counter()), holes.setdefault(ballot.judge, Counter())
            if isinstance(ballot.choice, int):
                counts[question.scale.word(ballot.choice)] += 1
                given[ballot.judge] = ballot.choice
            elif ballot.because:
                gaps[ballot.because] += 1
        ratings.append(given)
        clusters.append(cluster)
    judges = {
        name: Member(words={word: counts[word] for word in question.scale.words}, holes=dict(holes[name].most_common()))
        for name, counts in words.items()
    }
    return Members(judges=judges, alpha=_alpha(ratings, asked, asked.panel.asked_about_all(list(judges)), clusters))


def _verdict(opinion: Mapping[str, object], asked: Asked) -> Verdict:
    word, name = opinion[asked.question.field], str(opinion["judge"])
    if not isinstance(word, str):
        because = opinion["failed_because"]
        return Verdict.model_validate({"subject": "answer", "judge": name, "unassessed": because})
    scale = asked.question.scale
    return Verdict(subject="answer", judge=name, label=scale.label(word), grade=scale.grade(word))


def _alpha(ratings: list[dict[str, int]], asked: Asked, judges: Sequence[str], clusters: list[int]) -> Share | None:
    if len(judges) < 2:
        return None
    found = krippendorff_alpha(
        [[given.get(name) for name in judges] for given in ratings],
        scale="ordinal" if len(asked.question.scale.words) > 2 else "nominal",
        labels=asked.question.scale.steps,
        clusters=clusters,
    )
    return Share(value=found.value, low=found.low, high=found.high, n=found.n)


def kin(samples: Iterable[Sample], plan: RatingsJob) -> tuple[SameFamily, ...]:
    """The judges of the family that wrote answers here; UsageError where the panel calls that an error."""
    kinship = Kinship({judge.name: judge.model for judge in plan.judges}, None, plan.families)
    for sample in samples:
        kinship.add(sample.model_copy(update={"reference_author": None}))
    found = kinship.summary()
    if found and any(one.panel.on_same_family == "error" for one in plan.asked):
        raise UsageError(
            f"judge {found[0].name!r} is of the family {found[0].family!r}, which wrote answers here; take another "
            "judge, or say what to do with --on-same-family warn or skip"
        )
    return found
