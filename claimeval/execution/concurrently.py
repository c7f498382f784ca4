"""Run coroutines concurrently. A coroutine that never waits runs to its end immediately, without a task.

In a repeated run most replies come from the reply cache. Its items then cost the time of their steps and nothing else.
"""

from __future__ import annotations

import asyncio
import types
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Sequence
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def start_soon(coroutine: Coroutine[Any, Any, R]) -> asyncio.Future[R]:
    """Run a coroutine until it first waits, and continue it in a task.

    Code that needs its task, such as `asyncio.timeout`, must come after the first wait.
    """
    loop, context = asyncio.get_running_loop(), copy_context()
    try:
        awaited = context.run(coroutine.send, None)
    except StopIteration as end:
        finished: asyncio.Future[R] = loop.create_future()
        finished.set_result(end.value)
        return finished
    task = loop.create_task(_resume(coroutine, awaited), context=context)
    task.add_done_callback(lambda _: coroutine.close())  # if the task was cancelled before its first step
    return task


async def _resume(coroutine: Coroutine[Any, Any, R], awaited: Any) -> R:
    return await _drive(coroutine, awaited)


@types.coroutine
def _drive(coroutine: Coroutine[Any, Any, R], awaited: Any) -> Generator[Any, Any, R]:
    """Drive a started coroutine, beginning with the object that it is waiting for."""
    while True:
        try:
            step = partial(coroutine.send, (yield awaited))
        except BaseException as error:  # noqa: BLE001  # the coroutine handles its cancellation itself
            step = partial(coroutine.throw, error)
        try:
            awaited = step()
        except StopIteration as end:
            result: R = end.value
            return result


async def gather_all(coroutines: Sequence[Coroutine[Any, Any, R]]) -> list[R]:
    """Return the results of all coroutines in order. If one raises an error, the others are cancelled."""
    if len(coroutines) == 1:
        return [await coroutines[0]]
    futures: list[asyncio.Future[R]] = []
    try:
        for coroutine in coroutines:
            futures.append(start_soon(coroutine))
        if not all(future.done() for future in futures):
            await asyncio.gather(*futures)
        return [future.result() for future in futures]
    except BaseException:
        for coroutine in coroutines[len(futures) :]:
            coroutine.close()
        await _cancel(futures)
        raise


async def map_in_order(
    items: Iterable[T],
    function: Callable[[T], Coroutine[Any, Any, R]],
    max_concurrent: int,
    max_finished: int | None = None,
) -> AsyncGenerator[R]:
    """Yield the results of a coroutine function in the order of the items.

    Items are read only when needed, so that memory does not grow with their number. If the function raises an error
    for one item, the others are cancelled.

    Args:
        items: The items to map.
        function: The coroutine function.
        max_concurrent: The maximum number of items in progress.
        max_finished: The maximum number of results that wait for a slow item. Default: 16 times `max_concurrent`.
    """
    source = iter(items)
    results: deque[asyncio.Future[R]] = deque()
    in_progress: set[asyncio.Future[R]] = set()
    changed = asyncio.Event()
    errors: list[BaseException] = []

    def on_done(future: asyncio.Future[R]) -> None:
        in_progress.discard(future)
        if not future.cancelled() and (error := future.exception()):
            errors.append(error)
        changed.set()

    more = True
    try:
        while more or results:
            while results and results[0].done():
                yield results.popleft().result()
            if errors:
                raise errors[0]
            if more and len(in_progress) < max_concurrent and len(results) < (max_finished or 16 * max_concurrent):
                try:
                    item = next(source)
                except StopIteration:
                    more = False
                    continue
                results.append(future := start_soon(function(item)))
                if not future.done():
                    in_progress.add(future)
                    future.add_done_callback(on_done)
                await asyncio.sleep(0)
            elif results:
                changed.clear()
                await changed.wait()
    finally:
        await _cancel(list(results))


async def _cancel(futures: Sequence[asyncio.Future[R]]) -> None:
    for future in futures:
        future.cancel()
    await asyncio.gather(*futures, return_exceptions=True)
