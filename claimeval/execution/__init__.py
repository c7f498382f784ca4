"""Executors, which turn a request into an outcome, and the runner, which runs a job on many items.

The reply cache, retries, rate limits, the budget and batches are handled here. Nothing here knows what a claim is.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from claimeval.types.requests import Completion, Failure, Outcome, Request


@runtime_checkable
class Reviewer(Protocol):
    """Executor that wants to know what became of its replies."""

    def review(self, request: Request, reply: Completion, useless: Failure | None) -> None:
        """Take in that a reply was read, or why it was of no use."""
        ...


class Executor(Protocol):
    """Object that answers requests."""

    async def ask(self, request: Request) -> Outcome:
        """Return the completion, or a failure with its reason. Errors of the provider are never raised."""
        ...
