"""What is wrong with a store is said in one line, and what was put outlives kills, full disks and
other processes."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from claimeval.store import locked
from claimeval.store.store import MARKER, Store
from claimeval.types.errors import StoreError, UsageError
from tests.store.places import key


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
def test_a_damaged_database_is_refused_and_left_as_it_is(
    folder: Path, damage: Callable[[bytes], bytes]
) -> None:
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
    with pytest.raises(StoreError, match="has no database"):
        Store(folder)


def test_a_folder_that_holds_something_else_is_refused_untouched(folder: Path) -> None:
    import diskcache

    diskcache.Cache(str(folder)).close()
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(StoreError, match="is not a claimeval reply cache"):
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
    with pytest.raises(UsageError, match="is a file; --cache needs a folder"):
        Store(folder)


WRITER = """
import sys
from pathlib import Path
from claimeval.store.store import Store
from tests.store.places import key
with Store(Path(sys.argv[1])) as store:
    for i in range(int(sys.argv[2]), int(sys.argv[3])):
        store.put(key(i), b"%d " % i * 400)
        print(i, flush=True)
"""
ROOT = Path(__file__).parents[2]


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
from claimeval.types.errors import StoreError
from claimeval.store.store import Store
from tests.store.places import key
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
        [sys.executable, "-c", FILLER, str(folder)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
        timeout=30,
    )
    put, said = done.stdout.splitlines()
    assert time.monotonic() - started < 10
    assert said.startswith(f"the reply cache {folder} cannot be ")
    assert int(put) > 50
    with Store(folder) as store:
        assert all(store.get(key(i)) == b"x" * 10_000 for i in range(int(put)))
        store.put(key("more"), b"again")


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="store cannot be written: Not a directory; name a folder"):
        Store(tmp_path / "file" / "store")


def test_a_full_disk_is_said_with_what_to_do(folder: Path) -> None:
    with Store(folder) as store:
        store._cache._sql(
            f"PRAGMA max_page_count = {store._cache._sql('PRAGMA page_count').fetchone()[0]}"
        )
        with pytest.raises(StoreError, match="database or disk is full; free space on its disk"):
            store.put(key(1), b"x" * 100_000)


def test_a_folder_that_cannot_be_written_is_refused_with_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(folder).close()
    monkeypatch.setattr(
        os, "access", lambda *_: False
    )  # as on a disk that is mounted read-only, also for root
    with pytest.raises(
        StoreError, match="cannot be written, which SQLite needs even for reading; copy the folder"
    ):
        Store(folder)


def test_the_store_of_another_user_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(folder).close()
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(StoreError, match="belongs to another user"):
        Store(folder)


def test_a_lock_held_too_long_and_a_database_that_cannot_be_written_are_told_apart(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(folder) as store:
        store._cache._sql("PRAGMA query_only = 1")
        with pytest.raises(
            StoreError, match="cannot be written: attempt to write a readonly database"
        ):
            store.put(key(1), b"x")
        store._cache._sql("PRAGMA query_only = 0")
        monkeypatch.setattr(locked, "MAX_WAIT", 0.05)
        other = sqlite3.connect(folder / "cache.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked by another process"):
            store.put(key(1), b"x")
        other.execute("ROLLBACK")
        other.close()
        store.put(key(1), b"x")


def test_a_disk_that_fails_to_flush_stops_the_next_reply(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
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
