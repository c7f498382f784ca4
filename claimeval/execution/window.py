"""What was used within the last minute, against a limit."""

from __future__ import annotations

from collections import deque

MINUTE = 61.0
"""Seconds; one more than a minute, since a use begins to count at the provider only when it arrives there."""


class Use:
    """One use; its amount may be corrected when it is known better."""

    __slots__ = ("amount", "at")

    def __init__(self, amount: float, at: float) -> None:
        self.amount = amount
        self.at = at


class Window:
    """Lets at most `limit` through in any minute, which satisfies sliding windows and refilled buckets alike.

    Without a limit it lets everything through and takes note, so that a limit learnt later holds at once.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self._uses: deque[Use] = deque()
        self._used = 0.0

    def used(self, now: float) -> float:
        """The sum of the last minute's uses."""
        while self._uses and self._uses[0].at <= now - MINUTE:
            self._used -= self._uses.popleft().amount
        if not self._uses:
            self._used = 0.0
        return self._used

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` fits, 0 when it does. More than the limit fits when nothing else is used."""
        if self.limit is None:
            return 0.0
        over = min(self.used(now) + amount - self.limit, self._used)
        for use in self._uses:
            if over <= 0:
                return 0.0
            over -= use.amount
            if over <= 1e-9:
                return use.at + MINUTE - now
        return 0.0

    def take(self, amount: float, now: float) -> Use:
        """Uses it up, whether it fits or not."""
        use = Use(amount, now)
        self._uses.append(use)
        self._used += amount
        return use

    def correct(self, use: Use, amount: float, now: float) -> None:
        """Replaces the amount of a use that was only estimated; one that is over a minute old counts no more."""
        self.used(now)
        if use.at > now - MINUTE:
            self._used += amount - use.amount
            use.amount = amount

    def allow_at_most(self, left: float, now: float) -> None:
        """Counts as used what the provider says is: others may be using the same account."""
        if self.limit is not None and (others := self.limit - left - self.used(now)) > 0:
            self.take(others, now)
