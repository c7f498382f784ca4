"""Warm order: requests that begin alike follow the first of them, so that the provider's prompt
cache has it.

The chunks of a long answer, replicates and metrics over the same evidence share it. Sent at once,
each would pay for it in full; sent after the first, they pay for it at the price of cached input.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from dataclasses import replace
from os.path import commonprefix

from claimeval.execution import Executor
from claimeval.types.requests import Beginning, Outcome, Request

SHARED = 4096
"""Characters that requests must share: 1,024 tokens, from which providers cache a beginning."""
KEPT = 10_000
"""Beginnings that are remembered: more than a run has in flight."""


class _Ahead:
    """The first request with a beginning, and those that came while it was made."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        """Whether the first request has its outcome."""
        self.texts: list[str] = []
        """The last messages of the requests, until the first is sent."""
        self.is_open = True
        """Whether the first request still waits for others."""
        self._length = 0
        self._digest = 0

    def close(self) -> None:
        """Settle how much of the last message the requests share: whole lines; nothing if there is
        only one."""
        # characters are meant
        shared = commonprefix(self.texts) if len(self.texts) > 1 else ""  # noqa: RUF071
        self._length = shared.rfind("\n") + 1
        self._digest = hash(shared[: self._length])
        self.texts.clear()
        self.is_open = False

    def shared(self, text: str) -> int:
        """Return how many characters a last message shares with the first one's."""
        return self._length if hash(text[: self._length]) == self._digest else 0


class WarmingExecutor(Executor):
    """Executor that lets the first of several requests with the same beginning go ahead of the
    others."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._ahead: OrderedDict[str, _Ahead] = OrderedDict()
        """By beginning."""

    async def ask(self, request: Request) -> Outcome:
        """Return the outcome, after that of a request in flight that begins alike."""
        begun = beginning(request)
        if begun is None:
            return await self._executor.ask(request)
        text = request.messages[-1].content
        ahead = self._ahead.get(begun)
        if is_first := ahead is None:
            ahead = self._ahead[begun] = _Ahead()
            # A run of a million samples would remember all their beginnings.
            if len(self._ahead) > KEPT:
                self._ahead.popitem(last=False)
        if ahead.is_open:
            ahead.texts.append(text)
        try:
            if is_first:
                await asyncio.sleep(0)  # the other chunks and replicates come now
                ahead.close()
            else:
                await ahead.ended.wait()
            return await self._executor.ask(
                replace(request, beginning=Beginning(begun[:16], ahead.shared(text)))
            )
        finally:
            if is_first:
                ahead.ended.set()


def beginning(request: Request) -> str | None:
    """Return a digest of what precedes the part that differs; None for a request too short to be
    cached."""
    text = "".join([message.content for message in request.messages])
    if len(text) < SHARED:
        return None
    judge = request.judge
    parts = (judge.model, judge.endpoint or "", request.schema_sent or "", text[:SHARED])
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
