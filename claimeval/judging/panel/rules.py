"""The voting rules: ballots -> the choices in first place.

The first vote is on what a score counts: supported against all other labels together, or the grade. The second is
among the labels of the winning value. Winners of one value are no tie; `voting.py` chooses among them.

Every rule sees only ballots with a choice, two different ones at least. A new rule is a function and a row in `VOTES`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from claimeval.judging.panel.ballots import EQUAL, Ballot, Choice, Winners, leading
from claimeval.judging.panel.error_rates import ErrorRates
from claimeval.judging.panel.settings import Panel
from claimeval.types.options import Vote


class VoteContext(NamedTuple):
    """What a rule may know besides the ballots."""

    panel: Panel
    rates: ErrorRates | None = None
    """The error rates of the judges, learned from the whole run, for `dawid_skene`."""


Rule = Callable[[Sequence[Ballot], VoteContext], Winners]


def majority(ballots: Sequence[Ballot], known: VoteContext) -> Winners:
    """The value with the most votes, then the label; neither need have more than half."""
    return leading(Counter(_choices(ballots)), known.panel)


def unanimous(ballots: Sequence[Ballot], known: VoteContext) -> Winners:
    """The value of all, and the most frequent label; where values differ, a tie of all that was said."""
    said = Counter(_choices(ballots))
    if known.panel.grades:
        return tuple(said)
    others = _not_supported(said, known.panel)
    return others if "supported" not in said else (*others, "supported")


def any_(ballots: Sequence[Ballot], known: VoteContext) -> Winners:
    """The most favourable choice that anyone made: supported as soon as one judge finds support."""
    return (max(_places(ballots, known))[1],)


def median(ballots: Sequence[Ballot], known: VoteContext) -> Winners:
    """The middle choice from the least to the most favourable; of two in the middle the lower. Never a tie."""
    places = sorted(_places(ballots, known))
    return (places[(len(places) - 1) // 2][1],)


def mean(ballots: Sequence[Ballot], known: VoteContext) -> Winners:
    """By the mean probability of "supported", or the mean grade.

    A judge without a probability counts as 1 if it says supported, else as 0. Over one half is supported; under it,
    and where nobody says supported, the most frequent of the other labels stands. Exactly one half is a tie. A mean
    grade is rounded to the nearest step; half-way between two it is a tie of them.
    """
    if known.panel.grades:
        grades = [ballot.choice for ballot in ballots if isinstance(ballot.choice, int)]
        low, rest = divmod(sum(grades), len(grades))
        return (low, low + 1) if 2 * rest == len(grades) else (low + (2 * rest > len(grades)),)
    said = Counter(_choices(ballots))
    others = _not_supported(said, known.panel)
    average = math.fsum(_probability(ballot) for ballot in ballots) / len(ballots)
    if "supported" not in said or average < 0.5 - EQUAL:
        return others
    return (*others, "supported") if average <= 0.5 + EQUAL else ("supported",)


def weighted(ballots: Sequence[Ballot], known: VoteContext) -> Winners:
    """The value with the greatest sum of its judges' weights, then the label.

    A negative weight (a judge worse than chance) speaks for all other values. Source: Nitzan & Paroush 1982.
    """
    totals: dict[Choice, float] = dict.fromkeys(known.panel.choices, 0.0)
    for ballot in ballots:
        assert ballot.choice is not None, "rules see only ballots with a choice"
        totals[ballot.choice] += known.panel.weights[ballot.judge]
    return leading(_open(totals, ballots, known.panel), known.panel)


def dawid_skene(ballots: Sequence[Ballot], known: VoteContext) -> Winners:
    """The most probable value, given how often each judge errs in which way over the whole run, then the label.

    Source: Dawid & Skene 1979. It assumes that judges err independently.
    """
    assert known.rates is not None, "the rates are learned before the vote"
    evidence = known.rates.evidence((ballot.judge, ballot.choice) for ballot in ballots)
    most = max(evidence.values())
    likelihoods = {choice: math.exp(logarithm - most) for choice, logarithm in evidence.items()}
    return leading(_open(likelihoods, ballots, known.panel), known.panel)


VOTES: Mapping[Vote, Rule] = {
    "majority": majority,
    "unanimous": unanimous,
    "any": any_,
    "median": median,
    "mean": mean,
    "weighted": weighted,
    "dawid_skene": dawid_skene,
}


def _open(totals: Mapping[Choice, float], ballots: Sequence[Ballot], panel: Panel) -> dict[Choice, float]:
    """The totals of what may win: nothing is supported, or not supported, that no judge finds so."""
    sides = {panel.supports(choice) for choice in _choices(ballots)}
    return {choice: total for choice, total in totals.items() if panel.supports(choice) in sides}


def _not_supported(said: Mapping[Choice, float], panel: Panel) -> Winners:
    """The labels in first place among those that are no support."""
    return leading({choice: votes for choice, votes in said.items() if choice != "supported"}, panel)


def _choices(ballots: Iterable[Ballot]) -> list[Choice]:
    return [ballot.choice for ballot in ballots if ballot.choice is not None]


def _places(ballots: Sequence[Ballot], known: VoteContext) -> list[tuple[int, Choice]]:
    order = known.panel.choices
    return [(order.index(b.choice), b.choice) for b in ballots if b.choice is not None]


def _probability(ballot: Ballot) -> float:
    return float(ballot.choice == "supported") if ballot.probability is None else ballot.probability
