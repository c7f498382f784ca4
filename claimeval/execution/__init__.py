"""How a request becomes an outcome: asked online, taken from the store, or replayed from it alone.

The pipeline knows one method, `ask`. Everything between a question and its answer (cache, retries, limits, budget)
is here and can be composed; nothing here knows what a claim is.
"""

from __future__ import annotations

from typing import Protocol

from claimeval.types.requests import Outcome, Request


class Executor(Protocol):
    """Answers requests."""

    async def ask(self, request: Request) -> Outcome:
        """A completion, or the failure that stands for it; never raises for what the world does."""
        ...
