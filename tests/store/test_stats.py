"""What a store holds is added up, and damaged rows are found, dropped on request, and never touched
otherwise."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from claimeval.store.stats import PromptUsage, Verification, collect_stats, verify
from claimeval.store.store import ReplyOrigin, Store, join
from claimeval.types.chat_format import write_chat
from claimeval.types.errors import StoreError

BODY = write_chat("fine", "m")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as store:
        yield store


def key(number: int) -> str:
    return f"{number:064x}"


def put(
    store: Store, number: int, model: str = "openai:a", prompt: str = "p", at: float = 100.0
) -> bytes:
    value = join(ReplyOrigin(model, None, prompt, at, 0.5), BODY)
    store.put(key(number), value)
    return value


def sql(store: Store, statement: str, *values: object) -> None:
    """What another program, or a failing disk, does to the database."""
    connection = sqlite3.connect(store.folder / "cache.db", isolation_level=None)
    connection.execute(statement, values)
    connection.close()


DAMAGE = {
    "value": "UPDATE Cache SET value = x'00' WHERE rowid = 2",
    "checksum": "UPDATE Cache SET value = x'ff' || substr(value, 2) WHERE rowid = 2",
    "cut": "UPDATE Cache SET value = substr(value, 1, 50) WHERE rowid = 2",
    "text": "UPDATE Cache SET value = 'words' WHERE rowid = 2",
    "null": "UPDATE Cache SET value = NULL WHERE rowid = 2",
    "pickle": "UPDATE Cache SET mode = 4 WHERE rowid = 2",
    "file": "UPDATE Cache SET filename = '/etc/hostname' WHERE rowid = 2",
    "key": "UPDATE Cache SET key = 'no digest' WHERE rowid = 2",
    "pickled key": "UPDATE Cache SET raw = 0 WHERE rowid = 2",
    "expiry": "UPDATE Cache SET expire_time = 1 WHERE rowid = 2",
}


def test_an_empty_store_adds_up_to_nothing(store: Store) -> None:
    assert collect_stats(store).model_dump() == {
        "replies": 0,
        "bytes": 0,
        "damaged": 0,
        "unreadable": 0,
        "groups": (),
    }


def test_replies_are_added_up_by_model_and_prompt(store: Store) -> None:
    sizes = [
        len(put(store, 1, "openai:b", "x", at=500.0)),
        len(put(store, 2, "openai:a", "y", at=300.0)),
        len(put(store, 3, "openai:b", "x", at=200.0)),
    ]
    found = collect_stats(store)

    assert (found.replies, found.bytes, found.damaged, found.unreadable) == (3, sum(sizes), 0, 0)
    assert found.groups == (
        PromptUsage(
            model="openai:a",
            endpoint=None,
            prompt="y",
            replies=1,
            bytes=sizes[1],
            first=300.0,
            last=300.0,
        ),
        PromptUsage(
            model="openai:b",
            endpoint=None,
            prompt="x",
            replies=2,
            bytes=sizes[0] + sizes[2],
            first=200.0,
            last=500.0,
        ),
    )


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_every_kind_of_damage_is_found_and_dropped_only_on_request(
    store: Store, statement: str
) -> None:
    for number in (1, 2, 3):
        put(store, number)
    sql(store, statement)

    assert collect_stats(store).damaged == 1
    assert verify(store, drop_damaged=False) == Verification(
        replies=2, damaged=1, unreadable=0, dropped=0
    )
    assert verify(store, drop_damaged=True) == Verification(
        replies=2, damaged=1, unreadable=0, dropped=1
    )
    assert verify(store, drop_damaged=True) == Verification(
        replies=2, damaged=0, unreadable=0, dropped=0
    )
    assert (store.get(key(1)), store.get(key(2)), store.get(key(3))) != (None, None, None)
    assert store.get(key(2)) is None
    assert len(store) == 2
    assert Path("/etc/hostname").exists()


def test_a_question_whose_damaged_reply_was_dropped_can_be_answered_again(store: Store) -> None:
    put(store, 2)
    sql(store, "UPDATE Cache SET value = x'00'")
    verify(store, drop_damaged=True)
    value = put(store, 2, at=900.0)

    assert store.get(key(2)) == value


def test_a_reply_under_the_key_of_another_is_damaged(store: Store) -> None:
    value = put(store, 1)
    _ = put(store, 2)
    sql(store, f"UPDATE Cache SET value = (SELECT value FROM Cache WHERE key = '{key(1)}')")

    assert verify(store, drop_damaged=False) == Verification(
        replies=1, damaged=1, unreadable=0, dropped=0
    )
    assert store.get(key(1)) == value
    with pytest.raises(StoreError, match=f"has a damaged reply under {key(2)[:12]}"):
        store.get(key(2))


def verify_folder(folder: Path) -> None:
    with Store(folder) as store:
        verify(store, drop_damaged=False)


def test_a_database_with_pages_in_the_place_of_others_is_read_to_an_end_and_refused(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "store"
    with Store(folder) as store:
        for number in range(30):
            store.put(key(number), bytes([number]) * 1000)
    database = folder / "cache.db"
    whole = database.read_bytes()
    pages = [whole[start : start + 4096] for start in range(0, len(whole), 4096)]
    for number in range(1, len(pages) - 1):
        damaged = [*pages[:number], pages[number + 1], *pages[number + 1 :]]
        if damaged == pages:
            continue
        database.write_bytes(b"".join(damaged))
        with pytest.raises(StoreError, match=f"the reply cache {re.escape(str(folder))}"):
            verify_folder(folder)


def test_a_row_that_was_mended_meanwhile_is_not_dropped(store: Store) -> None:
    put(store, 1)
    sql(store, "UPDATE Cache SET value = x'00'")
    damaged = [row.number for row in store.rows() if row.value is None]
    value = put(store, 1, at=900.0)  # another process asks again, between the look and the repair

    assert store.drop(damaged) == 0
    assert store.get(key(1)) == value


@pytest.mark.parametrize("origin", [b"", b"[]", b"{}", b'{"model":1}', b"\xff"])
def test_a_whole_row_without_a_reply_is_counted_and_kept(store: Store, origin: bytes) -> None:
    put(store, 1)
    store.put(key(2), origin + b"\nbody")

    assert collect_stats(store).unreadable == 1
    assert verify(store, drop_damaged=True) == Verification(
        replies=1, damaged=0, unreadable=1, dropped=0
    )
    assert store.get(key(2)) == origin + b"\nbody"


def test_rows_come_in_the_order_they_were_first_put_over_many_pages(store: Store) -> None:
    for number in range(600):
        put(store, number)
    put(store, 5, at=900.0)

    assert [row.key for row in store.rows()] == [key(number) for number in range(600)]
    assert [row.key for row in store.rows(newest_first=True)] == [
        key(number) for number in reversed(range(600))
    ]


def test_a_store_in_a_folder_with_odd_characters_is_walked(tmp_path: Path) -> None:
    with Store(tmp_path / "a?b #c %41") as store:
        put(store, 1)
        assert [row.key for row in store.rows()] == [key(1)]
    with Store(tmp_path / "a?b #c %41") as again:
        assert collect_stats(again).replies == 1
