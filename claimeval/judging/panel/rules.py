"""Verdicts -> ballots, one opinion per judge, its repeats taken together; and the voting rules: ballots -> the choices
in first place.

The first vote is on what a score counts: supported against all other labels together, or the grade. The second is
among the labels of the winning value. Winners of one value are no tie; `voting.py` chooses among them.

Every rule sees only ballots with a choice, two different ones at least. A new rule is a function and a row in `VOTES`;
the first line of its docstring is what `claimeval metrics` says of it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, cast

from claimeval.types.errors import unknown_name
from claimeval.types.records import Reason, Record, Verdict
from claimeval.types.scales import Scale

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
    if verdict.label in words:
        return verdict.label
    for word in (verdict.support, "not_found" if verdict.support == "contradicted" else None):
        if word in words:
            return word
    return None


def cast_ballots(verdicts: Sequence[Verdict], panel: Panel) -> list[Ballot]:
    """Return a ballot per judge, in the order of the verdicts.

    A judge with replicates has one vote, by majority: first on the value, then among the labels of that value. If two
    values are equally frequent, it abstains (`tie`), but of grades that are all support, or all not, it votes for the
    lowest. If no replicate has a label, its most frequent reason is kept.
    """
    if panel.replicates == 1:
        return [_ballot(verdict, panel) for verdict in verdicts]
    by_judge: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_judge.setdefault(verdict.judge, []).append(verdict)
    return [_together(judge, replicates, panel) for judge, replicates in by_judge.items()]


def _ballot(verdict: Verdict, panel: Panel) -> Ballot:
    chosen = choice(verdict, panel)
    if chosen is None:
        return Ballot(verdict.judge, None, None, verdict.unassessed or NO_GRADE)
    return Ballot(verdict.judge, chosen, verdict.probability, None)


def _together(judge: str, verdicts: Sequence[Verdict], panel: Panel) -> Ballot:
    labeled = [verdict for verdict in verdicts if choice(verdict, panel) is not None]
    if not labeled:
        reasons = Counter(v.unassessed or NO_GRADE for v in verdicts)
        return Ballot(judge, None, None, reasons.most_common(1)[0][0])
    probabilities = [v.probability for v in labeled if v.probability is not None]
    share = sum(v.support == "supported" for v in labeled) / len(labeled)
    probability = sum(probabilities) / len(probabilities) if probabilities else share if len(labeled) > 1 else None
    winners = leading(Counter(chosen for v in labeled if (chosen := choice(v, panel)) is not None), panel)
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


def majority(ballots: Sequence[Ballot], context: VoteContext) -> Winners:
    """The value with the most votes, then the label; neither need have more than half."""
    return leading(Counter(_choices(ballots)), context.panel)


def unanimous(ballots: Sequence[Ballot], context: VoteContext) -> Winners:
    """The value of all, and the most frequent label; where values differ, a tie of all that was said."""
    counts = Counter(_choices(ballots))
    values = dict.fromkeys(map(context.panel.scale.value, counts))
    return tuple(word for value in values for word in _of_value(counts, value, context.panel))


def any_(ballots: Sequence[Ballot], context: VoteContext) -> Winners:
    """The most favorable choice that anyone made: supported as soon as one judge finds support."""
    return (max(_places(ballots, context))[1],)


def median(ballots: Sequence[Ballot], context: VoteContext) -> Winners:
    """The middle choice from the least to the most favorable; of two in the middle the lower. Never a tie."""
    places = sorted(_places(ballots, context))
    return (places[(len(places) - 1) // 2][1],)


def mean(ballots: Sequence[Ballot], context: VoteContext) -> Winners:
    """The value that is nearest to the mean of the votes, of two equally near a tie.

    On an ordered scale each vote is the value of its word. On others it is the probability of "supported", without one
    1 or 0, so that over one half is supported, if any judge says so; under it the most frequent of the other labels
    stands.
    """
    scale, counts = context.panel.scale, Counter(_choices(ballots))
    average = math.fsum(_vote(ballot, scale) for ballot in ballots) / len(ballots)
    values = set(scale.values) if scale.ordered else {scale.value(word) for word in counts}
    distance = min(abs(value - average) for value in values)
    nearest = sorted(value for value in values if abs(value - average) <= distance + EQUAL)
    return tuple(word for value in nearest for word in _of_value(counts, value, context.panel))


def weighted(ballots: Sequence[Ballot], context: VoteContext) -> Winners:
    """The value with the greatest sum of its judges' weights, then the label.

    A negative weight (a judge worse than chance) speaks for all other values. Source: Nitzan & Paroush 1982.
    """
    totals: dict[str, float] = dict.fromkeys(context.panel.scale.ranked, 0.0)
    for ballot in ballots:
        assert ballot.choice is not None, "rules see only ballots with a choice"
        totals[ballot.choice] += context.panel.weights[ballot.judge]
    return leading(_open(totals, ballots, context.panel), context.panel)


def dawid_skene(ballots: Sequence[Ballot], context: VoteContext) -> Winners:
    """The most probable value, given how often each judge errs in which way over the whole run, then the label.

    Source: Dawid & Skene 1979. It assumes that judges err independently.
    """
    assert context.rates is not None, "the rates are learned before the vote"
    evidence = context.rates.evidence((ballot.judge, ballot.choice) for ballot in ballots)
    most = max(evidence.values())
    likelihoods = {choice: math.exp(logarithm - most) for choice, logarithm in evidence.items()}
    return leading(_open(likelihoods, ballots, context.panel), context.panel)


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


def _of_value(counts: Mapping[str, float], value: float, panel: Panel) -> Winners:
    """The labels of a value in first place; where nobody gave one, the label that has it."""
    scale = panel.scale
    votes = {word: n for word, n in counts.items() if scale.value(word) == value}
    return leading(votes, panel) if votes else (scale.words[scale.values.index(value)],)


def _choices(ballots: Iterable[Ballot]) -> list[str]:
    return [ballot.choice for ballot in ballots if ballot.choice is not None]


def _places(ballots: Sequence[Ballot], context: VoteContext) -> list[tuple[int, str]]:
    order = context.panel.scale.ranked
    return [(order.index(b.choice), b.choice) for b in ballots if b.choice is not None]


def _vote(ballot: Ballot, scale: Scale) -> float:
    assert ballot.choice is not None, "rules see only ballots with a choice"
    if scale.ordered:
        return scale.value(ballot.choice)
    return float(scale.positive(ballot.choice)) if ballot.probability is None else ballot.probability


Pattern = tuple[tuple[str, str], ...]
"""The judges that voted on a claim and what they said."""

_LEAST = 1e-300


class ErrorRates(Record):
    """Estimates of Dawid & Skene 1979."""

    choices: tuple[str, ...]
    prevalence: tuple[float, ...]
    """Share of claims that truly are each choice."""
    judges: dict[str, tuple[tuple[float, ...], ...]]
    """`judges[name][l][k]`: probability that the judge says choice k of a claim that truly is choice l."""
    converged: bool = True

    def evidence(self, votes: Iterable[tuple[str, str | None]]) -> dict[str, float]:
        """The logarithm of each choice's probability given the votes, up to a constant."""
        totals = [math.log(max(share, _LEAST)) for share in self.prevalence]
        for judge, label in votes:
            if label is None:
                continue
            column = self.choices.index(label)
            for truth, row in enumerate(self.judges[judge]):
                totals[truth] += math.log(max(row[column], _LEAST))
        return dict(zip(self.choices, totals, strict=True))


def estimate_error_rates(patterns: Mapping[Pattern, int]) -> ErrorRates | None:
    """The error rates from how often each pattern of votes occurs; None without a vote."""
    from claimeval.statistics import dawid_skene

    voted = [pattern for pattern in patterns if pattern]
    if not voted:
        return None
    model = dawid_skene(
        [(number, judge, label) for number, pattern in enumerate(voted) for judge, label in pattern],
        counts={number: patterns[pattern] for number, pattern in enumerate(voted)},
    )
    return ErrorRates(
        choices=cast(tuple[str, ...], model.labels),
        prevalence=model.prevalence,
        judges={str(judge): rows for judge, rows in zip(model.judges, model.confusion, strict=True)},
        converged=model.converged,
    )
