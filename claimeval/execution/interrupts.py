"""Ctrl-C that keeps what was paid for: the first lets replies under way arrive, the second stops at once."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Iterator

from claimeval.execution.online import Online

GRACE = 8.0
"""Seconds that replies under way are waited for."""


class Interrupt:
    """Whether the user asked to stop."""

    def __init__(self, online: Online | None) -> None:
        self.requested = False
        self._online = online
        self._draining: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Turns SIGINT into a cancellation of the current task, in the main thread of a program."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop.add_signal_handler(signal.SIGINT, self._asked, task)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            if self._draining:
                self._draining.cancel()

    def _asked(self, task: asyncio.Task[object]) -> None:
        if self.requested or self._online is None:
            task.cancel()
        else:
            self._draining = asyncio.create_task(self._drain(self._online, task))
        self.requested = True

    async def _drain(self, online: Online, task: asyncio.Task[object]) -> None:
        await online.drain(GRACE)
        task.cancel()
