"""One asks, the others wait: tasks, threads and processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from claimeval.store.locks import KeyLocks

KEY, OTHER = "a" * 64, "b" * 64

HOLDER = """
import sys
from pathlib import Path
from claimeval.store.locks import KeyLocks
turns = KeyLocks(Path(sys.argv[1]))
print(turns.take(sys.argv[2]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "turns"


def test_a_turn_is_taken_once_until_it_is_given(file: Path) -> None:
    one, other = KeyLocks(file), KeyLocks(file)
    assert one.take(KEY)
    assert not one.take(KEY)
    assert not other.take(KEY)
    assert other.take(OTHER)
    one.give(KEY)
    assert other.take(KEY)
    one.close()
    other.close()


def test_a_process_keeps_what_it_holds_when_another_of_its_runs_ends(file: Path) -> None:
    one, other = KeyLocks(file), KeyLocks(file)
    assert one.take(KEY)
    other.close()
    assert hold_elsewhere(file, KEY) == "False"
    one.close()


def hold_elsewhere(file: Path, key: str) -> str:
    """Whether another process gets the turn; it dies holding it."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file), key], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    said = holder.stdout.readline().strip()
    holder.kill()
    holder.communicate()
    return said


def test_a_process_that_dies_frees_its_turns(file: Path) -> None:
    assert hold_elsewhere(file, KEY) == "True"
    turns = KeyLocks(file)
    assert turns.take(KEY)
    turns.close()


def test_a_store_that_was_removed_and_made_anew_has_turns_of_its_own(file: Path) -> None:
    old = KeyLocks(file)
    assert old.take(KEY)
    file.unlink()
    new = KeyLocks(file)
    assert new.take(KEY)
    old.close()
    new.close()
