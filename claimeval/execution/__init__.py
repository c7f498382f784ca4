"""Executors, which turn a request into an outcome, and the runner, which runs a job on many items.

The reply cache, retries, rate limits, the budget and batches are handled here. Nothing here knows
what a claim is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.requests import Completion, Failure, Judge, Learned, Outcome, Request

if TYPE_CHECKING:
    from claimeval.execution.learning import JudgeWindows, StoredReplies


class Executor(ABC):
    """Object that answers the requests of a job. By default it reviews nothing."""

    windows: JudgeWindows | None = None
    """The windows of judges; None if it knows none."""
    replies: StoredReplies | None = None
    """The replies in the reply cache; None if it knows none."""

    @abstractmethod
    async def ask(self, request: Request) -> Outcome:
        """Return the completion, or a failure with its reason. Errors of the provider are never
        raised."""

    def room(self, request: Request) -> int | None:
        """Return the maximum size (`Request.size`) for the window of the request's judge; None if
        it is unknown."""
        return self.windows.room(request) if self.windows else None

    async def fits(self, request: Request) -> bool:
        """Return whether a request may be sent whole: it fits, the window is unknown, or its reply
        is stored."""
        return self.windows is None or await self.windows.fits(request)

    def counters(self, subject: str) -> Counter[str]:
        """Return the counters of a subject, which live as long as the run. By default, a job's
        counts are not kept."""
        return Counter()

    def review(self, request: Request, completion: Completion, failure: Failure | None) -> None:
        """Take note of a reply that was parsed, and of the failure if it could not be read."""
        return


R = TypeVar("R")
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


class ComputedJob(ABC, Generic[R]):
    """A job that asks no judge."""

    asked: tuple[Judge, ...] = ()

    @abstractmethod
    def compute(self, items: Iterable[Any], options: RunOptions, progress: Progress) -> Iterator[R]:
        """Yield the result of each item, in order. The runner counts the items, unless `progress`
        counts texts."""


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
    again: bool = False
    """Whether results rest on replies to truncated prompts, as a window that was learned later
    shows. The same run again, from the reply cache, is without them."""
    decided: str | None = None
    """Why nothing more has to be asked; None if a run that stopped early is not done."""
    learned: Mapping[str, Learned] = MappingProxyType({})
    """What was learned about each judge's server, by name."""
    windows: Mapping[str, int] = MappingProxyType({})
    """The learned context windows that were known when the run began, by judge name."""

    @property
    def reason(self) -> str | None:
        """Why the run ended early; None if it is complete."""
        if self.complete:
            return None
        stopped = "; ".join(f"{judge}: {why}" for judge, why in self.stopped.items())
        return (
            self.budget_exhausted
            or self.decided
            or self.lost
            or self.pending_batches
            or ("interrupted" if self.interrupted else stopped or None)
        )


DONE = RunStatus(complete=True, interrupted=False, stopped={})
"""The status of a run that asked no judge and reached its last item."""
