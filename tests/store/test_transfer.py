"""Stores exchange replies as JSON Lines: nothing changes on the way, and nothing else gets in."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claimeval.store import transfer
from claimeval.store.lessons import Lessons
from claimeval.store.store import ReplyOrigin, Store, join
from claimeval.store.transfer import ExportCounts, TransferCounts
from claimeval.types.chat_format import write_chat
from claimeval.types.errors import DataError
from claimeval.types.requests import Learned

ORIGIN = ReplyOrigin("openai:m", "http://127.0.0.1:8000/v1", "d" * 64, 1_795_000_000.25, 0.125)
KEY = "1" * 64
OTHER_KEY = "2" * 64
BODY = write_chat("hello", "m")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "one") as store:
        yield store


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "other") as store:
        yield store


def exported(store: Store) -> bytes:
    file = io.BytesIO()
    transfer.write(store, file)
    return file.getvalue()


def taken_in(store: Store, lines: bytes) -> TransferCounts:
    return transfer.read(io.BytesIO(lines), "file.jsonl", store)


def content(store: Store) -> list[tuple[str, bytes]]:
    return [(reply.key, reply.value) for reply in store]


@pytest.fixture
def good(store: Store) -> dict[str, object]:
    """The fields of a good line."""
    store.put(KEY, join(ORIGIN, BODY))
    fields: dict[str, object] = json.loads(exported(store))
    return fields


def to_line(fields: dict[str, object], **changes: object) -> bytes:
    """A line with some fields changed; None leaves one out."""
    changed = {name: value for name, value in {**fields, **changes}.items() if value is not None}
    return json.dumps(changed).encode() + b"\n"


def test_a_line_holds_key_origin_checksum_and_the_body_as_text(store: Store) -> None:
    body = '{"choices":[{"message":{"content":"café \u2028 \\u0001"}}]}'
    store.put(KEY, join(ORIGIN, body.encode()))
    lines = exported(store)

    assert lines.count(b"\n") == 1
    assert json.loads(lines) == {
        "key": KEY,
        "origin": {
            "model": "openai:m",
            "endpoint": "http://127.0.0.1:8000/v1",
            "prompt": "d" * 64,
            "at": 1_795_000_000.25,
            "latency": 0.125,
        },
        "sha256": (
            "5e1cab9cc0ae3a68895f59a8a2626d146f1d4dfa25e7fd865b94b744d5661f77"
        ),  # sha256sum of key and body
        "body": body,
    }


def test_lessons_go_with_the_replies_and_add_to_those_that_are_there(
    store: Store, other: Store
) -> None:
    learned = Learned(refused=("temperature",), context_tokens=4096, parameters=134_515_008)
    Lessons(store.folder).add("0123abcd", learned)
    Lessons(other.folder).add("0123abcd", Learned(refused=("maxItems",)))
    lines = exported(store)

    assert json.loads(lines) == {
        "judge": "0123abcd",
        "refused": ["temperature"],
        "context_tokens": 4096,
        "parameters": 134_515_008,
    }
    for _ in range(2):
        assert taken_in(other, lines) == TransferCounts(0, 0, 0, ())
    assert Lessons(other.folder).known == {
        "0123abcd": learned.model_copy(update={"refused": ("maxItems", "temperature")})
    }


@pytest.mark.parametrize("change", [{"refused": ["top_p"]}, {"context_tokens": 0}, {"judge": "x"}])
def test_a_lesson_that_no_run_learns_is_refused(store: Store, change: dict[str, object]) -> None:
    line = json.dumps({"judge": "0123abcd", **change}).encode() + b"\n"
    with pytest.raises(DataError, match=r"line 1: not an exported lesson"):
        taken_in(store, line)
    assert not Lessons(store.folder).known


def test_a_body_that_is_not_utf_8_is_written_in_base64(store: Store, other: Store) -> None:
    body = BODY.decode().encode("utf-16")
    store.put(KEY, join(ORIGIN, body))
    lines = exported(store)

    assert "body" not in json.loads(lines)
    assert json.loads(lines)["body_base64"].startswith(
        "//57AC"
    )  # base64 of ff fe 7b 00: a mark and "{"
    assert taken_in(other, lines) == TransferCounts(1, 0, 0, ())
    assert content(other) == content(store)


@settings(max_examples=10, deadline=None)
@given(
    texts=st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), max_size=4),
    at=st.floats(0, 4e9),
    latency=st.none() | st.floats(0, 1000),
)
def test_export_and_import_give_the_same_store(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], at: float, latency: float | None
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    with Store(folder / "one") as one, Store(folder / "other") as other:
        for number, text in enumerate(texts):
            origin = ReplyOrigin("mistral:x", None, "", at, latency)
            one.put(f"{number:064x}", join(origin, write_chat(text, text)))
        assert taken_in(other, exported(one)) == TransferCounts(len(texts), 0, 0, ())
        assert content(other) == content(one)
        assert exported(other) == exported(one)


def test_importing_again_changes_nothing(store: Store, good: dict[str, object]) -> None:
    before = content(store)

    assert taken_in(store, to_line(good)) == TransferCounts(0, 1, 0, ())
    assert content(store) == before


def test_another_reply_to_the_same_question_is_a_conflict_and_the_stores_is_kept(
    store: Store, other: Store
) -> None:
    store.put(KEY, join(ORIGIN, write_chat("mine", "m")))
    other.put(KEY, join(ORIGIN, write_chat("yours", "m")))
    other.put(OTHER_KEY, join(ORIGIN, BODY))
    before = dict(content(store))

    assert taken_in(store, exported(other)) == TransferCounts(1, 0, 1, (KEY,))
    assert dict(content(store)) == {**before, OTHER_KEY: join(ORIGIN, BODY)}


def test_the_same_words_at_another_time_are_no_conflict(
    store: Store, good: dict[str, object]
) -> None:
    origin = {**ORIGIN._asdict(), "at": 5.0}

    assert taken_in(store, to_line(good, origin=origin)) == TransferCounts(0, 1, 0, ())


def test_damaged_rows_are_left_out_of_an_export_and_counted(store: Store) -> None:
    store.put(KEY, join(ORIGIN, BODY))
    store.put(OTHER_KEY, join(ORIGIN, BODY))
    connection = sqlite3.connect(store.folder / "cache.db", isolation_level=None)
    connection.execute("UPDATE Cache SET value = x'00' WHERE rowid = 1")
    connection.close()

    file = io.BytesIO()
    assert transfer.write(store, file) == ExportCounts(1, 1)
    assert json.loads(file.getvalue())["key"] == OTHER_KEY


BAD = [
    ({"key": "1" * 63}, "key: String should match pattern"),
    ({"key": "A" * 64}, "key: String should match pattern"),
    ({"key": KEY + "\n"}, "key: String should match pattern"),
    ({"key": None}, "key: is missing"),
    ({"sha256": "0" * 64}, "the body is not the one that was exported"),
    ({"body": write_chat("other", "m").decode()}, "the body is not the one that was exported"),
    ({"body": None}, "exactly one of body and body_base64"),
    ({"body_base64": "AAAA"}, "exactly one of body and body_base64"),
    ({"body": None, "body_base64": "!"}, "body_base64: "),
    ({"origin": {}}, "origin.model: "),
    ({"origin": {**ORIGIN._asdict(), "at": -1}}, "origin.at: -1.0 is no time"),
    (
        {"origin": {**ORIGIN._asdict(), "at": float("nan")}},
        "origin.at: needs a finite number",
    ),
    ({"origin": {**ORIGIN._asdict(), "at": 1e300}}, "origin.at: 1e+300 is no time"),
    ({"extra": 1}, "extra: is not a known name"),
]


@pytest.mark.parametrize(("changes", "said"), BAD)
def test_a_line_that_is_not_a_whole_reply_is_refused_with_its_number(
    other: Store, good: dict[str, object], changes: dict[str, object], said: str
) -> None:
    with pytest.raises(DataError) as caught:
        taken_in(other, to_line(good) + to_line(good, **changes))
    assert said in str(caught.value)
    assert "file.jsonl, line 2: " in str(caught.value)
    assert "(replies added before it: 1)" in str(caught.value)
    assert [reply.key for reply in other] == [KEY]


@pytest.mark.parametrize(
    "body", [b"", b"words", b"[]", b'{"error":{"message":"no"}}', b'{"choices":[]}']
)
def test_a_body_that_holds_no_reply_is_refused(store: Store, other: Store, body: bytes) -> None:
    store.put(KEY, join(ORIGIN, body))

    with pytest.raises(DataError, match="line 1: the body holds no reply"):
        taken_in(other, exported(store))
    assert not len(other)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (b"\n", "not an exported reply: Invalid JSON"),
        (b"[]\n", "not an exported reply: needs a mapping of names to values"),
        (b"\xff\xfe\n", "not an exported reply: Invalid JSON"),
        (b'{"key": "1', "the line is cut short"),
        (b"SQLite format 3\0\x10\n", "this is a database"),
    ],
)
def test_what_is_not_json_lines_is_refused(other: Store, lines: bytes, said: str) -> None:
    with pytest.raises(DataError, match="line 1: ") as caught:
        taken_in(other, lines)
    assert said in str(caught.value)


def test_the_file_of_a_store_is_refused_as_a_database(store: Store, other: Store) -> None:
    store.put(KEY, join(ORIGIN, BODY))

    with (
        (store.folder / "cache.db").open("rb") as file,
        pytest.raises(DataError, match="this is a database"),
    ):
        transfer.read(file, "cache.db", other)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "LONGEST_LINE", 1000)

    with pytest.raises(DataError, match="line 1: longer than 1000 bytes"):
        taken_in(other, b'{"key": "' + b"1" * 2000)


def test_the_last_line_needs_no_line_break(other: Store, good: dict[str, object]) -> None:
    assert taken_in(other, to_line(good).rstrip(b"\n")) == TransferCounts(1, 0, 0, ())


def test_an_empty_file_adds_nothing(other: Store) -> None:
    assert taken_in(other, b"") == TransferCounts(0, 0, 0, ())
