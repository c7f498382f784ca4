"""Locks on keys between runs, threads and processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from claimeval.store.store import KeyLocks

KEY = "a" * 64
OTHER = "b" * 64

HOLDER = """
import sys
from pathlib import Path
from claimeval.store.store import KeyLocks
locks = KeyLocks(Path(sys.argv[1]))
print(locks.acquire(sys.argv[2]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "locks"


def test_a_lock_is_acquired_once_until_it_is_released(file: Path) -> None:
    one = KeyLocks(file)
    other = KeyLocks(file)
    assert one.acquire(KEY)
    assert not one.acquire(KEY)
    assert not other.acquire(KEY)
    assert other.acquire(OTHER)
    one.release(KEY)
    assert other.acquire(KEY)
    one.close()
    other.close()


def test_a_process_keeps_what_it_holds_when_another_of_its_runs_ends(file: Path) -> None:
    one = KeyLocks(file)
    other = KeyLocks(file)
    assert one.acquire(KEY)
    other.close()
    assert hold_elsewhere(file, KEY) == "False"
    one.close()


def hold_elsewhere(file: Path, key: str) -> str:
    """Whether another process gets the lock; it dies holding it."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file), key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    acquired = holder.stdout.readline().strip()
    holder.kill()
    holder.communicate()
    return acquired


def test_a_process_that_dies_releases_its_locks(file: Path) -> None:
    assert hold_elsewhere(file, KEY) == "True"
    locks = KeyLocks(file)
    assert locks.acquire(KEY)
    locks.close()


def test_a_store_that_was_removed_and_created_again_has_new_locks(file: Path) -> None:
    old = KeyLocks(file)
    assert old.acquire(KEY)
    file.unlink()
    new = KeyLocks(file)
    assert new.acquire(KEY)
    old.close()
    new.close()
