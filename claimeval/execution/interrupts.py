"""Handling of Ctrl-C: the first one waits for the replies in flight, the second one stops immediately."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Iterator

from claimeval.execution.online import OnlineExecutor

GRACE = 8.0
"""Seconds to wait for the replies in flight."""


class Interrupt:
    """Whether the user asked to stop the run."""

    def __init__(self, online: OnlineExecutor | None) -> None:
        self.requested = False
        self._online = online
        self._draining: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Cancel the current task on SIGINT. Does nothing outside the main thread."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop.add_signal_handler(signal.SIGINT, self._on_signal, task)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            if self._draining:
                self._draining.cancel()

    def _on_signal(self, task: asyncio.Task[object]) -> None:
        if self.requested or self._online is None:
            task.cancel()
        else:
            self._draining = asyncio.create_task(self._drain(self._online, task))
        self.requested = True

    async def _drain(self, online: OnlineExecutor, task: asyncio.Task[object]) -> None:
        await online.drain(GRACE)
        task.cancel()
