"""Passes over the samples: in each, every sample goes as far as the stored replies carry it.

A sample that needs a reply which is to come in a batch is let go, and its way is gone again from the beginning in the
next pass, out of the store. So what is in memory does not grow with the samples, a round of batches holds what all of
them need, and a run that was killed goes on as one that was not.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn, TypeVar

R = TypeVar("R")

STILL = 20
"""Turns of the event loop without a new question after which a sample is taken to wait. From one question to the next
the pipeline takes four; letting a sample go too early would cost it a pass and nothing else."""

_visit: ContextVar[Visit] = ContextVar("visit")
"""The way of the sample that the current task belongs to."""


class Visit:
    """One sample's way in one pass."""

    def __init__(self) -> None:
        self.moves = 0
        """Grows with all that happens on the way."""
        self.waits = False
        """For a reply that does not come in this pass."""
        self.idle = asyncio.Event()
        """Set while no question is being answered."""
        self.idle.set()
        self._asked = 0

    def begin(self) -> None:
        """A question is put."""
        self.moves += 1
        self._asked += 1
        self.idle.clear()

    def end(self) -> None:
        """It is answered, or will not be in this pass."""
        self.moves += 1
        self._asked -= 1
        if not self._asked:
            self.idle.set()


@contextmanager
def question() -> Iterator[None]:
    """The block in which a question is answered, or found to have no answer yet."""
    visit = _visit.get()
    visit.begin()
    try:
        yield
    finally:
        visit.end()


async def wait_for_ever() -> NoReturn:
    """Where a question ends whose reply does not come in this pass."""
    _visit.get().waits = True
    await asyncio.get_running_loop().create_future()
    raise AssertionError("the way is let go")


async def as_far_as_it_goes(way: Coroutine[Any, Any, R]) -> R | None:
    """Return the item's result, or None if it needs replies that will not arrive in this pass."""
    visit = Visit()
    token = _visit.set(visit)
    task = asyncio.create_task(way)
    _visit.reset(token)
    try:
        still = 0
        while not task.done() and still < STILL:
            await visit.idle.wait()
            moves = visit.moves
            await asyncio.sleep(0)
            still = still + 1 if visit.waits and visit.moves == moves else 0
        return task.result() if task.done() else None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def in_rounds(
    one_pass: Callable[[int], AsyncGenerator[R | None]], next_round: Callable[[], Awaitable[bool]]
) -> AsyncGenerator[R]:
    """The results of all samples in their order, each as soon as it and all before it are there.

    `one_pass` goes over the samples from the given number on; `next_round` brings the replies that were missing, or
    says that it is not to be waited for them.
    """
    finished = 0
    while True:
        complete = True
        async with aclosing(one_pass(finished)) as results:
            async for result in results:
                if result is None:
                    complete = False
                elif complete:
                    finished += 1
                    yield result
        if complete or not await next_round():
            return
