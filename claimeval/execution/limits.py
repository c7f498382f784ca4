"""How hard providers may be asked, and how much a run may spend."""

from __future__ import annotations

from pydantic import Field, ValidationError

from claimeval.types.errors import UsageError
from claimeval.types.records import Record

MOST_IN_FLIGHT = 100
"""Calls in flight per model that are not passed without being asked to."""


class Limits(Record):
    """None where the limit is to be found (concurrency, rates) or where there is none (caps)."""

    concurrency: int | None = Field(default=None, ge=1)
    """Calls in flight per model; None begins gently and finds what the provider bears."""
    rpm: int | None = Field(default=None, ge=1)
    """Requests a minute per model; None goes by what the provider says."""
    tpm: int | None = Field(default=None, ge=1)
    """Tokens a minute per model; None goes by what the provider says."""
    timeout: float = Field(default=300.0, gt=0)
    """Seconds an attempt may take from sending to the last byte; engines on this machine take what they need."""
    attempts: int = Field(default=6, ge=1)
    """How often a call is tried when the provider fails; being told to slow down does not count."""
    backoff: float = Field(default=1.0, ge=0)
    """Seconds before the second attempt; doubled before each further one."""
    max_calls: int | None = Field(default=None, ge=0)
    """Requests that the run may send, retries and earlier interrupted attempts included."""
    max_cost: float | None = Field(default=None, ge=0)
    """US dollars that the run may cost, earlier interrupted attempts included."""

    @property
    def capped(self) -> bool:
        """Whether the run's spending is held against a cap."""
        return self.max_calls is not None or self.max_cost is not None

    @property
    def samples_in_work(self) -> int:
        """Twice as many as calls may be in flight, so that a slow sample leaves no slot empty."""
        return 2 * (self.concurrency or MOST_IN_FLIGHT)


def set_limits(**values: float | None) -> Limits:
    """The limits with these values; UsageError for one that is out of range."""
    try:
        return Limits.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(f"{first['loc'][0]}={first['input']!r}: {first['msg']}") from error
