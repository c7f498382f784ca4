"""Verdicts -> ballots: one opinion per judge, its repeats taken together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from claimeval.judging.panel.settings import Panel
from claimeval.types.records import Label, Reason, Verdict

Choice = Label | int
"""What a ballot may say: a label, or a grade on an ordinal scale."""

T = TypeVar("T")

Winners = tuple[Choice, ...]
"""The choices in first place. Several are a tie where they differ in value."""

NO_GRADE: Reason = "unparsable"
"""Where a panel of grades meets a verdict without one."""

EQUAL = 1e-9
"""Totals that differ by less are equal."""


class Ballot(NamedTuple):
    """The opinion of one judge on one claim."""

    judge: str
    choice: Choice | None
    """None: no opinion, so no vote."""
    probability: float | None
    """Of "supported": the mean over the repeats that have one, else the share of the repeats that say so."""
    because: Reason | None
    """Why there is no choice."""


def choice(verdict: Verdict, panel: Panel) -> Choice | None:
    """What a verdict votes for; None where it is unassessed."""
    if verdict.label is None:
        return None
    return verdict.grade if panel.grades else verdict.label


def cast_ballots(verdicts: Sequence[Verdict], panel: Panel) -> list[Ballot]:
    """A ballot per judge, in the order of the verdicts.

    A judge with replicates has one vote, by majority: first on the value, then among the labels of that value. If two
    values are equally frequent, it abstains (`tie`), but of grades that are all support, or all not, it votes for the
    lowest. If no replicate has a label, its most frequent reason is kept.
    """
    if panel.replicates == 1:
        return [_ballot(verdict, panel) for verdict in verdicts]
    by_judge: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_judge.setdefault(verdict.judge, []).append(verdict)
    return [_together(judge, said, panel) for judge, said in by_judge.items()]


def _ballot(verdict: Verdict, panel: Panel) -> Ballot:
    said = choice(verdict, panel)
    if said is None:
        return Ballot(verdict.judge, None, None, verdict.unassessed or NO_GRADE)
    return Ballot(verdict.judge, said, verdict.probability, None)


def _together(judge: str, verdicts: Sequence[Verdict], panel: Panel) -> Ballot:
    labelled = [verdict for verdict in verdicts if choice(verdict, panel) is not None]
    if not labelled:
        reasons = Counter(v.unassessed or NO_GRADE for v in verdicts)
        return Ballot(judge, None, None, reasons.most_common(1)[0][0])
    known = [v.probability for v in labelled if v.probability is not None]
    share = sum(v.label == "supported" for v in labelled) / len(labelled)
    probability = sum(known) / len(known) if known else share if len(labelled) > 1 else None
    winners = leading(Counter(said for v in labelled if (said := choice(v, panel)) is not None), panel)
    if len({panel.supports(winner) for winner in winners}) > 1:
        return Ballot(judge, None, probability, "tie")
    return Ballot(judge, representative(winners, panel), probability, None)


def leading(totals: Mapping[Choice, float], panel: Panel) -> Winners:
    """The choices in first place, given the weight of the votes for each.

    Labels first compete by what they count in a score, supported against all others together; then the labels of the
    winning value among themselves. Where the first vote ties, the first of either value are returned. Of grades each
    is a value of its own; of those in a tie only the ones that count as supported are left, or only the others, where
    more weight is on that side.
    """
    sides = {panel.supports(choice): 0.0 for choice in totals}
    for said, total in totals.items():
        sides[panel.supports(said)] += total
    if panel.grades:
        first = _most(totals)
        tied = {panel.supports(said) for said in first}
        return tuple(said for said in first if panel.supports(said) in _most({side: sides[side] for side in tied}))
    return tuple(
        winner
        for side in _most(sides)
        for winner in _most({said: total for said, total in totals.items() if panel.supports(said) == side})
    )


def representative(alike: Sequence[Choice], panel: Panel) -> Choice:
    """The one that stands for choices on one side with equally many votes: `not_found`, or the lowest grade."""
    return (min if panel.grades else max)(alike, key=panel.choices.index)


def _most(totals: Mapping[T, float]) -> list[T]:
    most = max(totals.values())
    return [key for key, total in totals.items() if total >= most - EQUAL]
