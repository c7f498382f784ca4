"""The voting rules: ballots -> the choices in first place.

The first vote is on what a score counts: supported against all other labels together, or the grade. The second is
among the labels of the winning value. Winners of one value are no tie; `voting.py` chooses among them.

Every rule sees only ballots with a choice, two different ones at least. A new rule is a function and a row in `VOTES`;
the first line of its docstring is what `claimeval metrics` says of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from claimeval.judging.panel.ballots import EQUAL, Ballot, Winners, leading
from claimeval.judging.panel.error_rates import ErrorRates
from claimeval.types.errors import unknown_name
from claimeval.types.scales import Scale

if TYPE_CHECKING:
    from claimeval.judging.panel import Panel


class VoteContext(NamedTuple):
    """What a rule may know besides the ballots."""

    panel: Panel
    rates: ErrorRates | None = None
    """The error rates of the judges, learned from the whole run, for `dawid_skene`."""


class VoteRule(NamedTuple):
    """A row of the table of rules."""

    decide: Callable[[Sequence[Ballot], VoteContext], Winners]
    learns: Literal["weights", "error_rates"] | None = None
    """What it needs to know of the judges beforehand: weights that are given or learned from human labels, or error
    rates learned from all votes of the run."""


def majority(ballots: Sequence[Ballot], known: VoteContext) -> Winners:
    """The value with the most votes, then the label; neither need have more than half."""
    return leading(Counter(_choices(ballots)), known.panel)


def unanimous(ballots: Sequence[Ballot], known: VoteContext) -> Winners:
    """The value of all, and the most frequent label; where values differ, a tie of all that was said."""
    said = Counter(_choices(ballots))
    values = dict.fromkeys(map(known.panel.scale.value, said))
    return tuple(word for value in values for word in _of_value(said, value, known.panel))


def any_(ballots: Sequence[Ballot], known: VoteContext) -> Winners:
    """The most favourable choice that anyone made: supported as soon as one judge finds support."""
    return (max(_places(ballots, known))[1],)


def median(ballots: Sequence[Ballot], known: VoteContext) -> Winners:
    """The middle choice from the least to the most favourable; of two in the middle the lower. Never a tie."""
    places = sorted(_places(ballots, known))
    return (places[(len(places) - 1) // 2][1],)


def mean(ballots: Sequence[Ballot], known: VoteContext) -> Winners:
    """The value that is nearest to the mean of the votes, of two equally near a tie.

    On an ordered scale each vote is the value of its word. On others it is the probability of "supported", without one
    1 or 0, so that over one half is supported, if any judge says so; under it the most frequent of the other labels
    stands.
    """
    scale, said = known.panel.scale, Counter(_choices(ballots))
    average = math.fsum(_vote(ballot, scale) for ballot in ballots) / len(ballots)
    values = set(scale.values) if scale.ordered else {scale.value(word) for word in said}
    distance = min(abs(value - average) for value in values)
    nearest = sorted(value for value in values if abs(value - average) <= distance + EQUAL)
    return tuple(word for value in nearest for word in _of_value(said, value, known.panel))


def weighted(ballots: Sequence[Ballot], known: VoteContext) -> Winners:
    """The value with the greatest sum of its judges' weights, then the label.

    A negative weight (a judge worse than chance) speaks for all other values. Source: Nitzan & Paroush 1982.
    """
    totals: dict[str, float] = dict.fromkeys(known.panel.scale.ranked, 0.0)
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


VOTES: Mapping[str, VoteRule] = {
    "majority": VoteRule(majority),
    "unanimous": VoteRule(unanimous),
    "any": VoteRule(any_),
    "median": VoteRule(median),
    "mean": VoteRule(mean),
    "weighted": VoteRule(weighted, learns="weights"),
    "dawid_skene": VoteRule(dawid_skene, learns="error_rates"),
}


def vote_rule(name: str) -> VoteRule:
    """Return the rule of that name; UsageError with the closest name otherwise."""
    if name not in VOTES:
        raise unknown_name("vote", name, VOTES)
    return VOTES[name]


def _open(totals: Mapping[str, float], ballots: Sequence[Ballot], panel: Panel) -> dict[str, float]:
    """The totals of what may win: nothing is supported, or not supported, that no judge finds so."""
    sides = {panel.scale.positive(choice) for choice in _choices(ballots)}
    return {choice: total for choice, total in totals.items() if panel.scale.positive(choice) in sides}


def _of_value(said: Mapping[str, float], value: float, panel: Panel) -> Winners:
    """The labels of a value in first place; where nobody gave one, the label that has it."""
    scale = panel.scale
    votes = {word: n for word, n in said.items() if scale.value(word) == value}
    return leading(votes, panel) if votes else (scale.words[scale.values.index(value)],)


def _choices(ballots: Iterable[Ballot]) -> list[str]:
    return [ballot.choice for ballot in ballots if ballot.choice is not None]


def _places(ballots: Sequence[Ballot], known: VoteContext) -> list[tuple[int, str]]:
    order = known.panel.scale.ranked
    return [(order.index(b.choice), b.choice) for b in ballots if b.choice is not None]


def _vote(ballot: Ballot, scale: Scale) -> float:
    assert ballot.choice is not None, "rules see only ballots with a choice"
    if scale.ordered:
        return scale.value(ballot.choice)
    return float(scale.positive(ballot.choice)) if ballot.probability is None else ballot.probability
