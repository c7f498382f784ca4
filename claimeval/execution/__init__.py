"""Executors, which turn a request into an outcome, and the runner, which runs a job on many items.

The reply cache, retries, rate limits, the budget and batches are handled here. Nothing here knows what a claim is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar

from claimeval.types.requests import Completion, Failure, Judge, Learned, Outcome, Request

Review = Callable[[Request, Completion, Failure | None], None]
"""Takes in that a reply was read, or why it was of no use."""

Fits = Callable[[Request], Awaitable[bool]]
"""Returns whether a request may be sent whole: it fits into what is known of its judge's window, or nothing is known,
or its reply is stored."""
Room = Callable[[Request], int | None]
"""Returns the size (`Request.size`) that a request may have in its judge's window; None if that is not known."""


class Executor(Protocol):
    """Object that answers requests. One with a method `review`, a `Review`, is told what became of its replies; one
    with `fits` and `room` knows the windows of judges."""

    async def ask(self, request: Request) -> Outcome:
        """Return the completion, or a failure with its reason. Errors of the provider are never raised."""
        ...


R_co = TypeVar("R_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class ItemJob(Protocol[T_contra, R_co]):
    """A job that asks judges about items, one after another."""

    @property
    def asked(self) -> tuple[Judge, ...]:
        """Everyone to whom a question may go."""
        ...

    def cannot_continue(self, stopped: Mapping[str, str]) -> bool:
        """Return whether nothing can be learned any more without the judges that have stopped."""
        ...

    async def evaluate(self, item: T_contra, executor: Executor) -> R_co:
        """Return the result of one item. What fails is in it as a reason."""
        ...


class RunStatus(NamedTuple):
    """How a run ended."""

    complete: bool
    """False when it stopped before the last item."""
    interrupted: bool
    """By Ctrl-C."""
    stopped: Mapping[str, str]
    """The judges that could not be asked any more, and why."""
    budget_exhausted: str | None = None
    """The cap that was reached, in words."""
    lost: str | None = None
    """Why the asker elsewhere cannot be asked any more, in words."""
    pending_batches: str | None = None
    """What is under way in batches, in words, when the work did not wait for it."""
    learned: Mapping[str, Learned] = MappingProxyType({})
    """What was learned of each judge's server, by name."""

    @property
    def reason(self) -> str | None:
        """Why the run ended early, in words."""
        if self.complete:
            return None
        stopped = "; ".join(f"{judge}: {why}" for judge, why in self.stopped.items())
        return (
            self.budget_exhausted
            or self.lost
            or self.pending_batches
            or ("interrupted" if self.interrupted else stopped or None)
        )
