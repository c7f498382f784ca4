"""Many ways at once: in order, no further ahead than there is room, and on the spot where nothing
is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from claimeval.execution.concurrently import gather_all, map_in_order
from tests.execution.virtual_time import now, run


async def after(seconds: float, value: int) -> int:
    if seconds:
        await asyncio.sleep(seconds)
    return value


async def collect(
    work: Callable[[int], Coroutine[Any, Any, int]], items: int, at_once: int = 4
) -> list[int]:
    return [result async for result in map_in_order(range(items), work, at_once)]


def test_results_come_in_the_order_of_the_items_whatever_takes_longer() -> None:
    assert run(collect(lambda i: after((i * 7) % 5, i * i), 50)) == [i * i for i in range(50)]


def test_so_many_are_in_work_at_once_and_no_more() -> None:
    in_work: list[int] = []
    most = 0

    async def work(item: int) -> int:
        nonlocal most
        in_work.append(item)
        most = max(most, len(in_work))
        await asyncio.sleep(1)
        in_work.remove(item)
        return item

    async def main() -> float:
        await collect(work, 40, at_once=8)
        return now()

    assert run(main()) == 5.0
    assert most == 8


def test_items_are_pulled_no_further_than_the_window_behind_a_slow_one() -> None:
    pulled: list[int] = []
    release = asyncio.Event()

    def items() -> Iterator[int]:
        for i in range(100):
            pulled.append(i)
            yield i

    async def work(item: int) -> int:
        if item == 0:
            await release.wait()
        return item

    async def main() -> list[int]:
        results = map_in_order(items(), work, 2)
        first = asyncio.ensure_future(anext(results))
        for _ in range(200):
            await asyncio.sleep(0)
        assert len(pulled) == 8
        release.set()
        return [await first] + [result async for result in results]

    assert asyncio.run(main()) == list(range(100))


def test_results_are_given_out_while_items_are_still_pulled() -> None:
    async def main() -> int:
        seen = 0

        def items() -> Iterator[int]:
            for i in range(1000):
                assert i - seen <= 3, (
                    "an item that is done at once is given out before many more are pulled"
                )
                yield i

        async for _ in map_in_order(items(), lambda i: after(0, i), 100):
            seen += 1
        return seen

    assert asyncio.run(main()) == 1000


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_an_error_in_the_work_ends_the_run_and_the_other_work(seconds: float) -> None:
    ended: list[int] = []

    async def work(item: int) -> int:
        if item == 3:
            await after(seconds, 0)
            raise ZeroDivisionError
        try:
            return await after(100.0, item)
        finally:
            ended.append(item)

    with pytest.raises(ZeroDivisionError):
        run(collect(work, 10))
    assert sorted(ended) == [0, 1, 2]


def test_other_work_goes_on_while_everything_is_done_at_once() -> None:
    async def main() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0)
                ticks += 1

        ticking = asyncio.create_task(tick())
        await collect(lambda i: after(0, i), 100)
        ticking.cancel()
        return ticks

    assert asyncio.run(main()) >= 99


def test_ways_go_side_by_side() -> None:
    async def main() -> tuple[list[int], float]:
        return await gather_all([after(i % 3, i) for i in range(7)]), now()

    assert run(main()) == ([0, 1, 2, 3, 4, 5, 6], 2.0)


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_an_error_of_one_way_ends_the_others(first: float) -> None:
    ended: list[str] = []

    async def fail() -> int:
        await after(first, 0)
        raise ZeroDivisionError

    async def wait() -> int:
        try:
            return await after(100.0, 0)
        finally:
            ended.append("waited")

    with pytest.raises(ZeroDivisionError):
        run(gather_all([wait(), fail(), after(0, 1)]))
    assert ended == ["waited"]


def test_each_way_has_a_context_of_its_own() -> None:
    variable: ContextVar[int] = ContextVar("variable", default=-1)

    async def way(value: int, seconds: float) -> int:
        token = variable.set(value)
        await after(seconds, 0)
        seen = variable.get()
        variable.reset(token)
        return seen

    async def main() -> list[int]:
        seen = await gather_all([way(i, i % 2) for i in range(4)])
        assert variable.get() == -1
        return seen

    assert run(main()) == [0, 1, 2, 3]


def test_the_rest_of_a_way_knows_the_task_it_is_in() -> None:
    async def way() -> str:
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(1.0):
                await after(100.0, 0)
        except TimeoutError:
            return "in time"
        return "too late"

    async def main() -> list[str]:
        return await gather_all([way(), way()])

    assert run(main()) == ["in time", "in time"]
