"""Ballots -> one label: quorum, vote, ties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from claimeval.panel.ballots import Ballot, Choice, cast, choice
from claimeval.panel.learning import ErrorRates
from claimeval.panel.settings import ABSTAIN, CONSERVATIVE, Panel
from claimeval.panel.votes import VOTES, Known, Winners
from claimeval.records import ABSTAINED, Assessment, Evidence, Label, Reason, Verdict
from claimeval.statistics import vote_entropy

_ALONE = Panel()


def vote(
    claim_id: str,
    evidence: Evidence,
    verdicts: Sequence[Verdict],
    panel: Panel = _ALONE,
    *,
    own_family: frozenset[str] = frozenset(),
    rates: ErrorRates | None = None,
) -> Assessment:
    """The label that the verdicts of all judges on one claim come to.

    With no label at all the most frequent reason is given, the first judge's among equals. With fewer labels than the
    quorum it is `no_quorum`, or the judges' own abstention where the quorum would be met with those who abstained. A
    tie is resolved by the tie rule. `own_family` names the judges that are left out under `leave_own_family_out`;
    `rates` are what `learn` found, for `dawid_skene`.
    """
    if len(verdicts) == 1 and not own_family and not panel.grades:
        return _as_it_stands(claim_id, evidence, verdicts[0])
    ballots = cast(verdicts, panel)
    if panel.leave_own_family_out and own_family:
        ballots = [
            b._replace(choice=None, probability=None, because="own_family") if b.judge in own_family else b
            for b in ballots
        ]
    labelled = [ballot for ballot in ballots if ballot.choice is not None]
    if reason := _too_few(ballots, labelled, panel):
        return _assessment(claim_id, evidence, verdicts, None, reason, ballots, panel)
    winners = VOTES[panel.vote](labelled, Known(panel=panel, rates=rates)) if len(labelled) > 1 else _only(labelled)
    winner = winners[0] if len(winners) == 1 else _break_tie(winners, labelled, panel)
    return _assessment(claim_id, evidence, verdicts, winner, "tie" if winner is None else None, ballots, panel)


def _as_it_stands(claim_id: str, evidence: Evidence, verdict: Verdict) -> Assessment:
    """What every rule makes of one verdict, in the common case of a single judge."""
    return Assessment(
        claim_id=claim_id,
        evidence=evidence,
        verdicts=(verdict,),
        label=verdict.label,
        unassessed_because=verdict.unassessed_because,
        probability=None if verdict.label == "unassessed" else verdict.probability,
    )


def disputed(verdicts: Sequence[Verdict], panel: Panel) -> bool:
    """Whether these judges are not of one mind: two labels, or a judge without one."""
    choices = {ballot.choice for ballot in cast(verdicts, panel)}
    return len(choices) != 1 or None in choices


def _too_few(ballots: Sequence[Ballot], labelled: Sequence[Ballot], panel: Panel) -> Reason | None:
    """Why there is no vote; None when the quorum is met."""
    if not labelled:
        return Counter(ballot.because for ballot in ballots).most_common(1)[0][0]
    voters = [ballot for ballot in ballots if ballot.because != "own_family"]
    needed = panel.needed(len(voters))
    if len(labelled) >= needed:
        return None
    honest = [ballot.because for ballot in voters if ballot.because in ABSTAINED]
    return Counter(honest).most_common(1)[0][0] if len(labelled) + len(honest) >= needed else "no_quorum"


def _only(labelled: Sequence[Ballot]) -> Winners:
    assert labelled[0].choice is not None, "a labelled ballot has a choice"
    return (labelled[0].choice,)


def _break_tie(winners: Winners, labelled: Sequence[Ballot], panel: Panel) -> Choice | None:
    """The tie rule's choice among the winners, None where it has none."""
    if panel.tie == ABSTAIN:
        return None
    if panel.tie == CONSERVATIVE:
        return min(winners, key=panel.choices.index)
    return next((b.choice for b in labelled if b.judge == panel.tie and b.choice in winners), None)


def _assessment(
    claim_id: str,
    evidence: Evidence,
    verdicts: Sequence[Verdict],
    winner: Choice | None,
    reason: Reason | None,
    ballots: Sequence[Ballot],
    panel: Panel,
) -> Assessment:
    counted = {ballot.judge for ballot in ballots if ballot.because != "own_family"}
    votes = [said for verdict in verdicts if (said := choice(verdict, panel)) is not None and verdict.judge in counted]
    several = len(votes) > 1
    labelled = [ballot for ballot in ballots if ballot.choice is not None]
    return Assessment(
        claim_id=claim_id,
        evidence=evidence,
        verdicts=tuple(verdicts),
        label=_label(winner, panel),
        grade=winner if isinstance(winner, int) else None,
        unassessed_because=reason,
        agreement=_share(winner, labelled) if winner is not None and len(labelled) > 1 else None,
        probability=None if panel.grades else _probability(ballots, several=several),
        entropy=vote_entropy(votes) if several else None,
    )


def _label(winner: Choice | None, panel: Panel) -> Label | Literal["unassessed"]:
    if isinstance(winner, int):
        assert panel.grades, "only a panel with grades votes for them"
        return panel.grades.label(winner)
    return winner or "unassessed"


def _share(winner: Choice, labelled: Sequence[Ballot]) -> float:
    return sum(ballot.choice == winner for ballot in labelled) / len(labelled)


def _probability(ballots: Sequence[Ballot], *, several: bool) -> float | None:
    """Mean over the judges; a vote without a probability counts as 0 or 1 beside others, and alone says nothing."""
    known = [ballot.probability for ballot in ballots if ballot.probability is not None]
    if several:
        known += [float(b.choice == "supported") for b in ballots if b.probability is None and b.choice is not None]
    return sum(known) / len(known) if known else None
