"""The store keeps bytes whole, runs nothing it finds, deletes nothing, and says what is wrong with
it in one line."""

from __future__ import annotations

import os
import pickle
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claimeval.store.store import MARKER, Store
from claimeval.types.errors import StoreError
from tests.store.places import key, sql

FULL = b"\x00\r\n\xff" * 20_000
"""80 kB with everything that text modes change."""


@pytest.mark.parametrize(
    "value", [b"", b"\x00", FULL, b"x" * 5_000_000, "é\u2028".encode()], ids=len
)
def test_bytes_come_back_as_they_were_put(folder: Path, value: bytes) -> None:
    with Store(folder) as store:
        assert store.get(key(1)) is None
        store.put(key(1), value)
        assert store.get(key(1)) == value
    with Store(folder) as again:
        assert again.get(key(1)) == value
    assert {file.name for file in folder.iterdir()} <= {
        MARKER,
        "cache.db",
        "cache.db-wal",
        "cache.db-shm",
    }


@settings(
    max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(value=st.binary(max_size=200))
def test_any_bytes_do(store: Store, value: bytes) -> None:
    store.put(key(value), value)
    assert store.get(key(value)) == value


def test_the_latest_of_two_values_holds(store: Store) -> None:
    store.put(key(1), b"old")
    store.put(key(1), b"new")
    assert store.get(key(1)) == b"new"
    assert len(store) == 1


def test_what_another_process_puts_while_replies_are_read_is_found(
    store: Store, folder: Path
) -> None:
    store.put("a" * 64, b"first")
    assert store.get("a" * 64) == store.get("a" * 64) == b"first"
    with Store(folder) as other:
        other.put("b" * 64, b"second")
    assert store.get("a" * 64) == b"first"
    assert store.get("b" * 64) == b"second"
    assert store.get("c" * 64) is None


def test_a_reader_does_not_keep_the_log_from_being_emptied_once_replies_are_put(
    store: Store, folder: Path
) -> None:
    store.put("a" * 64, b"first")
    assert store.get("a" * 64) == store.get("a" * 64) == b"first"
    for number in range(1500):
        store.put(f"{number:064x}", bytes(1000))
    assert (folder / "cache.db-wal").stat().st_size < 8_000_000


@pytest.mark.parametrize(
    "no_key", ["", "abc", "A" * 64, "g" * 64, "a" * 65, "a" * 63 + "\n", "a" * 63 + "\ud800"]
)
def test_only_digests_are_keys(store: Store, no_key: str) -> None:
    with pytest.raises(StoreError, match="is not a key of the reply cache"):
        store.put(no_key, b"x")
    with pytest.raises(StoreError, match="is not a key of the reply cache"):
        store.get(no_key)


def test_diskcache_by_itself_reads_the_keys_and_takes_nothing_but_bytes(store: Store) -> None:
    store.put("a" * 64, b"x")
    assert list(store._cache) == ["a" * 64]
    with pytest.raises(StoreError, match="keeps bytes only"):
        store._cache.set("a" * 64, "x")


def test_nothing_is_ever_evicted(folder: Path) -> None:
    with Store(folder) as store:
        store._cache.reset("size_limit", 1, update=False)
        for i in range(50):
            store.put(key(i), b"x" * 1000)
        store._cache.cull()
        store._cache.expire()
        assert len(store) == 50
        assert [store.get(key(i)) for i in range(50)] == [b"x" * 1000] * 50


def test_the_folder_is_the_owners_alone(folder: Path) -> None:
    with Store(folder) as store:
        store.put(key(1), b"x")
        modes = {
            stat.S_IMODE(file.stat().st_mode) & 0o077
            for file in (folder / "cache.db", folder / "cache.db-wal")
        }
        assert modes == {0}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)
    with Store(folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self.proof}",)


Plant = Callable[[Path, Path, Path], None]
"""(folder, proof of execution, a file outside) -> what a hostile hand does to the database."""

HOSTILE: dict[str, Plant] = {
    "a pickled value": lambda folder, proof, outside: sql(
        folder, "UPDATE Cache SET mode = 4, value = ?", pickle.dumps(Bomb(proof))
    ),
    "a pickled key": lambda folder, proof, outside: sql(
        folder, "UPDATE Cache SET raw = 0, key = ?", pickle.dumps(Bomb(proof))
    ),
    "a file to read": lambda folder, proof, outside: sql(
        folder, "UPDATE Cache SET mode = 2, value = NULL, filename = ?", f"../{outside.name}"
    ),
    "a text": lambda folder, proof, outside: sql(
        folder, "UPDATE Cache SET mode = 1, value = 'words'"
    ),
    "a number": lambda folder, proof, outside: sql(folder, "UPDATE Cache SET mode = 1, value = 7"),
    "half a value": lambda folder, proof, outside: sql(
        folder, "UPDATE Cache SET value = substr(value, 1, 33)"
    ),
    "an empty value": lambda folder, proof, outside: sql(folder, "UPDATE Cache SET value = x''"),
    "one bit": lambda folder, proof, outside: sql(
        folder, "UPDATE Cache SET value = x'00' || substr(value, 2)"
    ),
}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    file = tmp_path / "outside"
    file.write_text("secret")
    return file


def read_everything(folder: Path) -> list[object]:
    """All that a user of the store can do with it; what each came to."""
    found: list[object] = []
    acts: list[Callable[[Store], object]] = [
        lambda store: store.get(key(1)),
        list,
        lambda store: store.put(key(1), b"new"),
        lambda store: store.get(key(1)),
        lambda store: [row.value for row in store.rows()],
    ]
    for act in acts:
        try:
            with Store(folder) as store:
                found.append(act(store))
        except StoreError as error:
            found.append(error)
    return found


@pytest.mark.parametrize("plant", HOSTILE.values(), ids=HOSTILE)
def test_planted_rows_neither_run_nor_read_nor_delete(
    tmp_path: Path, folder: Path, outside: Path, plant: Plant
) -> None:
    with Store(folder) as store:
        store.put(key(1), b"value")
    proof = tmp_path / "proof"
    plant(folder, proof, outside)
    found = read_everything(folder)
    assert not proof.exists()
    assert outside.read_text() == "secret"
    assert "secret" not in repr(found)
    assert found[0] is None or isinstance(found[0], StoreError)


def test_keys_are_text_and_never_unpickled(store: Store, folder: Path) -> None:
    store.put(key(1), b"value")
    assert list(store._cache) == [key(1)]
    sql(folder, f"UPDATE Cache SET raw = 0, key = x'{pickle.dumps(key(1)).hex()}'")
    with pytest.raises(StoreError, match="is not a key of the reply cache"):
        list(store._cache)


@pytest.mark.parametrize(
    "change",
    [
        "mode = 2",
        "mode = 4",
        "filename = 'some/file'",
        "value = 'words'",
        "value = 7",
        "mode = 2, value = 'words'",
    ],
)
def test_a_row_that_is_wrong_in_one_way_is_refused_as_foreign(folder: Path, change: str) -> None:
    """The bytes are those that were put, so that nothing but the row's form tells that another
    program wrote it."""
    with Store(folder) as store:
        store.put(key(1), b"value")
    sql(folder, f"UPDATE Cache SET {change}")
    with Store(folder) as store:
        with pytest.raises(StoreError, match="has a damaged reply"):
            store.get(key(1))
        with pytest.raises(StoreError, match="a row that claimeval did not write"):
            store._cache.get(key(1))  # by which diskcache would unpickle a value or open a file


def test_a_planted_row_that_is_replaced_takes_no_file_with_it(folder: Path, outside: Path) -> None:
    with Store(folder) as store:
        store.put(key(1), b"value")
    sql(folder, "UPDATE Cache SET filename = ?", f"../{outside.name}")
    with Store(folder) as store, pytest.raises(StoreError, match="names a file"):
        store.put(key(1), b"new")
    assert outside.exists()


SETTINGS = {
    "eviction_policy": "least-recently-stored",
    "cull_limit": 10,
    "size_limit": 1000,
    "disk_min_file_size": 0,
    "_directory": "/tmp/elsewhere",
    "directory": "/tmp/elsewhere",
    "_disk": "x",
    "anything": 1,
}


@pytest.mark.parametrize(("name", "value"), SETTINGS.items())
def test_settings_that_could_delete_or_lead_elsewhere_are_refused(
    folder: Path, name: str, value: object
) -> None:
    with Store(folder) as store:
        store.put(key(1), b"value")
    sql(folder, "INSERT OR REPLACE INTO Settings VALUES (?, ?)", name, value)
    with pytest.raises(StoreError, match=f"with the setting {name}="):
        Store(folder)


def test_settings_that_could_lose_replies_are_set_right(folder: Path) -> None:
    Store(folder).close()
    for name, value in {
        "sqlite_journal_mode": "off",
        "sqlite_synchronous": 0,
        "sqlite_mmap_size": 2**40,
    }.items():
        sql(folder, "INSERT OR REPLACE INTO Settings VALUES (?, ?)", name, value)
    with Store(folder) as store:
        database = store._cache._sql
        assert database("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database("PRAGMA synchronous").fetchone() == (1,)
        assert database("PRAGMA mmap_size").fetchone() == (0,)
