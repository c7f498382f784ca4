"""Which items a shard has in work, kept beside its part, so that one that ends its process is known afterwards.

A process that dies leaves the items that it had in work. The next process of the shard takes each of them alone, and
one that ended three processes is not tried again: it is recorded as `worker_died`, and the rest goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from claimeval.evaluation.job import Job
from claimeval.evaluation.measure import MeasureJob, Scored
from claimeval.execution import Executor
from claimeval.runs.directory import explained, no_follow
from claimeval.store.store import Store
from claimeval.types.errors import ClaimevalError
from claimeval.types.records import Sample, SampleResult, Score
from claimeval.types.requests import Failure, Judge, Outcome, Request

CRASHES = 3
"""Processes that an item may end before it is recorded as a failure."""
ORDERLY = (ClaimevalError, KeyboardInterrupt, asyncio.CancelledError, OSError)
"""Ends of a process that say nothing about the items in work."""


class Attempts(Protocol):
    """What is known of the items of a shard that ended a process, and what is told of those in work."""

    @property
    def crashes(self) -> Mapping[int, int]:
        """By the place of an item in its shard, from 0, how many processes ended while it was in work."""
        ...

    def begun(self, position: int) -> None:
        """Note that an item is in work."""
        ...

    def done(self, position: int) -> None:
        """Note that an item has its result."""
        ...


class AttemptsFile:
    """Attempts in a file, a line each time that an item is begun or done.

    Lines are not flushed to the disk: they outlive the process, and if the machine dies it is not the item's fault.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        crashed: Counter[int] = Counter()
        in_work: set[int] = set()
        for line in path.read_text().splitlines() if path.exists() else ():
            with contextlib.suppress(ValueError, IndexError):  # a line that was cut off
                word, *numbers = line.split()
                position = int(numbers[0])
                if word == "crashed":
                    crashed[position] = int(numbers[1])
                elif word == "begun":
                    in_work.add(position)
                elif word == "done":
                    in_work.discard(position)
                    crashed.pop(position, None)
        crashed.update(in_work)
        self._crashed = crashed
        self._left: Counter[int] = Counter(crashed)
        """The crashes of items that are still to be done."""

    @property
    def crashes(self) -> Mapping[int, int]:
        """By the place of an item in its shard how many processes ended while it was in work."""
        return self._crashed

    def begun(self, position: int) -> None:
        """Note that an item is in work."""
        self._write(b"begun %d\n" % position)

    def done(self, position: int) -> None:
        """Note that an item has its result."""
        self._left.pop(position, None)
        self._write(b"done %d\n" % position)

    def _write(self, line: bytes) -> None:
        with explained(self._path.parent.parent):
            os.write(self._file, line)

    def _lines(self) -> bytes:
        return b"".join(b"crashed %d %d\n" % entry for entry in sorted(self._left.items()))

    def __enter__(self) -> Self:
        with explained(self._path.parent.parent):
            part = self._path.with_name(self._path.name + ".part")
            part.write_bytes(self._lines())
            part.replace(self._path)
            self._file = no_follow(str(self._path), os.O_WRONLY | os.O_APPEND)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Forget the items in work, unless the process ends by a defect that one of them may have caused."""
        os.close(self._file)
        with contextlib.suppress(OSError):
            if kind is None or issubclass(kind, ORDERLY):
                if self._left:
                    self._path.write_bytes(self._lines())
                else:
                    self._path.unlink()

    def forget(self) -> None:
        """Remove the file, when the shard is finished."""
        self._left.clear()


class _Turns:
    """Lets items in together, and a suspect alone."""

    def __init__(self) -> None:
        self._inside = self._waiting = 0
        self._alone = False
        self._waiters: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def together(self) -> Any:
        """Enter with others, once no suspect is inside or waits."""
        while self._alone or self._waiting:
            await self._wait()
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
            self._wake()

    @asynccontextmanager
    async def alone(self) -> Any:
        """Enter once nobody is inside; nobody enters until the end."""
        self._waiting += 1
        try:
            while self._alone or self._inside:
                await self._wait()
        finally:
            self._waiting -= 1
        self._alone = True
        try:
            yield
        finally:
            self._alone = False
            self._wake()

    async def _wait(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, deque()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


class _Died:
    """Answers every question about an item that ended three processes."""

    async def ask(self, request: Request) -> Outcome:
        """Return the failure."""
        return Failure(reason="worker_died", message=f"the sample ended {CRASHES} processes that worked on it")


@dataclass(frozen=True)
class WatchedJob:
    """A job over the items of a shard with their places, whose attempts are noted."""

    job: Job[Any]
    attempts: Attempts
    turns: _Turns

    @classmethod
    def of(cls, job: Job[Any], attempts: Attempts) -> WatchedJob:
        """Return the job, watched."""
        return cls(job, attempts, _Turns())

    @property
    def asked(self) -> tuple[Judge, ...]:
        """Everyone to whom a question may go."""
        return self.job.asked

    def cannot_continue(self, stopped: Mapping[str, str]) -> bool:
        """Return whether nothing can be learned any more without the judges that have stopped."""
        return self.job.cannot_continue(stopped)

    async def evaluate(self, item: tuple[int, Any], executor: Executor) -> SampleResult:
        """Return the result of an item, and note when it is begun and done."""
        (position, sample), crashes = item, self.attempts.crashes
        if not crashes:
            return await self._evaluate(position, sample, executor)
        if crashes.get(position, 0) >= CRASHES:
            return await self.job.evaluate(sample, _Died())
        async with self.turns.alone() if position in crashes else self.turns.together():
            return await self._evaluate(position, sample, executor)

    async def _evaluate(self, position: int, sample: Any, executor: Executor) -> SampleResult:
        self.attempts.begun(position)
        result = await self.job.evaluate(sample, executor)
        self.attempts.done(position)
        return result


@dataclass(frozen=True)
class WatchedMeasure:
    """Metrics without a judge over the samples of a shard, whose attempts are noted."""

    job: MeasureJob
    attempts: Attempts

    @property
    def local(self) -> bool:
        """Whether a local model computes something."""
        return self.job.local

    def results(self, samples: Iterable[Sample], store: Store | None, on_scored: Scored) -> Iterator[SampleResult]:
        """Yield the result of each sample, in order; suspects are measured alone."""
        crashes = self.attempts.crashes
        numbered = enumerate(samples)
        for suspect, group in groupby(numbered, key=lambda numbered: numbered[0] if numbered[0] in crashes else None):
            if suspect is not None and crashes[suspect] >= CRASHES:
                units = {name: unit for source in self.job.sources for name, unit in source.units.items()}
                scores = {name: Score.undefined("worker_died", unit) for name, unit in units.items()}
                yield from (SampleResult(sample=sample, scores=scores) for _, sample in group)
                continue
            positions: deque[int] = deque()
            for result in self.job.results(self._begun(group, positions), store, on_scored):
                self.attempts.done(positions.popleft())
                yield result

    def _begun(self, group: Iterable[tuple[int, Sample]], positions: deque[int]) -> Iterator[Sample]:
        for position, sample in group:
            self.attempts.begun(position)
            positions.append(position)
            yield sample
