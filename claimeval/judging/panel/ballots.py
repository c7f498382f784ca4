"""Verdicts -> ballots: one opinion per judge, its repeats taken together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from claimeval.types.records import Reason, Verdict

if TYPE_CHECKING:
    from claimeval.judging.panel import Panel

T = TypeVar("T")

Winners = tuple[str, ...]
"""The words in first place. Several are a tie where they differ in value."""

NO_GRADE: Reason = "unparsable"
"""Where a panel on an ordered scale meets a verdict on another."""

EQUAL = 1e-9
"""Totals that differ by less are equal."""


class Ballot(NamedTuple):
    """The opinion of one judge on one claim."""

    judge: str
    choice: str | None
    """None: no opinion, so no vote."""
    probability: float | None
    """Of "supported": the mean over the repeats that have one, else the share of the repeats that say so."""
    because: Reason | None
    """Why there is no choice."""


def choice(verdict: Verdict, panel: Panel) -> str | None:
    """Return the word that a verdict votes for, None if it is unassessed.

    A word of another scale votes as what it comes to, where the panel's scale has a word for that.
    """
    words = panel.scale.words
    for word in (verdict.label, verdict.support, "not_found" if verdict.support == "contradicted" else None):
        if word in words:
            return word
    return None


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
    share = sum(v.support == "supported" for v in labelled) / len(labelled)
    probability = sum(known) / len(known) if known else share if len(labelled) > 1 else None
    winners = leading(Counter(said for v in labelled if (said := choice(v, panel)) is not None), panel)
    if len({panel.scale.positive(winner) for winner in winners}) > 1:
        return Ballot(judge, None, probability, "tie")
    return Ballot(judge, representative(winners, panel), probability, None)


def leading(totals: Mapping[str, float], panel: Panel) -> Winners:
    """Return the words in first place, given the weight of the votes for each.

    Words first compete by their values, those of one value together; then the words of the winning value among
    themselves. Where values tie, those of the side, positive or not, that has more weight are left.
    """
    scale = panel.scale
    values, sides = defaultdict[float, float](float), defaultdict[bool, float](float)
    for word, total in totals.items():
        values[scale.value(word)] += total
        sides[scale.positive(word)] += total
    side_of = {scale.value(word): scale.positive(word) for word in totals}
    first = _most(values)
    heaviest = _most({side: sides[side] for side in {side_of[value] for value in first}})
    return tuple(
        winner
        for value in first
        if side_of[value] in heaviest
        for winner in _most({word: total for word, total in totals.items() if scale.value(word) == value})
    )


def representative(alike: Sequence[str], panel: Panel) -> str:
    """The one that stands for words on one side with equally many votes: the lowest, of equal ones `not_found`."""
    ranked = panel.scale.ranked
    return min(alike, key=lambda word: (panel.scale.value(word), -ranked.index(word)))


def _most(totals: Mapping[T, float]) -> list[T]:
    most = max(totals.values())
    return [key for key, total in totals.items() if total >= most - EQUAL]
