"""Executors, which turn a request into an outcome, and the runner, which runs a job on many items.

The reply cache, retries, rate limits, the budget and batches are handled here. Nothing here knows what a claim is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from claimeval.types.requests import Completion, Failure, Outcome, Request

Review = Callable[[Request, Completion, Failure | None], None]
"""Takes in that a reply was read, or why it was of no use."""


class Executor(Protocol):
    """Object that answers requests. One with a method `review`, a `Review`, is told what became of its replies."""

    async def ask(self, request: Request) -> Outcome:
        """Return the completion, or a failure with its reason. Errors of the provider are never raised."""
        ...
