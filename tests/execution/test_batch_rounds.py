"""Passes over items that wait for something, without batches: how far each goes, and when it is
gone again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable

import pytest

from claimeval.execution.batch.executor import (
    request_in_progress,
    run_in_rounds,
    run_until_blocked,
    suspend,
)

Ask = Callable[[str], Awaitable[str]]


class Replies:
    """Answers what it holds; another question waits for ever."""

    def __init__(self, *known: str, seconds: float = 0.0) -> None:
        self.known = set(known)
        self.asked: list[str] = []
        self._seconds = seconds

    async def ask(self, text: str) -> str:
        with request_in_progress():
            self.asked.append(text)
            if text in self.known:
                await asyncio.sleep(self._seconds)
                return f"re {text}"
        return await suspend()


def test_a_way_that_needs_not_wait_is_gone_to_its_end() -> None:
    async def way(ask: Ask) -> str:
        return await ask("a") + await ask("b")

    replies = Replies("a", "b", seconds=0.005)
    assert asyncio.run(run_until_blocked(way(replies.ask))) == "re are b"


def test_a_way_without_questions_is_gone_too() -> None:
    async def way() -> int:
        await asyncio.sleep(0.005)
        return 7

    assert asyncio.run(run_until_blocked(way())) == 7


def test_all_questions_that_do_not_hang_on_a_missing_reply_are_put() -> None:
    async def branch(ask: Ask, name: str) -> None:
        await ask(f"{name} first")
        await ask(f"{name} second")

    async def way(ask: Ask) -> None:
        await asyncio.gather(*(branch(ask, name) for name in "abc"))
        await ask("all")

    replies = Replies("a first", "b first", "b second", seconds=0.01)
    assert asyncio.run(run_until_blocked(way(replies.ask))) is None
    assert sorted(replies.asked) == ["a first", "a second", "b first", "b second", "c first"]


def test_a_way_that_is_let_go_is_tidied_up() -> None:
    ended = []

    async def way(ask: Ask) -> None:
        try:
            await ask("missing")
        finally:
            ended.append("tidy")

    assert asyncio.run(run_until_blocked(way(Replies().ask))) is None
    assert ended == ["tidy"]


def test_an_error_on_the_way_is_raised() -> None:
    async def way(ask: Ask) -> None:
        await ask("a")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        asyncio.run(run_until_blocked(way(Replies("a").ask)))


def test_a_way_may_be_broken_off_from_outside() -> None:
    async def main() -> list[str]:
        ended: list[str] = []

        async def way(ask: Ask) -> None:
            try:
                await ask("a")
            finally:
                ended.append("tidy")

        task = asyncio.create_task(run_until_blocked(way(Replies("a", seconds=60).ask)))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return ended

    assert asyncio.run(main()) == ["tidy"]


def rounds(passes: list[list[int | None]], go_on: Iterable[bool]) -> tuple[list[int], list[int]]:
    """What comes out where the passes yield this; and from which item on each was asked for."""
    beginnings: list[int] = []
    answers = iter(go_on)

    async def one_pass(first: int) -> AsyncGenerator[int | None]:
        beginnings.append(first)
        for result in passes[len(beginnings) - 1]:
            yield result

    async def next_round() -> bool:
        return next(answers)

    async def main() -> list[int]:
        return [result async for result in run_in_rounds(one_pass, next_round)]

    return asyncio.run(main()), beginnings


def test_results_come_in_order_each_once() -> None:
    found, beginnings = rounds([[0, None, 2, None], [1, 2, None], [3]], [True, True])
    assert found == [0, 1, 2, 3]
    assert beginnings == [0, 1, 3]


def test_a_round_that_is_not_to_be_waited_for_is_the_end() -> None:
    assert rounds([[0, None, 2]], [False]) == ([0], [0])


def test_nothing_at_all_needs_no_round() -> None:
    assert rounds([[]], []) == ([], [0])
