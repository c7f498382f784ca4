"""An event loop in which waiting takes no time: when nothing is ready, the clock goes on to the
next timer."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jump(selectors.DefaultSelector):
    """Selects what is ready and lets the rest of the waiting time pass at once."""

    loop: VirtualTime

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, (
                "everybody waits for something that nothing will bring about"
            )
            self.loop.now += timeout
        return ready


class VirtualTime(asyncio.SelectorEventLoop):
    """Begins at 0."""

    def __init__(self) -> None:
        self.now = 0.0
        selector = _Jump()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def run(way: Coroutine[Any, Any, T]) -> T:
    """Runs to the end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTime) as runner:
        return runner.run(way)


def now() -> float:
    """The running loop's time: a clock for what is tested."""
    return asyncio.get_running_loop().time()
