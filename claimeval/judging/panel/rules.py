"""Ballots and vote rules.

The verdicts of each judge become one ballot. A rule returns the choices in first place. The first
vote is on the value that a score counts: supported against all other labels, or the grade. The
second is among the labels of the winning value. Several winners of one value are not a tie;
`voting.py` chooses among them.

A rule sees only ballots with a choice, with at least two different choices. To add a rule, write a
function and a row in `VOTES`. `claimeval metrics` shows the first line of its docstring.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from claimeval.types.errors import unknown_name
from claimeval.types.records import ReadVerdict, Reason, Verdict
from claimeval.types.scales import Scale

if TYPE_CHECKING:
    from claimeval.judging.panel import Panel

T = TypeVar("T")

Given = Verdict | ReadVerdict
"""A verdict to vote on."""

Winners = tuple[str, ...]
"""The labels in first place. Labels of different values are a tie."""

NO_GRADE: Reason = "unparsable"
"""The reason for a verdict whose label is not on the panel's scale."""

EQUAL = 1e-9
"""Means that differ by less are equal."""
ROUNDING = 1e-12
"""Totals that differ by less than this share are equal: those of weights that are written as .1, .2
and .3 do, and small weights count as much as others with the same ratio."""


class Ballot(NamedTuple):
    """The vote of one judge on one claim."""

    judge: str
    choice: str | None
    """None if the judge does not vote."""
    probability: float | None
    """Probability of "supported": the mean over replicates that have one, else the share of
    supported replicates."""
    because: Reason | None
    """Why there is no choice."""


def choice(verdict: Given, panel: Panel) -> str | None:
    """Return the label that a verdict votes for; None if it is unassessed.

    A label of another scale counts as supported, contradicted or not found if the panel's scale has
    these labels.
    """
    words = panel.scale.words
    if verdict.label in words:
        return verdict.label
    for word in (verdict.support, "not_found" if verdict.support == "contradicted" else None):
        if word in words:
            return word
    return None


def cast_ballots(verdicts: Sequence[Given], panel: Panel) -> list[Ballot]:
    """Return a ballot per judge, in the order of the verdicts.

    A judge with replicates votes for its most frequent value, and the most frequent label of that
    value. If two values are equally frequent, it abstains (`tie`), unless both count as supported,
    or neither does: then it votes for the lower one. If no replicate has a label, its most frequent
    reason is kept.
    """
    if panel.replicates == 1:
        return [_ballot(verdict, panel) for verdict in verdicts]
    by_judge: dict[str, list[Given]] = {}
    for verdict in verdicts:
        by_judge.setdefault(verdict.judge, []).append(verdict)
    return [_together(judge, replicates, panel) for judge, replicates in by_judge.items()]


def _ballot(verdict: Given, panel: Panel) -> Ballot:
    chosen = choice(verdict, panel)
    if chosen is None:
        return Ballot(verdict.judge, None, None, verdict.unassessed or NO_GRADE)
    return Ballot(verdict.judge, chosen, verdict.probability, None)


def _together(judge: str, verdicts: Sequence[Given], panel: Panel) -> Ballot:
    labeled = [verdict for verdict in verdicts if choice(verdict, panel) is not None]
    if not labeled:
        reasons = Counter(v.unassessed or NO_GRADE for v in verdicts)
        return Ballot(judge, None, None, reasons.most_common(1)[0][0])
    probability = _probability(labeled)
    winners = leading(
        Counter(chosen for v in labeled if (chosen := choice(v, panel)) is not None), panel
    )
    if len({panel.scale.positive(winner) for winner in winners}) > 1:
        return Ballot(judge, None, probability, "tie")
    return Ballot(judge, representative(winners, panel), probability, None)


def _probability(labeled: Sequence[Given]) -> float | None:
    """Return the mean probability of replicates that have one, else the share that is supported;
    None for a single label without one."""
    probabilities = [v.probability for v in labeled if v.probability is not None]
    if probabilities:
        return sum(probabilities) / len(probabilities)
    if len(labeled) > 1:
        return sum(v.support == "supported" for v in labeled) / len(labeled)
    return None


def leading(totals: Mapping[str, float], panel: Panel) -> Winners:
    """Return the labels in first place, given the weight of the votes for each.

    The first vote is among values, the second among the labels of the winning value. If values tie,
    those on the side (positive or not) with less weight are dropped.
    """
    scale = panel.scale
    values = defaultdict[float, float](float)
    sides = defaultdict[bool, float](float)
    for word, total in totals.items():
        values[scale.value(word)] += total
        sides[scale.positive(word)] += total
    # Of 3, 3, 2, 0, 0, relevant from 2 on, 3 and 0 tie, and 3 wins: three of five are relevant.
    side_of = {scale.value(word): scale.positive(word) for word in totals}
    first = _largest(values)
    heaviest = _largest({side: sides[side] for side in {side_of[value] for value in first}})
    winners: list[str] = []
    for value in first:
        if side_of[value] in heaviest:
            alike = {word: total for word, total in totals.items() if scale.value(word) == value}
            winners += _largest(alike)
    return tuple(winners)


def representative(alike: Sequence[str], panel: Panel) -> str:
    """Return the lowest of labels with equally many votes on one side; of equal ones
    `not_found`."""
    ranked = panel.scale.ranked
    # Of labels without support, `not_found` states less than `contradicted`.
    return min(alike, key=lambda word: (panel.scale.value(word), -ranked.index(word)))


def _largest(totals: Mapping[T, float]) -> list[T]:
    largest = max(totals.values())
    return [key for key, total in totals.items() if total >= largest * (1 - ROUNDING)]


class VoteRule(NamedTuple):
    """A row of the table of rules."""

    decide: Callable[[Sequence[Ballot], Panel], Winners]
    needs_weights: bool = False
    """Whether the rule needs a weight for each judge."""


def majority(ballots: Sequence[Ballot], panel: Panel) -> Winners:
    """The value with the most votes, then the label; neither needs more than half."""
    return leading(Counter(_choices(ballots)), panel)


def unanimous(ballots: Sequence[Ballot], panel: Panel) -> Winners:
    """The value that all judges give, then the most frequent label; different values are a tie."""
    counts = Counter(_choices(ballots))
    values = dict.fromkeys(map(panel.scale.value, counts))
    winners: list[str] = []
    for value in values:
        winners += _of_value(counts, value, panel)
    return tuple(winners)


def any_(ballots: Sequence[Ballot], panel: Panel) -> Winners:
    """The most favorable choice: supported if at least one judge finds support."""
    return (max(_ranked_votes(ballots, panel))[1],)


def median(ballots: Sequence[Ballot], panel: Panel) -> Winners:
    """The middle choice from least to most favorable; of two middle choices the lower. Never a
    tie."""
    places = sorted(_ranked_votes(ballots, panel))
    return (places[(len(places) - 1) // 2][1],)


def mean(ballots: Sequence[Ballot], panel: Panel) -> Winners:
    """The value nearest to the mean of the votes; two equally near values are a tie.

    On an ordered scale, a vote is the value of its label. On other scales it is the probability of
    "supported", or 1 or 0 without one. A mean over 0.5 is supported if any judge says so; under
    0.5, the most frequent other label wins.
    """
    scale = panel.scale
    counts = Counter(_choices(ballots))
    # A plain sum of .1, .2 and .3 depends on their order, and a tie would hang on which judge is
    # first.
    average = math.fsum(_vote(ballot, scale) for ballot in ballots) / len(ballots)
    values = set(scale.values) if scale.ordered else {scale.value(word) for word in counts}
    distance = min(abs(value - average) for value in values)
    nearest = sorted(value for value in values if abs(value - average) <= distance + EQUAL)
    winners: list[str] = []
    for value in nearest:
        winners += _of_value(counts, value, panel)
    return tuple(winners)


def weighted(ballots: Sequence[Ballot], panel: Panel) -> Winners:
    """The value with the greatest sum of its judges' weights, then the label.

    Only labels that a judge gave can win. Source: Nitzan & Paroush 1982.
    """
    totals: dict[str, float] = {}
    for ballot in ballots:
        assert ballot.choice is not None, "rules see only ballots with a choice"
        totals[ballot.choice] = totals.get(ballot.choice, 0.0) + panel.weights[ballot.judge]
    return leading(totals, panel)


VOTES: Mapping[str, VoteRule] = {
    "majority": VoteRule(majority),
    "unanimous": VoteRule(unanimous),
    "any": VoteRule(any_),
    "median": VoteRule(median),
    "mean": VoteRule(mean),
    "weighted": VoteRule(weighted, needs_weights=True),
}


def vote_rule(name: str) -> VoteRule:
    """Return the rule of that name; UsageError with the closest name otherwise."""
    if name not in VOTES:
        raise unknown_name("vote", name, VOTES)
    return VOTES[name]


def _of_value(counts: Mapping[str, float], value: float, panel: Panel) -> Winners:
    """Return the labels in first place among those of a value; without votes for it, the label of
    that value."""
    scale = panel.scale
    votes = {word: n for word, n in counts.items() if scale.value(word) == value}
    return leading(votes, panel) if votes else (scale.words[scale.values.index(value)],)


def _choices(ballots: Iterable[Ballot]) -> list[str]:
    return [ballot.choice for ballot in ballots if ballot.choice is not None]


def _ranked_votes(ballots: Sequence[Ballot], panel: Panel) -> list[tuple[int, str]]:
    order = panel.scale.ranked
    return [(order.index(b.choice), b.choice) for b in ballots if b.choice is not None]


def _vote(ballot: Ballot, scale: Scale) -> float:
    assert ballot.choice is not None, "rules see only ballots with a choice"
    if scale.ordered:
        return scale.value(ballot.choice)
    return (
        float(scale.positive(ballot.choice)) if ballot.probability is None else ballot.probability
    )
