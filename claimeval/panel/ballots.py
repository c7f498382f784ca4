"""Verdicts -> ballots: one opinion per judge, its repeats taken together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from claimeval.panel.settings import Panel
from claimeval.records import Label, Reason, Verdict

Choice = Label | int
"""What a ballot may say: a label, or a grade on an ordinal scale."""


NO_GRADE: Reason = "unparsable"
"""Where a panel of grades meets a verdict without one."""


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
    if verdict.label == "unassessed":
        return None
    return verdict.grade if panel.grades else verdict.label


def cast(verdicts: Sequence[Verdict], panel: Panel) -> list[Ballot]:
    """A ballot per judge, in the order of the verdicts.

    A judge that was asked several times votes for what it said most often; where two choices are equally frequent it
    has no opinion (`tie`), and where no reply had a label the most frequent reason stands.
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
        return Ballot(verdict.judge, None, None, verdict.unassessed_because or NO_GRADE)
    return Ballot(verdict.judge, said, verdict.probability, None)


def _together(judge: str, verdicts: Sequence[Verdict], panel: Panel) -> Ballot:
    labelled = [verdict for verdict in verdicts if choice(verdict, panel) is not None]
    if not labelled:
        reasons = Counter(v.unassessed_because or NO_GRADE for v in verdicts)
        return Ballot(judge, None, None, reasons.most_common(1)[0][0])
    known = [v.probability for v in labelled if v.probability is not None]
    share = sum(v.label == "supported" for v in labelled) / len(labelled)
    probability = sum(known) / len(known) if known else share if len(labelled) > 1 else None
    (first, votes), *others = Counter(choice(v, panel) for v in labelled).most_common(2)
    if others and others[0][1] == votes:
        return Ballot(judge, None, probability, "tie")
    return Ballot(judge, first, probability, None)
