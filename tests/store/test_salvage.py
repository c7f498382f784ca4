"""What can be read of a damaged reply cache is saved: every reply whose pages are whole."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from claimeval.store.salvage import salvage
from claimeval.store.store import Store, replace_database
from claimeval.types.errors import StoreError
from tests.command_line import call
from tests.store.places import key

MANY = 300


def reply(number: int) -> bytes:
    """From some bytes to several pages, each unlike the others."""
    return random.Random(number).randbytes([40, 900, 4_000, 4_100, 20_000][number % 5])


@pytest.fixture
def full(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    with Store(folder) as store:
        for number in range(MANY):
            store.put(key(number), reply(number))
    return folder


def test_all_of_a_whole_cache_is_found_in_order(full: Path) -> None:
    found = salvage(full)
    assert [saved.key for saved in found.replies] == [key(number) for number in range(MANY)]
    assert [saved.value for saved in found.replies] == [reply(number) for number in range(MANY)]
    assert found.damaged == 0


def test_replies_that_are_only_in_the_log_are_found(tmp_path: Path) -> None:
    with Store(tmp_path / "cache") as store:
        for number in range(20):
            store.put(key(number), reply(number))
        shutil.copytree(tmp_path / "cache", tmp_path / "copy")
    assert len(salvage(tmp_path / "copy").replies) == 20


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_of_a_file_that_was_cut_what_is_left_is_saved(full: Path, share: float) -> None:
    database = full / "cache.db"
    data = database.read_bytes()
    database.write_bytes(data[: int(len(data) * share)])
    (full / "cache.db-wal").unlink(missing_ok=True)
    found = salvage(full)
    assert len(found.replies) >= 0.8 * share * MANY
    assert all(reply(number) for number in range(3))
    numbers = {key(number): number for number in range(MANY)}
    assert all(saved.value == reply(numbers[saved.key]) for saved in found.replies)


@pytest.mark.parametrize("seed", range(5))
def test_flipped_bits_cost_the_replies_that_they_hit(full: Path, seed: int) -> None:
    database = full / "cache.db"
    data = bytearray(database.read_bytes())
    chosen = random.Random(seed)
    for _ in range(200):
        data[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)
    database.write_bytes(data)
    (full / "cache.db-wal").unlink(missing_ok=True)
    found = salvage(full)
    numbers = {key(number): number for number in range(MANY)}
    assert all(saved.value == reply(numbers[saved.key]) for saved in found.replies)
    assert len(found.replies) >= MANY - 200
    assert len(found.replies) > MANY // 3


@pytest.mark.parametrize("size", [512, 1024, 8192, 65_535])
def test_a_header_with_another_size_of_pages_costs_no_reply(full: Path, size: int) -> None:
    database = full / "cache.db"
    data = bytearray(database.read_bytes())
    data[16:18] = size.to_bytes(2, "big")
    database.write_bytes(data)
    (full / "cache.db-wal").unlink(missing_ok=True)
    assert len(salvage(full).replies) == MANY


def test_garbage_has_no_replies(full: Path) -> None:
    (full / "cache.db").write_bytes(random.Random(1).randbytes(200_000))
    assert salvage(full).replies == ()


def test_a_saved_cache_is_used_as_before(full: Path) -> None:
    kept = salvage(full).replies
    assert replace_database(full, kept, full / "aside") == MANY
    assert sorted(path.name for path in (full / "aside").glob("cache.db")) == ["cache.db"]
    with Store(full) as store:
        assert store.get(key(3)) == reply(3)
        store.check()


def test_the_command_says_what_it_saved_and_the_error_names_the_command(full: Path) -> None:
    whole = call("cache", "repair", "--cache", "cache", folder=full.parent)
    assert (whole.returncode, "the database is not damaged" in whole.stdout) == (0, True)
    database = full / "cache.db"
    database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])
    (full / "cache.db-wal").unlink(missing_ok=True)
    with (
        pytest.raises(StoreError, match="`claimeval cache repair` saves what can be read"),
        Store(full) as store,
    ):
        store.check()
    done = call("cache", "repair", "--cache", "cache", folder=full.parent)
    assert done.returncode == 0, done.stderr
    assert "replies saved; their questions will not be asked again" in done.stdout
    assert "is kept in cache/damaged-" in " ".join(done.stdout.split())
    with Store(full) as store:
        store.check()
        assert len(store) > 100


def test_damaged_rows_in_a_whole_database_are_repaired_too(full: Path) -> None:
    database = full / "cache.db"
    data = database.read_bytes()
    start = data.index(reply(4)[:60])
    database.write_bytes(data[:start] + b"#" * 40 + data[start + 40 :])
    (full / "cache.db-wal").unlink(missing_ok=True)
    done = call("cache", "repair", "--cache", "cache", folder=full.parent)
    assert (done.returncode, f"{MANY - 1} replies saved" in done.stdout) == (0, True), done.stdout
    with Store(full) as store:
        assert (store.get(key(4)), store.get(key(3))) == (None, reply(3))
