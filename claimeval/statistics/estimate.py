"""What an interval function returns: a value with its interval, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Method = Literal["bca", "symmetric", "wilson", "rule_of_three", "normal", "t", "none"]


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A value with its confidence interval. Undefined parts are `None` and `undefined_because` says why."""

    value: float | None
    """The point estimate."""
    low: float | None
    """Lower end of the interval."""
    high: float | None
    """Upper end of the interval."""
    n: int
    """How many observations the value rests on."""
    method: Method
    """How the interval was made; `none` where there is no interval."""
    standard_error: float | None = None
    """Standard error from the variance between clusters, with the factor G/(G-1) for G clusters."""
    clusters: int = 0
    """How many independent groups the observations form; equals `n` where nothing is clustered."""
    level: float = 0.95
    """Confidence level of the interval."""
    undefined_because: str | None = None
    """Why the value or the interval is missing."""

    @property
    def width(self) -> float | None:
        """`high - low`, or `None` without an interval."""
        return None if self.low is None or self.high is None else self.high - self.low
