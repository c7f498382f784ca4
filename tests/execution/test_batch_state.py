"""What is remembered of batches, also by another process, and what is forgotten."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from claimeval.execution.batch import ClosedRequestFile, ReleasedRequests, batch_target
from claimeval.execution.batch.state import FILE, MAX_TRIES, BatchState
from claimeval.providers.batches import BatchStatus
from claimeval.store import locked
from claimeval.store.store import Store
from claimeval.types.errors import StoreError
from claimeval.types.requests import CallError, Judge

JUDGE = Judge(name="judge", model="openai:m", endpoint="http://127.0.0.1/v1", key_variable="MY_KEY")
A, B, C = (f"{n:064x}" for n in range(3))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Store(tmp_path).close()
    return tmp_path


def test_another_process_sees_a_batch_with_all_that_is_known_of_it(folder: Path) -> None:
    with BatchState(folder) as state, BatchState(folder) as other:
        state.add("one", JUDGE, "run")
        state.mark_ready(ClosedRequestFile("one", 2, 100))
        state.mark_uploaded("one", "file-1")
        state.mark_submitted("one", BatchStatus("batch-1", "one", "under_way", "validating"))
        state.update_status(
            "one", BatchStatus("batch-1", "one", "under_way", "in_progress", (), 2, 1, 1, "slow")
        )
        (batch,) = other.batches("submitted")
        assert batch._replace(at=0.0) == (
            *("one", JUDGE, "run", "submitted", 2, 100, 0.0),
            *("file-1", "batch-1", "in_progress", 1, 1, "slow"),
        )
        assert batch.open
        assert batch.target == batch_target(JUDGE) == ("openai:m", "http://127.0.0.1/v1", "MY_KEY")


def test_a_request_rides_in_one_batch_at_a_time(folder: Path) -> None:
    with BatchState(folder) as state, BatchState(folder) as other:
        state.add("one", JUDGE, "")
        other.add("two", JUDGE, "")
        assert state.claim("one", A, "prompt", 5)
        assert not other.claim("two", A, "prompt", 5)
        assert not state.claim("one", A, "prompt", 5)
        entry = other.entry(A)
        assert entry
        assert entry.batch == "one"
        state.remove_answered([A])
        assert other.entry(A) is None
        assert other.claim("two", A, "prompt", 5)


def test_a_request_that_came_back_rides_again_until_it_is_final(folder: Path) -> None:
    with BatchState(folder) as state:
        state.add("one", JUDGE, "")
        for ride in range(1, MAX_TRIES + 1):
            assert state.claim("one", A, "", 5)
            state.mark_failed([(A, CallError("timeout", "late"))])
            entry = state.entry(A)
            assert entry
            assert (entry.batch, entry.tries, entry.final) == (None, ride, ride == MAX_TRIES)
            assert (entry.reason, entry.message) == ("timeout", "late")
        assert state.claim("one", B, "", 5)
        state.mark_failed([(B, CallError("filtered", "no", retryable=False))])
        entry = state.entry(B)
        assert entry
        assert entry.final
        state.forget([A, B])
        assert state.entry(A) is state.entry(B) is None


def test_what_still_rides_is_not_forgotten(folder: Path) -> None:
    with BatchState(folder) as state:
        state.add("one", JUDGE, "")
        state.claim("one", A, "", 5)
        state.forget([A])
        assert state.entry(A)


def test_the_end_of_a_batch_frees_its_requests_and_keeps_their_tries(folder: Path) -> None:
    with BatchState(folder) as state:
        state.add("one", JUDGE, "")
        state.path("one").write_text("lines")
        state.path("one").with_suffix(".result0").write_text("results")
        for key in (A, B, C):
            state.claim("one", key, "", 5)
        state.mark_failed([(B, CallError("timeout", "late"))])
        state.claim("one", B, "", 7)
        assert sorted(state.pending_keys("one")) == [A, B, C]
        assert state.end("one", "cancelled") == ReleasedRequests(3, 17)
        assert state.entry(A) is None
        entry = state.entry(B)
        assert entry
        assert (entry.batch, entry.tries, entry.reserved) == (None, 1, 0)
        assert not list(state.folder.iterdir())
        assert not state["one"].open


def test_requests_may_be_taken_out_while_they_are_gone_over(folder: Path) -> None:
    keys = [f"{n:064x}" for n in range(2500)]
    with BatchState(folder) as state:
        state.add("one", JUDGE, "")
        for key in keys:
            state.claim("one", key, "", 0)
        seen = []
        for key in state.pending_keys("one"):
            state.remove_answered([key])
            seen.append(key)
        assert seen == keys


def test_refusals_count_since_the_last_answer(folder: Path) -> None:
    with BatchState(folder) as state:
        for name, end in enumerate(("refused", "answered", "refused", "dropped", "refused")):
            state.add(f"batch {name}", JUDGE, "")
            state.end(f"batch {name}", end)  # type: ignore[arg-type]  # a literal in a tuple
        assert state.refusals(batch_target(JUDGE)) == 2
        assert state.refusals(batch_target(JUDGE.model_copy(update={"model": "openai:other"}))) == 0


def test_nothing_is_lost_when_the_process_dies_without_closing(folder: Path) -> None:
    state = BatchState(folder)
    state.add("one", JUDGE, "")
    state.claim("one", A, "", 5)
    with BatchState(folder) as other:
        assert other.entry(A)
    state.close()


def test_prompts_and_results_are_for_their_owner_alone(folder: Path) -> None:
    with BatchState(folder) as state:
        assert state.folder.stat().st_mode & 0o077 == 0
        assert (folder / FILE).stat().st_mode & 0o077 == 0


def test_a_damaged_record_is_one_line(folder: Path) -> None:
    (folder / FILE).write_bytes(b"no database" * 1000)
    with pytest.raises(
        StoreError, match=r"The batch database .* cannot be used: file is not a database"
    ):
        BatchState(folder)


def test_a_locked_record_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with BatchState(folder) as state:
        monkeypatch.setattr(locked, "MAX_WAIT", 0.05)
        other = sqlite3.connect(folder / FILE, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="database is locked"):
            state.add("one", JUDGE, "")
        other.close()


def test_a_record_of_a_later_version_is_left_alone(folder: Path) -> None:
    BatchState(folder).close()
    later = sqlite3.connect(folder / FILE)
    later.execute("PRAGMA user_version = 2")
    later.close()
    with pytest.raises(StoreError, match="has the format 2; this version of claimeval reads 1"):
        BatchState(folder)
