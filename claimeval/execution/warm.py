"""Warm order: requests that begin alike follow the first of them, so that the provider's prompt cache has it.

The chunks of a long answer, replicates and metrics over the same evidence share it. Sent at once, each would pay for it
in full; sent after the first, they pay for it at the price of cached input.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict

from claimeval.execution import Executor
from claimeval.types.requests import Outcome, Request

SHARED = 4096
"""Characters that requests must share: 1,024 tokens, from which providers cache a beginning."""
KEPT = 10_000
"""Beginnings that are remembered: more than a run has in flight."""


class WarmingExecutor(Executor):
    """Executor that lets the first of several requests with the same beginning go ahead of the others."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._ahead: OrderedDict[str, asyncio.Event] = OrderedDict()
        """By beginning, whether the first request has its outcome."""

    async def ask(self, request: Request) -> Outcome:
        """Return the outcome, after that of a request in flight that begins alike."""
        beginning = _beginning(request)
        if beginning is None:
            return await self._executor.ask(request)
        if ahead := self._ahead.get(beginning):
            await ahead.wait()
            return await self._executor.ask(request)
        ahead = self._ahead[beginning] = asyncio.Event()
        if len(self._ahead) > KEPT:
            self._ahead.popitem(last=False)
        try:
            return await self._executor.ask(request)
        finally:
            ahead.set()


def _beginning(request: Request) -> str | None:
    """Return a digest of what precedes the part that differs; None for a request too short to be cached."""
    text = "".join([message.content for message in request.messages])
    if len(text) < SHARED:
        return None
    judge = request.judge
    parts = (judge.model, judge.endpoint or "", request.schema_sent or "", text[:SHARED])
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
