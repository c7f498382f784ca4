"""Executors, which turn a request into an outcome, and the runner, which runs a job on many items.

The reply cache, retries, rate limits, the budget and batches are handled here. Nothing here knows what a claim is.
"""

from __future__ import annotations

from typing import Protocol

from claimeval.types.requests import Outcome, Request


class Executor(Protocol):
    """Object that answers requests."""

    async def ask(self, request: Request) -> Outcome:
        """Return the completion, or a failure with its reason. Errors of the provider are never raised."""
        ...
