"""Batch runs in processes that die at the worst instants: every request is asked and paid once."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from benchmarks.batch import (
    CLOSED,
    GATHERING,
    ID_STORED,
    INTENT_WRITTEN,
    TAKEN_OUT,
    UPLOADED,
    killed,
    online,
)
from benchmarks.clients import Instant, write_samples
from benchmarks.loopback import Batching, Options, serve
from claimeval.execution.batch.state import BatchState
from tests.sample_runs import without_seconds

SAMPLES = 12
FIRST_ROUND = (
    Instant("after", GATHERING, 7),
    Instant("after", INTENT_WRITTEN),
    Instant("after", UPLOADED),
    Instant("before", ID_STORED),
    Instant("before", TAKEN_OUT),
)
SECOND_ROUND = (
    Instant("before", CLOSED),
    Instant("before", INTENT_WRITTEN, 2),
    Instant("before", ID_STORED, 2),
    Instant("after", TAKEN_OUT),
    Instant("after", CLOSED),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "instants", [FIRST_ROUND, SECOND_ROUND], ids=["first round", "second round"]
)
def test_a_run_that_is_killed_five_times_pays_for_every_request_once(
    tmp_path: Path, instants: tuple[Instant, ...]
) -> None:
    write_samples(tmp_path / "samples.jsonl", SAMPLES)
    options = Options(
        judge="benchmarks.loopback.claim_judge:make", batching=Batching(seconds=0.3, spread=0.2)
    )
    with serve(options) as server:
        wanted = online(tmp_path, server)
        came = killed(tmp_path, server, instants)
    assert came.codes == [-signal.SIGKILL] * 5 + [0]
    # Three, or more where the machine is busy and a request is late for its batch.
    assert 3 <= came.batches < SAMPLES
    assert len(came.asked) == 3 * SAMPLES
    assert set(came.asked.values()) == set(came.paid.values()) == {1}
    assert [without_seconds(file) for file in came.files] == [
        without_seconds(file) for file in wanted
    ]
    assert "Traceback" not in came.errors
    with BatchState(tmp_path / "batch-store") as state:
        assert not any(batch.open for batch in state.batches())
        assert not list(state.folder.iterdir())
