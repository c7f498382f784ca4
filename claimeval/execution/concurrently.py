"""Several ways at once. One that need not wait is gone to its end on the spot, without a task of its own.

Most of a run that is repeated comes out of the store; its samples then cost what their steps cost and no more.
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


def begin(way: Coroutine[Any, Any, R]) -> asyncio.Future[R]:
    """Goes the way as far as it need not wait, and leaves the rest of it to a task.

    What must know the task it is in, such as `asyncio.timeout`, may only come after the first time that it waits.
    """
    loop, context = asyncio.get_running_loop(), copy_context()
    try:
        waits_for = context.run(way.send, None)
    except StopIteration as end:
        finished: asyncio.Future[R] = loop.create_future()
        finished.set_result(end.value)
        return finished
    task = loop.create_task(_go_on(way, waits_for), context=context)
    task.add_done_callback(lambda _: way.close())  # where it was cancelled before its first step
    return task


async def _go_on(way: Coroutine[Any, Any, R], waits_for: Any) -> R:
    return await _rest(way, waits_for)


@types.coroutine
def _rest(way: Coroutine[Any, Any, R], waits_for: Any) -> Generator[Any, Any, R]:
    """A coroutine that has been begun, from the first thing on that it waits for."""
    while True:
        try:
            step = partial(way.send, (yield waits_for))
        except BaseException as error:  # noqa: BLE001  # cancellation too is the way's own business
            step = partial(way.throw, error)
        try:
            waits_for = step()
        except StopIteration as end:
            result: R = end.value
            return result


async def gather_all(ways: Sequence[Coroutine[Any, Any, R]]) -> list[R]:
    """The results of all the ways, in order; an error of one ends the others."""
    if len(ways) == 1:
        return [await ways[0]]
    begun: list[asyncio.Future[R]] = []
    try:
        for way in ways:
            begun.append(begin(way))
        if not all(way.done() for way in begun):
            await asyncio.gather(*begun)
        return [way.result() for way in begun]
    except BaseException:
        for way in ways[len(begun) :]:
            way.close()
        await _end(begun)
        raise


async def map_in_order(
    items: Iterable[T], work: Callable[[T], Coroutine[Any, Any, R]], at_once: int, window: int | None = None
) -> AsyncGenerator[R]:
    """The results of `work` in the order of `items`, with at most so many items in work at once.

    Items are pulled only when there is room and fewer than `window` results (16 times `at_once` by default) wait
    behind a slow one, so memory does not grow with the number of items. An error in the work of one ends the others.
    """
    source = iter(items)
    ahead: deque[asyncio.Future[R]] = deque()
    under_way: set[asyncio.Future[R]] = set()
    news = asyncio.Event()
    failures: list[BaseException] = []

    def ended(way: asyncio.Future[R]) -> None:
        under_way.discard(way)
        if not way.cancelled() and (error := way.exception()):
            failures.append(error)
        news.set()

    more = True
    try:
        while more or ahead:
            while ahead and ahead[0].done():
                yield ahead.popleft().result()
            if failures:
                raise failures[0]
            if more and len(under_way) < at_once and len(ahead) < (window or 16 * at_once):
                try:
                    item = next(source)
                except StopIteration:
                    more = False
                    continue
                ahead.append(way := begin(work(item)))
                if not way.done():
                    under_way.add(way)
                    way.add_done_callback(ended)
                await asyncio.sleep(0)
            elif ahead:
                news.clear()
                await news.wait()
    finally:
        await _end(list(ahead))


async def _end(begun: Sequence[asyncio.Future[R]]) -> None:
    for way in begun:
        way.cancel()
    await asyncio.gather(*begun, return_exceptions=True)
