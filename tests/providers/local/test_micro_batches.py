"""Items of many tasks, computed together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from claimeval.providers.local.entailment import MicroBatcher


class Squares:
    """Squares numbers, remembers the batches, and can be held up."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.go = threading.Event()
        self.go.set()

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.go.wait(5)
        self.batches.append(list(items))
        if -1 in items:
            raise ValueError("no root")
        return [item * item for item in items]


def test_items_of_tasks_that_wait_at_the_same_time_are_computed_together() -> None:
    squares = Squares()

    async def ask() -> list[list[int]]:
        with MicroBatcher(squares, 10) as batches:
            return list(
                await asyncio.gather(batches.ask([1, 2]), batches.ask([3]), batches.ask([]))
            )

    assert asyncio.run(ask()) == [[1, 4], [9], []]
    assert squares.batches == [[1, 2, 3]]


def test_an_item_that_two_tasks_wait_for_is_computed_once() -> None:
    squares = Squares()

    async def ask() -> list[list[int]]:
        with MicroBatcher(squares, 10) as batches:
            return list(await asyncio.gather(batches.ask([1, 2]), batches.ask([2, 1, 2])))

    assert asyncio.run(ask()) == [[1, 4], [4, 1, 4]]
    assert squares.batches == [[1, 2]]


def test_a_batch_has_at_most_so_many_items_first_come_first_served() -> None:
    squares = Squares()

    async def ask() -> list[int]:
        with MicroBatcher(squares, 2) as batches:
            return await batches.ask([1, 2, 3, 4, 5])

    assert asyncio.run(ask()) == [1, 4, 9, 16, 25]
    assert squares.batches == [[1, 2], [3, 4], [5]]


def test_a_task_that_is_cancelled_takes_nothing_from_the_others() -> None:
    squares = Squares()
    squares.go.clear()

    async def ask() -> list[int]:
        with MicroBatcher(squares, 10) as batches:
            one = asyncio.create_task(batches.ask([1, 2]))
            other = asyncio.create_task(batches.ask([2, 3]))
            await asyncio.sleep(0.01)
            one.cancel()
            squares.go.set()
            return await other

    assert asyncio.run(ask()) == [4, 9]


def test_an_error_reaches_those_whose_batch_failed() -> None:
    squares = Squares()

    async def ask() -> tuple[list[list[int] | BaseException], list[int]]:
        with MicroBatcher(squares, 1) as batches:
            both = await asyncio.gather(batches.ask([-1]), batches.ask([3]), return_exceptions=True)
            return list(both), await batches.ask([4])

    (one, other), later = asyncio.run(ask())
    assert isinstance(one, ValueError)
    assert other == [9]
    assert later == [16]


def test_a_function_runs_in_the_thread_of_the_model() -> None:
    async def names() -> set[str]:
        with MicroBatcher(Squares(), 1) as batches:
            return {await batches.run(lambda: threading.current_thread().name) for _ in range(3)}

    (name,) = asyncio.run(names())
    assert name.startswith("claimeval-model")
