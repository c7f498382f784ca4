"""A SQLite file that another process writes to is waited for, and the event loop goes on."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from claimeval.execution.batch.state import FILE, BatchState
from claimeval.execution.budget import Budget, Ledger, Spending
from claimeval.store import locked
from claimeval.store.store import Store
from claimeval.types.errors import StoreError
from claimeval.types.requests import Completion, Judge, Message, Request, Usage
from tests.store.places import key

HELD = 0.4
JUDGE = Judge.model_validate(
    {
        "model": "openai:m",
        "endpoint": "http://127.0.0.1/v1",
        "price": {"input": 2.0, "output": 8.0},
    }
)


@contextlib.contextmanager
def written_to(file: Path, seconds: float | None = HELD) -> Iterator[None]:
    """Another connection writes to the file for some seconds; None: until the block ends."""
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE IF NOT EXISTS foreign_table (x)")
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO foreign_table VALUES (1)")
    timer = threading.Timer(seconds or 0, other.execute, ("COMMIT",))
    if seconds is not None:
        timer.start()
    try:
        yield
    finally:
        if seconds is not None:
            timer.join()
        else:
            other.execute("ROLLBACK")
        other.close()


def test_a_ledger_that_is_opened_while_a_process_writes_to_the_young_file_waits(
    tmp_path: Path,
) -> None:
    file = tmp_path / "spending.db"
    with written_to(file):
        started = time.monotonic()
        with Ledger(file, "run", 10, None) as ledger:
            assert time.monotonic() - started > HELD / 2, "SQLite itself refuses at once"
            assert ledger.reserve(0.0)


def test_the_state_of_batches_waits_too(tmp_path: Path) -> None:
    Store(tmp_path).close()
    with written_to(tmp_path / FILE):
        started = time.monotonic()
        with BatchState(tmp_path) as state:
            assert time.monotonic() - started > HELD / 2
            assert state.batches() == []


def test_a_writer_that_does_not_end_is_named_after_the_longest_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locked, "MAX_WAIT", 0.1)
    file = tmp_path / "spending.db"
    with written_to(file, None), pytest.raises(StoreError, match="database is locked"):
        Ledger(file, "run", 10, None)


OPENER = """
import sys
from pathlib import Path
from claimeval.execution.budget import Ledger
sys.stdin.readline()
with Ledger(Path(sys.argv[1]), "run", 100, None) as ledger:
    assert ledger.reserve(0.0)
"""


def test_first_runs_that_start_together_all_open_one_new_ledger(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPENER, str(tmp_path / "spending.db")]
    openers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)
    ]
    for opener in openers:
        assert opener.stdin
        opener.stdin.write(b"\n")
        opener.stdin.flush()
    assert [opener.communicate()[1] for opener in openers] == [b""] * 4
    with Ledger(tmp_path / "spending.db", "run", None, None) as ledger:
        assert ledger.spending.calls == 4


async def _heartbeats(until: asyncio.Event) -> int:
    count = 0
    while not until.is_set():
        await asyncio.sleep(0.01)
        count += 1
    return count


def _request(text: str = "x") -> Request:
    return Request(
        judge=JUDGE, messages=(Message("user", text),), reply_format="json", max_tokens=100
    )


def test_the_event_loop_goes_on_while_the_ledger_waits(tmp_path: Path) -> None:
    file = tmp_path / "spending.db"
    reply = Completion(body=b"", text="", usage=Usage(1_000, 100))

    async def spend(budget: Budget) -> int:
        first = await budget.reserve(_request())
        done = asyncio.Event()
        beats = asyncio.create_task(_heartbeats(done))
        with written_to(file, None):
            release = asyncio.create_task(asyncio.sleep(HELD))
            budget.settle(_request(), first, reply)
            waiting = asyncio.create_task(budget.reserve(_request("y")))
            await release
            assert not waiting.done(), "no call is sent that the ledger does not know"
        second = await waiting
        budget.settle(_request("y"), second, reply)
        done.set()
        return await beats

    with Ledger(file, "run", None, 1.0) as ledger:
        budget = Budget([JUDGE], ledger)
        assert asyncio.run(spend(budget)) > HELD / 0.01 / 4, "the loop was stopped"
        budget.close()
        assert ledger.spending == Spending(2, 2 * (1_000 * 2e-6 + 100 * 8e-6))


def test_what_could_not_be_settled_at_once_is_settled_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "spending.db"

    async def spend(budget: Budget) -> None:
        reserved = await budget.reserve(_request())
        with written_to(file, None):
            budget.settle(_request(), reserved, Completion(b"", "", usage=Usage(1_000, 100)))

    with Ledger(file, "run", None, 1.0) as ledger:
        budget = Budget([JUDGE], ledger)
        asyncio.run(spend(budget))
        assert ledger.spending == Spending(1, 0.000866), "33 bytes and 100 tokens at most"
        budget.close()
        assert ledger.spending == Spending(1, 0.0028)


def test_a_reply_is_stored_at_once_or_refused_while_another_process_writes(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        writer = written_to(tmp_path / "cache.db", None)
        with writer, pytest.raises(locked.LockedError, match="locked by another process"):
            store.put_at_once(key(1), b"x")
        store.put_at_once(key(1), b"x")
        with written_to(tmp_path / "cache.db"):
            store.put(key(2), b"y")
        assert (store.get(key(1)), store.get(key(2))) == (b"x", b"y")
