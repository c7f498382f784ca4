"""The voting rules: ballots -> the choices in first place. One winner is the label, several are a tie.

Every rule sees only ballots with a choice, at least one. A new rule is a function and a row in `VOTES`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from claimeval.panel.ballots import Ballot, Choice
from claimeval.panel.learning import ErrorRates
from claimeval.panel.settings import Panel, Vote

_EQUAL = 1e-9


class Known(NamedTuple):
    """What a rule may know besides the ballots."""

    panel: Panel
    rates: ErrorRates | None = None
    """The error rates of the judges, learned from the whole run, for `dawid_skene`."""


Winners = tuple[Choice, ...]
Rule = Callable[[Sequence[Ballot], Known], Winners]


def majority(ballots: Sequence[Ballot], known: Known) -> Winners:
    """The choice with the most votes; it need not have more than half."""
    return _best(Counter(ballot.choice for ballot in ballots if ballot.choice is not None))


def unanimous(ballots: Sequence[Ballot], known: Known) -> Winners:
    """The choice of all; anything else is a tie of all that was said."""
    return tuple({ballot.choice: None for ballot in ballots if ballot.choice is not None})


def any_(ballots: Sequence[Ballot], known: Known) -> Winners:
    """The most favourable choice that anyone made: supported as soon as one judge finds support."""
    return (max(_places(ballots, known))[1],)


def median(ballots: Sequence[Ballot], known: Known) -> Winners:
    """The middle choice from the least to the most favourable; of two in the middle the lower. Never a tie."""
    places = sorted(_places(ballots, known))
    return (places[(len(places) - 1) // 2][1],)


def mean(ballots: Sequence[Ballot], known: Known) -> Winners:
    """By the mean probability of "supported", or the mean grade.

    A judge without a probability counts as 1 if it says supported, else as 0. Over one half is supported; under it
    the more frequent of the other labels stands, `not_found` where they are equal. Exactly one half is a tie of the
    two. A mean grade is rounded to the nearest step; half-way between two it is a tie of them.
    """
    if known.panel.grades:
        grades = [ballot.choice for ballot in ballots if isinstance(ballot.choice, int)]
        low, rest = divmod(sum(grades), len(grades))
        return (low, low + 1) if 2 * rest == len(grades) else (low + (2 * rest > len(grades)),)
    average = math.fsum(_probability(ballot) for ballot in ballots) / len(ballots)
    others: Counter[Choice] = Counter(b.choice for b in ballots if b.choice is not None and b.choice != "supported")
    against = _best(others) if others else ()
    other = against[0] if len(against) == 1 else "not_found"
    if abs(average - 0.5) <= _EQUAL:
        return other, "supported"
    return ("supported",) if average > 0.5 else (other,)


def weighted(ballots: Sequence[Ballot], known: Known) -> Winners:
    """The choice with the greatest sum of its judges' weights.

    A negative weight (a judge worse than chance) speaks for all other choices. Source: Nitzan & Paroush 1982.
    """
    totals: dict[Choice, float] = dict.fromkeys(known.panel.choices, 0.0)
    for ballot in ballots:
        assert ballot.choice is not None, "rules see only ballots with a choice"
        totals[ballot.choice] += known.panel.weights[ballot.judge]
    return _best(totals)


def dawid_skene(ballots: Sequence[Ballot], known: Known) -> Winners:
    """The most probable truth, given how often each judge errs in which way over the whole run.

    Source: Dawid & Skene 1979. It assumes that judges err independently.
    """
    assert known.rates is not None, "the rates are learned before the vote"
    return _best(known.rates.evidence((ballot.judge, ballot.choice) for ballot in ballots))


VOTES: Mapping[Vote, Rule] = {
    "majority": majority,
    "unanimous": unanimous,
    "any": any_,
    "median": median,
    "mean": mean,
    "weighted": weighted,
    "dawid_skene": dawid_skene,
}


def _best(totals: Mapping[Choice, float]) -> Winners:
    most = max(totals.values())
    return tuple(choice for choice, total in totals.items() if total >= most - _EQUAL)


def _places(ballots: Sequence[Ballot], known: Known) -> list[tuple[int, Choice]]:
    order = known.panel.choices
    return [(order.index(b.choice), b.choice) for b in ballots if b.choice is not None]


def _probability(ballot: Ballot) -> float:
    return float(ballot.choice == "supported") if ballot.probability is None else ballot.probability
