"""Sees batches through: submits them, looks at them now and then, and reads what comes, until all or most are over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from claimeval.execution.batch.lifecycle import BatchLifecycle, BatchProgress
from claimeval.execution.batch.records import Batch, BatchTarget
from claimeval.execution.batch.request_file import split
from claimeval.execution.batch.results import Received
from claimeval.execution.batch.state import BatchState
from claimeval.execution.pace import Clock, Sleep
from claimeval.providers.batches import WINDOW_HOURS
from claimeval.store.locks import KeyLocks
from claimeval.types.progress import Progress
from claimeval.types.requests import CallError

SOONEST, LATEST = 1.0, 60.0
"""Seconds between two looks: a tenth of the time waited so far, within these."""
AT_ONCE = 0.1
"""Seconds before the second look of a run that does not wait."""
PATIENCE = 600.0
"""Seconds after which those that ended are not kept waiting for those that did not."""
OUT_OF_REACH = 3600.0
"""Seconds of nothing but errors after which a provider is given up."""
OVERDUE = (WINDOW_HOURS + 2) * 3600.0
"""Seconds after which a batch should long have expired."""
REFUSALS = 3
"""Batches in a row that a provider may refuse as a whole before its judges are given up."""


class _Sweep(NamedTuple):
    """One look at every batch."""

    ended: bool
    """At least one has."""
    unsettled: bool
    """At least one could not be looked at since it was submitted."""
    wait: float
    """Seconds that a provider asks us to wait."""


class BatchPoller:
    """Sees the batches of one run through."""

    def __init__(
        self,
        state: BatchState,
        carrier: BatchLifecycle,
        turns: KeyLocks,
        progress: Progress,
        received: Callable[[Received], None],
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.stopped: dict[BatchTarget, str] = {}
        """Whom no further batch can reach, and why."""
        self._state = state
        self._carrier = carrier
        self._turns = turns
        self._progress = progress
        self._received = received
        self._clock = clock
        self._sleep = sleep
        self._full: set[BatchTarget] = set()
        """Whose queue takes no more until one of their batches has ended."""
        self._troubles: dict[BatchTarget, float] = {}
        """Since when there have been nothing but errors."""

    async def see_through(self, names: Iterable[str], label: str, *, detach: bool) -> bool:
        """Whether there is news to go on with.

        Waits for all batches to end, but not for the last of them where others ended long before; with `detach` only
        until each was submitted and looked at.
        """
        open_ones = set(names)
        shown = set(open_ones)
        began = self._clock()
        last_end: float | None = None
        while True:
            self._carrier.clear_away()
            sweep = await self._sweep(open_ones)
            shown |= open_ones
            now = self._clock()
            last_end = now if sweep.ended else last_end
            if not open_ones or (last_end is not None and now - last_end >= PATIENCE):
                break
            if detach and not sweep.unsettled:
                break
            self._show(shown, label, now - began)
            pause = min(max((now - began) / 10, SOONEST), LATEST)
            await self._sleep(max(AT_ONCE if detach and not self._troubles else pause, sweep.wait))
        self._progress.waits_for("batches", None)
        return not open_ones or last_end is not None

    async def _sweep(self, open_ones: set[str]) -> _Sweep:
        ended = unsettled = False
        wait = 0.0
        for name in sorted(open_ones):
            batch = self._known(name)
            if not batch.open or batch.group in self.stopped:
                open_ones.discard(name)
                ended = True
            elif batch.state in ("ready", "submitted") and not (batch.state == "ready" and batch.group in self._full):
                try:
                    step = await self._carrier.advance(name)
                except CallError as error:
                    unsettled = True
                    wait = max(wait, error.retry_after or 0.0)
                    self._trouble(batch, error)
                else:
                    self._troubles.pop(batch.group, None)
                    unsettled = unsettled or batch.state == "ready"
                    ended = self._after(step, open_ones) or ended
        return _Sweep(ended, unsettled, wait)

    def _after(self, step: BatchProgress, open_ones: set[str]) -> bool:
        """Draws the conclusions from a step; True when the batch has ended."""
        batch = step.batch
        if step.queue_full:
            self._queue_again(batch, open_ones)
            return False
        if step.received:
            self._received(step.received)
        if batch.open:
            if batch.state == "submitted" and time.time() - batch.at > OVERDUE:
                self._stop(
                    batch.group,
                    f"batch {batch.name[:8]} should have ended by now (the provider says {batch.status!r}); "
                    f"`claimeval batch cancel {batch.name[:8]}` gives it up, and its requests are asked again",
                )
            return False
        open_ones.discard(batch.name)
        self._full.discard(batch.group)
        if step.received and step.received.fatal:
            self._stop(batch.group, step.received.fatal.message)
        elif batch.state == "cancelled":
            self._stop(
                batch.group,
                f"batch {batch.name[:8]} was cancelled; run the same command to send the remaining requests again",
            )
        elif batch.state == "refused" and self._state.refusals(batch.group) >= REFUSALS:
            self._stop(batch.group, f"{REFUSALS} batches in a row were refused: {batch.problem or batch.status}")
        return True

    def _queue_again(self, batch: Batch, open_ones: set[str]) -> None:
        """Lets a batch that was not taken for now wait for the others, or halves it when there are none."""
        others = {b.name for b in self._state.batches("submitted") if b.group == batch.group}
        if others:
            self._full.add(batch.group)
            open_ones |= others
        elif batch.requests > 1:
            open_ones.discard(batch.name)
            open_ones.update(split(self._state, self._turns, batch))
        else:
            self._stop(batch.group, f"a batch of one request is too much for its queue: {batch.problem}")

    def _trouble(self, batch: Batch, error: CallError) -> None:
        advice = ""
        if batch.state == "ready" and error.status in (404, 405):
            advice = f" (a server without batches is asked with --online {batch.judge.name})"
        elif error.status == 404:
            advice = f" (asked for batch {batch.id}; `claimeval batch cancel --forget {batch.name[:8]}` gives it up)"
        since = self._troubles.setdefault(batch.group, self._clock())
        if error.fatal or not error.retryable:
            self._stop(batch.group, error.message + advice)
        elif self._clock() - since > OUT_OF_REACH:
            self._stop(batch.group, f"out of reach for {OUT_OF_REACH / 60:.0f} minutes: {error.message}")

    def _stop(self, whom: BatchTarget, why: str) -> None:
        self.stopped.setdefault(whom, why)

    def _known(self, name: str) -> Batch:
        batch = self._state.batch(name)
        assert batch, "batches are never taken out of the state"
        return batch

    def _show(self, names: set[str], label: str, seconds: float) -> None:
        batches = [self._known(name) for name in names]
        open_ones = sum(batch.open for batch in batches)
        total = sum(batch.requests for batch in batches)
        answered, failed = sum(batch.answered for batch in batches), sum(batch.failed for batch in batches)
        elapsed = f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02d}:{int(seconds) % 60:02d}"
        text = f"{label}, {open_ones} open, {answered} of {total} requests answered, {failed} failed, {elapsed}"
        self._progress.waits_for("batches", text)
