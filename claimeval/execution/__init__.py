"""Executors, which turn a request into an outcome, and the runner, which runs a job on many items.

The reply cache, retries, rate limits, the budget and batches are handled here. Nothing here knows what a claim is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar

from claimeval.types.requests import Completion, Failure, Judge, Learned, Outcome, Request

Review = Callable[[Request, Completion, Failure | None], None]
"""Called with a reply after it was parsed, and the failure if it could not be read."""

Fits = Callable[[Request], Awaitable[bool]]
"""Return whether a request may be sent whole: it fits the judge's window, the window is unknown, or its reply is
stored."""
Room = Callable[[Request], int | None]
"""Return the maximum size (`Request.size`) of a request for the judge's window; None if the window is unknown."""


class Executor(Protocol):
    """Object that answers requests.

    An executor may also have a method `review` (a `Review`), and `fits` and `room` if it knows the windows of judges.
    """

    async def ask(self, request: Request) -> Outcome:
        """Return the completion, or a failure with its reason. Errors of the provider are never raised."""


R_co = TypeVar("R_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class ItemJob(Protocol[T_contra, R_co]):
    """A job that asks judges about single items."""

    @property
    def asked(self) -> tuple[Judge, ...]:
        """All judges that may get requests."""

    def cannot_continue(self, stopped: Mapping[str, str]) -> bool:
        """Return whether the job cannot continue without the judges that have stopped."""

    async def evaluate(self, item: T_contra, executor: Executor) -> R_co:
        """Return the result of one item. Failures are reasons in the result."""


class RunStatus(NamedTuple):
    """How a run ended."""

    complete: bool
    """False if the run stopped before the last item."""
    interrupted: bool
    """Whether it was stopped by Ctrl-C."""
    stopped: Mapping[str, str]
    """The judges that have stopped, each with the reason."""
    budget_exhausted: str | None = None
    """Description of the limit that was reached."""
    lost: str | None = None
    """Why the process that asks judges cannot be reached any more."""
    pending_batches: str | None = None
    """Description of the pending batches if the run did not wait for them."""
    learned: Mapping[str, Learned] = MappingProxyType({})
    """What was learned about each judge's server, by name."""

    @property
    def reason(self) -> str | None:
        """Why the run ended early; None if it is complete."""
        if self.complete:
            return None
        stopped = "; ".join(f"{judge}: {why}" for judge, why in self.stopped.items())
        return (
            self.budget_exhausted
            or self.lost
            or self.pending_batches
            or ("interrupted" if self.interrupted else stopped or None)
        )
