"""What a whole run teaches about its judges: how often each errs in which way, from their votes alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import cast

from claimeval.types.records import Record

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
        for judge, said in votes:
            if said is None:
                continue
            column = self.choices.index(said)
            for truth, row in enumerate(self.judges[judge]):
                totals[truth] += math.log(max(row[column], _LEAST))
        return dict(zip(self.choices, totals, strict=True))


def estimate_error_rates(patterns: Mapping[Pattern, int]) -> ErrorRates | None:
    """The error rates from how often each pattern of votes occurs; None without a vote."""
    from claimeval.statistics import dawid_skene

    voted = [pattern for pattern in patterns if pattern]
    if not voted:
        return None
    found = dawid_skene(
        [(number, judge, said) for number, pattern in enumerate(voted) for judge, said in pattern],
        counts={number: patterns[pattern] for number, pattern in enumerate(voted)},
    )
    return ErrorRates(
        choices=cast(tuple[str, ...], found.labels),
        prevalence=found.prevalence,
        judges={str(judge): rows for judge, rows in zip(found.judges, found.confusion, strict=True)},
        converged=found.converged,
    )
