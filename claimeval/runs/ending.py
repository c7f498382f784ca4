"""How a run ended: the exit code and the reason, decided here for commands and functions alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from claimeval.evaluation.summary import Summary
from claimeval.execution import RunStatus
from claimeval.types.errors import INTERRUPTED, Interrupted, StoppedEarly


class Ending(NamedTuple):
    """How a run ended."""

    code: int = 0
    """The exit code: 0 done, 1 a gate failed, 2 no sample has what is measured, 3 stopped
    early, 130 interrupted."""
    stopped: str | None = None
    """Why the run stopped early, with the fix; None for a complete run."""
    failed: tuple[str, ...] = ()
    """A line for each gate that failed; gates of a run that stopped early are not checked."""

    @classmethod
    def of(cls, status: RunStatus) -> Ending:
        """Return the ending of a run with this status."""
        if status.decided:
            return cls()
        if status.interrupted:
            return cls(Interrupted.exit_code, INTERRUPTED)
        if stopped := _why(status):
            return cls(StoppedEarly.exit_code, stopped)
        return cls()

    @classmethod
    def recorded(cls, summary: Summary) -> Ending:
        """Return the ending of a run that was read."""
        if summary.complete or summary.decided:
            return cls()
        return cls(StoppedEarly.exit_code, summary.stopped or "the run stopped early")

    def gated(self, failed: Iterable[str]) -> Ending:
        """Return the ending with these failed gates."""
        lines = () if self.stopped else (*self.failed, *failed)
        return self._replace(failed=lines, code=1) if lines else self

    def error(self, run: object = None) -> StoppedEarly | Interrupted:
        """Return the error that ends a function whose run stopped early; `run` is the unfinished
        run."""
        assert self.stopped, "the run stopped early"
        return (
            Interrupted(run)
            if self.code == Interrupted.exit_code
            else StoppedEarly(self.stopped, run)
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """What a command prints about the ending on standard error."""
        return (self.stopped,) if self.stopped else self.failed


def _why(status: RunStatus) -> str | None:
    """Return why a run stopped early and what to do; None if it is complete."""
    if status.budget_exhausted:
        return (
            f"Budget reached: {status.budget_exhausted}. To resume, raise the limit and run the"
            " same command."
        )
    if status.lost or status.pending_batches:
        return status.lost or status.pending_batches
    if status.stopped or not status.complete:
        reasons = "; ".join(
            f"judge {judge} was stopped: {message}" for judge, message in status.stopped.items()
        )
        return f"{reasons.rstrip('.')}. Fix the problem, then run the same command to resume."
    return None
