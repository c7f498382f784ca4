"""Polling of batches: submit them, check them at growing intervals, and read results until most
batches have ended.

Outside a run they can be listed, checked, collected, waited for and cancelled.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from claimeval.execution.batch import OPEN, Batch, BatchTarget
from claimeval.execution.batch.files import Received, split
from claimeval.execution.batch.lifecycle import BatchLifecycle, BatchProgress
from claimeval.execution.batch.state import BatchState
from claimeval.providers.batches import WINDOW_HOURS
from claimeval.store.store import LOCK_FILE, KeyLocks, Store
from claimeval.types.errors import UsageError
from claimeval.types.progress import Progress
from claimeval.types.requests import CallError

MIN_INTERVAL = 1.0
MAX_INTERVAL = 60.0
"""Limits in seconds of the interval between two checks, which is a tenth of the time waited so
far."""
DETACHED_INTERVAL = 0.1
"""Seconds before the second check of a run that does not wait."""
STRAGGLER_WAIT = 600.0
"""Seconds after the last batch ended for which the remaining batches are waited for."""
UNREACHABLE = 3600.0
"""Seconds of only errors after which a provider that has a batch is given up."""
FIRST_CONTACT = 30.0
"""Seconds of only errors after which a provider that never answered, and has nothing yet, is given
up."""
OVERDUE = (WINDOW_HOURS + 2) * 3600.0
"""Seconds after which a batch should have expired."""
MAX_REFUSALS = 3
"""Batches that a provider may refuse in a row before its judges are stopped."""

_TOO_LARGE = re.compile(
    r"file (?:is |size |exceeds|too )[^.]{0,40}(?:large|big|exceed|limit)", re.IGNORECASE
)
"""Messages about a file above the provider's limits, if the status does not say so."""

logger = logging.getLogger("claimeval")


class _Sweep(NamedTuple):
    """Result of one check of every batch."""

    ended: bool
    """Whether at least one batch has ended."""
    unchecked: bool
    """Whether at least one batch could not be checked since it was submitted."""
    wait: float
    """Seconds that a provider asked us to wait."""


class BatchPoller:
    """Polling of the batches of one run."""

    def __init__(
        self,
        state: BatchState,
        lifecycle: BatchLifecycle,
        locks: KeyLocks,
        progress: Progress,
        on_received: Callable[[Received], None],
    ) -> None:
        self.stopped: dict[BatchTarget, str] = {}
        """The targets that no further batch can reach, with the reason."""
        self._state = state
        self._lifecycle = lifecycle
        self._locks = locks
        self._progress = progress
        self._on_received = on_received
        self._full: set[BatchTarget] = set()
        """Targets whose queue is full until one of their batches ends."""
        self._queue_words: dict[BatchTarget, str] = {}
        """The provider's message about its full queue, until one of the target's batches ends."""
        self._refused: Counter[BatchTarget] = Counter()
        """How often in a row a target's files were refused before they became batches."""
        self._failing_since: dict[BatchTarget, float] = {}
        """Time since which a target has returned only errors."""
        self._problems: dict[BatchTarget, str] = {}
        """The latest of these errors."""
        self._reached: set[BatchTarget] = set()
        """Targets that have answered."""

    async def poll(self, names: Iterable[str], label: str, *, detach: bool) -> bool:
        """Poll batches until they end, and return whether new results arrived.

        Args:
            names: The batches to wait for. If most of them ended long ago, the remaining ones are
                not waited for.
            label: Text that the progress line starts with.
            detach: Stop as soon as every batch was submitted and checked once.

        Returns:
            False if batches are still open and none has ended.
        """
        pending = set(names)
        shown = set(pending)
        start = time.monotonic()
        last_end: float | None = None
        while True:
            self._lifecycle.clean_up()
            sweep = await self._sweep(pending)
            shown |= pending
            now = time.monotonic()
            last_end = now if sweep.ended else last_end
            if not pending or (last_end is not None and now - last_end >= STRAGGLER_WAIT):
                break
            if detach and not sweep.unchecked:
                break
            self._report(shown, label, now - start)
            interval = min(max((now - start) / 10, MIN_INTERVAL), MAX_INTERVAL)
            await asyncio.sleep(
                max(
                    DETACHED_INTERVAL if detach and not self._failing_since else interval,
                    sweep.wait,
                )
            )
        self._progress.set_waiting("batches", None)
        return not pending or last_end is not None

    async def _sweep(self, pending: set[str]) -> _Sweep:
        ended = unchecked = False
        wait = 0.0
        for name in sorted(pending):
            batch = self._state[name]
            if not batch.open or batch.target in self.stopped:
                pending.discard(name)
                ended = True
            elif batch.state in ("ready", "submitted") and not (
                batch.state == "ready" and batch.target in self._full
            ):
                try:
                    step = await self._lifecycle.advance(name)
                except CallError as error:
                    unchecked = True
                    wait = max(wait, error.retry_after or 0.0)
                    self._record_error(batch, error, pending)
                else:
                    self._record_answer(batch.target)
                    unchecked = unchecked or batch.state == "ready"
                    ended = self._record_step(step, pending) or ended
        return _Sweep(ended, unchecked, wait)

    def _record_answer(self, target: BatchTarget) -> None:
        """Forget the errors of a provider that answers."""
        self._reached.add(target)
        self._problems.pop(target, None)
        self._failing_since.pop(target, None)
        self._refused.pop(target, None)

    def _record_step(self, step: BatchProgress, pending: set[str]) -> bool:
        """Update the pending batches and stopped targets after a step. Return whether the batch has
        ended."""
        batch = step.batch
        if step.queue_full:
            self._requeue(batch, pending)
            return False
        if step.received:
            self._on_received(step.received)
        if batch.open:
            if batch.state == "submitted" and time.time() - batch.at > OVERDUE:
                self._stop(
                    batch.target,
                    f"Batch {batch.name[:8]} is overdue (status {batch.status!r}). To send its"
                    f" requests again, run `claimeval batch cancel {batch.name[:8]}` first",
                )
            return False
        pending.discard(batch.name)
        self._full.discard(batch.target)
        self._queue_words.pop(batch.target, None)
        if step.received and step.received.fatal:
            self._stop(batch.target, step.received.fatal.message)
        elif batch.state == "cancelled":
            self._stop(
                batch.target,
                f"batch {batch.name[:8]} was cancelled; run the same command to send the remaining"
                " requests again",
            )
        elif batch.state == "refused" and self._state.refusals(batch.target) >= MAX_REFUSALS:
            self._stop(
                batch.target,
                f"{MAX_REFUSALS} batches in a row were refused: {batch.problem or batch.status}",
            )
        return True

    def _requeue(self, batch: Batch, pending: set[str]) -> None:
        """If the queue is full, wait for the target's other batches. If there are none, split the
        batch."""
        if batch.target not in self._queue_words:
            self._queue_words[batch.target] = batch.problem or "no room"
            logger.warning(
                "%s: the provider's queue of batches is full (%s)", batch.judge.name, batch.problem
            )
        others = {b.name for b in self._state.batches("submitted") if b.target == batch.target}
        if others:
            self._full.add(batch.target)
            pending |= others
        elif batch.requests > 1:
            self._split(batch, pending)
        else:
            self._stop(
                batch.target, f"the provider's queue has no room for one request: {batch.problem}"
            )

    def _split(self, batch: Batch, pending: set[str]) -> None:
        pending.discard(batch.name)
        pending.update(split(self._state, self._locks, batch))

    def _record_error(self, batch: Batch, error: CallError, pending: set[str]) -> None:
        since = self._failing_since.setdefault(batch.target, time.monotonic())
        self._problems[batch.target] = error.message
        refused = batch.state == "ready" and not error.retryable and not error.fatal
        too_large = error.status == 413 or _TOO_LARGE.search(error.message)
        if refused and too_large and batch.requests > 1:
            self._split(batch, pending)
        elif refused and self._refused[batch.target] + 1 < MAX_REFUSALS:
            self._refused[batch.target] += 1
        elif error.fatal or not error.retryable:
            times = f"refused {MAX_REFUSALS} times in a row: " if refused else ""
            self._stop(batch.target, times + error.message + _advice(batch, error))
        elif time.monotonic() - since > (patience := self._patience(batch)):
            waited = f"{patience / 60:.0f} minutes" if patience > 60 else f"{patience:.0f} seconds"
            self._stop(batch.target, f"unreachable for {waited}: {error.message}")

    def _patience(self, batch: Batch) -> float:
        """Return the seconds for which a provider may be away: long if it was there before, as
        what it has in hand is paid for; short if its address may be wrong."""
        was_there = batch.state == "submitted" or batch.target in self._reached
        return UNREACHABLE if was_there else FIRST_CONTACT

    def _stop(self, target: BatchTarget, reason: str) -> None:
        self.stopped.setdefault(target, reason)

    def _report(self, names: set[str], label: str, seconds: float) -> None:
        batches = [batch for name in names if (batch := self._state[name]).state != "split"]
        open_count = sum(batch.open for batch in batches)
        total = sum(batch.requests for batch in batches)
        answered = sum(batch.answered for batch in batches)
        failed = sum(batch.failed for batch in batches)
        elapsed = f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02d}:{int(seconds) % 60:02d}"
        text = (
            f"{label}, {open_count} open, {answered} of {total} requests answered, {failed} failed,"
            f" {elapsed}"
        )
        full = "".join(
            f", queue full: {words[:60]}" for words in dict.fromkeys(self._queue_words.values())
        )
        failing = "".join(
            f", no answer: {words[:60]}" for words in dict.fromkeys(self._problems.values())
        )
        self._progress.set_waiting("batches", text + full + failing)


def _advice(batch: Batch, error: CallError) -> str:
    """Return what helps if a server does not know the address of its batches, or a batch."""
    if batch.state == "ready" and error.status in (404, 405):
        return (
            " (if the server has no batches, set `batch: false` in the judge file of"
            f" {batch.judge.name})"
        )
    if error.status == 404:
        return (
            f" (batch {batch.id}; to give it up, run `claimeval batch cancel --forget"
            f" {batch.name[:8]}`)"
        )
    return ""


TIMEOUT = 60.0
"""Seconds that a provider has to answer."""


class CollectedBatches(NamedTuple):
    """Results of the batches that ended."""

    received: Received
    open: list[Batch]
    """The batches that have not ended."""


@asynccontextmanager
async def open_batch_admin(
    store: Store, prices: str | Path | None = None
) -> AsyncIterator[BatchAdmin]:
    """Open the batches of a store and the connections to their providers for the duration of the
    block."""
    locks = KeyLocks(store.folder / LOCK_FILE)
    try:
        with BatchState(store.folder) as state:
            async with BatchLifecycle(state, store, locks, TIMEOUT, prices) as lifecycle:
                yield BatchAdmin(state, locks, lifecycle)
    finally:
        locks.close()


class BatchAdmin:
    """The batches of one store."""

    def __init__(self, state: BatchState, locks: KeyLocks, lifecycle: BatchLifecycle) -> None:
        self._state = state
        self._locks = locks
        self._lifecycle = lifecycle

    def batches(self, *, closed: bool) -> list[Batch]:
        """Return the open batches, and with `closed` all others too, oldest first."""
        return self._state.batches() if closed else self._state.batches(*OPEN)

    def select(self, prefixes: Sequence[str]) -> list[Batch]:
        """Return the open batches with these name prefixes, or all open batches if there are no
        prefixes.

        Raises UsageError if a prefix matches no batch or several.
        """
        batches = self.batches(closed=False)
        return [self._select_one(prefix, batches) for prefix in prefixes] if prefixes else batches

    def _select_one(self, prefix: str, batches: list[Batch]) -> Batch:
        matches = [batch for batch in batches if batch.name.startswith(prefix)]
        if len(matches) != 1:
            names = ", ".join(batch.name[:8] for batch in matches or batches) or "none"
            problem = (
                f"{prefix!r} matches several open batches"
                if matches
                else f"No open batch {prefix!r}"
            )
            raise UsageError(f"{problem}. Open batches: {names}. `claimeval batch list` shows them")
        return matches[0]

    async def status(self, prefixes: Sequence[str]) -> list[Batch]:
        """Return the selected batches with their providers' current status."""
        return [await self._lifecycle.refresh(batch.name) for batch in self.select(prefixes)]

    async def collect(self, prefixes: Sequence[str]) -> CollectedBatches:
        """Read the results of the selected batches that have ended."""
        received = Received()
        open_batches = []
        for batch in self.select(prefixes):
            if batch.state == "submitted":
                step = await self._lifecycle.advance(batch.name)
                received.add(step.received or Received())
                batch = step.batch
            if batch.open:
                open_batches.append(batch)
        return CollectedBatches(received, open_batches)

    async def wait(self, progress: Progress) -> Received:
        """Wait for the open batches to end and return the counts of their results.

        If most batches ended long ago, the remaining ones are not waited for.
        """
        received = Received()
        poller = BatchPoller(self._state, self._lifecycle, self._locks, progress, received.add)
        await poller.poll(
            (batch.name for batch in self.batches(closed=False)),
            "batches",
            detach=False,
        )
        return received

    async def cancel(self, prefixes: Sequence[str]) -> list[Batch]:
        """Ask the providers to stop the selected batches, and drop batches that no provider has."""
        batches = self.select(prefixes)
        for batch in batches:
            await self._lifecycle.cancel(batch)
        return [await self._lifecycle.refresh(batch.name) for batch in batches]

    async def forget(self, prefixes: Sequence[str]) -> list[Batch]:
        """Drop the selected batches without asking their providers."""
        batches = self.select(prefixes)
        for batch in batches:
            await self._lifecycle.forget(batch)
        return [self._state[batch.name] for batch in batches]
