"""Passes over the items: in each pass, every item runs as far as the stored replies allow.

An item that needs a reply from a batch is dropped and starts from its beginning in the next pass, out of the reply
cache. So memory does not grow with the number of items, one round of batches holds the requests of all items, and a
run that was killed resumes like any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn, TypeVar

R = TypeVar("R")

IDLE_STEPS = 20
"""Steps of the event loop without a new request after which an item counts as blocked.

The pipeline takes four steps from one request to the next. Dropping an item too early only costs it a pass."""

_current: ContextVar[ItemPass] = ContextVar("item_pass")
"""The pass of the item that the current task belongs to."""


class ItemPass:
    """One item in one pass."""

    def __init__(self) -> None:
        self.events = 0
        """Number of requests that started or ended."""
        self.blocked = False
        """Whether a request needs a reply that will not arrive in this pass."""
        self.idle = asyncio.Event()
        """Set while no request is in progress."""
        self.idle.set()
        self._requests = 0

    def start_request(self) -> None:
        """Count a request that starts."""
        self.events += 1
        self._requests += 1
        self.idle.clear()

    def end_request(self) -> None:
        """Count a request that was answered or has no reply in this pass."""
        self.events += 1
        self._requests -= 1
        if not self._requests:
            self.idle.set()


@contextmanager
def request_in_progress() -> Iterator[None]:
    """Mark the block as the processing of one request."""
    item_pass = _current.get()
    item_pass.start_request()
    try:
        yield
    finally:
        item_pass.end_request()


async def suspend() -> NoReturn:
    """Suspend a request whose reply will not arrive in this pass. The item is cancelled here."""
    _current.get().blocked = True
    await asyncio.get_running_loop().create_future()
    raise AssertionError("the item is cancelled")


async def run_until_blocked(coroutine: Coroutine[Any, Any, R]) -> R | None:
    """Return the item's result, or None if it needs replies that will not arrive in this pass."""
    item_pass = ItemPass()
    token = _current.set(item_pass)
    task = asyncio.create_task(coroutine)
    _current.reset(token)
    try:
        idle_steps = 0
        while not task.done() and idle_steps < IDLE_STEPS:
            await item_pass.idle.wait()
            events = item_pass.events
            await asyncio.sleep(0)
            idle_steps = idle_steps + 1 if item_pass.blocked and item_pass.events == events else 0
        return task.result() if task.done() else None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def run_in_rounds(
    run_pass: Callable[[int], AsyncGenerator[R | None]], next_round: Callable[[], Awaitable[bool]]
) -> AsyncGenerator[R]:
    """Yield the results of all items in order, each as soon as it and all before it are complete.

    `run_pass` runs the items from a given number on and yields None for a blocked item. `next_round` gets the missing
    replies and returns False if the run should not wait for them.
    """
    finished = 0
    while True:
        complete = True
        async with aclosing(run_pass(finished)) as results:
            async for result in results:
                if result is None:
                    complete = False
                elif complete:
                    finished += 1
                    yield result
        if complete or not await next_round():
            return
