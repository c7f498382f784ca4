"""Records of the items that a shard has in work, to identify items that end their process.

If a process dies, the next process of the shard evaluates each of the items that were in work
alone. An item that ended three processes is not tried again: it is recorded as `worker_died`, and
the shard continues.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from claimeval.evaluation.job import Job
from claimeval.evaluation.measure import MeasureJob, Scored, texts_counted
from claimeval.execution import ComputedJob, Executor
from claimeval.runs.directory import explained, no_follow
from claimeval.store.store import Store
from claimeval.types.errors import ClaimevalError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Sample, SampleResult, Score
from claimeval.types.requests import Failure, Judge, Outcome, Request

CRASHES = 3
"""Number of processes that an item may end before it is recorded as a failure."""
ORDERLY = (ClaimevalError, KeyboardInterrupt, asyncio.CancelledError, OSError)
"""Exceptions that are not caused by the items in work."""


class Attempts(Protocol):
    """Records the items in work, and knows the items of a shard that ended a process."""

    @property
    def crashes(self) -> Mapping[int, int]:
        """Number of processes that ended while an item was in work, by its position in the shard,
        from 0."""
        ...

    def begun(self, position: int) -> None:
        """Record that an item is in work."""
        ...

    def done(self, position: int) -> None:
        """Record that an item has its result."""
        ...


class AttemptsFile:
    """Attempts in a file, with a line whenever an item starts or ends.

    Lines are not flushed to disk: they survive the process, and a crash of the machine is not
    caused by an item.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        crashed: Counter[int] = Counter()
        in_work: set[int] = set()
        for line in path.read_text().splitlines() if path.exists() else ():
            with contextlib.suppress(ValueError, IndexError):  # a line that was cut off
                word, *numbers = line.split()
                position = int(numbers[0])
                # Written when a process starts: it sums up the lines of the processes before, whose
                # items in work each count one crash more.
                if word == "crashed":
                    crashed[position] = int(numbers[1])
                elif word == "begun":
                    in_work.add(position)
                elif word == "done":
                    in_work.discard(position)
                    crashed.pop(position, None)
        crashed.update(in_work)
        self.crashes: Mapping[int, int] = crashed
        self._remaining: Counter[int] = Counter(crashed)
        """The crashes of items without a result."""

    def begun(self, position: int) -> None:
        """Record that an item is in work."""
        self._write(b"begun %d\n" % position)

    def done(self, position: int) -> None:
        """Record that an item has its result."""
        self._remaining.pop(position, None)
        self._write(b"done %d\n" % position)

    def _write(self, line: bytes) -> None:
        with explained(self._path.parent.parent):
            os.write(self._file, line)

    def _lines(self) -> bytes:
        return b"".join(b"crashed %d %d\n" % entry for entry in sorted(self._remaining.items()))

    def __enter__(self) -> Self:
        with explained(self._path.parent.parent):
            part = self._path.with_name(self._path.name + ".part")
            part.write_bytes(self._lines())
            part.replace(self._path)
            self._file = no_follow(str(self._path), os.O_WRONLY | os.O_APPEND)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Forget the items in work, unless one of them may have caused the exception."""
        os.close(self._file)
        with contextlib.suppress(OSError):
            # After Ctrl-C or a full disk nobody is suspected; after an exception of a metric the
            # items in work are.
            if kind is None or issubclass(kind, ORDERLY):
                if self._remaining:
                    self._path.write_bytes(self._lines())
                else:
                    self._path.unlink()

    def forget(self) -> None:
        """Remove the file on exit, because the shard is finished."""
        self._remaining.clear()


class _Turns:
    """Lets items enter together, and a suspect alone."""

    def __init__(self) -> None:
        self._inside = self._suspects = 0
        self._alone = False
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def turn(self, *, alone: bool) -> AsyncIterator[None]:
        """Enter once no suspect is inside or waits; `alone`, once no item is inside, and keep
        others out."""
        async with self._changed:
            self._suspects += alone
            try:
                await self._changed.wait_for(
                    lambda: not (self._alone or (self._inside if alone else self._suspects))
                )
            finally:
                self._suspects -= alone
            self._inside = self._inside + 1
            self._alone = alone
        try:
            yield
        finally:
            async with self._changed:
                self._inside = self._inside - 1
                self._alone = False
                self._changed.notify_all()


class _Died(Executor):
    """Executor for an item that ended three processes."""

    async def ask(self, request: Request) -> Outcome:
        """Return the failure `worker_died`."""
        return Failure(
            reason="worker_died", message=f"the sample ended {CRASHES} processes that worked on it"
        )


@dataclass(frozen=True)
class WatchedJob:
    """A job over the items of a shard with their positions, whose attempts are recorded."""

    job: Job[Any]
    attempts: Attempts
    turns: _Turns = field(default_factory=_Turns)

    @property
    def asked(self) -> tuple[Judge, ...]:
        """All judges that may be asked."""
        return self.job.asked

    def cannot_continue(self, stopped: Mapping[str, str]) -> bool:
        """Return whether the job cannot continue without the judges that have stopped."""
        return self.job.cannot_continue(stopped)

    async def evaluate(self, item: tuple[int, Any], executor: Executor) -> SampleResult:
        """Return the result of an item, and record its start and end."""
        position, sample = item
        crashes = self.attempts.crashes
        if crashes.get(position, 0) >= CRASHES:
            return await self.job.evaluate(sample, _Died())
        async with (
            # Two suspects in work at once could not be told apart if the process ends again.
            self.turns.turn(alone=position in crashes) if crashes else contextlib.nullcontext()
        ):
            self.attempts.begun(position)
            result = await self.job.evaluate(sample, executor)
            self.attempts.done(position)
            return result


@dataclass(frozen=True)
class WatchedMeasure(ComputedJob[SampleResult]):
    """Metrics without a judge over the samples of a shard, whose attempts are recorded."""

    job: MeasureJob
    attempts: Attempts

    def compute(
        self, items: Iterable[Sample], options: RunOptions, progress: Progress
    ) -> Iterator[SampleResult]:
        """Yield the result of each sample, in order; suspects are measured alone."""
        with self.job.cache(options) as store:
            yield from self._results(items, store, texts_counted(progress))

    def _results(
        self, samples: Iterable[Sample], store: Store | None, on_scored: Scored
    ) -> Iterator[SampleResult]:
        crashes = self.attempts.crashes
        numbered = enumerate(samples)
        for suspect, group in groupby(
            # Each suspect is a group of its own, since a metric may take many samples in one batch.
            numbered,
            key=lambda numbered: numbered[0] if numbered[0] in crashes else None,
        ):
            if suspect is not None and crashes[suspect] >= CRASHES:
                scores = {}
                for source in self.job.sources:
                    for name, unit in source.units.items():
                        scores[name] = Score.undefined("worker_died", unit)
                yield from (SampleResult.of(sample, scores=scores) for _, sample in group)
                continue
            positions: deque[int] = deque()
            for result in self.job.results(self._begun(group, positions), store, on_scored):
                self.attempts.done(positions.popleft())
                yield result

    def _begun(
        self, group: Iterable[tuple[int, Sample]], positions: deque[int]
    ) -> Iterator[Sample]:
        for position, sample in group:
            self.attempts.begun(position)
            positions.append(position)
            yield sample
