"""Signals while a run waits for its last replies and closes what is open."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from claimeval.execution.runner import Interrupt


async def drain(seconds: float) -> None:
    """Receive all replies in flight as soon as someone waits for them."""


async def interrupted(signals: int, closed: list[str]) -> bool:
    """Run until a signal cancels it, and get further signals before and while it closes what is
    open."""
    interrupt = Interrupt(drain)
    with interrupt.listening():
        try:
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.sleep(30)
            finally:
                for _ in range(signals - 1):
                    os.kill(os.getpid(), signal.SIGTERM)
                    await asyncio.sleep(0.01)
                closed.append("files")
        except asyncio.CancelledError:
            return interrupt.requested
    return False


def test_one_signal_ends_the_run_in_an_orderly_way() -> None:
    closed: list[str] = []
    before = signal.getsignal(signal.SIGTERM)
    assert asyncio.run(interrupted(1, closed))
    assert closed == ["files"]
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("signals", [2, 3])
def test_a_signal_while_files_are_closed_is_an_interruption_and_no_error(signals: int) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(interrupted(signals, []))
    assert signal.getsignal(signal.SIGTERM) is before
