"""The store keeps bytes whole, runs nothing it finds, deletes nothing, and says what is wrong with it in one line."""

from __future__ import annotations

import hashlib
import os
import pickle
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claimeval.errors import StoreError, UsageError
from claimeval.store import MARKER, Store

FULL = b"\x00\r\n\xff" * 20_000
"""80 kB with everything that text modes change."""


@pytest.fixture(autouse=True)
def _nothing_unpickles(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> object:
        raise AssertionError("the store unpickles")

    monkeypatch.setattr(pickle, "load", refuse)
    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr("diskcache.core.pickle.load", refuse)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with Store(folder) as store:
        yield store


def key(of: object) -> str:
    return hashlib.sha256(str(of).encode()).hexdigest()


def sql(folder: Path, statement: str, *values: object) -> None:
    """What another program does to the database."""
    connection = sqlite3.connect(folder / "cache.db", isolation_level=None)
    connection.execute(statement, values)
    connection.close()


@pytest.mark.parametrize("value", [b"", b"\x00", FULL, b"x" * 5_000_000, "é\u2028".encode()], ids=len)
def test_bytes_come_back_as_they_were_put(folder: Path, value: bytes) -> None:
    with Store(folder) as store:
        assert store.get(key(1)) is None
        store.put(key(1), value)
        assert store.get(key(1)) == value
    with Store(folder) as again:
        assert again.get(key(1)) == value
    assert {file.name for file in folder.iterdir()} <= {MARKER, "cache.db", "cache.db-wal", "cache.db-shm"}


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(value=st.binary(max_size=200))
def test_any_bytes_do(store: Store, value: bytes) -> None:
    store.put(key(value), value)
    assert store.get(key(value)) == value


def test_the_latest_of_two_values_holds(store: Store) -> None:
    store.put(key(1), b"old")
    store.put(key(1), b"new")
    assert store.get(key(1)) == b"new"
    assert len(store) == 1


def test_what_another_process_puts_while_replies_are_read_is_found(store: Store, folder: Path) -> None:
    store.put("a" * 64, b"first")
    assert store.get("a" * 64) == store.get("a" * 64) == b"first"
    with Store(folder) as other:
        other.put("b" * 64, b"second")
    assert store.get("a" * 64) == b"first"
    assert store.get("b" * 64) == b"second"
    assert store.get("c" * 64) is None


def test_a_reader_does_not_keep_the_log_from_being_emptied_once_replies_are_put(store: Store, folder: Path) -> None:
    store.put("a" * 64, b"first")
    assert store.get("a" * 64) == store.get("a" * 64) == b"first"
    for number in range(1500):
        store.put(f"{number:064x}", bytes(1000))
    assert (folder / "cache.db-wal").stat().st_size < 8_000_000


@pytest.mark.parametrize("no_key", ["", "abc", "A" * 64, "g" * 64, "a" * 65, "a" * 63 + "\n", "a" * 63 + "\ud800"])
def test_only_digests_are_keys(store: Store, no_key: str) -> None:
    with pytest.raises(StoreError, match="is not a key of this store"):
        store.put(no_key, b"x")
    with pytest.raises(StoreError, match="is not a key of this store"):
        store.get(no_key)


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
        modes = {stat.S_IMODE(file.stat().st_mode) & 0o077 for file in (folder / "cache.db", folder / "cache.db-wal")}
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
    "a text": lambda folder, proof, outside: sql(folder, "UPDATE Cache SET mode = 1, value = 'words'"),
    "a number": lambda folder, proof, outside: sql(folder, "UPDATE Cache SET mode = 1, value = 7"),
    "half a value": lambda folder, proof, outside: sql(folder, "UPDATE Cache SET value = substr(value, 1, 33)"),
    "an empty value": lambda folder, proof, outside: sql(folder, "UPDATE Cache SET value = x''"),
    "one bit": lambda folder, proof, outside: sql(folder, "UPDATE Cache SET value = x'00' || substr(value, 2)"),
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
def test_settings_that_could_delete_or_lead_elsewhere_are_refused(folder: Path, name: str, value: object) -> None:
    with Store(folder) as store:
        store.put(key(1), b"value")
    sql(folder, "INSERT OR REPLACE INTO Settings VALUES (?, ?)", name, value)
    with pytest.raises(StoreError, match=f"with the setting {name}="):
        Store(folder)


def test_settings_that_could_lose_replies_are_set_right(folder: Path) -> None:
    Store(folder).close()
    for name, value in {"sqlite_journal_mode": "off", "sqlite_synchronous": 0, "sqlite_mmap_size": 2**40}.items():
        sql(folder, "INSERT OR REPLACE INTO Settings VALUES (?, ?)", name, value)
    with Store(folder) as store:
        database = store._cache._sql
        assert database("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database("PRAGMA synchronous").fetchone() == (1,)
        assert database("PRAGMA mmap_size").fetchone() == (0,)


def zeroed(data: bytes) -> bytes:
    return bytes(len(data))


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "zeroed": zeroed,
    "garbage": lambda data: b"garbage " * (len(data) // 8),
    "half": lambda data: data[: len(data) // 2],
    "head only": lambda data: data[:100],
    "head zeroed": lambda data: bytes(4096) + data[4096:],
    "body zeroed": lambda data: data[:4096] + bytes(len(data) - 4096),
}


def read_all(folder: Path, count: int) -> None:
    with Store(folder) as store:
        for i in range(count):
            assert store.get(key(i)) == b"x" * 1000


@pytest.mark.parametrize("damage", BROKEN.values(), ids=BROKEN)
def test_a_damaged_database_is_refused_and_left_as_it_is(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    with Store(folder) as store:
        for i in range(100):
            store.put(key(i), b"x" * 1000)
    database = folder / "cache.db"
    damaged = damage(database.read_bytes())
    database.write_bytes(damaged)
    with pytest.raises(StoreError, match=str(folder)):
        read_all(folder, 100)
    assert database.read_bytes()[:4096] == damaged[:4096]


def test_a_database_that_is_gone_is_not_replaced_by_an_empty_one(folder: Path) -> None:
    Store(folder).close()
    (folder / "cache.db").unlink()
    with pytest.raises(StoreError, match="has lost its database"):
        Store(folder)


def test_a_folder_that_holds_something_else_is_refused_untouched(folder: Path) -> None:
    import diskcache

    diskcache.Cache(str(folder)).close()
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(StoreError, match="is not a claimeval store"):
        Store(folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


@pytest.mark.parametrize("content", ["", "claimeval-replies-0\n", "x" * 1000])
def test_a_store_of_another_format_is_refused(folder: Path, content: str) -> None:
    Store(folder).close()
    (folder / MARKER).write_text(content)
    with pytest.raises(StoreError, match="has the format"):
        Store(folder)


def test_a_file_in_the_place_of_the_folder_is_a_clear_error(folder: Path) -> None:
    folder.write_text("x")
    with pytest.raises(UsageError, match="is a file; --cache names a folder"):
        Store(folder)


WRITER = """
import sys
from pathlib import Path
from claimeval.store import Store
from tests.test_store import key
with Store(Path(sys.argv[1])) as store:
    for i in range(int(sys.argv[2]), int(sys.argv[3])):
        store.put(key(i), b"%d " % i * 400)
        print(i, flush=True)
"""
ROOT = Path(__file__).parents[1]


def writer(folder: Path, first: int, last: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), str(first), str(last)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def test_four_processes_may_begin_a_store_at_once(folder: Path) -> None:
    writers = [writer(folder, 100 * i, 100 * (i + 1)) for i in range(4)]
    for process in writers:
        process.communicate()
        assert process.returncode == 0
    with Store(folder) as store:
        assert all(store.get(key(i)) == b"%d " % i * 400 for i in range(400))


def test_what_was_put_outlives_a_kill(folder: Path) -> None:
    process = writer(folder, 0, 100_000)
    assert process.stdout is not None
    for _ in range(200):
        said = process.stdout.readline()
    process.kill()
    said = (process.communicate()[0].splitlines() or [said])[-1]
    with Store(folder) as store:
        assert all(store.get(key(i)) == b"%d " % i * 400 for i in range(int(said)))


FILLER = """
import resource, sys, time
from pathlib import Path
from claimeval.errors import StoreError
from claimeval.store import Store
from tests.test_store import key
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
put, started = 0, time.process_time()
try:
    with Store(Path(sys.argv[1])) as store:
        while True:
            store.put(key(put), b"x" * 10_000)
            put += 1
except StoreError as error:
    print(put, error, sep="\\n")
"""


def test_a_disk_that_is_full_is_one_error_at_once_and_what_was_put_stays(folder: Path) -> None:
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", FILLER, str(folder)], capture_output=True, text=True, cwd=ROOT, check=True, timeout=30
    )
    put, said = done.stdout.splitlines()
    assert time.monotonic() - started < 10
    assert said.startswith(f"the store {folder} cannot be ")
    assert int(put) > 50
    with Store(folder) as store:
        assert all(store.get(key(i)) == b"x" * 10_000 for i in range(int(put)))
        store.put(key("more"), b"again")


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="store cannot be used: Not a directory"):
        Store(tmp_path / "file" / "store")


def test_the_store_of_another_user_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(folder).close()
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(StoreError, match="belongs to another user"):
        Store(folder)


def test_a_lock_held_too_long_and_a_database_that_cannot_be_written_are_told_apart(folder: Path) -> None:
    with Store(folder) as store:
        store._cache._sql("PRAGMA query_only = 1")
        with pytest.raises(StoreError, match="cannot be written: attempt to write a readonly database"):
            store.put(key(1), b"x")
        store._cache._sql("PRAGMA query_only = 0")
        store._cache._sql("PRAGMA busy_timeout = 50")
        other = sqlite3.connect(folder / "cache.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked by another process"):
            store.put(key(1), b"x")
        other.execute("ROLLBACK")
        other.close()
        store.put(key(1), b"x")


def test_a_disk_that_fails_to_flush_stops_the_next_reply(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(key(1), b"x")

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    store.sync()
    with pytest.raises(StoreError, match="Input/output error"):
        store.put(key(2), b"x")


def test_threads_may_use_stores_of_one_folder(folder: Path) -> None:
    def work(start: int) -> None:
        with Store(folder) as store:
            for i in range(start, start + 50):
                store.put(key(i), b"%d" % i)

    threads = [threading.Thread(target=work, args=(50 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store(folder) as store:
        assert [store.get(key(i)) for i in range(200)] == [b"%d" % i for i in range(200)]
