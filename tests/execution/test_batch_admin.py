"""Batches outside a run: looked at, collected, cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from benchmarks.loopback import Batching as Plan
from benchmarks.loopback import Name, Options, ThreadHandle, claim_judge
from claimeval.execution.batch import Batch
from claimeval.execution.batch.polling import BatchAdmin, CollectedBatches, open_batch_admin
from claimeval.store.store import Store
from claimeval.types.errors import UsageError
from tests.conftest import StartServer
from tests.execution.batch_runs import PROVIDERS, ahead, go, spec
from tests.sample_runs import RIGHT

R = TypeVar("R")


pytestmark = pytest.mark.usefixtures("quick_polling")


def with_admin(cache: Path, work: Callable[[BatchAdmin], Awaitable[R]]) -> R:
    async def main() -> R:
        with Store(cache) as store:
            async with open_batch_admin(store) as admin:
                return await work(admin)

    return asyncio.run(main())


def open_batches(cache: Path, *, closed: bool = False) -> list[Batch]:
    async def look(admin: BatchAdmin) -> list[Batch]:
        return admin.batches(closed=closed)

    return with_admin(cache, look)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_detached_run_is_looked_at_and_collected_at_the_desk(
    start_server: StartServer, tmp_path: Path, provider: Name
) -> None:
    server = start_server(Options(batching=Plan(seconds=3600)), judge=claim_judge.answer)
    go(server, [spec(server, provider)], tmp_path, detach=True)
    (seen,) = with_admin(tmp_path, lambda admin: admin.status([]))
    assert (seen.state, seen.requests, seen.answered) == ("submitted", 4, 0)

    early = with_admin(tmp_path, lambda admin: admin.collect([]))
    assert (early.received.replies, [batch.name for batch in early.open]) == (0, [seen.name])

    server = ahead(start_server, server, Plan())
    done = with_admin(tmp_path, lambda admin: admin.collect([]))
    assert (done.received.replies, done.open) == (4, [])
    assert open_batches(tmp_path) == []
    assert [batch.state for batch in open_batches(tmp_path, closed=True)] == ["answered"]

    came = go(server, [spec(server, provider)], tmp_path)
    assert came.run.values == [RIGHT] * 4
    assert set(came.asked.values()) == {1}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_cancelled_batch_keeps_what_ran_and_the_next_run_asks_the_rest(
    start_server: StartServer, tmp_path: Path, provider: Name
) -> None:
    server = start_server(Options(batching=Plan(seconds=3600)), judge=claim_judge.answer)
    judge = spec(server, provider)
    go(server, [judge], tmp_path, 20, detach=True)

    async def give_up(admin: BatchAdmin) -> list[Batch]:
        await asyncio.sleep(0.1)
        return await admin.cancel([])

    (batch,) = with_admin(tmp_path, give_up)
    assert batch.status in ("cancelling", "CANCELLATION_REQUESTED")

    server = ahead(start_server, server, Plan(seconds=1.0))  # a tenth or more of it had passed
    stopped = go(server, [judge], tmp_path, 20)
    (why,) = stopped.run.outcome.status.stopped.values()
    assert (
        why == f"batch {batch.name[:8]} was cancelled; run the same command to send the remaining"
        " requests again"
    )
    ran = sum(line.paid for line in stopped.lines)
    assert 0 < ran <= 20

    came = go(server, [judge], tmp_path, 20, batch=False)
    assert came.run.values == [RIGHT] * 20
    assert came.online == 40 - ran


def test_a_batch_that_no_provider_has_is_dropped(server: ThreadHandle, tmp_path: Path) -> None:
    go(server, [f"openai:judge@{server.url}/nowhere/v1"], tmp_path)
    (batch,) = open_batches(tmp_path)
    assert batch.state == "ready"
    (dropped,) = with_admin(tmp_path, lambda admin: admin.cancel([batch.name]))
    assert dropped.state == "dropped"
    assert server.batch_lines() == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_batch_that_its_provider_has_lost_can_be_forgotten(
    start_server: StartServer, tmp_path: Path, provider: Name
) -> None:
    server = start_server(Options(batching=Plan(seconds=60)), judge=claim_judge.answer)
    judge = spec(server, provider)
    go(server, [judge], tmp_path, detach=True)
    (batch,) = open_batches(tmp_path)
    for file in server.log.with_suffix(".state").glob("jobs/*"):
        file.unlink()
    stopped = go(server, [judge], tmp_path)
    (why,) = stopped.run.outcome.status.stopped.values()
    assert (
        f"(batch {batch.id}; to give it up, run `claimeval batch cancel --forget {batch.name[:8]}`)"
        in why
    )
    (dropped,) = with_admin(tmp_path, lambda admin: admin.forget([batch.name]))
    assert dropped.state == "dropped"
    assert go(server, [judge], tmp_path, detach=True).creates == 2


def test_a_batch_that_is_over_is_not_cancelled_and_can_be_collected(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(Options(batching=Plan(seconds=3600)), judge=claim_judge.answer)
    go(server, [spec(server, "openai")], tmp_path, detach=True)
    ahead(start_server, server, Plan())

    async def too_late(admin: BatchAdmin) -> CollectedBatches:
        (batch,) = await admin.cancel([])
        assert batch.status == "completed"
        return await admin.collect([])

    assert with_admin(tmp_path, too_late).received.replies == 4


def test_names_are_found_by_their_beginning(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server(Options(batching=Plan(seconds=3600)), judge=claim_judge.answer)
    for model in ("one", "two"):
        go(server, [spec(server, "openai", model)], tmp_path, detach=True)
    one, two = open_batches(tmp_path)

    async def find(admin: BatchAdmin) -> None:
        assert admin.select([two.name[:8]]) == [two]
        assert admin.select([]) == [one, two]
        with pytest.raises(UsageError, match=r"No open batch 'nothing'\. "):
            admin.select(["nothing"])
        with pytest.raises(UsageError, match="'' matches several open batches"):
            admin.select([""])

    with_admin(tmp_path, find)


def test_only_batches_of_known_price_have_a_cost(
    start_server: StartServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai:judge: {input: 1.0, output: 1.0, batch: 0.5}\n")

    def collected(file: str) -> CollectedBatches:
        """The batch of a run, collected with a price file or without."""
        monkeypatch.setenv("CLAIMEVAL_PRICES", file)
        cache = tmp_path / ("priced" if file else "unpriced")
        server = start_server(Options(batching=Plan(seconds=3600)), judge=claim_judge.answer)
        go(server, [spec(server, "openai")], cache, detach=True)
        ahead(start_server, server, Plan())
        return with_admin(cache, lambda admin: admin.collect([]))

    unpriced = collected("").received
    assert (unpriced.replies, unpriced.priced) == (4, False)
    priced = collected(str(prices)).received
    assert (priced.replies, priced.priced) == (4, True)
    assert priced.paid == pytest.approx(priced.tokens * 0.5e-6)
