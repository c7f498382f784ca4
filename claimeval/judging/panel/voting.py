"""Turn verdicts into one label: quorum, vote and ties.

Under every rule, the panel agrees with a unanimous vote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from claimeval.judging.panel import ABSTAIN, CONSERVATIVE, Panel
from claimeval.judging.panel.rules import (
    Ballot,
    Winners,
    cast_ballots,
    choice,
    representative,
)
from claimeval.statistics import vote_entropy
from claimeval.types.errors import UsageError
from claimeval.types.families import Families
from claimeval.types.records import ABSTAINED, Assessment, Evidence, Part, Reason, Sample, Verdict
from claimeval.types.requests import Judge
from claimeval.types.scales import Scale

_ALONE = Panel()


def vote(
    subject: str,
    evidence: Evidence,
    verdicts: Sequence[Verdict],
    panel: Panel = _ALONE,
    *,
    same_family: frozenset[str] = frozenset(),
    question: str = "support",
) -> Assessment:
    """Return the panel's assessment of one claim.

    The first vote is on the value, the second on the label (`rules.py`). Only the first can tie;
    the tie rule then decides. If labels are equally frequent in the second vote, the label of the
    judge who breaks ties is chosen if it is one of them, else `not_found`. If all tied grades count
    as supported, or none does, the tie rule decides only the grade. A unanimous choice wins under
    every rule.

    If no judge has a label, the reason is the most frequent one (the first judge's if equal). With
    fewer labels than the quorum, the reason is `no_quorum`, or the abstention if the judges who
    abstained would complete the quorum.

    Args:
        subject: Id of the claim.
        evidence: The evidence of the verdicts.
        verdicts: The verdicts of all judges.
        panel: Vote rule, tie rule and quorum.
        same_family: Judges whose verdicts do not count under `no-vote`.
        question: Name of the question.
    """
    about = {
        "subject": subject,
        "question": question,
        "against": evidence.part,
        "document": evidence.document,
        "order": evidence.order,
    }
    if (
        len(verdicts) == 1
        and not same_family
        and (alone := _preliminary(about, verdicts[0], panel.scale))
    ):
        return alone
    ballots = _counted_ballots(verdicts, panel, same_family)
    labeled = [ballot for ballot in ballots if ballot.choice is not None]
    if reason := _too_few(ballots, labeled, panel):
        return _assessment(about, verdicts, ballots, panel, because=reason)
    winners = _winners(labeled, panel)
    winner = winners[0] if len(winners) == 1 else _break_tie(winners, labeled, panel)
    label = winner or _label(winners, panel)
    return _assessment(about, verdicts, ballots, panel, label, winner, None if label else "tie")


def _winners(labeled: Sequence[Ballot], panel: Panel) -> Winners:
    """Return the choices in first place: the rule's, or that of all judges."""
    choices = {ballot.choice for ballot in labeled if ballot.choice is not None}
    # Three judges who say "supported" at .4 agree, though the mean of .4 is nearer to not found.
    return panel.rule.decide(labeled, panel) if len(choices) > 1 else tuple(choices)


def _counted_ballots(
    verdicts: Sequence[Verdict],
    panel: Panel,
    same_family: frozenset[str],
) -> list[Ballot]:
    """Return the ballots of judges; under `no-vote`, those of the answer's family have no
    choice."""
    ballots = cast_ballots(verdicts, panel)
    if panel.on_same_family != "no-vote":
        return ballots
    return [
        (
            ballot._replace(choice=None, probability=None, because="same_family")
            if ballot.judge in same_family
            else ballot
        )
        for ballot in ballots
    ]


def _preliminary(about: Mapping[str, Any], verdict: Verdict, scale: Scale) -> Assessment | None:
    """Return the assessment of a single judge's verdict, which is the same under every rule; None
    for other scales."""
    label = verdict.label
    if label is not None and label not in scale.words:
        return None
    return Assessment(
        **about,
        label=label,
        positive=verdict.positive,
        unassessed=verdict.unassessed,
        verdicts=(verdict,),
        probability=None if label is None or scale.ordered else verdict.probability,
    )


def _too_few(ballots: Sequence[Ballot], labeled: Sequence[Ballot], panel: Panel) -> Reason | None:
    """Return why there is no vote; None if the quorum is met."""
    if not labeled:
        return Counter(ballot.because for ballot in ballots).most_common(1)[0][0]
    voters = [ballot for ballot in ballots if ballot.because != "same_family"]
    quorum = panel.needed(len(voters))
    if len(labeled) >= quorum:
        return None
    abstained = [ballot.because for ballot in voters if ballot.because in ABSTAINED]
    return (
        Counter(abstained).most_common(1)[0][0]
        if len(labeled) + len(abstained) >= quorum
        else "no_quorum"
    )


def _break_tie(winners: Winners, labeled: Sequence[Ballot], panel: Panel) -> str | None:
    """Return the choice among several winners; None if they differ in value and the tie rule does
    not decide."""
    value = panel.scale.value
    by_value: dict[float, list[str]] = {}
    for winner in winners:
        by_value.setdefault(value(winner), []).append(winner)
    tied: Sequence[str] = winners
    if panel.tie == CONSERVATIVE:
        tied = by_value[min(by_value)]
    elif panel.tie != ABSTAIN:
        # `tie` is the name of a judge, which may have no label here.
        choice = next((one.choice for one in labeled if one.judge == panel.tie), None)
        if choice in winners:
            return choice
        if choice is not None:
            tied = by_value.get(value(choice), winners)
    return representative(tied, panel) if len(set(map(value, tied))) == 1 else None


def _assessment(
    about: Mapping[str, Any],
    verdicts: Sequence[Verdict],
    ballots: Sequence[Ballot],
    panel: Panel,
    label: str | None = None,
    winner: str | None = None,
    because: Reason | None = None,
) -> Assessment:
    """Return the assessment with the result of a vote. `winner` is None if a tie settles only the
    side."""
    counted = {ballot.judge for ballot in ballots if ballot.because != "same_family"}
    votes = [
        chosen
        for verdict in verdicts
        if (chosen := choice(verdict, panel)) is not None and verdict.judge in counted
    ]
    return Assessment(
        **about,
        verdicts=tuple(verdicts),
        **panel.scale.labeled(label),
        tied=label is not None and winner is None,
        unassessed=because,
        **consensus(winner, ballots, votes, None if panel.scale.ordered else panel.scale)._asdict(),
    )


class Consensus(NamedTuple):
    """Measures of agreement: fields of an assessment."""

    agreement: float | None
    probability: float | None
    entropy: float | None


def consensus(
    choice: str | None,
    ballots: Sequence[Ballot],
    votes: Sequence[str],
    scale: Scale | None,
) -> Consensus:
    """Return the agreement of judges on one claim.

    Args:
        choice: The panel's choice; None without a label, and if a tie settles only the side.
        ballots: The ballot of each judge.
        votes: All labels, including those of replicates.
        scale: The scale of the labels; None for a scale without probabilities.
    """
    several = len(votes) > 1
    agree = [ballot.choice == choice for ballot in ballots if ballot.choice is not None]
    return Consensus(
        agreement=sum(agree) / len(agree) if choice is not None and len(agree) > 1 else None,
        probability=None if scale is None else _probability(ballots, scale, several=several),
        entropy=vote_entropy(votes) if several else None,
    )


def _label(winners: Winners, panel: Panel) -> str | None:
    """Return the lowest of the winners if they are all on one side and a score counts only the
    side; else None."""
    sides = {panel.scale.positive(winner) for winner in winners}
    return representative(winners, panel) if not panel.scale.divided and len(sides) == 1 else None


def _probability(ballots: Sequence[Ballot], scale: Scale, *, several: bool) -> float | None:
    """Return the mean over the judges. Among several votes, one without a probability counts as 0
    or 1."""
    probabilities = [ballot.probability for ballot in ballots if ballot.probability is not None]
    if several:
        choices = [b.choice for b in ballots if b.probability is None and b.choice is not None]
        probabilities += [float(scale.positive(word)) for word in choices]
    return sum(probabilities) / len(probabilities) if probabilities else None


def same_family(
    judges: Sequence[Judge],
    families: Families,
    sample: Sample,
    *parts: Part,
) -> frozenset[str]:
    """Return the judges of the family that wrote the answer, if the answer is one of the compared
    parts."""
    if not sample.generator or "answer" not in parts:
        return frozenset()
    return families.same_family_judges(
        ((judge.name, judge.model) for judge in judges), sample.generator
    )


def refuse_same_family(
    judges: Iterable[tuple[str, Judge]],
    panel: Panel,
    generators: Iterable[str | None],
) -> None:
    """Raise UsageError if a judge, given with its role, is of a generator's family and
    `on_same_family` is `error`."""
    if panel.on_same_family != "error":
        return
    families = Families(panel.families)
    judges = list(judges)
    for generator in dict.fromkeys(filter(None, generators)):
        for role, judge in judges:
            if families.are_same_family(judge.model, generator):
                raise UsageError(
                    f"{role} {judge.name!r} is of the family of {generator!r}, which wrote answers"
                    f" here; use another {role}, or set `on_same_family` of the panel to warn or"
                    " skip"
                )
