"""How many calls may be in flight: a number that was given, or one that is found.

Found as TCP finds a line's capacity (additive increase, multiplicative decrease; Chiu and Jain 1989): it begins low,
doubles while rounds are clean, falls by a fifth when the provider says that it is too much, and then grows slowly.
"""

from __future__ import annotations

from claimeval.execution.limits import MOST_IN_FLIGHT

FIRST = 8
GROWTH, CUT = 1.05, 0.8
CUT_EVERY = 15.0
"""Seconds between two cuts: the calls in flight at a cut belong to the old number."""
BUSY = 0.8
"""The number grows only when at least this share of it was in use; else it was never tried."""


class Concurrency:
    """The number of slots, and how many are taken."""

    def __init__(self, fixed: int | None) -> None:
        self.limit = fixed or FIRST
        self.in_flight = 0
        self._fixed = fixed is not None
        self._steep = True
        self._clean = 0
        self._most = 0
        self._next_cut = float("-inf")

    @property
    def full(self) -> bool:
        """Whether every slot is taken."""
        return self.in_flight >= self.limit

    def take(self) -> None:
        self.in_flight += 1
        self._most = max(self._most, self.in_flight)

    def give(self) -> None:
        self.in_flight -= 1

    def succeeded(self) -> None:
        """A reply came. A round of as many as there are slots makes the number grow."""
        self._clean += 1
        if self._fixed or self._clean < self.limit:
            return
        if self._most >= BUSY * self.limit:
            grown = 2 * self.limit if self._steep else max(self.limit + 1, int(self.limit * GROWTH))
            self.limit = min(grown, MOST_IN_FLIGHT)
        self._new_round()

    def refused(self, now: float) -> None:
        """The provider said that it is too much."""
        if self._fixed or now < self._next_cut:
            return
        self._steep = False
        self._next_cut = now + CUT_EVERY
        self.limit = max(1, int(self.limit * CUT))
        self._new_round()

    def troubled(self) -> None:
        """The provider failed: no time to grow, and no reason to shrink."""
        self._new_round()

    def _new_round(self) -> None:
        self._clean = 0
        self._most = self.in_flight
