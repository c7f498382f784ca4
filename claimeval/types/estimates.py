"""A value with its interval, and the cost of calls: the records that files, tables and pages use."""

from __future__ import annotations

from typing import Protocol

from claimeval.types.records import Record


class _WithInterval(Protocol):
    """What the statistics library returns: a value, its interval, and what both rest on."""

    @property
    def value(self) -> float | None:
        """The value; None if it is undefined."""

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""

    @property
    def n(self) -> int:
        """The number of observations."""

    @property
    def clusters(self) -> int:
        """The number of clusters."""

    @property
    def because(self) -> str | None:
        """Why there is no value."""


class Estimate(Record):
    """A value with its 95 % interval."""

    value: float | None = None
    """None where it is undefined."""
    low: float | None = None
    high: float | None = None
    """Ends of the interval; None where there is none."""
    n: int = 0
    """Observations that the value rests on."""
    clusters: int = 0
    """Groups that these form (questions, or what `--cluster` names); the interval resamples whole groups."""
    because: str | None = None
    """Why there is no value, or no interval."""

    @classmethod
    def of(cls, estimate: _WithInterval) -> Estimate:
        """Return the record of an estimate that the statistics library made."""
        return Estimate(**{name: getattr(estimate, name) for name in Estimate.model_fields})

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends; None where there is no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class LongEvidence(Record):
    """Samples with a text that is longer than a judge's context window, so that it is read in several."""

    judge: str
    context_tokens: int | None
    """The window; None if it was not stated."""
    samples: int
    windows: int
    """The most windows that one text is read in."""

    def in_words(self, samples: int, name: str) -> str:
        """Return what stands beside numbers.

        Args:
            samples: All samples.
            name: What the judge is called.
        """
        window = f" of {self.context_tokens:,} tokens" if self.context_tokens else ""
        return (
            f"{self.samples} of {samples} samples do not fit into the window{window} of {name}, which reads them in up "
            f"to {self.windows} parts: support by any part counts as support, and no other part rules it out."
        )


class Cost(Record):
    """Cost of calls. A number that is not known is None, never 0."""

    calls: int
    """Questions put to judges, whether the reply cache answered or a call was made."""
    reused: int = 0
    """Replies reused from an earlier run; they are not in `calls`, and their tokens are counted."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """Prompt tokens that the provider had cached and charges less for."""
    dollars: float | None = None
    """US dollars for these tokens at the stated price, whenever they were paid and without discounts; None if no price
    is stated or tokens were not counted, 0 for local judges."""
    seconds: float | None = None
    """Seconds that the replies took when they were asked for, added up; None if no call is timed, as in batches."""
