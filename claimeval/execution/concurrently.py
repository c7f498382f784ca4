"""Run coroutines concurrently, each in a task of its own, with their results in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

WINDOW = 4
"""Results per item in progress, in progress or finished, that may wait for a slow item."""


async def gather_all(coroutines: Sequence[Coroutine[Any, Any, R]]) -> list[R]:
    """Return the results of all coroutines in order. If one raises an error, the others are
    cancelled."""
    if len(coroutines) == 1:
        return [await coroutines[0]]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except BaseExceptionGroup as errors:
        # A group of one error would show the user two tracebacks; the first one is what went wrong.
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


async def map_in_order(
    items: Iterable[T],
    function: Callable[[T], Coroutine[Any, Any, R]],
    max_concurrent: int,
) -> AsyncGenerator[R]:
    """Yield the results of a coroutine function in the order of the items.

    Items are read only when needed, so that memory does not grow with their number. If the function
    raises an error for one item, the others are cancelled.

    Args:
        items: The items to map.
        function: The coroutine function.
        max_concurrent: The maximum number of items in progress.
    """
    source = iter(items)
    results: deque[asyncio.Task[R]] = deque()
    in_progress: set[asyncio.Task[R]] = set()
    changed = asyncio.Event()
    errors = list[BaseException]()
    more = True

    def on_done(task: asyncio.Task[R]) -> None:
        in_progress.discard(task)
        if not task.cancelled() and (error := task.exception()):
            errors.append(error)
        changed.set()

    try:
        while more or results:
            while results and results[0].done():
                yield results.popleft().result()
            if errors:
                raise errors[0]
            if (
                more
                and len(in_progress) < max_concurrent
                # One sample that waits a minute for its judge holds back the results of all after
                # it, which stay in memory.
                and len(results) < WINDOW * max_concurrent
            ):
                try:
                    item = next(source)
                except StopIteration:
                    more = False
                    continue
                task = asyncio.create_task(function(item))
                task.add_done_callback(on_done)
                in_progress.add(task)
                results.append(task)
                # The task starts before the next item is read, so that requests go out in the order
                # of the samples.
                await asyncio.sleep(0)
            elif results:
                changed.clear()
                await changed.wait()
    finally:
        for task in results:
            task.cancel()
        await asyncio.gather(*results, return_exceptions=True)
