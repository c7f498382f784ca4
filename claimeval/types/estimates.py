"""Records for files, tables and pages: a value with its interval, texts read in windows, and the
cost of calls."""

from __future__ import annotations

from typing import Literal, Protocol

from claimeval.types.records import Record, two_decimals


class _WithInterval(Protocol):
    """An estimate of the statistics library."""

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


Ends = Literal["interval", "bounds", "sequence", "none"]
"""What `low` and `high` are: of the 95% interval; the bounds that take its place where judges
abstained on many claims: the value if all unassessed claims were unsupported, and if all were
supported; or, in a run that stopped when its gates were decided, those between which the mean of
the whole run is, each with 95% certainty however often one looked."""


class Estimate(Record):
    """A value with the ends that are reported next to it.

    Examples:
        >>> change = ce.compare("runs/before", "runs/after").metrics["faithfulness"].difference
        >>> isinstance(change, ce.Estimate)
        True
        >>> round(change.value, 2), change.ends
        (-0.08, 'interval')
    """

    value: float | None = None
    """None if it is undefined."""
    low: float | None = None
    """The lower reported end; None if there is none."""
    high: float | None = None
    """The upper reported end."""
    n: int = 0
    """Number of observations."""
    clusters: int = 0
    """Number of clusters (questions, or as `--cluster` says). The interval resamples whole
    clusters."""
    because: str | None = None
    """Why there is no value, or no interval."""
    ends: Ends = "none"
    """What `low` and `high` are."""
    sampling: tuple[float, float] | None = None
    """The 95% interval that is withdrawn because it ignores the unassessed claims; None if it is
    reported."""

    @classmethod
    def of(cls, estimate: _WithInterval) -> Estimate:
        """Return the record of an estimate of the statistics library."""
        low = estimate.low
        high = estimate.high
        return Estimate(
            value=estimate.value,
            low=low,
            high=high,
            n=estimate.n,
            clusters=estimate.clusters,
            because=estimate.because,
            ends="none" if low is None or high is None else "interval",
        )

    def within(self, bounds: tuple[float, float]) -> Estimate:
        """Return the estimate with bounds in place of its interval, which becomes `sampling`."""
        low, high = bounds
        return self.model_copy(
            update={"low": low, "high": high, "ends": "bounds", "sampling": self.reported}
        )

    @property
    def reported(self) -> tuple[float, float] | None:
        """Both reported ends; None if there are none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __repr__(self) -> str:
        value = "undefined" if self.value is None else two_decimals(self.value)
        if self.because and self.value is None:
            value += f" ({self.because})"
        if self.reported:
            low, high = self.reported
            value += f", {self.ends} {two_decimals(low)} to {two_decimals(high)}"
        return f"<{type(self).__name__} {value}, n {self.n}>"

    __str__ = __repr__


class LongEvidence(Record):
    """Samples with a text that is longer than a judge's context window, and is read in several
    windows."""

    judge: str
    context_tokens: int | None
    """Size of the context window; None if unknown."""
    samples: int
    windows: int
    """Maximum number of windows for one text."""

    def in_words(self, samples: int, name: str) -> str:
        """Return the note below a table, for the number of all samples and the judge's displayed
        name."""
        window = f" of {self.context_tokens:,} tokens" if self.context_tokens else ""
        return (
            f"{self.samples} of {samples} samples do not fit into the window{window} of {name},"
            f" which reads them in up to {self.windows} parts: support by any part counts as"
            " support, and no other part rules it out."
        )


class Cost(Record):
    """Cost of calls. Unknown numbers are None, never 0."""

    calls: int
    """Number of replies of judges, including those from the reply cache."""
    reused: int = 0
    """Number of replies reused from an earlier run. They are not in `calls`, but their tokens are
    counted."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """Prompt tokens that the provider read from its cache, which cost less."""
    verdicts: int = 0
    """Number of verdicts that these replies were asked for."""
    dollars: float | None = None
    """US dollars for all these tokens at the stated price, without discounts, also if they were
    paid for earlier. None if the price or a number of tokens is unknown, 0 for local judges."""
    dollars_per_verdict: float | None = None
    """None if the dollars are unknown, or without verdicts."""
    seconds: float | None = None
    """Total seconds of the original calls; None if no call is timed, as in batches."""
