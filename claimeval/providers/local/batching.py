"""Batches of items for a model: texts of like length together, and small requests of many tasks together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Generic, Self, TypeVar


def length_buckets(lengths: Sequence[int], tokens: int, *, pad: bool = True) -> Iterator[list[int]]:
    """Yield indices of sequences in batches of at most `tokens` tokens, padding included, the shortest sequences first.

    A sequence that is longer than `tokens` is a batch by itself. Without `pad`, a batch has one length.

    >>> list(length_buckets([9, 2, 3, 4], 8))
    [[1, 2], [3], [0]]
    >>> list(length_buckets([2, 3, 2], 8, pad=False))
    [[0, 2], [1]]
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        full = lengths[index] * (len(batch) + 1) > tokens
        if batch and (full or (not pad and lengths[index] != lengths[batch[0]])):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


Item = TypeVar("Item", bound=Hashable)
Answer = TypeVar("Answer")
T = TypeVar("T")


class MicroBatcher(Generic[Item, Answer]):
    """Collects items while the model is busy and computes them in batches, first come, first served, in one thread.

    An item that is requested again while it waits is computed once. Up to `max_items` items go into one call of
    `compute`.
    """

    def __init__(self, compute: Callable[[Sequence[Item]], Sequence[Answer]], max_items: int) -> None:
        self._compute = compute
        self._max_items = max_items
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="claimeval-model")
        self._waiting: deque[Item] = deque()
        self._answers: dict[Item, asyncio.Future[Answer]] = {}
        self._worker: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._worker:
            self._worker.cancel()
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def ask(self, items: Sequence[Item]) -> list[Answer]:
        """Return the answers to these items; raises what `compute` raised for any of them."""
        futures = [self._answer(item) for item in items]
        if futures and self._worker is None:
            self._worker = asyncio.create_task(self._work())
            self._worker.add_done_callback(self._ended)
        if futures:
            await asyncio.wait(futures)
        return [future.result() for future in futures]

    async def run(self, function: Callable[[], T]) -> T:
        """Run a function that uses the model in the model's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    def _answer(self, item: Item) -> asyncio.Future[Answer]:
        if item not in self._answers:
            self._answers[item] = asyncio.get_running_loop().create_future()
            self._waiting.append(item)
        return self._answers[item]

    async def _work(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)  # lets tasks that are ready add their items
            batch = [self._waiting.popleft() for _ in range(min(self._max_items, len(self._waiting)))]
            answers = await self.run(lambda batch=batch: self._compute(batch))  # type: ignore[misc]
            for item, answer in zip(batch, answers, strict=True):
                self._answers.pop(item).set_result(answer)

    def _ended(self, worker: asyncio.Task[None]) -> None:
        """Finish after the last item, or pass an error to all that still wait."""
        self._worker = None
        self._waiting.clear()
        answers, self._answers = self._answers, {}
        for future in answers.values():
            if worker.cancelled() or (error := worker.exception()) is None:
                future.cancel()
            else:
                future.set_exception(error)
